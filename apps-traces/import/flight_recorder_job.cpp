#include "apps-traces/import/flight_recorder_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps-traces/import/lines.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::flight {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The last number of a file's name: nccl_trace_rank_3, dump-3.json.gz.
std::optional<int> number_in(const std::string& path) {
  static const Regex last(R"((?:.*\D)?(\d{1,7})(?:\.[A-Za-z]+)*)");
  const Match match = last.whole(trace_file_name(path));
  return match ? std::optional<int>(std::stoi(match[1])) : std::nullopt;
}

std::string named(const Entry& entry) {
  return fmt::format("{}{} of group {}", entry.message ? "p2p_seq_id " : "collective_seq_id ", entry.sequence,
                     shown(entry.group));
}

/// Every rank has a buffer of the same size, in whose parts it may not be equal.
bool of_equal_sizes(const std::string& op) { return op == "all_reduce" || op == "broadcast" || op == "reduce"; }

}  // namespace

Job::Job(const std::vector<std::string>& files) {
  order(files);
  read_groups();
  survey();
  choose();
  tell_unfinished();
  tell_calls();
}

void Job::order(const std::vector<std::string>& files) {
  std::vector<std::optional<std::size_t>> of_rank(files.size());
  bool numbered = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto number = number_in(files[i]);
    numbered = numbered && number && at(*number) < files.size() && !of_rank[at(*number)];
    if (numbered) of_rank[at(*number)] = i;
  }
  for (std::size_t i = 0; i < files.size(); ++i) dumps_.push_back(read_dump(files[numbered ? *of_rank[i] : i]));
  if (!numbered && files.size() > 1)
    notes_.push_back("assumed: ranks are in the order of the files, whose names do not number them from 0");
}

std::vector<int> Job::members(int rank, const Entry& entry) const {
  const auto listed = dump(rank).groups.find(entry.group);
  if (listed != dump(rank).groups.end()) return listed->second;
  std::vector<int> all;
  for (int i = 0; i < ranks(); ++i) all.push_back(i);
  return all;
}

std::string Job::group_of(int rank, const Entry& entry) const {
  const std::vector<int> ranks = members(rank, entry);
  return fmt::format("{} of {} from {}", entry.group, ranks.size(), ranks.front());
}

void Job::read_groups() {
  for (const Dump& dump : dumps_)
    for (const auto& [name, members] : dump.groups) alone_ = alone_ || (ranks() == 1 && members.size() > 1);
  std::set<std::string> assumed;
  std::set<std::size_t> sizes;
  for (int rank = 0; rank < ranks(); ++rank)
    for (const Entry& entry : dump(rank).entries) {
      if (dump(rank).groups.count(entry.group) == 0) assumed.insert(entry.group);
      const std::string name = group_of(rank, entry);
      if (groups_.count(name) > 0) continue;
      const std::vector<int> ranks_of = members(rank, entry);
      sizes.insert(ranks_of.size());
      for (const int member : ranks_of)
        if (!alone_ && member >= ranks())
          throw InputError(
              fmt::format("{}: group {} has rank {}, and files of {} are given: give those of all, or of one alone",
                          entry.place, shown(entry.group), member, counted(dumps_.size(), "rank")));
      groups_[name] = alone_ ? std::vector<int>{0} : ranks_of;
    }
  for (const std::string& name : assumed)
    notes_.push_back("assumed: group " + shown(name) + " is all ranks: pg_config does not list it");
  if (!alone_) return;
  notes_.push_back(
      "one rank of many alone: replay it on more by ranks, the others taken alike, each group as all "
      "ranks; sends and receives are left out");
  if (sizes.size() > 1) notes_.push_back("assumed: its groups, of different sizes, are all of all ranks");
}

int Job::peer_of(int rank, const Entry& entry) const {
  const std::vector<int> ranks_of = members(rank, entry);
  if (entry.peer < 0 || at(entry.peer) >= ranks_of.size())
    throw InputError(fmt::format("{}/profiling_name: peer {} is not in the group", entry.place, entry.peer));
  return ranks_of[at(entry.peer)];
}

double Job::size_B(int rank, const Entry& entry) const {
  const auto parts = static_cast<double>(members(rank, entry).size());
  if (entry.op == "gather") return entry.in_B * parts;
  if (entry.op == "scatter") return entry.out_B * parts;
  return std::max(entry.in_B, entry.out_B);
}

std::vector<Job::Key> Job::keys_of(int rank) const {
  std::map<std::pair<std::string, std::int64_t>, int> seen;
  std::vector<Key> keys;
  for (const Entry& entry : dump(rank).entries) {
    const std::string group = group_of(rank, entry);
    keys.emplace_back(group, entry.sequence, entry.message ? -1 : seen[{group, entry.sequence}]++);
  }
  return keys;
}

Job::Pair Job::pair_of(int rank, const Entry& entry) const {
  const int peer = peer_of(rank, entry);
  const bool sends = entry.op == "send";
  return {group_of(rank, entry), sends ? rank : peer, sends ? peer : rank};
}

void Job::survey() {
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::vector<Key> keys = keys_of(rank);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Entry& entry = dump(rank).entries[i];
      if (entry.message) {
        if (alone_ || !entry.completed()) continue;
        Ends& ends = messages_[pair_of(rank, entry)];
        ++(entry.op == "send" ? ends.sends : ends.receives);
        continue;
      }
      Call& call = calls_[keys[i]];
      const double size = size_B(rank, entry);
      if (call.ranks++ == 0) {
        call.op = entry.op;
        call.size_B = size;
        call.first_place = entry.place;
      }
      call.other_op = call.other_op || call.op != entry.op;
      call.other_size = call.other_size || call.size_B != size;
      call.size_B = std::max(call.size_B, size);
      if (entry.completed()) ++call.completed;
    }
  }
}

void Job::choose_of(int rank) {
  const std::vector<Key> keys = keys_of(rank);
  std::vector<char>& whole = whole_.emplace_back(keys.size(), 0);
  std::map<Pair, Ends> before;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Entry& entry = dump(rank).entries[i];
    const int members = static_cast<int>(groups_.at(std::get<0>(keys[i])).size());
    if (!entry.message) {
      const Call& call = calls_.at(keys[i]);
      const bool alike = !call.other_op && !(call.other_size && of_equal_sizes(call.op));
      whole[i] = (alone_ || members > 1) && call.completed == members && alike ? 1 : 0;
    } else if (!alone_ && entry.completed()) {  // the last ones of both ends belong together
      const Pair pair = pair_of(rank, entry);
      const Ends& ends = messages_.at(pair);
      const bool sends = entry.op == "send";
      int& place = sends ? before[pair].sends : before[pair].receives;
      const int all = sends ? ends.sends : ends.receives;
      whole[i] = all - place <= std::min(ends.sends, ends.receives) ? 1 : 0;
      halves_ += 1 - whole[i];
      ++place;
    }
  }
}

void Job::choose() {
  for (int rank = 0; rank < ranks(); ++rank) choose_of(rank);
  for (int rank = 0; rank < ranks(); ++rank)  // as the trace has it: one size of all ranks
    for (std::size_t i = 0; const Key& key : keys_of(rank)) {
      Entry& entry = dumps_[at(rank)].entries[i++];
      if (entry.message || entry.op == "gather" || entry.op == "scatter") continue;
      entry.in_B = std::max(entry.in_B, calls_.at(key).size_B);
    }
}

void Job::tell_unfinished() {
  for (int rank = 0; rank < ranks(); ++rank) {
    std::size_t count = 0;
    const Entry* first = nullptr;
    for (const Entry& entry : dump(rank).entries) {
      if (entry.completed()) continue;
      if (count++ == 0) first = &entry;
    }
    if (count == 0) continue;
    notes_.push_back(fmt::format("finding: rank {}: {} never completed, the first {}, {}, {}: left out", rank,
                                 counted(count, "call"), first->op, named(*first), first->state));
  }
}

void Job::tell_calls() {
  std::size_t partial = 0, uneven = 0, lonely = 0;
  for (const auto& [key, call] : calls_) {
    const auto members = static_cast<int>(groups_.at(std::get<0>(key)).size());
    const std::string where = fmt::format(": collective_seq_id {} of group {}, {}", std::get<1>(key),
                                          shown(std::get<0>(key)), call.first_place);
    if (call.other_op)
      notes_.push_back("finding: ranks call different operations" + where + ": left out");
    else if (call.other_size && of_equal_sizes(call.op))
      notes_.push_back("finding: ranks call " + call.op + " with different sizes" + where + ": left out");
    else if (call.other_size)
      ++uneven;
    if (!alone_ && members == 1) ++lonely;
    if (call.ranks < members) ++partial;
  }
  if (partial > 0)
    notes_.push_back("left out: " + counted(partial, "collective") +
                     " that the dumps of some ranks do not hold: the buffer (TORCH_NCCL_TRACE_BUFFER_SIZE) keeps the "
                     "last calls alone, or a rank never came");
  if (halves_ > 0)
    notes_.push_back("left out: " + counted(at(halves_), "message") +
                     " of which the other end is not there; assumed: "
                     "the last ones of both ends belong together");
  if (uneven > 0)
    notes_.push_back("assumed: parts of different size take as long as equal ones of the largest (" +
                     counted(uneven, "call") + ")");
  if (lonely > 0) notes_.push_back("left out: " + counted(lonely, "collective") + " of groups of one rank");
  int markers = 0;
  for (const Dump& dump : dumps_) markers += dump.markers;
  if (markers > 0)
    notes_.push_back(fmt::format("passed over: {} entries that only end a group of coalesced calls", markers));
}

}  // namespace linkcast::flight
