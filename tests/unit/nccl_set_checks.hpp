#pragma once
// Checks one set of GPUs in one version against the rules of nccl_routes.hpp and reports what is wrong as text.
#include <ctime>
#include <set>
#include <sstream>

#include "tests/unit/nccl_routes.hpp"

namespace linkcast::test::nccl_graph {

/// Over all searches of one SetChecks.
struct SetFigures {
  int searches = 0;
  double seconds = 0, worst_s = 0;
  std::string worst;
};

inline std::string to_text(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += (text.empty() ? "" : " ") + std::to_string(gpu);
  return text;
}

/// "nccl-2.18" -> 18
inline int minor(const std::string& version) { return std::stoi(version.substr(version.find('.') + 1)); }

/// All that the search decides, as text: two answers are the same if this is.
inline std::string answer(const linkcast::Communicator& made) {
  std::ostringstream text;
  const auto add = [&](const auto& list) {
    for (const auto& item : list) {
      text << "\n" << to_text(item.order) << " x" << item.blocks << ":";
      for (const linkcast::Hop& hop : item.hops)
        text << " " << hop.from << ">" << hop.to << "/" << static_cast<int>(hop.kind) << "/" << hop.via;
    }
  };
  text << made.path_class << " " << made.tree_class << " " << made.library_channel_bandwidth.si << " "
       << made.tree_channel_bandwidth.si << " " << made.rings_found << " " << made.why;
  add(made.channels);
  add(made.trees);
  return text.str();
}

class SetChecks {
 public:
  SetChecks(const std::string& version, const std::string& machine)
      : library_(library(version)),
        platform_(platform(machine)),
        counting_(platform_, minor(version)),
        name_(version + ", " + machine) {}

  /// @returns what is wrong, a line each; empty if nothing
  std::string check(const std::vector<int>& gpus) {
    const linkcast::Communicator made = timed(gpus);
    const std::string wrong = check(made);
    return answer(made) == answer(timed(gpus)) ? wrong : wrong + name_ + ": another answer the second time\n";
  }

  std::string check(const linkcast::Communicator& made) {
    wrong_.str("");
    const std::vector<int>& gpus = made.gpus;
    if (made.channels.empty()) wrong_ << "no ring\n";
    for (const auto& ring : made.channels) check_order(ring, gpus, true);
    for (const auto& tree : made.trees) check_order(tree, gpus, false);
    if (made.library_channel_bandwidth.si == 0)
      check_links(made);
    else
      check_budgets(made);
    return wrong_.str().empty() ? "" : name_ + ", GPUs " + to_text(gpus) + ": " + wrong_.str() + answer(made);
  }

  [[nodiscard]] const SetFigures& figures() const { return figures_; }

  linkcast::Communicator timed(const std::vector<int>& gpus) {
    const std::clock_t started = std::clock();  // of this process: a loaded machine does not count
    linkcast::Communicator made = library_.build(platform_, gpus);
    const double took = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    figures_.seconds += took;
    if (took > figures_.worst_s) {
      figures_.worst_s = took;
      figures_.worst = name_ + ", GPUs " + to_text(gpus);
    }
    ++figures_.searches;
    return made;
  }

 private:
  template <class Item>
  void check_order(const Item& item, const std::vector<int>& gpus, bool closed) {
    const auto& order = item.order;
    if (order.size() != gpus.size() ||
        std::set<int>(order.begin(), order.end()) != std::set<int>(gpus.begin(), gpus.end()))
      wrong_ << "not each GPU once: " << to_text(order) << "\n";
    if (closed && order.front() != gpus.front()) wrong_ << "does not start at the first member\n";
    if (item.hops.size() + (closed ? 0 : 1) != order.size()) wrong_ << "number of hops\n";
    for (std::size_t i = 0; i < item.hops.size(); ++i)
      if (item.hops[i].from != order[i] || item.hops[i].to != order[(i + 1) % order.size()])
        wrong_ << "hops do not follow the order\n";
  }

  /// Graph era.
  void check_budgets(const linkcast::Communicator& made) {
    if (made.channels.size() != made.trees.size()) wrong_ << "rings and trees differ in number\n";
    if (static_cast<int>(made.channels.size()) > made.rings_found) wrong_ << "more rings than found\n";
    check_budget(made.channels, made, made.library_channel_bandwidth.si, made.path_class);
    check_budget(made.trees, made, made.tree_channel_bandwidth.si, made.tree_class);
  }

  template <class Items>
  void check_budget(const Items& items, const linkcast::Communicator& made, double speed_si,
                    const std::string& claimed) {
    std::map<Leg, double> used;
    Class worst = kNvl;
    for (const auto& item : items)
      for (const linkcast::Hop& hop : item.hops) {
        const linkcast::Hop expected = counting_.expected(hop.from, hop.to, made.gpus);
        if (expected.kind != hop.kind || (hop.kind == linkcast::HopKind::kRelay && !same_relay(hop, expected)))
          wrong_ << "hop " << hop.from << "->" << hop.to << " is of another kind\n";
        const Way way = counting_.way(hop);
        worst = std::max(worst, way.path_class);
        counting_.charge(way, speed_si / 1e9, used);
      }
    if (claimed != to_text(worst)) wrong_ << "class " << claimed << ", but the worst hop is " << to_text(worst) << "\n";
    // The library keeps what is left of a link in thousandths of GB/s.
    const double rounding = 0.001 * static_cast<double>(items.size() * made.gpus.size());
    for (const auto& [leg, speed] : used)
      if (speed > counting_.capacity(leg) + rounding)
        wrong_ << "link " << leg.from << "->" << leg.to << ": " << speed << " of " << counting_.capacity(leg) << "\n";
  }

  /// Relays of equal width are equally good.
  [[nodiscard]] bool same_relay(const linkcast::Hop& a, const linkcast::Hop& b) const {
    const auto width = [&](const linkcast::Hop& hop) {
      return std::min(counting_.between(hop.from, hop.via), counting_.between(hop.via, hop.to));
    };
    return width(a) == width(b);
  }

  /// Matrix era: NVLinks given out to rings; a ring that was given none leaves no pair of links.
  void check_links(const linkcast::Communicator& made) {
    std::map<Leg, double> used;
    for (const auto& ring : made.channels)
      for (const linkcast::Hop& hop : ring.hops) {
        if (made.path_class == "NVL" && !counting_.direct(hop.from, hop.to)) wrong_ << "no NVLink\n";
        if (hop.kind == linkcast::HopKind::kRelay) wrong_ << "relayed\n";
        if (counting_.direct(hop.from, hop.to) && hop.kind != linkcast::HopKind::kPeer) wrong_ << "NVLink not used\n";
        if (ring.links > 0) counting_.charge(counting_.way(hop), ring.links, used);
      }
    const double one = counting_.one_nvlink(made.gpus.front());
    for (const auto& [leg, links] : used)
      if (links > counting_.capacity(leg) / one + 1e-9)
        wrong_ << "link " << leg.from << "->" << leg.to << ": " << links << " links\n";
    if (made.fallback && (made.channels.size() != 1 || made.link_equivalents != 0)) wrong_ << "fallback not whole\n";
  }

  const linkcast::RingLibrary& library_;
  const linkcast::Platform& platform_;
  Counting counting_;
  std::string name_;
  std::ostringstream wrong_;
  SetFigures figures_;
};

}  // namespace linkcast::test::nccl_graph
