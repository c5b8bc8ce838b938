// libFuzzer's own main() calls this. LINKCAST_FUZZ_TARGET says which target; without it the names are printed.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "tests/fuzz/targets/target.hpp"

namespace linkcast::fuzz {
namespace {

constexpr double kMost_B = 1.5e9;  // ours: with sanitizers; libFuzzer's own limit is above it
constexpr std::chrono::seconds kLongest{
    2};  // ours: what looks at its deadline ends by then, the rest libFuzzer's -timeout ends

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto& some : {reader_targets(), question_targets(), service_targets(), command_targets()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string folder() {
  const char* kept = std::getenv("LINKCAST_FUZZ_FOLDER");
  return kept != nullptr ? kept : std::filesystem::temp_directory_path().string();
}

Target chosen() {
  const char* name = std::getenv("LINKCAST_FUZZ_TARGET");
  for (Target& target : all_targets())
    if (name != nullptr && target.name == name) return target;
  for (const Target& target : all_targets()) std::cout << target.name << '\n';
  std::cout.flush();
  _exit(name == nullptr ? 0 : 2);
}

/// What a command says in one line is right; everything else is found.
void one(const Target& target, const Input& input) {
  static const work::StopFlag never;
  try {
    const work::Scope scope(never, work::Scope::Clock::now() + kLongest);
    target.run(input);
  } catch (const InputError&) {
  } catch (const work::Stopped&) {
  } catch (const std::filesystem::filesystem_error&) {
  } catch (const InvariantError& error) {
    found(std::string("internal: ") + error.what());
  } catch (const std::exception& error) {
    found(std::string("a library's words: ") + error.what());
  }
}

}  // namespace

void found(const std::string& what) {
  std::cerr << "FOUND " << what << std::endl;
  std::abort();
}

std::string data_dir() {
  const char* said = std::getenv("LINKCAST_DATA_DIR");
  return said != nullptr ? said : ".";
}

}  // namespace linkcast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linkcast::fuzz;
  static const Target target = [] {
    linkcast::work::set_limits({kMost_B, static_cast<double>(kLongest.count())});
    return chosen();
  }();
  static const std::string path = folder() + "/input-" + std::to_string(getpid()) + target.suffix;
  Input input{{reinterpret_cast<const char*>(data), size}, {}};
  if (!target.suffix.empty()) {
    std::ofstream(path, std::ios::binary).write(input.bytes.data(), static_cast<std::streamsize>(size));
    input.path = path;
  }
  one(target, input);
  return 0;
}
