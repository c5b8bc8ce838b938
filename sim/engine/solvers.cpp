#include "sim/engine/solvers.hpp"

#include "sim/base/input_error.hpp"
#include "sim/engine/fluid_model.hpp"
#include "sim/engine/native_solver.hpp"

namespace linkcast {

std::vector<std::string> solver_names() { return {"fluid", "native"}; }

std::unique_ptr<Solver> make_solver(const std::string& name) {
  if (name == "fluid") return std::make_unique<FluidModel>();
  if (name == "native") return std::make_unique<NativeSolver>();
  std::string known;
  for (const std::string& each : solver_names()) known += (known.empty() ? "" : ", ") + each;
  throw InputError("unknown solver '" + name + "'; known: " + known);
}

}  // namespace linkcast
