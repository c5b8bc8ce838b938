// Dumps of torch.distributed's flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE), one a rank, into a trace.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps-traces/import/flight_recorder_file.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::flight {
namespace {

// The dumps of all ranks of a job, and which of their calls make whole collectives and messages.

class Job {
 public:
  /// @throws InputError  also where a group has ranks of which no file is
  explicit Job(const std::vector<std::string>& files);

  [[nodiscard]] int ranks() const { return static_cast<int>(dumps_.size()); }
  [[nodiscard]] const Dump& dump(int rank) const { return dumps_[at(rank)]; }
  /// Ranks of each group of the trace, by its name there.
  [[nodiscard]] const std::map<std::string, std::vector<int>>& groups() const { return groups_; }
  /// Group of an entry, as the trace names it.
  [[nodiscard]] std::string group_of(int rank, const Entry& entry) const;
  /// Rank at the other end of a message.
  [[nodiscard]] int peer_of(int rank, const Entry& entry) const;
  /// Bytes as the trace counts them, of a collective those of all parts.
  [[nodiscard]] double size_B(int rank, const Entry& entry) const;
  /// The i-th entry of a rank: every rank of its group has it, and every one completed it.
  [[nodiscard]] bool whole(int rank, std::size_t i) const { return whole_[at(rank)][i] != 0; }
  /// Notes: assumed, found, left out.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// Group, sequence, and how many of that sequence came before on the same rank.
  using Key = std::tuple<std::string, std::int64_t, int>;
  struct Call {
    std::string op, first_place;
    double size_B = 0;
    int ranks = 0, completed = 0;
    bool other_op = false, other_size = false;
  };
  /// Group, sender, receiver.
  using Pair = std::tuple<std::string, int, int>;
  struct Ends {
    int sends = 0, receives = 0;
  };

  void order(const std::vector<std::string>& files);
  void read_groups();
  [[nodiscard]] std::vector<int> members(int rank, const Entry& entry) const;
  [[nodiscard]] std::vector<Key> keys_of(int rank) const;
  [[nodiscard]] Pair pair_of(int rank, const Entry& entry) const;
  void survey();
  void choose();
  void choose_of(int rank);
  void tell_unfinished();
  void tell_calls();

  bool alone_ = false;  ///< one rank of many
  std::vector<Dump> dumps_;
  std::map<std::string, std::vector<int>> groups_;
  std::map<Key, Call> calls_;
  std::map<Pair, Ends> messages_;
  std::vector<std::vector<char>> whole_;
  int halves_ = 0;  ///< completed messages of which the other end is not there
  std::vector<std::string> notes_;
};

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
  return fmt::format("{}{} of group {}", entry.message() ? "p2p_seq_id " : "collective_seq_id ", entry.sequence,
                     shown(entry.group));
}

/// Buffers that ranks give to an operation. Those of others than these are of equal sizes or not, as the caller likes.
enum class Buffers { kAny, kEqual, kPartSent, kPartReceived };
Buffers buffers_of(const std::string& op) {
  static const std::map<std::string, Buffers> kOf{{"all_reduce", Buffers::kEqual},
                                                  {"broadcast", Buffers::kEqual},
                                                  {"reduce", Buffers::kEqual},
                                                  {"gather", Buffers::kPartSent},
                                                  {"scatter", Buffers::kPartReceived}};
  const auto found = kOf.find(op);
  return found == kOf.end() ? Buffers::kAny : found->second;
}
bool of_equal_sizes(const std::string& op) { return buffers_of(op) == Buffers::kEqual; }

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
  const Buffers buffers = buffers_of(entry.op);
  if (buffers == Buffers::kPartSent) return entry.in_B * parts;
  if (buffers == Buffers::kPartReceived) return entry.out_B * parts;
  return std::max(entry.in_B, entry.out_B);
}

std::vector<Job::Key> Job::keys_of(int rank) const {
  std::map<std::pair<std::string, std::int64_t>, int> seen;
  std::vector<Key> keys;
  for (const Entry& entry : dump(rank).entries) {
    const std::string group = group_of(rank, entry);
    keys.emplace_back(group, entry.sequence, entry.message() ? -1 : seen[{group, entry.sequence}]++);
  }
  return keys;
}

Job::Pair Job::pair_of(int rank, const Entry& entry) const {
  const int peer = peer_of(rank, entry);
  const bool sends = entry.kind == TraceKind::kSend;
  return {group_of(rank, entry), sends ? rank : peer, sends ? peer : rank};
}

void Job::survey() {
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::vector<Key> keys = keys_of(rank);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Entry& entry = dump(rank).entries[i];
      if (entry.message()) {
        if (alone_ || !entry.completed()) continue;
        Ends& ends = messages_[pair_of(rank, entry)];
        ++(entry.kind == TraceKind::kSend ? ends.sends : ends.receives);
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
    if (!entry.message()) {
      const Call& call = calls_.at(keys[i]);
      const bool alike = !call.other_op && !(call.other_size && of_equal_sizes(call.op));
      whole[i] = (alone_ || members > 1) && call.completed == members && alike ? 1 : 0;
    } else if (!alone_ && entry.completed()) {  // the last ones of both ends belong together
      const Pair pair = pair_of(rank, entry);
      const Ends& ends = messages_.at(pair);
      const bool sends = entry.kind == TraceKind::kSend;
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
      const Buffers buffers = buffers_of(entry.op);
      if (entry.message() || buffers == Buffers::kPartSent || buffers == Buffers::kPartReceived) continue;
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

/// The calls of one rank as events.
class RankCalls {
 public:
  RankCalls(int rank, const Job& job, double gap_s, bool stamps, TraceSink& sink)
      : rank_(rank), job_(job), gap_s_(gap_s), stamps_(stamps), sink_(sink) {}

  /// @returns  false after the last
  bool next() {
    const std::vector<Entry>& entries = job_.dump(rank_).entries;
    while (next_ < entries.size() && !job_.whole(rank_, next_)) ++next_;
    if (next_ == entries.size()) return false;
    put(entries[next_++]);
    return true;
  }

 private:
  /// On one stream: its last event, and what the next one waits for besides.
  struct Stream {
    std::int64_t last = 0;
    std::vector<std::int64_t> before{};
    // Messages that were coalesced run at once: these have the same number.
    std::int64_t sequence = -1;
    int together = 0;
    std::vector<std::int64_t> together_before{};
  };

  void put(const Entry& entry) {
    const std::string group = job_.group_of(rank_, entry);
    Stream& stream = streams_[group];
    const bool joins = entry.message() && stream.together > 0 && stream.sequence == entry.sequence;
    if (!joins && gap_s_ > 0) put_gap(group, stream);
    TraceEvent event;
    event.rank = rank_;
    event.id = ++id_;
    event.size_B = job_.size_B(rank_, entry);
    take_times(entry, event);
    if (joins) {
      event.stream = fmt::format("{} message {}", group, stream.together++);
      event.after = stream.together_before;
      stream.before.push_back(*event.id);
    } else {
      event.stream = group;
      event.after = std::exchange(stream.before, {});
      stream.together_before = event.after;
      if (stream.last > 0) stream.together_before.push_back(stream.last);
      stream.last = *event.id;
      stream.together = entry.message() ? 1 : 0;
      stream.sequence = entry.sequence;
    }
    event.kind = TraceKind::kCollective;
    if (entry.message()) {
      event.kind = entry.kind;
      event.peer = job_.peer_of(rank_, entry);
      event.tag = group;
    } else {
      event.op = entry.op;
      event.group = group;
    }
    sink_.event(event);
  }

  void take_times(const Entry& entry, TraceEvent& event) {
    constexpr double kNano = 1e-9;
    const auto since = [&](std::int64_t ns) {
      return static_cast<double>(std::max<std::int64_t>(0, entry.created_ns - ns)) * kNano;
    };
    if (!zero_ns_) zero_ns_ = made_ns_ = entry.created_ns;
    if (stamps_) event.host_s = since(*made_ns_);
    made_ns_ = std::max(*made_ns_, entry.created_ns);
    const double begin_s = since(*zero_ns_);
    if (entry.duration_s) event.recorded = RecordedTime{begin_s, begin_s + *entry.duration_s};
  }

  void put_gap(const std::string& name, Stream& stream) {
    TraceEvent gap;
    gap.rank = rank_;
    gap.id = ++id_;
    gap.stream = name;
    gap.time_s = gap_s_;
    gap.after = std::exchange(stream.before, {});
    stream.last = id_;
    sink_.event(gap);
  }

  int rank_;
  const Job& job_;
  double gap_s_;
  bool stamps_;
  TraceSink& sink_;
  std::size_t next_ = 0;
  std::int64_t id_ = 0;
  std::optional<std::int64_t> zero_ns_{}, made_ns_{};
  std::map<std::string, Stream> streams_{};
};

class FlightRecorder final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"gap", "compute time before each call, e.g. 2ms; 0 unless said: a dump has none"},
            {"host", "stamps: CPU time between calls from time_created_ns, waiting included; none unless said"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const double gap_s = options.seconds("gap", 0);
    const bool stamps = options.picks("host", "none", "stamps");
    const Job job(files);
    sink.header(header_of(job, gap_s, stamps));
    std::vector<RankCalls> ranks;
    for (int rank = 0; rank < job.ranks(); ++rank) ranks.emplace_back(rank, job, gap_s, stamps, sink);
    for (bool more = true; more;) {
      more = false;
      for (RankCalls& rank : ranks) more = rank.next() || more;
    }
  }

 private:
  static TraceHeader header_of(const Job& job, double gap_s, bool stamps) {
    const Dump& first = job.dump(0);
    bool timed = false;
    for (int rank = 0; rank < job.ranks(); ++rank)
      for (const Entry& entry : job.dump(rank).entries) timed = timed || entry.duration_s;
    TraceHeader header;
    header.name = trace_file_name(first.file);
    header.ranks = job.ranks();
    header.source = "flight recorder of torch.distributed, version " + first.version + ", " + header.name;
    header.groups = job.groups();
    header.notes = {
        gap_s > 0 ? "compute before each call as said: " + to_text(Seconds{gap_s}) : "no compute: a dump has none",
        stamps ? "CPU time between calls from time_created_ns, waiting included" : "no CPU time between calls",
        timed ? "recorded times: durations on the GPU; assumed: each call began when it was made"
              : "no recorded times: a dump has durations with TORCH_NCCL_ENABLE_TIMING=1 alone",
        "assumed: calls of one process group follow each other, messages of one p2p_seq_id run at once; calls of "
        "different groups wait for each other only as ranks meet"};
    header.notes.insert(header.notes.end(), job.notes().begin(), job.notes().end());
    return header;
  }
};

const bool flight_recorder_registered = trace_importers().add(
    {"flight-recorder", "dumps of torch.distributed's flight recorder, pickle or JSON, one a rank, or one alone",
     "PyTorch 2.7 and 2.9 torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp: dumps 2.4 and "
     "2.10; CPython Lib/pickletools.py"},
    [] { return std::make_unique<FlightRecorder>(); });

}  // namespace

}  // namespace linkcast::flight
