#include "cli/check_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/base/log.hpp"
#include "sim/machine/collective.hpp"
#include "sim/records/trace.hpp"

namespace linkcast::cli {
namespace {

/// What a trace has so far, as small as it can be kept.
class Whole {
 public:
  explicit Whole(const TraceReader& reader) : reader_(reader) {
    for (const PluginInfo& info : collectives().list()) ops_.insert(info.name);
    steps_.resize(static_cast<std::size_t>(reader.header().ranks));
    for (const auto& [name, ranks] : reader.header().groups) members_[name].insert(ranks.begin(), ranks.end());
  }

  void event(const TraceEvent& event) {
    ++events_;
    if (event.kind == TraceKind::kCollective) collective(event);
    if (event.kind == TraceKind::kSend) ++messages_[{event.rank, event.peer, event.tag}];
    if (event.kind == TraceKind::kStep) ++steps_[static_cast<std::size_t>(event.rank)];
    if (event.kind == TraceKind::kRecv) --messages_[{event.peer, event.rank, event.tag}];
  }

  [[nodiscard]] long events() const { return events_; }

  /// After the last event.
  void end() const {
    for (const auto& [group, calls] : calls_)
      for (const int rank : members_.at(group))
        if (calls_of(calls, rank) != calls.begin()->second)
          fail(fmt::format("group '{}': rank {} calls {} collectives, rank {} calls {}", group, calls.begin()->first,
                           calls.begin()->second, rank, calls_of(calls, rank)));
    for (const auto& [ends, more] : messages_)
      if (more != 0)
        fail(fmt::format("rank {} to rank {}{}: {}{}", std::get<0>(ends), std::get<1>(ends),
                         std::get<2>(ends).empty() ? "" : " with tag '" + std::get<2>(ends) + "'", std::abs(more),
                         more > 0 ? " more sends than receives" : " more receives than sends"));
    const auto [least, most] = std::minmax_element(steps_.begin(), steps_.end());
    if (*least < *most)
      log::Log("check").warning("{}: rank {} has {} steps and rank {} {}: it may have been cut off", reader_.name(),
                                least - steps_.begin(), *least, most - steps_.begin(), *most);
  }

 private:
  void collective(const TraceEvent& event) {
    const std::string place = fmt::format("{} line {}", reader_.name(), reader_.line());
    if (ops_.count(event.op) == 0) {
      std::string known;
      for (const std::string& op : ops_) known += (known.empty() ? "" : ", ") + op;
      throw InputError(place, "/op", "'" + event.op + "' is no collective: one of " + known);
    }
    if (members_.at(event.group).count(event.rank) == 0)
      throw InputError(place, "/group", fmt::format("rank {} is not in '{}'", event.rank, event.group));
    ++calls_[event.group][event.rank];
  }
  static long calls_of(const std::map<int, long>& calls, int rank) {
    const auto found = calls.find(rank);
    return found == calls.end() ? 0 : found->second;
  }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(reader_.name() + ": " + what); }

  const TraceReader& reader_;
  long events_ = 0;
  std::vector<long> steps_;  ///< by rank
  std::set<std::string> ops_;
  std::map<std::string, std::set<int>> members_;
  std::map<std::string, std::map<int, long>> calls_;
  std::map<std::tuple<int, int, std::string>, long> messages_;  ///< sends less receives
};

}  // namespace

std::string check_trace(const std::string& path) {
  TraceReader reader(path);
  Whole whole(reader);
  while (const std::optional<TraceEvent> event = reader.next()) whole.event(*event);
  whole.end();
  return fmt::format("trace/1 ({} events of {} ranks)", whole.events(), reader.header().ranks);
}

}  // namespace linkcast::cli
