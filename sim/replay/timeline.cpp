#include "sim/replay/timeline.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace linkcast::replay {
namespace {

// The first width; it doubles as often as needed.
constexpr double kFirstBin_s = 1e-6;

/// Pairs of neighbours become one.
void halve(std::vector<double>& bins) {
  for (std::size_t i = 0; 2 * i + 1 < bins.size(); ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  bins.resize(bins.size() / 2);
}

Json shares(const std::vector<double>& bins, double full) {
  Json all = Json::array();
  for (const double bin : bins) all.push_back(bin / full);
  return all;
}

}  // namespace

Utilisation::Utilisation(const ReplaySummary& summary, std::size_t ranks, ReplayNetwork& network)
    : summary_(summary), network_(network), bin_s_(kFirstBin_s), ranks_(ranks) {}

double Utilisation::looks_at_s() const { return static_cast<double>(bins_ + 1) * bin_s_; }

void Utilisation::looks(double now_s) {
  fill(now_s);
  if (bins_ == kMostBins) merge();
}

void Utilisation::close(double end_s) {
  if (end_s > static_cast<double>(bins_) * bin_s_) fill(end_s);
}

void Utilisation::fill(double now_s) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const RankTimes now = summary_.times_until(i, now_s);
    rank.compute_s.push_back(now.compute_s - rank.until_now.compute_s);
    rank.communication_s.push_back(now.communication_s - rank.until_now.communication_s);
    rank.exposed_s.push_back(now.exposed_s - rank.until_now.exposed_s);
    rank.until_now = now;
  }
  for (const LinkUse& use : network_.link_use()) {
    Link& link = links_[use.id];
    link.capacity_Bps = use.capacity_Bps;
    link.carried_B.resize(bins_, 0);
    link.carried_B.push_back(use.carried_B - link.until_now_B);
    link.until_now_B = use.carried_B;
  }
  ++bins_;
}

void Utilisation::merge() {
  for (Rank& rank : ranks_)
    for (std::vector<double>* bins : {&rank.compute_s, &rank.communication_s, &rank.exposed_s}) halve(*bins);
  for (auto& [id, link] : links_) halve(link.carried_B);
  bins_ /= 2;
  bin_s_ *= 2;
}

Json Utilisation::to_json() const {
  Json out{{"bin_s", bin_s_}, {"ranks", Json::array()}, {"links", Json::object()}};
  for (const Rank& rank : ranks_)
    out["ranks"].push_back({{"compute", shares(rank.compute_s, bin_s_)},
                            {"communication", shares(rank.communication_s, bin_s_)},
                            {"exposed", shares(rank.exposed_s, bin_s_)}});
  for (const auto& [id, link] : links_) out["links"][id] = shares(link.carried_B, bin_s_ * link.capacity_Bps);
  return out;
}

namespace {

/// Whole nanoseconds, so that what ends together in the replay does so in the file. The format counts in microseconds.
double microseconds(long long nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }
long long nanoseconds(double time_s) { return std::llround(time_s * 1e9); }

enum Thread { kCpu = 1, kSteps = 2, kFirstStream = 3 };  // source: ours, any numbers would do

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

void Timeline::name(int process, const char* what, int thread, const std::string& name) {
  write({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
}

/// Those of one rank stand side by side.
void Timeline::name_process(int number, Process& process) {
  if (std::exchange(process.named, true)) return;
  name(number, "process_name", 0, process.name);
  const bool of_recording = number > links();
  const int place = of_recording ? 2 * (number - links()) : 2 * number - 1;
  write({{"ph", "M"}, {"name", "process_sort_index"}, {"pid", number}, {"tid", 0}, {"args", {{"sort_index", place}}}});
}

void Timeline::name_once(int process, bool& named, int thread, const char* name) {
  if (!std::exchange(named, true)) this->name(process, "thread_name", thread, name);
}

void Timeline::starts(const std::vector<ReplayRank>& ranks) {
  forecast_.resize(ranks.size());
  recorded_.resize(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string rank =
        fmt::format("{}rank {}", ranks[i].trace.empty() ? "" : ranks[i].trace + " ", ranks[i].local);
    forecast_[i].name = fmt::format("{}, gpu{}", rank, ranks[i].gpu);
    recorded_[i].name = rank + ", as recorded";
    name_process(forecast_of(static_cast<int>(i)), forecast_[i]);
  }
}

Timeline::Stream& Timeline::stream(int number, Process& process, const std::string& name) {
  const auto [found, added] = process.streams.try_emplace(name);
  if (added) {
    found->second.thread = kFirstStream + static_cast<int>(process.streams.size()) - 1;
    this->name(number, "thread_name", found->second.thread, "stream " + name);
  }
  return found->second;
}

/// @param phase  "s": it starts inside the slice there; "f": it ends at the slice that begins there
void Timeline::arrow(const char* phase, long id, int process, int thread, double time_s) {
  Json event{{"ph", phase},
             {"name", "launch"},
             {"cat", "launch"},
             {"id", id},
             {"pid", process},
             {"tid", thread},
             {"ts", microseconds(nanoseconds(time_s))}};
  if (*phase == 'f') event["bp"] = "e";
  write(event);
}

/// An arrow starts where the CPU's work for the event ends, if that takes any time.
void Timeline::issues(int rank, const FedEvent& told, const IssueTimes& times) {
  const TraceEvent& event = *told.whole();
  Process& process = forecast_.at(static_cast<std::size_t>(rank));
  const int number = forecast_of(rank);
  const bool worked = nanoseconds(times.ready_s) > nanoseconds(times.began_s);
  const bool waited = nanoseconds(times.ended_s) > nanoseconds(times.ready_s);
  if (worked || waited) name_once(number, process.has_cpu, kCpu, "CPU");
  if (worked) {
    Json work = slice(title(event), number, kCpu, times.began_s, times.ready_s);
    work["cat"] = "cpu";
    write(work);
  }
  if (waited) {
    const bool sync = event.kind == TraceKind::kSync;
    Json wait =
        slice(sync ? "waiting for the GPU" : "waiting for room to launch", number, kCpu, times.ready_s, times.ended_s);
    wait["cat"] = "cpu";
    write(wait);
  }
  if (event.kind == TraceKind::kSync || event.kind == TraceKind::kStep) return;
  stream(number, process, event.stream).arrows.push_back(worked ? arrows_ : kNoArrow);
  if (worked) arrow("s", arrows_++, number, kCpu, times.began_s);
}

void Timeline::begins(int rank, const FedEvent& told, double now_s) {
  const TraceEvent& event = *told.whole();
  Stream& on = stream(forecast_of(rank), forecast_.at(static_cast<std::size_t>(rank)), event.stream);
  on.began_s = now_s;
  on.met_s = -1;
  const long id = on.arrows.front();
  on.arrows.pop_front();
  if (id != kNoArrow) arrow("f", id, forecast_of(rank), on.thread, now_s);
}

void Timeline::meets(int rank, const FedEvent& told, double now_s) {
  const TraceEvent& event = *told.whole();
  stream(forecast_of(rank), forecast_.at(static_cast<std::size_t>(rank)), event.stream).met_s = now_s;
}

void Timeline::ends(int rank, const FedEvent& told, double now_s) {
  const TraceEvent& event = *told.whole();
  const int number = forecast_of(rank);
  const Stream& on = stream(number, forecast_.at(static_cast<std::size_t>(rank)), event.stream);
  Json whole = slice(title(event), number, on.thread, on.began_s, now_s);
  whole["cat"] = to_text(event.kind);
  whole["args"] = arguments(event);
  write(whole);
  if (nanoseconds(on.met_s) > nanoseconds(on.began_s)) write(slice("waiting", number, on.thread, on.began_s, on.met_s));
  recorded(rank, event, title(event));
}

void Timeline::step(int rank, const FedEvent& told, int step, double now_s) {
  const TraceEvent& event = *told.whole();
  Process& process = forecast_.at(static_cast<std::size_t>(rank));
  name_once(forecast_of(rank), process.has_steps, kSteps, "steps");
  const std::string title = fmt::format("step {}", step + 1);
  write(slice(title, forecast_of(rank), kSteps, std::exchange(process.step_ended_s, now_s), now_s));
  recorded(rank, event, title);
}

/// What a trace that is repeated says again is not written again: it would lie over what is there.
void Timeline::recorded(int rank, const TraceEvent& event, const std::string& title) {
  if (!event.recorded) return;
  const int number = recorded_of(rank);
  Process& process = recorded_.at(static_cast<std::size_t>(rank));
  name_process(number, process);
  const bool step = event.kind == TraceKind::kStep;
  if (step) name_once(number, process.has_steps, kSteps, "steps");
  const int thread = step ? kSteps : stream(number, process, event.stream).thread;
  double& until_s = process.until_s[thread];
  if (nanoseconds(event.recorded->begin_s) < nanoseconds(until_s)) return;
  until_s = event.recorded->end_s;
  Json whole = slice(title, number, thread, event.recorded->begin_s, event.recorded->end_s);
  whole["cat"] = "recorded";
  if (!step) whole["args"] = arguments(event);
  write(whole);
}

void Timeline::close(const Utilisation& use) {
  name(links(), "process_name", 0, "links: share of capacity");
  for (const auto& [id, link] : use.links())
    for (std::size_t bin = 0; bin < link.carried_B.size(); ++bin)
      write({{"ph", "C"},
             {"name", id},
             {"pid", links()},
             {"tid", 0},
             {"ts", microseconds(nanoseconds(static_cast<double>(bin) * use.bin_s()))},
             {"args", {{"share", link.carried_B[bin] / link.capacity_Bps / use.bin_s()}}}});
  out_ << "\n]}\n";
}

}  // namespace linkcast::replay
