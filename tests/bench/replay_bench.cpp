// How fast long traces are replayed, and in how much memory, one JSON line a case: reading, events, result, in CPU
// time; on a network without contention, so that this is the replay's own cost. The trace is made while it is read.
//   replay_bench [events of a case, default 100000 1000000]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <queue>
#include <streambuf>
#include <string>
#include <tuple>

#include "sim/replay/replay.hpp"
#include "sim/replay/summary.hpp"
#include "tests/bench/cpu_time.hpp"

using namespace linkcast;

namespace {

constexpr int kRanks = 512, kNode = 8;
constexpr int kEventsOfStep = 10;

/// Each operation takes as long as its bytes at one rate, whatever else runs.
class Uncontended final : public replay::ReplayNetwork {
 public:
  [[nodiscard]] int gpus() const override { return kRanks; }
  long start(const replay::NetworkOp& op) override {
    running_.emplace(now_s_ + 5e-6 + op.size_B / 100e9, tickets_);
    return tickets_++;
  }
  double next_event_s() override {
    return running_.empty() ? std::numeric_limits<double>::infinity() : running_.top().first;
  }
  void advance(double to_s, std::vector<long>& ended) override {
    ended.clear();
    now_s_ = to_s;
    for (; !running_.empty() && running_.top().first <= to_s; running_.pop()) ended.push_back(running_.top().second);
  }
  [[nodiscard]] std::vector<replay::LinkUse> link_use() override { return {}; }
  [[nodiscard]] Json warnings() const override { return Json::array(); }

 private:
  using End = std::pair<double, long>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
  double now_s_ = 0;
  long tickets_ = 0;
};

/// Text of a training job: layers, an all_reduce in the node beside them, a message to the next rank, an all_reduce
/// over one rank of each node.
class TraceText final : public std::streambuf {
 public:
  explicit TraceText(long events) : steps_(events / kRanks / kEventsOfStep) { header(); }

 protected:
  int_type underflow() override {
    if (next_ > 0 && !fill()) return traits_type::eof();
    ++next_;
    setg(text_.data(), text_.data(), text_.data() + text_.size());
    return traits_type::to_int_type(text_.front());
  }

 private:
  void header() {
    TraceHeader header;
    header.name = "bench";
    header.ranks = kRanks;
    header.source = "generated";
    header.launch_s = 5e-6;
    header.gap_s = 1e-6;
    for (int rank = 0; rank < kRanks; ++rank) {
      header.groups["node" + std::to_string(rank / kNode)].push_back(rank);
      header.groups["across" + std::to_string(rank % kNode)].push_back(rank);
    }
    text_ = trace_line(to_json(header));
  }
  bool fill() {
    if (step_ == steps_) return false;
    text_.clear();
    const std::string rank = "{\"rank\":" + std::to_string(rank_) + ",\"kind\":";
    long id = step_ * kEventsOfStep;
    const auto text = [](long value) { return std::to_string(value); };
    for (int layer = 0; layer < 4; ++layer)
      text_ += rank + "\"compute\",\"host_s\":1.25e-05,\"name\":\"layer" + text(layer) + "\",\"id\":" + text(++id) +
               ",\"time_s\":" + text(100 + rank_ % 7) + ".5e-6}\n";
    ++id;
    text_ += rank + "\"collective\",\"stream\":\"node\",\"id\":" + text(id) + ",\"after\":[" + text(id - 1) +
             "],\"op\":\"all_reduce\",\"group\":\"node" + text(rank_ / kNode) + "\",\"size_B\":4194304}\n";
    text_ += rank + "\"send\",\"stream\":\"out\",\"after\":[" + text(id - 1) +
             "],\"peer\":" + text((rank_ + 1) % kRanks) + ",\"size_B\":65536}\n";
    text_ +=
        rank + "\"recv\",\"stream\":\"in\",\"peer\":" + text((rank_ + kRanks - 1) % kRanks) + ",\"size_B\":65536}\n";
    text_ += rank + "\"collective\",\"stream\":\"across\",\"after\":[" + text(id) +
             "],\"op\":\"all_reduce\",\"group\":\"across" + text(rank_ % kNode) + "\",\"size_B\":1048576}\n";
    text_ += rank + "\"sync\"}\n" + rank + "\"step\"}\n";
    if (++rank_ == kRanks) {
      rank_ = 0;
      ++step_;
    }
    return true;
  }

  long steps_, step_ = 0, next_ = 0;
  int rank_ = 0;
  std::string text_;
};

class TraceStream final : public std::istream {
 public:
  explicit TraceStream(long events) : std::istream(nullptr), text_(events) { rdbuf(&text_); }

 private:
  TraceText text_;
};

/// Peak resident memory of this process.
double peak_MB() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kB = 0;
      status >> kB;
      return kB * 1024 / 1e6;
    }
  return 0;
}

void measure(long events) {
  const double start_s = bench::cpu_s();
  std::vector<replay::ReplayJob> jobs;
  jobs.push_back({std::make_unique<replay::TraceFeed>(
                      std::make_unique<TraceReader>(std::make_unique<TraceStream>(events), "bench"), 0),
                  {}});
  for (int rank = 0; rank < kRanks; ++rank) jobs[0].gpus.push_back(rank);
  Uncontended network;
  replay::ReplaySummary summary(kRanks);
  replay::Replay replay(std::move(jobs), network, {&summary});
  replay.run();
  const double run_s = bench::cpu_s() - start_s;
  std::printf(
      "{\"case\": \"replay_512_ranks\", \"events\": %ld, \"run_s\": %.4g, \"events_per_s\": %.4g, "
      "\"peak_MB\": %.4g, \"makespan_s\": %.9g}\n",
      replay.events(), run_s, static_cast<double>(replay.events()) / run_s, peak_MB(), summary.makespan_s());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    measure(100000);
    measure(1000000);
  }
  for (int i = 1; i < argc; ++i)
    if (const long events = std::atol(argv[i]); events > 0) measure(events);
  return 0;
}
