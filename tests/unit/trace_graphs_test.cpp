// Importers of execution traces: graphs of operators. Figures are worked out by hand.
#include <chakra_et.pb.h>
#include <google/protobuf/util/delimited_message_util.h>

#include "tests/unit/trace_import.hpp"

namespace linkcast::test::trace_graphs_test {

using Ids = std::vector<std::int64_t>;

namespace {

/// Writes nodes as Chakra does.
class Graph {
 public:
  Graph() {
    chakra_et::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    write(metadata);
  }
  template <class Message>
  void write(const Message& message) {
    google::protobuf::util::SerializeDelimitedToOstream(message, &stream_);
  }
  Graph& node(std::uint64_t id, chakra_et::NodeType type, const std::vector<std::uint64_t>& data,
              const std::vector<std::pair<std::string, std::int64_t>>& attributes = {}, std::uint64_t micros = 0) {
    chakra_et::Node node;
    node.set_id(id);
    node.set_type(type);
    node.set_duration_micros(micros);
    for (const std::uint64_t earlier : data) node.add_data_deps(earlier);
    node.add_ctrl_deps(control);
    if (control == 0) node.clear_ctrl_deps();
    for (const auto& [name, value] : attributes) {
      auto* attribute = node.add_attr();
      attribute->set_name(name);
      attribute->set_int64_val(value);
    }
    write(node);
    return *this;
  }
  [[nodiscard]] std::string text() const { return stream_.str(); }

  std::uint64_t control = 0;  ///< of nodes to come; 0: none

 private:
  std::ostringstream stream_;
};

std::string good_graph() {
  Graph graph;
  graph.node(7, chakra_et::COMP_NODE, {}, {}, 250)
      .node(9, chakra_et::COMM_COLL_NODE, {7}, {{"comm_type", 0}, {"comm_size", 4096}})
      .node(8, chakra_et::COMP_NODE, {7}, {}, 100)
      .node(11, chakra_et::COMP_NODE, {8, 9}, {}, 10)
      .node(10, chakra_et::COMM_SEND_NODE, {8}, {{"comm_dst", 0}, {"comm_tag", 5}, {"comm_size", 64}});
  return graph.text();
}

}  // namespace

TEST_CASE("PyTorch: operators with Kineto's times, and waits by storage", "[unit][trace_import]") {
  const auto trace = imported_trace("pytorch-et", {trace_sample("pytorch-et.json"), trace_sample("kineto-times.json")});
  CHECK(trace->head.ranks == 1);
  CHECK(trace->notes("one rank alone"));
  REQUIRE(trace->events.size() == 5);
  const auto& e = trace->events;
  CHECK(e[0].time_s == Approx(18.176e-6));  // aten::mm, two kernels
  CHECK(e[1].time_s == Approx(2.656e-6));
  CHECK(e[1].stream == e[0].stream);
  CHECK(e[2].name == "aten::mul");  // fills the bucket, storage 231
  CHECK(e[3].kind == TraceKind::kCollective);
  CHECK(e[3].op == "all_reduce");
  CHECK(e[3].size_B == 4 * 4097000);
  CHECK(e[3].stream == "stream 19");
  CHECK(e[3].after == Ids{*e[2].id});
  CHECK(e[4].name == "aten::copy_");  // reads it
  CHECK(e[4].time_s == Approx(0.928e-6));
  CHECK(e[4].after == Ids{*e[3].id});
}

TEST_CASE("PyTorch: without times, communication alone or a time of each operator", "[unit][trace_import]") {
  const std::string et = trace_sample("pytorch-et.json");
  const auto alone = imported_trace("pytorch-et", {et}, {{"compute", "0us"}});
  REQUIRE(alone->events.size() == 1);
  CHECK(alone->events[0].size_B == 4 * 4097000);
  // Of the sample's leaves mm, mul and copy_ have tensors on the GPU.
  const auto timed = imported_trace("pytorch-et", {et}, {{"compute", "3us"}, {"step", "aten::mul"}});
  double sum_s = 0;
  for (const TraceEvent& event : timed->events) sum_s += event.time_s;
  CHECK(sum_s == Approx(9e-6));
  CHECK(timed->events.back().kind == TraceKind::kStep);
}

TEST_CASE("PyTorch: what is refused", "[unit][trace_import][bad_input]") {
  const auto error = [](const std::string& text, const Options& options = {}) {
    return trace_error("pytorch-et", text, options);
  };
  const std::string good = text_of_file(trace_sample("pytorch-et.json"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK(error(good) ==
        "FILE: an execution trace has no times: add Kineto's timeline of each rank to the files, or "
        "option compute=0us for communication alone");
  CHECK(error("{}") == "FILE: neither an execution trace of PyTorch (nodes) nor a timeline of Kineto (traceEvents)");
  CHECK(error(text_of_file(trace_sample("kineto-times.json"))) ==
        "FILE: is Kineto's timeline: an execution trace of PyTorch is missing");
  CHECK(error(changed("\"allreduce\"}", "\"allshuffle\"}"), {{"compute", "0us"}}) ==
        "FILE: node 249: collective 'allshuffle' is not known to this importer");
  CHECK(error(changed("\"Float\"}", "\"Decimal\"}"), {{"compute", "0us"}}) ==
        "FILE: node 249: dtype 'Decimal' is not known");
  CHECK(error(changed("{\"id\": 2,", "{\"id\": \"two\","), {{"compute", "0us"}}) ==
        "FILE:/nodes/0/id: must be a whole number");
  CHECK(error(good.substr(0, 500)).rfind("FILE: not JSON: ", 0) == 0);
}

TEST_CASE("Chakra: nodes in an order that their dependencies allow", "[unit][trace_import]") {
  const auto trace = trace_of("chakra", good_graph());
  CHECK(trace->head.groups.at("all") == std::vector<int>{0});
  const auto& e = trace->events;
  REQUIRE(e.size() == 5);
  CHECK(e[0].time_s == Approx(250e-6));
  CHECK(e[1].op == "all_reduce");
  CHECK(e[1].size_B == 4096);
  CHECK(e[1].after == Ids{1});
  CHECK(e[2].time_s == Approx(100e-6));
  CHECK(e[2].stream == e[0].stream);  // beside the collective
  CHECK(e[2].after.empty());
  CHECK(e[3].after == Ids{2});
  CHECK(e[4].kind == TraceKind::kSend);
  CHECK(e[4].tag == "5");
  CHECK(e[4].after == Ids{3});
}

TEST_CASE("Chakra: options", "[unit][trace_import]") {
  Graph graph;
  graph.node(1, chakra_et::COMP_NODE, {}, {{"num_ops", 3000}});
  graph.control = 1;
  graph.node(2, chakra_et::COMP_NODE, {}, {{"is_cpu_op", 1}}, 5);
  CHECK(trace_error("chakra", graph.text()) ==
        "FILE: node 1: has no duration, but num_ops: add option flops-per-second=..., what one rank computes");
  const auto data = trace_of("chakra", graph.text(), {{"flops-per-second", "1e6"}});
  CHECK(data->events[0].time_s == Approx(3e-3));
  CHECK(data->events[1].after.empty());
  CHECK(data->events[1].stream == "cpu");
  const auto both = trace_of("chakra", graph.text(), {{"flops-per-second", "1e6"}, {"deps", "both"}});
  CHECK(both->events[1].after == Ids{1});
}

TEST_CASE("Chakra: what is refused", "[unit][trace_import][bad_input]") {
  const auto error = [](const Graph& graph) { return trace_error("chakra", graph.text()); };
  CHECK(trace_error("chakra", "") == "FILE: is empty");
  CHECK(trace_error("chakra", "hello") == "FILE: message 1 is not one of Chakra's schema");
  CHECK(error(Graph().node(1, chakra_et::COMP_NODE, {2})) == "FILE: node 1: waits for node 2, which is not there");
  CHECK(error(Graph().node(1, chakra_et::COMP_NODE, {}).node(1, chakra_et::COMP_NODE, {})) ==
        "FILE: node 1: is there twice");
  CHECK(error(Graph().node(1, chakra_et::COMP_NODE, {2}).node(2, chakra_et::COMP_NODE, {1})) ==
        "FILE: nodes wait for each other in a circle");
  CHECK(error(Graph().node(1, chakra_et::COMM_COLL_NODE, {}, {{"comm_type", 99}})) ==
        "FILE: node 1: comm_type 99 is not known");
  CHECK(error(Graph().node(1, chakra_et::COMM_COLL_NODE, {}, {{"comm_type", 0}})) ==
        "FILE: node 1: has no attribute comm_size");
  CHECK(error(Graph().node(1, chakra_et::COMM_SEND_NODE, {}, {{"comm_size", 1}, {"comm_dst", 4}})) ==
        "FILE: node 1: rank 4, but files of 1 ranks");
}

TEST_CASE("broken execution traces are taken or refused, never a crash", "[unit][trace_import][bad_input]") {
  check_mutations("pytorch-et", text_of_file(trace_sample("pytorch-et.json")), 1500, {{"compute", "1us"}});
  check_mutations("chakra", good_graph(), 1500);
}

}  // namespace linkcast::test::trace_graphs_test
