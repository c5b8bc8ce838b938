#include "sim/forecast/algorithm.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/base/packed_file.hpp"

namespace linkcast {

std::string OnlyCall::text() const {
  std::string text = fmt::format("{} of {} GPUs", operation, ranks);
  if (min_B > 0) text += " from " + to_text(Bytes{min_B}) + " on";
  if (max_B < kInfinity) text += (min_B > 0 ? ", below " : " below ") + to_text(Bytes{max_B});
  return text;
}

std::string OnlyCall::refusal(const std::string& wanted, int of_ranks) const {
  if (wanted == operation && of_ranks == ranks) return "";
  return fmt::format("is for {} of {} GPUs, not {} of {}", operation, ranks, wanted, of_ranks);
}

std::string OnlyCall::left_to_library(double size_B) const {
  return fmt::format("{} of {} GPUs {} runs as the library chooses: algorithm_file is for {}", operation, ranks,
                     size_B < min_B ? "below " + to_text(Bytes{min_B}) : "from " + to_text(Bytes{max_B}) + " on",
                     text());
}

Schedule Algorithm::schedule(const std::string& operation, int /*ranks*/) const {
  throw InvariantError("an algorithm without rounds of " + operation);
}

collective::CollectiveCost Algorithm::cost(const collective::CostRequest& /*request*/) const {
  throw InvariantError("an algorithm without routes");
}

void Algorithm::plan(const collective::CollectiveJob& /*job*/, activities::ClusterProblem& /*problem*/,
                     collective::CollectivePlan& /*plan*/) const {
  throw InvariantError("an algorithm without routes");
}

double Algorithm::first_byte_s(const collective::CollectiveJob& /*job*/,
                               const activities::HopDelay& /*delay_s*/) const {
  throw InvariantError("an algorithm without routes between nodes");
}

std::vector<std::vector<int>> Algorithm::orders(const Communicator& communicator) const {
  std::vector<std::vector<int>> orders;
  for (const Channel& ring : communicator.channels) orders.push_back(ring.order);
  return orders;
}

bool Algorithms::add(PluginInfo info, const Factory& factory) {
  const std::string name = info.name;
  Registry<Algorithm>::add(std::move(info), factory);
  return join_parameters("", get(name).parameters());
}

std::vector<std::string> Algorithms::names_of(Routes routes) const {
  std::vector<std::string> found;
  for (const std::string& name : names())
    if (get(name).routes() == routes) found.push_back(name);
  return found;
}

Algorithms& algorithms() {
  static Algorithms registry;
  return registry;
}

Registry<AlgorithmReader>& algorithm_readers() {
  static Registry<AlgorithmReader> registry("format of algorithms");
  return registry;
}

std::unique_ptr<Algorithm> read_algorithm(const std::string& path, const CallRefusal& refusal) {
  if (path.empty()) throw InputError("algorithm_file: names no file");
  const std::string text = file_text(path);
  for (const std::string& name : algorithm_readers().names())
    if (algorithm_readers().get(name).reads(text)) return algorithm_readers().get(name).read(text, path, refusal);
  throw InputError(path + ": no algorithm: a schedule in MSCCL's XML begins with <algo");
}

}  // namespace linkcast
