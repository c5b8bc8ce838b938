#include "sim/machine/stranger.hpp"

#include <algorithm>
#include <sstream>

#include "sim/base/file_hash.hpp"
#include "sim/base/input_error.hpp"
#include "sim/machine/structure.hpp"

namespace linkcast::lending {
namespace {

// Machines that lend: the nearest, and two more for what it did not measure. source: ours, as many as the shipped
// machines without measurements have (calibrate/data/refit.sh)
constexpr std::size_t kMostLenders = 3;

/// The measurement that determines most of what is lent: a matrix of copies between all pairs.
std::string what_to_measure(const Topology& topology) {
  const bool amd = maker_of(topology) == "amd";
  return std::string("measure: ") +
         (amd ? "osu_bw and osu_latency between two GPUs (D D)" : "p2pBandwidthLatencyTest or nvbandwidth") + " on " +
         topology.name + ", then 'linkcast import' and 'linkcast calibrate fit' (docs/start.md)";
}

std::string who_lends(const Topology& topology, const std::vector<Lender>& lenders, const Relative& nearest) {
  std::string others;
  for (std::size_t i = 1; i < lenders.size(); ++i)
    others += (others.empty() ? ", then of " : " and ") + lenders[i].calibration.name;
  return "nothing was measured on " + topology.name + ": rates and start-ups are those of " +
         lenders.front().calibration.name + " (" + nearest.alike + ")" + others +
         ", at the share of nominal rates; intervals are as wide as such machines differ";
}

std::string hash_of(const std::map<std::string, Parameter>& parameters) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& [name, p] : parameters) text << name << ' ' << p.value << ' ' << p.stderr_ << '\n';
  return sha256_of_text(text.str());
}

}  // namespace

Calibration inherited_calibration(const Topology& topology, const std::vector<Lender>& machines,
                                  const std::string& library) {
  Calibration c;
  c.path = topology.path;
  c.name = c.topology = topology.name;
  c.default_library = library;
  c.parameters = lend(topology, machines);
  c.sha256 = hash_of(c.parameters);
  c.valid_from_B = machines.front().calibration.valid_from_B;
  c.valid_to_B = machines.front().calibration.valid_to_B;
  for (const Lender& one : machines) c.from.push_back({one.calibration.path, one.calibration.sha256});
  return c;
}

Calibration stranger(const Topology& topology, const std::vector<Lender>& machines, const std::string& library) {
  std::vector<Relative> relatives = relatives_of(topology, machines);
  if (relatives.empty())
    throw InputError(topology.path, "/devices",
                     "no measured machine has GPUs of this maker: measure it, then 'linkcast calibrate fit'");
  if (relatives.size() > kMostLenders) relatives.resize(kMostLenders);
  std::vector<Lender> lenders;
  for (const Relative& one : relatives) lenders.push_back(machines[one.lender]);
  Calibration c = inherited_calibration(topology, lenders, library);
  c.notes = {who_lends(topology, lenders, relatives.front()), what_to_measure(topology)};
  return c;
}

}  // namespace linkcast::lending
