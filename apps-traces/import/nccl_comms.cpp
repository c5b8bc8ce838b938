#include "apps-traces/import/nccl_comms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {
namespace {

constexpr std::string_view kMark = "NCCL INFO ";

int whole(const NcclLine& line, const std::string& key, int least, int most, const Lines& lines) {
  const std::string text = line.behind(key);
  const std::optional<std::int64_t> value = trace_whole(text);
  if (!value || *value < least || *value > most)
    lines.fail(fmt::format("{} {} is not a whole number from {} to {}", key, shown(text), least, most));
  return static_cast<int>(*value);
}

bool sets_up(const NcclLine& line) {
  return !line.behind("comm").empty() && !line.behind("rank").empty() && !line.behind("nranks").empty() &&
         (line.says("Init", "START") || line.says("Init", "COMPLETE"));
}

bool ends(const NcclLine& line) { return line.says("Destroy", "COMPLETE") || line.says("Abort", "COMPLETE"); }

}  // namespace

std::string NcclLine::behind(const std::string& key) const {
  const auto found = std::find(words.begin(), words.end(), key);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

bool NcclLine::says(const std::string& first, const std::string& second) const {
  const auto found = std::find(words.begin(), words.end(), first);
  return found != words.end() && found + 1 != words.end() && *(found + 1) == second;
}

std::optional<NcclLine> nccl_line(const std::string& text) {
  const std::size_t mark = text.find(kMark);
  if (mark == std::string::npos) return std::nullopt;
  const std::size_t gpu = text.rfind('[', mark);
  if (gpu == std::string::npos || mark < 2 || text.compare(mark - 2, 2, "] ") != 0) return std::nullopt;
  NcclLine line;
  const std::optional<std::int64_t> number = trace_whole(std::string_view(text).substr(gpu + 1, mark - gpu - 3));
  std::vector<std::string> before = trace_words(std::string_view(text).substr(0, gpu));
  if (!number || *number < 0 || *number > kMostRanks || before.empty()) return std::nullopt;
  line.gpu = static_cast<int>(*number);
  const std::size_t thread = before.back().rfind(':');
  if (thread == std::string::npos || before.back().find(':') == thread) return std::nullopt;
  line.process = before.back().substr(0, thread);
  before.pop_back();
  for (const std::string& word : before) line.stamp += (line.stamp.empty() ? "" : " ") + word;
  line.words = trace_words(std::string_view(text).substr(mark + kMark.size()));
  return line;
}

std::vector<NcclLine> NcclSplitter::lines(const std::string& text) {
  static const Regex tag(R"(\s*(?:\[\d+,\d+\]<\w+>: ?|\d{1,6}: )(.*))");  // mpirun --tag-output, srun -l
  static const Regex begin(R"(([A-Za-z0-9._-]+:\d+):\d+ \[\d+\] NCCL (?:INFO|WARN) )");
  std::vector<NcclLine> found;
  if (text.find(kMark) == std::string::npos) return found;
  const Match tagged = tag.whole(text);
  std::string rest = tagged ? tagged[1] : text;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t mark = rest.find("] NCCL ");
    const std::size_t behind = mark == std::string::npos ? rest.size() : mark + 7;
    const Match next = begin.find(std::string_view(rest).substr(behind));
    std::size_t cut = rest.size();
    if (next) {
      cut = rest.find(next[0], behind);
      const std::string host = next[1].substr(0, next[1].find(':'));
      std::size_t longest = 0;  // what is before it in the name is the end of the other message
      for (const std::string& known : hosts_)
        if (host.ends_with(known)) longest = std::max(longest, known.size());
      if (longest > 0) cut += host.size() - longest;
    }
    if (auto line = nccl_line(rest.substr(0, cut))) {
      if (first) hosts_.insert(line->process.substr(0, line->process.find(':')));
      found.push_back(std::move(*line));
    }
    rest = rest.substr(cut);
  }
  return found;
}

/// Who share it share a communicator: the id that NCCL prints, of a split its parent, count and colour; older versions
/// print none, where the n-th of a size that each rank joins is taken for the same.
std::string NcclComms::identity(const NcclLine& line, int ranks, int rank) {
  const std::string id = line.behind("commId");
  if (!id.empty()) return id;
  const std::string parent = line.behind("parent");
  const auto known = identities_.find({line.process, parent});
  if (known != identities_.end())
    return known->second + " split " + line.behind("splitCount") + " color " + line.behind("color");
  return fmt::format("of {} number {}", ranks, unnamed_[{ranks, rank}]++);
}

void NcclComms::add(const NcclLine& line, const Lines& lines) {
  const Pointer pointer{line.process, line.behind("comm")};
  if (ends(line)) live_.erase(pointer);
  if (!sets_up(line)) return;
  const int ranks = whole(line, "nranks", 1, kMostRanks, lines);
  const int rank = whole(line, "rank", 0, ranks - 1, lines);
  if (live_.count(pointer) > 0) return;  // START and COMPLETE speak of one communicator
  const std::string id = identity(line, ranks, rank);
  const auto [found, added] = by_identity_.emplace(id, comms_.size());
  constexpr long kMostMembers = 10'000'000;  // of all communicators together; a job has far fewer. source: ours
  if (added && (members_ += ranks) > kMostMembers)
    lines.fail(fmt::format("communicators of more than {} ranks together", kMostMembers));
  if (added) comms_.push_back({"", std::vector<int>(static_cast<std::size_t>(ranks), -1), {}});
  NcclComm& comm = comms_[found->second];
  if (static_cast<int>(comm.owners.size()) != ranks)
    lines.fail(fmt::format("the communicator has {} ranks elsewhere, here {}", comm.owners.size(), ranks));
  const int gpu = line.behind("cudaDev").empty() ? line.gpu : whole(line, "cudaDev", 0, kMostRanks, lines);
  const int owner = owners_.emplace(fmt::format("{} {}", line.process, gpu), owners_.size()).first->second;
  int& member = comm.owners[linkcast::at(rank)];
  if (member >= 0 && member != owner) lines.fail(fmt::format("rank {} of it is another process already", rank));
  if (member < 0 && std::find(comm.owners.begin(), comm.owners.end(), owner) != comm.owners.end())
    lines.fail(fmt::format("GPU {} of this process is another rank of it already", gpu));
  member = owner;
  identities_[pointer] = id;
  live_[pointer] =
      by_line_[{line.process + " " + line.behind("comm"), {lines.path(), lines.number()}}] = {found->second, rank};
}

void NcclComms::finish() {
  live_.clear();
  std::vector<int> by_owner(owners_.size());
  std::iota(by_owner.begin(), by_owner.end(), 0);
  int number = 0;
  const NcclComm* world = nullptr;
  for (NcclComm& comm : comms_) {
    const auto missing = std::find(comm.owners.begin(), comm.owners.end(), -1);
    if (missing != comm.owners.end())
      throw InputError(
          fmt::format("a communicator has {} ranks, but there is no log of rank {} of it: give the logs of all ranks",
                      comm.owners.size(), missing - comm.owners.begin()));
    const bool all = comm.owners.size() == owners_.size();
    comm.name = all && world == nullptr ? "world" : fmt::format("comm {}", ++number);
    if (!all || world != nullptr) continue;
    world = &comm;
    for (std::size_t rank = 0; rank < comm.owners.size(); ++rank)
      by_owner[linkcast::at(comm.owners[rank])] = static_cast<int>(rank);
  }
  rank_of_owner_ = by_owner;
  for (NcclComm& comm : comms_)
    for (const int owner : comm.owners) comm.ranks.push_back(by_owner[linkcast::at(owner)]);
}

void NcclComms::at(const NcclLine& line, const Lines& lines) {
  const auto found = by_line_.find({line.process + " " + line.behind("comm"), {lines.path(), lines.number()}});
  if (found != by_line_.end())
    live_[{line.process, line.behind("comm")}] = found->second;
  else if (ends(line))
    live_.erase({line.process, line.behind("comm")});
}

NcclComms::Member NcclComms::member(const NcclLine& line, const std::string& pointer, const Lines& lines) const {
  const auto found = live_.find({line.process, pointer});
  if (found == live_.end())
    lines.fail("communicator " + shown(pointer) +
               " was not set up in the log: it needs NCCL_DEBUG=INFO and "
               "NCCL_DEBUG_SUBSYS=INIT,COLL from the start");
  const NcclComm& comm = comms_[found->second.comm];
  return {&comm, comm.ranks[linkcast::at(found->second.rank)]};
}

}  // namespace linkcast
