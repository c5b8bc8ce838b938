// linkcast-bench: measures what a node's GPU interconnect does; one file per benchmark.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/emulation.hpp"
#include "calibrate/bench/environment.hpp"
#include "calibrate/bench/launch_request.hpp"
#include "calibrate/bench/nccl_worker.hpp"
#include "calibrate/bench/session.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::bench {
namespace {

// Exit codes as of `linkcast` (the contract in README.md).
constexpr int kOk = 0, kOther = 1, kBadInput = 2, kInvariant = 3, kDataWrong = 4;

struct CommandLine {
  std::vector<std::string> nccl_env;
  Options options;
  std::vector<std::string> only;
  std::string emulate;             ///< folder of a study; empty: none
  std::vector<std::string> cases;  ///< of it; empty: all
  bool list = false, json = false;
};

std::string lower_kebab(std::string text) {
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '-';
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d", &parts);
  return text.data();
}

int count_gpus() {
  int gpus = 0;
  const cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error != cudaSuccess || gpus == 0)
    throw DeviceError(std::string("no GPU can be used: ") +
                      (error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error)));
  return gpus;
}

std::vector<std::string> bus_ids(int gpus) {
  std::vector<std::string> all;
  for (int gpu = 0; gpu < gpus; ++gpu) all.push_back(pci_of(gpu));
  return all;
}

/// "4x-nvidia-h200", for machines nobody has named.
std::string default_machine(int gpus) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  return std::to_string(gpus) + "x-" + lower_kebab(properties.name);
}

void check_label(const std::string& option, const std::string& label) {
  const bool good = !label.empty() && std::all_of(label.begin(), label.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '-';
  });
  if (!good) throw InputError(option + ": '" + label + "': small letters, digits and '-' only");
}

std::vector<BenchEntry> chosen(const std::vector<std::string>& only) {
  std::vector<BenchEntry> entries;
  std::string known;
  for (const BenchEntry& entry : benches()) {
    known += (known.empty() ? "" : ", ") + entry.info.name;
    const bool named = std::find(only.begin(), only.end(), entry.info.name) != only.end();
    if (only.empty() ? entry.info.by_default : named) entries.push_back(entry);
  }
  for (const std::string& name : only)
    if (std::none_of(entries.begin(), entries.end(), [&](const auto& entry) { return entry.info.name == name; }))
      throw InputError("--only: no bench '" + name + "': " + known);
  return entries;
}

void print_list() {
  for (const BenchEntry& entry : benches())
    std::cout << entry.info.name << (entry.info.by_default ? "" : " (only when named)") << "\n    "
              << entry.info.summary << "\n";
}

void print_summary(const std::vector<BenchSummary>& all, bool as_json) {
  Json list = Json::array();
  for (const BenchSummary& s : all) {
    list.push_back({{"bench", s.bench},
                    {"status", s.status},
                    {"file", s.file},
                    {"measured", s.measured},
                    {"waived", s.waived},
                    {"kept", s.kept},
                    {"unverified", s.unverified},
                    {"elapsed_s", s.seconds}});
    if (!as_json)
      std::cout << s.bench << ": " << s.status << ", " << s.measured << " points, " << s.waived << " waived, " << s.kept
                << " kept, " << s.unverified << " with wrong data -> " << s.file << "\n";
  }
  if (as_json) std::cout << list.dump(1) << "\n";
}

void refuse_overwriting(const Options& options, const std::vector<BenchEntry>& entries) {
  for (const BenchEntry& entry : entries) {
    const std::string path = record_path(options, entry.info);
    if (!options.resume && std::filesystem::exists(path))
      throw InputError("--out: '" + path + "' exists: add --resume, or choose another --occasion");
  }
}

int run(CommandLine line) {
  if (line.list) {
    print_list();
    return kOk;
  }
  if (!line.emulate.empty() && !line.only.empty()) throw InputError("--emulate: runs the study alone, without --only");
  const auto entries = chosen(line.emulate.empty() ? line.only : std::vector<std::string>{"emulate"});
  const int gpus = count_gpus();
  Options& options = line.options;
  if (options.machine.empty()) options.machine = default_machine(gpus);
  if (options.topology.empty()) options.topology = options.machine;
  if (options.occasion.empty()) options.occasion = today();
  check_label("--machine", options.machine);
  check_label("--topology", options.topology);
  check_label("--occasion", options.occasion);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw InputError("--out: cannot make folder '" + options.out + "': " + error.message());
  std::vector<Options> runs{options};
  if (!line.emulate.empty()) runs = emulated_cases(options, line.emulate, line.cases, bus_ids(gpus));
  for (const Options& run : runs) refuse_overwriting(run, entries);
  catch_interrupts();
  const Nvml nvml;
  std::vector<BenchSummary> all;
  for (const Options& run : runs) {
    Context context(run, gpus);
    Session session(context, nvml);
    for (const BenchEntry& entry : entries) all.push_back(session.run(entry));
  }
  print_summary(all, line.json);
  const bool wrong = std::any_of(all.begin(), all.end(), [](const auto& s) { return s.unverified != 0; });
  if (wrong) std::cerr << "error: copied data differs from its source; those points say \"verified\": false\n";
  return wrong ? kDataWrong : kOk;
}

/// "NCCL_P2P_DISABLE=1". Multicast stays off whatever is asked for.
std::pair<std::string, std::string> nccl_variable(const std::string& text) {
  const auto sign = text.find('=');
  const std::string name = text.substr(0, sign);
  if (sign == std::string::npos || name.rfind("NCCL_", 0) != 0 || name.find("NVLS") != std::string::npos)
    throw InputError("--nccl-env: '" + text + "' is not NCCL_NAME=VALUE of a variable that may be set");
  return {name, text.substr(sign + 1)};
}

int parse_and_run(int argc, char** argv) {
  CommandLine line;
  CLI::App app{"Measures the GPU interconnect of this node: one JSON file (measurement/1) per benchmark.",
               "linkcast-bench"};
  app.add_option("--out", line.options.out, "folder for the files, made if missing")->capture_default_str();
  app.add_option("--machine", line.options.machine, "id of this machine; default: GPU count and name");
  app.add_option("--topology", line.options.topology, "topology whose device ids are used; default: the machine");
  app.add_option("--occasion", line.options.occasion, "label of this run in the ids; default: the UTC date");
  app.add_option("--only", line.only, "run only these benches")->delimiter(',');
  app.add_option("--nccl", line.options.nccl, "path of libnccl.so.2; default: the loader's");
  app.add_option("--nccl-env", line.nccl_env,
                 "NAME=VALUE, may be repeated: an NCCL_ variable for nccl_ops, e.g. NCCL_P2P_DISABLE=1");
  auto* emulate = app.add_option("--emulate", line.emulate, "folder of linkcast emulate: tells NCCL its topologies");
  app.add_option("--cases", line.cases, "of --emulate: only these")->delimiter(',')->needs(emulate);
  app.add_flag("--quick", line.options.quick, "fewer pairs, sizes and repetitions: under a minute");
  app.add_flag("--resume", line.options.resume, "keep the points that the files already hold");
  app.add_flag("--list", line.list, "list the benches");
  app.add_flag("--json", line.json, "print the summary as JSON");
  app.footer(
      "Example:\n  linkcast-bench --out results --machine hgx-h200 --occasion 20261121\n"
      "Progress goes to stderr. Exit codes: 0 ok, 2 bad input, 4 wrong data, 3 bug, 1 anything else.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string(error.what()));
  }
  for (const std::string& text : line.nccl_env) line.options.nccl_env.insert(nccl_variable(text));
  return run(line);
}

}  // namespace

int guarded_main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == kWorkerFlag) return serve_nccl(argv[2]);
    if (argc == 5 && std::string(argv[1]) == kLaunchFlag) return serve_launch(argv[2], argv[3], std::stoi(argv[4]));
    return parse_and_run(argc, argv);
  } catch (const InputError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kBadInput;
  } catch (const std::logic_error& error) {
    std::cerr << "error: internal: " << error.what() << "\n";
    return kInvariant;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kOther;
  }
}

}  // namespace linkcast::bench

int main(int argc, char** argv) {
  // The driver reads both at its first call. Lazy loading would wait behind a held stream; with the default of 8
  // queues, more than 8 held streams of one GPU would share queues.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  return linkcast::bench::guarded_main(argc, argv);
}
