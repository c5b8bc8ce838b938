// Copies of one GPU on two streams: the copy engine serves one at a time, in replay as in `predict flows`.
#include "sim/base/index.hpp"
#include "sim/query/query.hpp"
#include "sim/records/parameters.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

using namespace linkcast;

namespace {

std::string copy(const std::string& stream, const std::string& kind, double size_B) {
  return R"({"rank":0,"kind":"copy","stream":")" + stream + R"(","copy":")" + kind + R"(","size_B":)" +
         std::to_string(size_B) + "}\n";
}

double replayed_s(const std::string& platform, const std::string& lines, const std::string& network = "",
                  int ranks = 1) {
  const test::ScratchFolder folder;
  const std::string file = (folder / "copies.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","source":"test","ranks":)" << ranks << "}\n" << lines;
  replay::ReplayRequest request{test::catalogue().machine(platform), {{file}}};
  request.interval = false;
  request.network = network;
  return replay::to_json(replay::replay(test::catalogue(), request))["makespan_s"].get<double>();
}

/// A second network: any operation takes no time.
class Ideal final : public replay::ReplayNetwork {
 public:
  [[nodiscard]] int gpus() const override { return 8; }
  long start(const replay::NetworkOp& /*op*/) override { return waiting_.emplace_back(tickets_++); }
  double next_event_s() override { return waiting_.empty() ? std::numeric_limits<double>::infinity() : now_s_; }
  void advance(double to_s, std::vector<long>& ended) override {
    now_s_ = to_s;
    ended = std::move(waiting_);
    waiting_.clear();
  }
  [[nodiscard]] std::vector<replay::LinkUse> link_use() override { return {}; }
  [[nodiscard]] Json warnings() const override { return Json::array(); }

 private:
  double now_s_ = 0;
  long tickets_ = 0;
  std::vector<long> waiting_;
};

class IdealKind final : public replay::NetworkKind {
 public:
  [[nodiscard]] std::unique_ptr<replay::ReplayNetwork> make(catalogue::Catalogue& /*catalogue*/,
                                                            const replay::NetworkRequest& /*request*/) const override {
    return std::make_unique<Ideal>();
  }
};

const bool ideal_registered = replay::network_kinds().add({"ideal", "no operation takes time", "none: of a test"},
                                                          [] { return std::make_unique<IdealKind>(); });

}  // namespace

TEST_CASE("replay: two copies of one GPU take turns as in predict flows", "[replay][queues]") {
  const std::string platform = GENERATE("hgx-h200", "v100-dgx1", "alps");
  const std::string kind = GENERATE("h2d", "d2h");
  CAPTURE(platform, kind);
  const double size_B = 67108864;
  const Platform& machine = test::catalogue().machine(platform)->platform();
  const std::string host = machine.topology().devices[at(machine.socket_of(machine.gpu(0)))].id;
  Json flow = kind == "h2d" ? Json{host, "gpu0", size_B} : Json{"gpu0", host, size_B};
  const Json answer = query::answer(test::catalogue(),
                                    {{"platform", platform}, {"kind", "flows"}, {"flows", Json::array({flow, flow})}});
  REQUIRE(answer.contains("flow_times_s"));
  const double two_s = replayed_s(platform, copy("a", kind, size_B) + copy("b", kind, size_B));
  CHECK_THAT(two_s, WithinRel(answer["time_s"].get<double>(), 1e-9));
}

TEST_CASE("replay: copies of one engine to another GPU and the host queue as in predict flows", "[replay][queues]") {
  // Where peer access is missing (v100-dgx1, gpu0 to gpu5) the runtime copies through host memory.
  using Case = std::pair<std::string, int>;
  const auto [platform, peer] = GENERATE(Case{"hgx-h200", 3}, Case{"v100-dgx1", 1}, Case{"v100-dgx1", 5});
  const double size_B = GENERATE(4096.0, 67108864.0);
  CAPTURE(platform, peer, size_B);
  const Platform& machine = test::catalogue().machine(platform)->platform();
  const std::string host = machine.topology().devices[at(machine.socket_of(machine.gpu(0)))].id;
  const std::string gpu = "gpu" + std::to_string(peer);
  const Json flows{{"gpu0", gpu, size_B}, {"gpu0", host, size_B}, {"gpu0", gpu, 2 * size_B}, {host, "gpu0", size_B}};
  // A replayed copy does not wait for one in the other direction, which may begin later.
  Json query{{"platform", platform}, {"kind", "flows"}, {"flows", flows}};
  if (machine.calibration().find(key::bidirectional("h2d")) != nullptr)
    query["edits"] = {"set transport.h2d.bidirectional_s=0s"};
  const Json answer = query::answer(test::catalogue(), query);
  REQUIRE(answer.contains("flow_times_s"));
  const auto to_peer = [&](const std::string& stream, double bytes) {
    std::string line = copy(stream, "d2d", bytes);
    return line.insert(line.find(",\"size_B\""), ",\"peer\":" + std::to_string(peer));
  };
  const double all_s = replayed_s(
      platform, to_peer("a", size_B) + copy("b", "d2h", size_B) + to_peer("c", 2 * size_B) + copy("d", "h2d", size_B),
      "", 8);
  CHECK_THAT(all_s, WithinRel(answer["time_s"].get<double>(), 1e-9));
}

TEST_CASE("replay: a network is one file that registers itself", "[replay]") {
  CHECK(replayed_s("hgx-h200", copy("a", "h2d", 1e9), "ideal") == 0);
  CHECK(replayed_s("hgx-h200", copy("a", "h2d", 1e9)) > 0.01);
  CHECK(linkcast::test::error_of([&] {
          return replayed_s("hgx-h200", copy("a", "h2d", 1e9), "nothing");
        }).find("unknown replay network 'nothing': one of cluster, ideal, node") != std::string::npos);
}
