// All_reduce of inference engines: what each link carries, by hand; when they leave it to NCCL, by their sources.
#include <cmath>
#include <limits>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::engines_test {

namespace {

Json query_of(const std::string& library, int gpus, double size_B, const std::string& platform = "hgx-h200") {
  Json query{{"platform", platform}, {"kind", "collective"}, {"op", "all_reduce"},
             {"size_B", size_B},     {"library", library},   {"launch", "graph"}};
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  return query;
}

constexpr double kKiB = 1024;
constexpr double kBase_s = 3e-6, kRank_s = 2e-7, kLoad_s = 2e-6;

/// hgx-h200 where all kernels of engines cost the same and attain what kernels get of the links.
catalogue::MachinePtr plain_machine() {
  std::map<std::string, Parameter> figures;
  for (const char* kernel : {"one_shot.pull", "one_shot.push", "two_shot.pull", "two_shot.push", "two_shot.staged",
                             "two_shot.symmetric", "multimem"})
    for (const char* engine : {"vllm", "sglang", "trtllm"}) {
      const std::string head = std::string("custom.") + kernel + "@" + engine + ".";
      figures[head + "base_s"] = {kBase_s, 0, "s", "fitted"};
      figures[head + "rank_s"] = {kRank_s, 0, "s", "fitted"};
      figures[head + "link_share"] = {1, 0, "1", "fitted"};
      figures[head + "crowding"] = {0, 0, "1", "fitted"};
      figures[std::string("custom.peer@") + engine + ".load_s"] = {kLoad_s, 0, "s", "fitted"};
    }
  return catalogue().machine("hgx-h200")->with_library_parameters(figures);
}

Json answer(const Json& query) {
  static const catalogue::MachinePtr machine = plain_machine();
  Json found = query::answer(catalogue(), query, machine);
  INFO(found.dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

double time_s(const std::string& library, int gpus, double size_B, const std::string& algorithm = "") {
  Json query = query_of(library, gpus, size_B);
  if (!algorithm.empty()) query["algorithm"] = algorithm;
  return answer(query)["time_s"];
}

/// Payload that kernels get of the links of one GPU. source: packets of 128 bytes with 16 of header, where copies have
/// 256 (docs/model.md)
double link_Bps() {
  const Parameter* link = catalogue().machine("hgx-h200")->platform().calibration().find("cable.nvlink4.bandwidth_Bps");
  return 18 * link->value * (128.0 / 144) / (256.0 / 272);
}

/// A copy inside a GPU, as the machine's own copies say.
double copy_s(double size_B) {
  const Platform& node = catalogue().machine("hgx-h200")->platform();
  const Pace pace = node.transports().get("local").pace(size_B, std::numeric_limits<double>::infinity());
  return pace.delay_s + (std::isinf(pace.cap_Bps) ? 0 : size_B / pace.cap_Bps);
}

std::string error_of(Json query) { return query::answer(catalogue(), query).value("error", ""); }

}  // namespace

TEST_CASE("one-shot carries n - 1 buffers on each link, two-shot 2 (n - 1) / n of one", "[physics]") {
  for (const int n : {2, 4, 8}) {
    const double latency_s = kBase_s + (n - 2) * kRank_s;
    CHECK_THAT(time_s("trtllm", n, 512 * kKiB, "one_shot"),
               WithinRel(latency_s + (n - 1) * 512 * kKiB / link_Bps(), 1e-9));
    CHECK_THAT(time_s("trtllm", n, 4 * kMiB, "two_shot"),
               WithinRel(latency_s + 2.0 * (n - 1) / n * 4 * kMiB / link_Bps(), 1e-9));
  }
}

TEST_CASE("a kernel that loads moves what its threads have in flight in the time of a load", "[physics]") {
  const double in_flight_B = 36 * 512 * 16;  // vLLM's grid: 147 GB/s of each peer at 2 us
  CHECK_THAT(time_s("vllm", 2, 4 * kMiB), WithinRel(kBase_s + 4 * kMiB * kLoad_s / in_flight_B, 1e-9));
  // From three peers at once it is more than the links carry.
  CHECK_THAT(time_s("vllm", 4, 256 * kKiB), WithinRel(kBase_s + 2 * kRank_s + 3 * 256 * kKiB / link_Bps(), 1e-9));
}

TEST_CASE("torch's symmetric memory is copied in and out, by the switch S + S / n cross each link", "[physics]") {
  const double S = 32 * kMiB, request = 16.0 / 144;  // a header for each line of 128 bytes and its header
  CHECK_THAT(time_s("vllm", 2, S), WithinRel(kBase_s + S / link_Bps() + 2 * copy_s(S), 1e-9));
  CHECK_THAT(time_s("vllm", 8, S),
             WithinRel(kBase_s + 6 * kRank_s + S * (1 + 1.0 / 8 + request) / link_Bps() + 2 * copy_s(S), 1e-9));
}

TEST_CASE("buffers of a one-shot push that leave the cache take the memory's time", "[physics]") {
  const auto beyond = [](double size_B) { return 3 * 2 * size_B - 25e6; };  // of H200, half of 50 MB
  const double more_s = beyond(16 * kMiB) / 2 * copy_s(1024 * kMiB) / (1024 * kMiB);
  CHECK_THAT(time_s("trtllm", 2, 16 * kMiB), WithinRel(kBase_s + 16 * kMiB / link_Bps() + more_s, 1e-9));
  CHECK_THAT(time_s("trtllm", 2, 2 * kMiB), WithinRel(kBase_s + 2 * kMiB / link_Bps(), 1e-9));
}

TEST_CASE("without a CUDA graph the buffer is copied to where peers see it", "[physics]") {
  const auto device_s = [](const std::string& library, int gpus, double size_B) {
    Json query = query_of(library, gpus, size_B);
    query["launch"] = "pytorch";
    return answer(query)["device_s"].get<double>();
  };
  CHECK_THAT(device_s("vllm", 2, kMiB) - time_s("vllm", 2, kMiB), WithinRel(copy_s(kMiB), 1e-6));
  CHECK_THAT(device_s("sglang", 8, kMiB) - time_s("sglang", 8, kMiB), WithinRel(2 * copy_s(kMiB), 1e-6));
  CHECK_THAT(device_s("sglang", 2, kMiB), WithinRel(time_s("sglang", 2, kMiB), 1e-9));      // push: from where it lies
  CHECK_THAT(device_s("vllm", 8, 8 * kMiB), WithinRel(time_s("vllm", 8, 8 * kMiB), 1e-9));  // copied in graphs too
}

TEST_CASE("engines choose as their sources say", "[physics]") {
  struct Row {
    const char* library;
    int gpus;
    double size_B;
    const char *algorithm, *protocol;
  };
  // source: vLLM all_reduce_utils.py and custom_all_reduce.cuh; SGLang custom_all_reduce_v2.py; TensorRT-LLM
  // customAllReduceUtils.h, rows of Hopper
  const Row rows[] = {
      {"vllm", 2, 8 * kMiB - 16, "one_shot", "pull"},   {"vllm", 2, 8 * kMiB, "two_shot", "symmetric"},
      {"vllm", 2, 64 * kMiB, "two_shot", "symmetric"},  {"vllm", 4, 512 * kKiB - 16, "one_shot", "pull"},
      {"vllm", 4, 512 * kKiB, "two_shot", "pull"},      {"vllm", 4, 8 * kMiB, "multimem", "multicast"},
      {"vllm", 8, 256 * kKiB - 16, "one_shot", "pull"}, {"vllm", 8, 256 * kKiB, "multimem", "multicast"},
      {"vllm", 8, 64 * kMiB, "multimem", "multicast"},  {"sglang", 2, 2 * kMiB, "one_shot", "push"},
      {"sglang", 2, 2 * kMiB + 16, "one_shot", "pull"}, {"sglang", 2, 16 * kMiB, "one_shot", "pull"},
      {"sglang", 8, 160 * kKiB, "one_shot", "push"},    {"sglang", 8, 160 * kKiB + 16, "two_shot", "push"},
      {"sglang", 8, 16 * kMiB, "two_shot", "push"},     {"trtllm", 2, 16 * kMiB, "one_shot", "push"},
      {"trtllm", 8, 512 * kKiB, "one_shot", "push"},    {"trtllm", 8, 2 * kMiB, "two_shot", "staged"},
      {"trtllm", 8, 4 * kMiB, "two_shot", "staged"},    {"trtllm", 4, kMiB, "one_shot", "push"},
      {"trtllm", 4, 8 * kMiB, "two_shot", "staged"},
  };
  for (const Row& row : rows) {
    const Json found = answer(query_of(row.library, row.gpus, row.size_B));
    INFO(row.library << " " << row.gpus << " " << row.size_B);
    CHECK(found["algorithm"] == row.algorithm);
    CHECK(found["protocol"] == row.protocol);
    CHECK(found["library"] == row.library);
  }
}

TEST_CASE("what an engine leaves to NCCL takes NCCL's time, and the answer says so", "[physics]") {
  struct Row {
    const char* library;
    int gpus;
    double size_B;
    const char* why;
  };
  const Row rows[] = {{"vllm", 2, 64 * kMiB + 16, "none of its own for"},
                      {"sglang", 8, 16 * kMiB + 16, "none of its own"},
                      {"trtllm", 8, kMiB, "none of its own"},
                      {"trtllm", 8, 8 * kMiB, "none of its own"},
                      {"vllm", 3, kMiB, "of 2, 4, 6, 8 GPUs"},
                      {"trtllm", 2, 1000, "multiples of 16 B"}};
  for (const Row& row : rows) {
    const Json found = answer(query_of(row.library, row.gpus, row.size_B));
    CHECK_THAT(found["time_s"].get<double>(), WithinRel(time_s("nccl-2.27", row.gpus, row.size_B), 1e-12));
    CHECK(found["warnings"].dump().find("leaves this all_reduce to nccl-2.27") != std::string::npos);
    CHECK(found["warnings"].dump().find(row.why) != std::string::npos);
    CHECK(found["library"] == row.library);
  }
  Json gather = query_of("vllm", 8, kMiB);
  gather["op"] = "all_gather";
  Json below = gather;
  below["library"] = "nccl-2.27";
  CHECK(answer(gather)["time_s"] == answer(below)["time_s"]);
  CHECK(answer(gather)["warnings"].dump().find("leaves") == std::string::npos);
}

TEST_CASE("an engine's kernel that cannot run is refused with what it needs", "[physics]") {
  const auto refused = [](const std::string& library, int gpus, double size_B, const std::string& algorithm,
                          const std::string& platform) {
    Json query = query_of(library, gpus, size_B, platform);
    query["algorithm"] = algorithm;
    return error_of(query);
  };
  CHECK(refused("sglang", 2, kMiB, "one_shot", "l40s").find("needs NVLink between all pairs") != std::string::npos);
  CHECK(refused("vllm", 4, kMiB, "two_shot", "l40s").find("needs NVLink between all pairs") != std::string::npos);
  CHECK(refused("vllm", 3, kMiB, "one_shot", "hgx-h200").find("of 2, 4, 6, 8 GPUs") != std::string::npos);
  CHECK(refused("sglang", 8, kMiB, "multimem", "hgx-h200").find("sglang has no multimem here") != std::string::npos);
  CHECK(refused("nccl-2.27", 8, kMiB, "one_shot", "hgx-h200").find("nccl-2.27 has no one_shot") != std::string::npos);
  Json nodes{{"platform", "leonardo"}, {"kind", "collective"}, {"op", "all_reduce"}, {"size_B", kMiB}, {"nodes", 2},
             {"gpus_per_node", 4},     {"library", "vllm"},    {"launch", "graph"}};
  const Json fell = query::answer(catalogue(), nodes);
  CHECK(fell["warnings"].dump().find("its own runs in one node") != std::string::npos);
  nodes["algorithm"] = "one_shot";
  CHECK(error_of(nodes).find("all ranks are in one node") != std::string::npos);
}

TEST_CASE("an engine's time grows with the size while its algorithm stays", "[physics]") {
  for (const char* library : {"vllm", "sglang", "trtllm"})
    for (const int n : {2, 4, 8}) {
      Json before;
      for (double size_B = 256; size_B <= 256 * kMiB; size_B *= 2) {
        Json found = query::answer(catalogue(), query_of(library, n, size_B));
        REQUIRE(found.value("error", "") == "");
        if (before.is_object() && before["algorithm"] == found["algorithm"] && before["protocol"] == found["protocol"])
          CHECK(found["time_s"].get<double>() >= before["time_s"].get<double>());
        CHECK(found["time_low_s"].get<double>() > 0);
        before = std::move(found);
      }
    }
}

}  // namespace linkcast::test::engines_test
