// Colours are refined until the messages of one colour take equally much of the links of each colour, and the links of
// one colour serve equally many messages of each colour: an equitable partition. Then the max-min fair rates are equal
// within a colour. Proof: give each message the rate of its colour in the quotient. All links of a colour then carry
// the same sum, that of the quotient's constraint, so none is overloaded; and each message has a full link on which
// nobody is faster, because its colour has one. Only the max-min fair rates are like that (Bertsekas and Gallager, Data
// Networks, section 6.5.2). Equal rates and sizes end together, so that this holds until the last one ends.
#include "sim/forecast/reduced_alltoall.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "sim/forecast/alltoall_parts.hpp"

namespace linkcast {
namespace {

using Colour = std::uint64_t;

/// SplitMix64. source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
Colour mixed(Colour x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

Colour of_double(double value) {
  Colour bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return mixed(bits);
}

/// Factor for what is taken with this weight: odd, so that a product keeps all bits of what it multiplies.
Colour factor(double weight) { return of_double(weight) | 1; }

Colour whole(double count) { return static_cast<Colour>(count); }

std::size_t distinct(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Sums of colours do not depend on the order, so that a colour speaks of a multiset of neighbours.
class Refinement {
 public:
  explicit Refinement(const AlltoallParts& parts)
      : parts_(parts),
        ends_(static_cast<std::size_t>(parts.kinds()) * static_cast<std::size_t>(parts.members())),
        messages_(parts.message_count(), 1),
        links_(parts.link_count(), 0) {
    for (std::size_t link = 0; link < links_.size(); ++link)
      if (parts.key(link) >= 0) links_[link] = of_double(parts.cluster().capacity(parts.key(link)));
    for (std::size_t index = 0; index < messages_.size(); ++index) {
      const auto message = parts.message(index);
      if (parts.count(message) <= 0) messages_[index] = 0;  // there is none
      if (message.inside && messages_[index] > 0)
        messages_[index] = of_double(parts.inside_way(message.i, message.j).rate_cap_Bps);
    }
  }

  /// @return  rounds
  int run() {
    int rounds = 0;
    for (std::size_t before = 0, now = 1; now != before; ++rounds) {
      before = now;
      refine_messages();
      refine_links();
      now = distinct(messages_) + distinct(links_);
    }
    return rounds;
  }

  [[nodiscard]] Colour message(std::size_t index) const { return messages_[index]; }
  [[nodiscard]] Colour link(std::size_t index) const { return links_[index]; }

 private:
  [[nodiscard]] Colour of_way(int kind, const NodeWay& way) const {
    Colour sum = 0;
    for (const Use& use : way.uses) sum += factor(use.weight) * mixed(links_[parts_.of_node(kind, use.constraint)]);
    return sum;
  }
  void give(int kind, const NodeWay& way, Colour colour) {
    for (const Use& use : way.uses) taken_[parts_.of_node(kind, use.constraint)] += factor(use.weight) * colour;
  }
  [[nodiscard]] std::size_t end(int kind, int member) const {
    return static_cast<std::size_t>(kind) * static_cast<std::size_t>(parts_.members()) +
           static_cast<std::size_t>(member);
  }
  [[nodiscard]] std::size_t pair(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(parts_.pairs().switches()) +
           static_cast<std::size_t>(to);
  }
  template <class Visit>
  void each_between(const Visit& visit) const {
    const int kinds = parts_.kinds(), members = parts_.members();
    std::size_t index = 0;
    for (int a = 0; a < kinds; ++a)
      for (int i = 0; i < members; ++i)
        for (int b = 0; b < kinds; ++b)
          for (int j = 0; j < members; ++j, ++index)
            if (messages_[index] != 0) visit(index, a, i, b, j);
  }
  template <class Visit>
  void each_inside(const Visit& visit) const {
    for (int a = 0; a < parts_.kinds(); ++a)
      for (int i = 0; i < parts_.members(); ++i)
        for (int j = 0; j < parts_.members(); ++j)
          if (i != j) visit(parts_.inside(a, i, j), a, i, j);
  }
  [[nodiscard]] int at_switch(int kind, int member) const {
    return parts_.kind(kind).switches[static_cast<std::size_t>(member)];
  }

  void refine_messages() {
    const SwitchPairs& pairs = parts_.pairs();
    const int switches = pairs.switches();
    between_.assign(static_cast<std::size_t>(switches) * static_cast<std::size_t>(switches), 0);
    for (int from = 0; from < switches; ++from)
      for (int to = 0; to < switches; ++to) {
        const SwitchPairs::Pair ways = pairs.pair(from, to);
        for (const auto* one = ways.begin; one != ways.end; ++one)
          between_[pair(from, to)] += factor(one->share) * mixed(links_[parts_.of_fabric(one->link)]);
      }
    std::vector<Colour> out(ends_), in(ends_);
    for (int kind = 0; kind < parts_.kinds(); ++kind)
      for (int i = 0; i < parts_.members(); ++i) {
        out[end(kind, i)] = of_way(kind, parts_.out()[static_cast<std::size_t>(i)]);
        in[end(kind, i)] = of_way(kind, parts_.in()[static_cast<std::size_t>(i)]);
      }
    each_between([&](std::size_t index, int a, int i, int b, int j) {
      const Colour way = out[end(a, i)] + in[end(b, j)] + between_[pair(at_switch(a, i), at_switch(b, j))];
      messages_[index] = mixed(messages_[index] + mixed(way)) | 1;  // never 0
    });
    each_inside([&](std::size_t index, int a, int i, int j) {
      messages_[index] = mixed(messages_[index] + mixed(of_way(a, parts_.inside_way(i, j)))) | 1;
    });
  }

  void refine_links() {
    const SwitchPairs& pairs = parts_.pairs();
    taken_.assign(links_.size(), 0);
    std::fill(between_.begin(), between_.end(), 0);
    std::vector<Colour> out(ends_), in(ends_);
    each_between([&](std::size_t index, int a, int i, int b, int j) {
      const Colour colour = mixed(messages_[index]);
      out[end(a, i)] += whole(parts_.peers(a, b)) * colour;
      in[end(b, j)] += whole(parts_.peers(b, a)) * colour;
      between_[pair(at_switch(a, i), at_switch(b, j))] += whole(parts_.kind(a).count * parts_.peers(a, b)) * colour;
    });
    for (int kind = 0; kind < parts_.kinds(); ++kind)
      for (int i = 0; i < parts_.members(); ++i) {
        give(kind, parts_.out()[static_cast<std::size_t>(i)], out[end(kind, i)]);
        give(kind, parts_.in()[static_cast<std::size_t>(i)], in[end(kind, i)]);
      }
    each_inside(
        [&](std::size_t index, int a, int i, int j) { give(a, parts_.inside_way(i, j), mixed(messages_[index])); });
    for (int from = 0; from < pairs.switches(); ++from)
      for (int to = 0; to < pairs.switches(); ++to) {
        const SwitchPairs::Pair ways = pairs.pair(from, to);
        for (const auto* one = ways.begin; one != ways.end; ++one)
          taken_[parts_.of_fabric(one->link)] += factor(one->share) * between_[pair(from, to)];
      }
    for (std::size_t link = 0; link < links_.size(); ++link)
      if (taken_[link] != 0) links_[link] = mixed(links_[link] + mixed(taken_[link]));
  }

  const AlltoallParts& parts_;
  std::size_t ends_;
  std::vector<Colour> messages_, links_;
  std::vector<Colour> taken_, between_;  ///< kept for their memory
};

/// One activity for each colour of messages, one constraint for each colour of links that some message takes.
class Quotient {
 public:
  Quotient(const AlltoallParts& parts, const Refinement& colours) : parts_(parts), colours_(colours) {
    for (std::size_t link = 0; link < parts.link_count(); ++link) copies_[colours.link(link)] += parts.copies(link);
    for (std::size_t index = 0; index < parts.message_count(); ++index) {
      const double count = parts.count(parts.message(index));
      if (count <= 0) continue;
      const auto [entry, fresh] = class_of_.try_emplace(colours.message(index), classes_.size());
      if (fresh) classes_.push_back({index, 0});
      classes_[entry->second].messages += count;
    }
  }

  ReducedProblem make() {
    for (const Class& one : classes_) add(one);
    return std::move(made_);
  }

 private:
  struct Class {
    std::size_t first = 0;
    double messages = 0;
  };

  /// All messages of the class together, shared by all links of each class: what one link sees of one message's rate.
  void add(const Class& one) {
    const auto message = parts_.message(one.first);
    Activity activity;
    activity.work_B = parts_.traffic().bytes;
    activity.rate_cap_Bps = parts_.traffic().rate_cap_Bps;
    if (message.inside) {
      const NodeWay& way = parts_.inside_way(message.i, message.j);
      activity.rate_cap_Bps = std::min(activity.rate_cap_Bps, way.rate_cap_Bps);
      take(message.a, way);
    } else {
      take(message.a, parts_.out()[static_cast<std::size_t>(message.i)]);
      take(message.b, parts_.in()[static_cast<std::size_t>(message.j)]);
      const SwitchPairs::Pair ways =
          parts_.pairs().pair(parts_.kind(message.a).switches[static_cast<std::size_t>(message.i)],
                              parts_.kind(message.b).switches[static_cast<std::size_t>(message.j)]);
      for (const auto* passed = ways.begin; passed != ways.end; ++passed)
        take(parts_.of_fabric(passed->link), passed->share * parts_.traffic().stored);
    }
    for (Use& use : uses_) {
      use.weight *= one.messages / shared_by_[static_cast<std::size_t>(use.constraint)];
      place_[static_cast<std::size_t>(use.constraint)] = -1;
    }
    activity.uses = std::move(uses_);
    uses_.clear();
    made_.messages += one.messages;
    made_.problem.activities.push_back(std::move(activity));
  }

  void take(int kind, const NodeWay& way) {
    for (const Use& use : way.uses) take(parts_.of_node(kind, use.constraint), use.weight);
  }

  void take(std::size_t link, double weight) {
    const Colour colour = colours_.link(link);
    const auto [entry, fresh] = number_.try_emplace(colour, static_cast<int>(made_.keys.size()));
    if (fresh) {
      made_.keys.push_back(parts_.key(link));
      made_.problem.capacity_Bps.push_back(parts_.cluster().capacity(made_.keys.back()));
      shared_by_.push_back(copies_.at(colour));
      made_.links += shared_by_.back();
      place_.push_back(-1);
    }
    int& place = place_[static_cast<std::size_t>(entry->second)];
    if (place < 0) {
      place = static_cast<int>(uses_.size());
      uses_.push_back({entry->second, 0});
    }
    uses_[static_cast<std::size_t>(place)].weight += weight;
  }

  const AlltoallParts& parts_;
  const Refinement& colours_;
  std::unordered_map<Colour, double> copies_;         ///< links of each colour
  std::unordered_map<Colour, std::size_t> class_of_;  ///< of messages, by colour
  std::vector<Class> classes_;
  std::unordered_map<Colour, int> number_;  ///< of constraints
  std::vector<double> shared_by_;           ///< per constraint: links
  std::vector<int> place_;                  ///< per constraint: index in uses_, -1 if not taken yet
  std::vector<Use> uses_;                   ///< of the next activity
  ReducedProblem made_;
};

}  // namespace

std::variant<ReducedProblem, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic) {
  const AlltoallParts parts(cluster, traffic);
  if (!parts.pairs().irregular().empty()) return Irregular{parts.pairs().irregular()};
  Refinement colours(parts);
  const int rounds = colours.run();
  ReducedProblem reduced = Quotient(parts, colours).make();
  reduced.rounds = rounds;
  reduced.minimal_only = parts.pairs().minimal_only();
  reduced.farthest_s = parts.pairs().farthest_s();
  return reduced;
}

}  // namespace linkcast
