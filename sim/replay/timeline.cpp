#include "sim/replay/timeline.hpp"

#include <cmath>
#include <utility>

namespace linkcast::replay {
namespace {

/// Whole nanoseconds, so that what ends together in the replay does so in the file. The format counts in microseconds.
double microseconds(long long nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }
long long nanoseconds(double time_s) { return std::llround(time_s * 1e9); }

std::string title(const TraceEvent& event) {
  if (!event.name.empty()) return event.name;
  return event.op.empty() ? to_text(event.kind) : event.op;
}

Json arguments(const TraceEvent& event) {
  Json all = Json::object();
  if (!event.part.empty()) all["part"] = event.part;
  if (!event.op.empty()) all["op"] = event.op;
  if (!event.group.empty()) all["group"] = event.group;
  if (event.peer >= 0) all["peer"] = event.peer;
  if (event.kind != TraceKind::kCompute) all["size_B"] = event.size_B;
  return all;
}

Json slice(const std::string& name, int process, int thread, double began_s, double ended_s) {
  const long long begin = nanoseconds(began_s);
  return {{"ph", "X"},
          {"name", name},
          {"pid", process},
          {"tid", thread},
          {"ts", microseconds(begin)},
          {"dur", microseconds(nanoseconds(ended_s) - begin)}};
}

}  // namespace

void Timeline::write(const Json& event) {
  out_ << (std::exchange(first_, false) ? "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" : ",\n") << event.dump();
}

/// @param what  "process_name" or "thread_name"
void Timeline::name(int process, const char* what, int thread, const std::string& name) {
  write({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
}

void Timeline::starts(const std::vector<ReplayRank>& ranks) {
  streams_.resize(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    name(static_cast<int>(i) + 1, "process_name", 0,
         (ranks[i].trace.empty() ? "" : ranks[i].trace + " ") + "rank " + std::to_string(ranks[i].local) + ", gpu" +
             std::to_string(ranks[i].gpu));
}

Timeline::Stream& Timeline::stream(int rank, const std::string& name) {
  Streams& mine = streams_.at(static_cast<std::size_t>(rank));
  const auto [found, added] = mine.try_emplace(name);
  if (added) {
    found->second.thread = static_cast<int>(mine.size());
    this->name(rank + 1, "thread_name", found->second.thread, "stream " + name);
  }
  return found->second;
}

void Timeline::begins(int rank, const TraceEvent& event, double now_s) {
  Stream& on = stream(rank, event.stream);
  on.began_s = now_s;
  on.met_s = -1;
}

void Timeline::meets(int rank, const TraceEvent& event, double now_s) { stream(rank, event.stream).met_s = now_s; }

void Timeline::ends(int rank, const TraceEvent& event, double now_s) {
  const Stream& on = stream(rank, event.stream);
  Json whole = slice(title(event), rank + 1, on.thread, on.began_s, now_s);
  whole["cat"] = to_text(event.kind);
  whole["args"] = arguments(event);
  write(whole);
  if (nanoseconds(on.met_s) > nanoseconds(on.began_s))
    write(slice("waiting", rank + 1, on.thread, on.began_s, on.met_s));
}

void Timeline::step(int rank, int step, double now_s) {
  write({{"ph", "i"},
         {"name", "step " + std::to_string(step + 1)},
         {"pid", rank + 1},
         {"tid", 0},
         {"ts", microseconds(nanoseconds(now_s))},
         {"s", "p"}});
}

void Timeline::close(const Utilisation& links) {
  const int process = static_cast<int>(streams_.size()) + 1;
  name(process, "process_name", 0, "links: share of capacity");
  for (const auto& [id, link] : links.links())
    for (std::size_t bin = 0; bin < link.carried_B.size(); ++bin)
      write({{"ph", "C"},
             {"name", id},
             {"pid", process},
             {"tid", 0},
             {"ts", microseconds(nanoseconds(static_cast<double>(bin) * links.bin_s()))},
             {"args", {{"share", link.carried_B[bin] / link.capacity_Bps / links.bin_s()}}}});
  out_ << "\n]}\n";
}

}  // namespace linkcast::replay
