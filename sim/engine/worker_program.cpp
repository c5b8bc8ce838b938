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

/// Beside the program, above a test's, or where an installation has it.
std::filesystem::path module_path(const std::string& module) {
  const std::filesystem::path folder = worker_program().parent_path();
  const std::array<std::filesystem::path, 3> places{folder, folder.parent_path(),
                                                    folder.parent_path() / "lib" / "linkcast"};
  for (const std::filesystem::path& place : places)
    if (std::filesystem::exists(place / module)) return place / module;
  throw InputError(module + " is missing in " + folder.string() + " and in " + places.back().string() +
                   ": install all of linkcast, not the program alone");
}

}  // namespace

void* module_symbol(const std::string& module, const char* symbol) {
  void* library = ::dlopen(module_path(module).c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* found = library != nullptr ? ::dlsym(library, symbol) : nullptr;
  if (library == nullptr) throw InputError(module + " cannot be loaded: " + ::dlerror());
  if (found == nullptr) throw InvariantError(module + ": " + ::dlerror());
  return found;
}

const SimGridModule& simgrid_module() {
  static const auto* const module =
      static_cast<const SimGridModule*>(module_symbol("liblinkcast_simgrid.so", "linkcast_simgrid_module"));
  return *module;
}

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
