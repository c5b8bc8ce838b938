// SQLite exports of Nsight Systems, made of a text with SQL: figures are made up, tables and columns as nsys names
// them.
#include <sqlite3.h>
#include <zlib.h>

#include "tests/unit/trace_import.hpp"

namespace linkcast::test::nsys_test {

namespace {

const Options kSteps{{"step", "iteration"}};

std::string sample() { return text_of_file(trace_sample("nsys.sql")); }

/// A database of these commands.
std::string database_of(const ScratchFolder& scratch, const std::string& sql) {
  const std::string path = (scratch / "FILE").string();
  std::filesystem::remove(path);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  char* error = nullptr;
  sqlite3_exec(database, ("BEGIN;" + sql + "COMMIT;").c_str(), nullptr, nullptr, &error);
  const std::string what = error ? error : "";
  sqlite3_free(error);
  sqlite3_close(database);
  REQUIRE(what.empty());
  return path;
}

std::unique_ptr<Kept> imported_sql(const std::string& sql, const Options& options = kSteps) {
  const ScratchFolder scratch;
  return imported_trace("nsys", {database_of(scratch, sql)}, options);
}

std::string error_of_sql(const std::string& sql, const Options& options = kSteps) {
  const ScratchFolder scratch;
  return trace_error("nsys", text_of_file(database_of(scratch, sql)), options);
}

std::vector<TraceEvent> of_kind(const std::vector<TraceEvent>& events, TraceKind kind) {
  std::vector<TraceEvent> some;
  for (const TraceEvent& event : events)
    if (event.kind == kind) some.push_back(event);
  return some;
}

}  // namespace

TEST_CASE("nsys: kernels, copies, collectives by NCCL's ranges and steps of two GPUs", "[trace][import]") {
  const auto trace = imported_sql(sample());
  CHECK(trace->head.ranks == 2);
  CHECK(trace->head.device == "NVIDIA H200");
  CHECK(trace->head.groups.at("all") == std::vector<int>{0, 1});
  for (const int rank : {0, 1}) {
    const auto collectives = of_kind(trace->of(rank), TraceKind::kCollective);
    REQUIRE(collectives.size() == 4);
    CHECK(collectives[0].op == "all_reduce");
    CHECK(collectives[0].size_B == 8388608);
    CHECK(collectives[1].op == "all_gather");
    CHECK(collectives[1].size_B == 2 * 1048576);  // NCCL prints one rank's part
    const auto copies = of_kind(trace->of(rank), TraceKind::kCopy);
    REQUIRE(copies.size() == 2);
    CHECK(copies[0].op == "h2d");
    CHECK(copies[0].size_B == 2.5e6);
    const auto computes = of_kind(trace->of(rank), TraceKind::kCompute);
    REQUIRE(computes.size() == 6);
    CHECK_THAT(computes[0].time_s, WithinRel(300e-6, 1e-9));
    CHECK_THAT(computes[1].time_s, WithinRel(200e-6, 1e-9));
    CHECK(computes[1].after == std::vector<std::int64_t>{*collectives[0].id});  // the stream waits, NCCL's own does not
    CHECK(of_kind(trace->of(rank), TraceKind::kStep).size() == 2);
    CHECK(of_kind(trace->of(rank), TraceKind::kSync).size() == 2);
    // Nothing waits for the all_gather but the CPU, for the whole GPU: the second step's waits for its own all_reduce.
    CHECK(computes[4].after == std::vector<std::int64_t>{*collectives[2].id});
    // 1.01 to 1.014 ms is the first launch, 1 ms the mark; what the CPU does between the steps is the second one's.
    CHECK_THAT(of_kind(trace->of(rank), TraceKind::kCopy)[0].host_s, WithinRel(5e-6, 1e-9));
    CHECK_THAT(of_kind(trace->of(rank), TraceKind::kCopy)[1].host_s, WithinRel(1145e-6, 1e-9));
  }
  // A copy to the GPU ends 1 us before the kernel behind it begins; 90 us are waiting for the collective.
  CHECK_THAT(trace->head.gap_s, WithinRel(1e-6, 1e-9));
}

TEST_CASE("nsys: what an export does not say is said", "[trace][import]") {
  const auto trace = imported_sql(sample());
  CHECK(trace->notes("kept as compute, waiting for other ranks included: 4 kernels of sends and receives of NCCL"));
  CHECK(trace->notes("assumed: collectives are of all ranks"));
  CHECK(trace->notes("left out: work of 1 calls that the recording does not hold"));
  const auto bare = imported_sql(sample() +
                                     "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;"
                                     "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER);"
                                     "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5);",
                                 {});
  CHECK(of_kind(bare->events, TraceKind::kCollective).empty());
  CHECK(bare->notes("kept as compute, waiting for other ranks included: 8 kernels of NCCL whose operation and size"));
  CHECK(bare->notes("left out: 1 launches of CUDA graphs recorded as a whole"));
  CHECK(bare->notes("assumed: 2 steps found by repetition of"));
  CHECK(imported_sql(sample() + "DROP TABLE NVTX_EVENTS;", {{"steps", "1"}})
            ->notes("the recording is one step, as option steps says"));
}

TEST_CASE("nsys: one GPU alone, communicators that ranges name", "[trace][import]") {
  const std::string one =
      "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 1;"
      "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE deviceId = 1;";
  const auto trace = imported_sql(sample() + one);
  CHECK(trace->head.ranks == 1);
  CHECK(trace->notes("one rank (0) of 2 alone"));  // as ncclCommInitRank says
  const std::string unsaid = one + "DELETE FROM NVTX_EVENTS WHERE jsonText LIKE '%No. of ranks%';";
  CHECK(error_of_sql(sample() + unsaid).find("option ranks: is needed") == 0);
  CHECK(imported_sql(sample() + unsaid, {{"ranks", "8"}})->notes("one rank (0) of 8 alone"));
  const std::string named =
      "UPDATE NVTX_EVENTS SET jsonText = '{\"NCCL communicator ID\": 99, \"Message size [bytes]\": \"64\"}' "
      "WHERE jsonText LIKE '%Message size%';";
  const auto by_name = imported_sql(sample() + named);
  CHECK(by_name->head.groups.at("99") == std::vector<int>{0, 1});
  CHECK(of_kind(by_name->of(0), TraceKind::kCollective)[0].size_B == 64);
}

TEST_CASE("nsys: errors name file, table, row and column", "[trace][import]") {
  CHECK(trace_error("nsys", "nsys-rep").find("FILE: is no SQLite file: of a report of Nsight Systems 'nsys export") ==
        0);
  CHECK(error_of_sql("CREATE TABLE a (b);").find("FILE: holds neither kernels nor copies of a GPU") == 0);
  CHECK(error_of_sql(sample() + "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;").find("FILE: holds no calls of CUDA") == 0);
  const auto set = [](const std::string& text) { return sample() + "UPDATE CUPTI_ACTIVITY_KIND_" + text + ";"; };
  CHECK(error_of_sql(set("KERNEL SET deviceId = 'x'")) ==
        "FILE: table CUPTI_ACTIVITY_KIND_KERNEL row 1, column deviceId: must be a whole number");
  CHECK(error_of_sql(set("KERNEL SET deviceId = 4000000000")).find("column deviceId: must be below 1024") !=
        std::string::npos);
  CHECK(error_of_sql(set("KERNEL SET end = 1")).find("column end: is before the start") != std::string::npos);
  CHECK(error_of_sql(set("MEMCPY SET bytes = -1")).find("column bytes: must not be negative") != std::string::npos);
  CHECK(error_of_sql(set("RUNTIME SET correlationId = 0")).find("process 4001, GPU 0: none of its work was launched") !=
        std::string::npos);
  // A view can compute without end: it is no table of an export.
  CHECK(error_of_sql(sample() + "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; CREATE "
                                "VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
                                "i + 1 FROM n) SELECT i AS start FROM n;")
            .find("holds neither kernels") != std::string::npos);
}

TEST_CASE("nsys: options that say what the files do not hold are refused", "[trace][import]") {
  CHECK(error_of_sql(sample(), {{"step", "nope"}}) ==
        "option step: no range of NVTX in FILE begins with 'nope', but 'iteration 0', 'iteration 1'");
  CHECK(error_of_sql(sample() + "DROP TABLE NVTX_EVENTS;").find("begins with 'iteration': it holds none") !=
        std::string::npos);
  CHECK(error_of_sql(sample(), {{"ranks", "4"}}) ==
        "option ranks: is for one GPU that calls NCCL, alone: FILE: they hold 2 GPUs, each of which is a rank");
  CHECK(imported_sql(sample(), {{"ranks", "2"}})->head.ranks == 2);
}

TEST_CASE("nsys: packed by gzip", "[trace][import]") {
  const ScratchFolder scratch;
  const std::string path = database_of(scratch, sample()), packed = path + ".gz";
  const std::string bytes = text_of_file(path);
  const auto pack = [&](std::size_t size) {
    const gzFile file = gzopen(packed.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(size));
    gzclose(file);
  };
  pack(bytes.size());
  CHECK(imported_trace("nsys", {packed}, kSteps)->text == imported_trace("nsys", {path}, kSteps)->text);
  pack(bytes.size() / 2);
  CHECK_THROWS_AS(imported_trace("nsys", {packed}, kSteps), InputError);
}

TEST_CASE("nsys: broken databases", "[trace][import]") {
  const ScratchFolder scratch;
  check_mutations("nsys", text_of_file(database_of(scratch, sample())), 600, {{"ranks", "2"}});
}

}  // namespace linkcast::test::nsys_test
