#include "models/libraries/matrix_rings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/libraries/pair_rings.hpp"
#include "models/libraries/ring_packing.hpp"
#include "sim/base/sequence.hpp"

namespace linkcast {
namespace {

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

}  // namespace

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

}  // namespace linkcast
