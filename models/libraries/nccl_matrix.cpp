// NCCL 2.0-2.4 on one node: rings from a matrix of links, LL or Simple by size per thread.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/libraries/early_library.hpp"
#include "models/libraries/generations.hpp"
#include "models/libraries/ring_operation.hpp"
#include "models/libraries/ring_search.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

// The rings the matrix era of NCCL builds over the members of one communicator on one node.

struct RingPlan {
  std::vector<std::vector<int>> rings;  ///< member indices
  double links_per_ring = 0;            ///< NVLinks; 0 where no NVLink ring exists
  bool fallback = false;                ///< one ring with no closed NVLink ring under it, not over PCIe alone
  bool duplicated = false;              ///< each ring is run by two blocks as far as the cap allows
  std::string why;
};

/// Rings the library keeps at most, duplicates included. source: models/libraries/SOURCES.md
inline constexpr int kMaxRings = 16;

// Ours, not the library's: hops tried before a search ends with the best so far, a few milliseconds. source: the most
// that the first k GPUs of a DGX-1 need is 749, and 16 GPUs with a direct link between all need 97794 (counted).
constexpr long kMaxSteps = 100'000;

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "GPU 4" or "GPUs 0 1 2"
std::string name_of(const std::vector<int>& members, const std::vector<int>& gpus) {
  std::string text = members.size() == 1 ? "GPU" : "GPUs";
  for (const int member : members) text += fmt::format(" {}", gpus[static_cast<std::size_t>(member)]);
  return text;
}

bool is_nvlink(const PairTransport& pair) { return pair.kind == PairKind::kNvlink || pair.kind == PairKind::kNvswitch; }

std::vector<int> nvlink_neighbours(const PairTable& pairs, int member) {
  std::vector<int> found;
  for (int other = 0; other < pairs.members(); ++other)
    if (is_nvlink(pairs.at(member, other))) found.push_back(other);
  return found;
}

/// Members of one domain in the order a single ring passes them: nearest neighbour first if PCIe is all there is, else
/// rank order.
std::vector<int> chain(const PairTable& pairs, const std::vector<int>& domain) {
  for (const int a : domain)
    if (!nvlink_neighbours(pairs, a).empty()) return domain;
  std::vector<int> left(domain.begin() + 1, domain.end()), order{domain.front()};
  while (!left.empty()) {
    const auto nearest = std::max_element(left.begin(), left.end(), [&](int a, int b) {
      return pairs.at(order.back(), a).value < pairs.at(order.back(), b).value;
    });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

/// Why no closed NVLink ring exists.
std::string obstacle(const PairTable& pairs, const std::vector<std::vector<int>>& domains,
                     const std::vector<int>& gpus) {
  if (domains.size() > 1) {
    std::vector<std::string> names;
    for (const auto& domain : domains) names.push_back(name_of(domain, gpus));
    return "no peer access joins " + listed(names);
  }
  for (int member = 0; member < pairs.members(); ++member) {
    const auto neighbours = nvlink_neighbours(pairs, member);
    if (neighbours.size() > 1) continue;
    const std::string who = name_of({member}, gpus);
    if (neighbours.empty()) return who + " has no NVLink inside this set";
    return who + " has NVLink only to " + name_of(neighbours, gpus) + " inside this set";
  }
  return "NVLink joins these GPUs, but in no order around all of them";
}

std::vector<std::vector<int>> rank_order_rings(int members, int count) {
  return std::vector<std::vector<int>>(static_cast<std::size_t>(count), first_numbers(members));
}

RingPlan switch_rings(const PairTable& pairs) {
  int links = kMaxRings;
  for (int a = 0; a < pairs.members(); ++a)
    for (int b = a + 1; b < pairs.members(); ++b) links = std::min(links, pairs.at(a, b).links);
  return {rank_order_rings(pairs.members(), links), 1, false, true,
          "NVSwitch joins every pair: " + plural(static_cast<std::size_t>(links), "ring") +
              " in rank order, one for each NVLink of a GPU"};
}

RingPacking pack(const PairTable& pairs) {
  LinkMatrix links(pairs.members());
  for (int a = 0; a < pairs.members(); ++a)
    for (int b = 0; b < pairs.members(); ++b)
      if (a != b && is_nvlink(pairs.at(a, b))) links.at(a, b) = pairs.at(a, b).links;
  return pack_rings_or_half_links(links, kMaxRings, kMaxSteps);
}

std::string search_note(const RingPacking& packing) {
  if (packing.complete) return "";
  return fmt::format("; the search was stopped after {} hops tried, more rings may exist", packing.steps);
}

RingPlan nvlink_rings(RingPacking packing, int members) {
  const std::size_t count = packing.rings.size();
  std::string why = fmt::format("{} over all {} GPUs, ", plural(count, "closed NVLink ring"), members);
  why += packing.links_per_ring < 1
             ? "half a link per hop each: with every link counted twice there are more than twice the rings"
             : "each with one link per hop to itself";
  why += search_note(packing);
  return {std::move(packing.rings), packing.links_per_ring, false, true, std::move(why)};
}

/// @param gpus  GPU numbers by member index, for the text only
/// @source  models/libraries/SOURCES.md (NCCL 2.3.7)
/// @limits  several domains: the facts say only that host memory joins them; taken as one ring, domain after domain
RingPlan plan_rings(const PairTable& pairs, const std::vector<int>& gpus) {
  if (pairs.all(PairKind::kNvswitch)) return switch_rings(pairs);
  const auto domains = pairs.domains();
  std::string note;
  if (domains.size() == 1 && !pairs.all(PairKind::kPcie)) {
    RingPacking packing = pack(pairs);
    if (!packing.rings.empty()) return nvlink_rings(std::move(packing), pairs.members());
    note = search_note(packing);
  }
  std::vector<int> ring;
  for (const auto& domain : domains) {
    const auto part = chain(pairs, domain);
    ring.insert(ring.end(), part.begin(), part.end());
  }
  if (pairs.all(PairKind::kPcie))
    return {
        {std::move(ring)}, 0, false, false, "no NVLink joins these GPUs: one ring over PCIe, nearest neighbour first"};
  std::string why = obstacle(pairs, domains, gpus) + ", so no closed NVLink ring exists; one ring " +
                    (domains.size() == 1 ? "in rank order, " : "through one set after the other, ") +
                    host_hops(pairs, ring, gpus) + note;
  return {{std::move(ring)}, 0, true, false, std::move(why)};
}

// source of all in this block: models/libraries/SOURCES.md (NCCL 2.3.7)
constexpr int kMatrixThreads = 256;
constexpr int kThreadsPascalNvlink = 128;
constexpr double kBytesPerThreadPascal = 32;  // and older
constexpr double kBytesPerThreadVolta = 64;   // and newer
constexpr double kLLBetweenNodes = 2;
constexpr double kPayloadShareLL = 8.0 / 16;  // lines of 8 bytes of data and 8 bytes of flags

const std::string kLL = "LL", kSimple = "Simple";

const EarlyLatency& latencies(const std::string& protocol) {
  static const std::map<std::string, const EarlyLatency*> kProtocols = {{kLL, &kEarlyLL}, {kSimple, &kEarlySimple}};
  const auto known = kProtocols.find(protocol);
  if (known == kProtocols.end()) throw InputError("protocol '" + protocol + "': nccl-2.3 has LL, Simple");
  return *known->second;
}

/// Threads of a block. @limits  "Pascal with NVLink" is read as: Pascal, and the rings run over NVLink
int threads_of(const Platform& platform, const Communicator& communicator) {
  const bool narrow = is_pascal(oldest_generation(platform, communicator.gpus)) && communicator.path_class == "NVL";
  return narrow ? kThreadsPascalNvlink : kMatrixThreads;
}

/// The matrix era, as NCCL 2.3.7, the first open version of it.
/// @source  models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7, no code of it)
/// @limits  rings only, also between nodes, where 2.4 has trees for small sizes. Several domains (pairs of GPUs that
/// nothing but host memory joins) become one ring.
class NcclMatrix final : public EarlyLibrary {
 public:
  /// In a fallback or PCIe ring no NVLink was given out: Channel::links and link_equivalents are 0.
  /// A GPU pair with two links gives two channels of the same order; only thread blocks on one ring are merged.
  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    check_members(platform, gpus);
    const PairTable pairs(platform, gpus);
    RingPlan plan = plan_rings(pairs, gpus);
    Communicator made;
    made.library = "nccl-2.3";
    made.gpus = gpus;
    int spare = plan.duplicated ? kMaxRings - static_cast<int>(plan.rings.size()) : 0;
    for (const auto& ring : plan.rings) {
      made.channels.push_back(pair_channel(pairs, gpus, ring, plan.links_per_ring));
      made.link_equivalents += plan.links_per_ring;
      if (spare-- > 0) made.channels.back().blocks = 2;
    }
    made.path_class = to_text(worst_class(pairs, plan.rings));
    made.fallback = plan.fallback;
    made.why = std::move(plan.why);
    return made;
  }

  [[nodiscard]] bool spans_nodes() const override { return true; }

  /// A ring for each NIC next to a member, of one GPU a node for each NIC of it, run by two blocks like those of a
  /// node.
  [[nodiscard]] Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          const ExitSettings& /*exits*/) const override {
    check_nodes(cluster, gpus, nodes);
    Communicator made;
    if (gpus.size() == 1) {
      made.library = "nccl-2.3";
      made.gpus = gpus;
      made.path_class = "LOC";
      for (int nic = 0; nic < cluster.nics(); ++nic)
        if (cluster.reaches(cluster.node().gpu(gpus.front()), nic))
          made.channels.push_back({gpus, {}, 0, 2, nic_way(cluster, nic), nic_way(cluster, nic)});
    } else {
      made = build(cluster.node(), gpus);
      made.channels = headed_rings(cluster, made.channels, nic_heads(cluster, gpus));
    }
    made.nodes = nodes;
    made.why = fmt::format("{} rings over {} nodes; inside a node: {}", made.channels.size(), nodes,
                           gpus.size() == 1 ? "one GPU" : made.why);
    return made;
  }

  /// LL while size <= ranks x rings x threads x bytes a thread, where a ring run by two blocks counts twice. The
  /// library lets blocks and threads grow with the size before that, at 8 bytes a thread and rank; both are at their
  /// limits long before the size is, so the limit alone decides.
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    static_cast<void>(ring_operation(communicator.library, operation));  // throws on one that NCCL lacks
    static_cast<void>(latencies(forced.empty() ? kLL : forced));         // throws on a protocol this era lacks
    const int sm = oldest_generation(platform, communicator.gpus);
    double blocks = 0;
    for (const Channel& ring : communicator.channels) blocks += ring.blocks;
    const double threads = blocks * threads_of(platform, communicator);
    const double per_thread = sm >= kVolta ? kBytesPerThreadVolta : kBytesPerThreadPascal;
    const double ranks = communicator.ranks();
    const bool small = size.si <= ranks * threads * per_thread * (communicator.nodes > 1 ? kLLBetweenNodes : 1);
    const std::string chosen = !forced.empty() ? forced : small ? kLL : kSimple;
    return {chosen, chosen == kLL ? kPayloadShareLL : 1};
  }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override { return latencies(protocol).base(); }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    return latencies(protocol).hop(path_class);
  }

  [[nodiscard]] std::optional<Prior> block_rate(const Platform& platform, const Communicator& communicator,
                                                const std::string& protocol) const override {
    const Prior& thread = protocol == kLL ? kEarlyThreadLL_Bps : kEarlyThread_Bps;
    return Prior{threads_of(platform, communicator) * thread.value, thread.spread};
  }
};

const bool nccl_matrix_registered =
    libraries().add({"nccl-2.3", "NCCL 2.0-2.4: rings packed into a matrix of links",
                     "models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7)"},
                    [] { return std::make_unique<NcclMatrix>(); });

}  // namespace
}  // namespace linkcast
