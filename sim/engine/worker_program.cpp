#include "sim/engine/worker_program.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/engine/simgrid_module.hpp"

namespace linkcast {
namespace {

constexpr const char* kSimGrid = "liblinkcast_simgrid.so";

/// Beside the program, above a test's, or where an installation has it; empty: it is missing.
std::filesystem::path module_path(const std::string& module) {
  const std::filesystem::path folder = worker_program().parent_path();
  const std::array<std::filesystem::path, 3> places{folder, folder.parent_path(),
                                                    folder.parent_path() / "lib" / "linkcast"};
  for (const std::filesystem::path& place : places)
    if (std::filesystem::exists(place / module)) return place / module;
  return {};
}

std::filesystem::path needed_path(const std::string& module) {
  if (std::filesystem::path path = module_path(module); !path.empty()) return path;
  throw InputError(module + " is missing in the folder of " + worker_program().string() + " and in ../lib/linkcast: " +
                   (module == kSimGrid ? "the wheel has no SimGrid, the .deb and a build from source have it"
                                       : "install all of linkcast, not the program alone"));
}

}  // namespace

void* module_symbol(const std::string& module, const char* symbol) {
  void* library = ::dlopen(needed_path(module).c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* found = library != nullptr ? ::dlsym(library, symbol) : nullptr;
  if (library == nullptr) throw InputError(module + " cannot be loaded: " + ::dlerror());
  if (found == nullptr) throw InvariantError(module + ": " + ::dlerror());
  return found;
}

const SimGridModule& simgrid_module() {
  static const auto* const module =
      static_cast<const SimGridModule*>(module_symbol(kSimGrid, "linkcast_simgrid_module"));
  return *module;
}

bool has_simgrid_module() { return !module_path(kSimGrid).empty(); }

void need_simgrid_module() { static_cast<void>(needed_path(kSimGrid)); }

namespace {

std::filesystem::path& given_program() {
  static std::filesystem::path given;
  return given;
}

}  // namespace

std::filesystem::path worker_program() {
  return given_program().empty() ? std::filesystem::read_symlink("/proc/self/exe") : given_program();
}

void set_worker_program(std::filesystem::path program) { given_program() = std::move(program); }

}  // namespace linkcast
