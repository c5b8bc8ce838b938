#include "sim/records/own_program.hpp"

#include <utility>

namespace linkcast {
namespace {

std::filesystem::path& told_program() {
  static std::filesystem::path told;
  return told;
}

}  // namespace

std::filesystem::path own_program() {
  return told_program().empty() ? std::filesystem::read_symlink("/proc/self/exe") : told_program();
}

void set_own_program(std::filesystem::path program) { told_program() = std::move(program); }

}  // namespace linkcast
