#include "sim/engine/worker_program.hpp"

#include <utility>

namespace linkcast {
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
