// Schedules that users write in MSCCL's XML: against closed forms and NCCL's ring, and what is refused of them.
#include <fstream>

#include "sim/forecast/collective_run.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"
#include "tests/support/scratch_folder.hpp"

namespace linkcast::test::user_schedule_test {

namespace {

using collective::CollectiveJob;
using collective::CollectiveRun;

const Values kRates = {{"ring.Simple.base_s", 9e-6},
                       {"ring.Simple.hop_s", 2e-6},
                       {"ring.Simple.channel_Bps", 0.5e9},
                       {"ring.Simple.crowding", 0},
                       {"ring.Simple.tail_steps", 0}};

/// A thread block of a file, step by step.
class Tb {
 public:
  Tb(int id, int send, int recv) {
    open_ = "<tb id=\"" + number(id) + "\" send=\"" + number(send) + "\" recv=\"" + number(recv) + "\" chan=\"0\">";
  }
  Tb& step(const std::string& type, const std::string& source, int source_at, const std::string& target, int target_at,
           int after_block = -1, int after_step = -1) {
    steps_ += "\n<step s=\"" + number(count_++) + "\" type=\"" + type + "\" srcbuf=\"" + source + "\" srcoff=\"" +
              number(source_at) + "\" dstbuf=\"" + target + "\" dstoff=\"" + number(target_at) +
              "\" cnt=\"1\" depid=\"" + number(after_block) + "\" deps=\"" + number(after_step) + "\" hasdep=\"1\"/>";
    return *this;
  }
  [[nodiscard]] std::string text() const { return open_ + steps_ + "\n</tb>\n"; }

 private:
  static std::string number(int n) { return std::to_string(n); }
  std::string open_, steps_;
  int count_ = 0;
};

std::string algo(const std::string& coll, int ranks, int chunks, int scratch, const std::vector<std::string>& gpus) {
  const std::string n = std::to_string(chunks);
  std::string text = "<algo name=\"mine\" nchunksperloop=\"" + n + "\" nchannels=\"1\" proto=\"Simple\" ngpus=\"" +
                     std::to_string(ranks) + "\" coll=\"" + coll + "\" inplace=\"1\">\n";
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"" + n + "\" o_chunks=\"0\" s_chunks=\"" +
            std::to_string(scratch) + "\">\n" + gpus[gpu] + "</gpu>\n";
  return text + "</algo>\n";
}

/// Reduce-scatter, then all-gather around the ranks in order, each rank with one thread block.
std::string ring_all_reduce(int ranks) {
  std::vector<std::string> gpus;
  for (int r = 0; r < ranks; ++r) {
    const auto chunk = [&](int back) { return ((r - back) % ranks + ranks) % ranks; };
    Tb tb(0, (r + 1) % ranks, (r + ranks - 1) % ranks);
    tb.step("s", "i", chunk(0), "i", chunk(0));
    for (int k = 1; k < ranks - 1; ++k) tb.step("rrs", "i", chunk(k), "i", chunk(k));
    tb.step("rrcs", "i", chunk(ranks - 1), "i", chunk(ranks - 1));
    for (int k = 0; k < ranks - 2; ++k) tb.step("rcs", "i", chunk(k), "i", chunk(k));
    tb.step("r", "i", chunk(ranks - 2), "i", chunk(ranks - 2));
    gpus.push_back(tb.text());
  }
  return algo("allreduce", ranks, ranks, 0, gpus);
}

/// Every rank sends each other rank its chunk, adds what it gets and sends the sum to all.
std::string pairs_all_reduce(int ranks) {
  std::vector<std::string> gpus;
  for (int r = 0; r < ranks; ++r) {
    std::string blocks;
    Tb adds(ranks, -1, -1);
    int place = 0, id = 0;
    for (int q = 0; q < ranks; ++q) {
      if (q == r) continue;
      adds.step("re", "s", place++, "i", r, id, 1);  // after that peer's chunk is here
      Tb peer(id++, q, q);
      peer.step("s", "i", q, "s", 0).step("r", "i", 0, "s", place - 1);
      peer.step("s", "i", r, "i", r, ranks, ranks - 2).step("r", "i", q, "i", q);
      blocks += peer.text();
    }
    gpus.push_back(blocks + adds.text());
  }
  return algo("allreduce", ranks, ranks, ranks - 1, gpus);
}

/// A file of that text, as long as it is there.
class File {
 public:
  explicit File(const std::string& text) { std::ofstream(path()) << text; }
  [[nodiscard]] std::string path() const { return (folder_ / "schedule.xml").string(); }

 private:
  ScratchFolder folder_;
};

std::unique_ptr<Algorithm> read(const std::string& text) { return read_algorithm(File(text).path()); }

double time_s(const Cluster& machine, const Communicator& ring, const Algorithm* own, double size_B) {
  TableLibrary library;
  TunerChoice taken;
  taken.entry.algorithm = "ring";
  taken.entry.protocol = "Simple";
  taken.channels = 1;
  library.made.taken = taken;
  CollectiveJob job{machine, library, ring, collectives().get("all_reduce"), "all_reduce", size_B};
  job.own = own;
  return collective::run_alone(job, catalogue().solver("fluid")).time_s();
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("schedule.xml"));
  }
  return "";
}

/// @param which  the first of these is replaced
std::string changed(std::string text, const std::string& which, const std::string& by) {
  return text.replace(text.find(which), which.size(), by);
}

}  // namespace

TEST_CASE("a ring written as a schedule takes what NCCL's ring takes", "[physics][user_schedule]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  for (const int ranks : {2, 3, 4, 8}) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
    const Communicator ring = made_ring(order);
    const auto own = read(ring_all_reduce(ranks));
    for (const double size_B : {8.0, 1e6, 840e6}) {
      INFO(ranks << " " << size_B);
      CHECK_THAT(time_s(machine, ring, own.get(), size_B), WithinRel(time_s(machine, ring, nullptr, size_B), 1e-9));
    }
    CHECK(own->orders(ring) == std::vector<std::vector<int>>{order});
  }
}

TEST_CASE("all pairs: two hops, two messages and the sums of n - 1 chunks", "[physics][user_schedule]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  for (const int ranks : {2, 4, 8}) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
    const double size_B = 8e6, chunk_s = size_B / ranks / 0.5e9;  // blocks limit, not links
    const auto own = read(pairs_all_reduce(ranks));
    CHECK_THAT(time_s(machine, made_ring(order), own.get(), size_B),
               WithinRel(9e-6 + 2 * 2e-6 + (2 + ranks - 1) * chunk_s, 1e-9));
  }
}

TEST_CASE("schedules that do not end with the result are refused with file and line", "[physics][user_schedule]") {
  const std::string ring = ring_all_reduce(3);
  REQUIRE(refusal(ring).empty());
  CHECK(refusal(changed(ring, "rrcs", "rcs")) ==
        "schedule.xml:1: no all_reduce: at the end chunk 1 of gpu 0 is not what it should be");
  CHECK(refusal(changed(ring, "srcoff=\"2\"", "srcoff=\"9\"")) ==
        "schedule.xml:5: chunk 9 is beyond the end of buffer i");
  CHECK(refusal(changed(ring, "type=\"s\"", "type=\"nop\"")) ==
        "schedule.xml:17: waits for ever: for a message or for the step that it depends on");
  CHECK(refusal(changed(ring, "type=\"r\"", "type=\"nop\"")) == "schedule.xml:25: what it sends is never received");
  CHECK(refusal(changed(ring, "cnt=\"1\"", "cnt=\"2\"")).find("schedule.xml:14: receives 1 chunks of a message of 2") ==
        0);
  CHECK(refusal(changed(ring, "type=\"rrs\"", "type=\"rrx\"")).find("schedule.xml:5: type=\"rrx\": must be nop") == 0);
  CHECK(refusal(changed(ring, "coll=\"allreduce\"", "coll=\"alltoall\"")).find("schedule.xml:1: coll=") == 0);
  CHECK(refusal(changed(ring, "</algo>", "")).find("no XML") != std::string::npos);
  CHECK(refusal("{}").find("no algorithm") != std::string::npos);
  // a chunk that was added twice
  const std::string twice =
      changed(pairs_all_reduce(3), "type=\"re\" srcbuf=\"s\" srcoff=\"1\"", "type=\"re\" srcbuf=\"s\" srcoff=\"0\"");
  CHECK(refusal(twice).find("adds a chunk of a rank twice") != std::string::npos);
}

TEST_CASE("a user's schedule answers in the place of the library's choice", "[physics][user_schedule]") {
  const File file(ring_all_reduce(4));
  const Json query{{"platform", "hgx-h100"}, {"kind", "collective"}, {"op", "all_reduce"},           {"size_B", 64e6},
                   {"gpus", {4, 5, 6, 7}},   {"launch", "graph"},    {"algorithm_file", file.path()}};
  const Json answer = ask(query);
  CHECK(answer["algorithm"] == "mine");
  CHECK(answer["protocol"] == "Simple");
  CHECK(answer["channels"] == Json::array({{4, 5, 6, 7}}));
  Json other = query;
  other["op"] = "all_gather";
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find("is a schedule of all_reduce") !=
        std::string::npos);
  other = query;
  other["gpus"] = {0, 1};
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find("is for 4 GPUs") != std::string::npos);
  other = query;
  other["algorithm"] = "ring";
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find("instead of algorithm") !=
        std::string::npos);
}

}  // namespace linkcast::test::user_schedule_test
