#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "cli/query_options.hpp"
#include "sim/query/gpu_values.hpp"
#include "sim/query/query_kind.hpp"
#include "topologies/formats/nccl_xml.hpp"

namespace linkcast::cli {
namespace {

std::string arrow(const std::string& hop) {
  if (hop == "peer") return " ->";
  return hop == "host memory" ? " ~host~>" : " -" + hop.substr(hop.find(' ') + 1) + "->";
}

std::string entry_text(const Json& end) {
  return " " + end["nic"].get<std::string>() + (end["through_host"].get<bool>() ? " ~host~>" : " =>");
}

/// The GPU that sends in the place of the last one stands between the two.
std::string exit_text(const Json& end) {
  const std::string proxy = end.contains("proxy") ? " -> (" + end["proxy"].dump() + ")" : "";
  return proxy + (end["through_host"].get<bool>() ? " ~host~> " : " => ") + end["nic"].get<std::string>();
}

std::string ring_text(const Json& result, std::size_t i) {
  const Json &order = result["channels"][i], &hops = result["hops"][i];
  std::string line = result.contains("nics") ? entry_text(result["nics"][i]["in"]) : "";
  for (std::size_t k = 0; k < order.size(); ++k) {
    line += ' ' + order[k].dump();
    if (k < hops.size() && order.size() > 1) line += arrow(hops[k].get<std::string>());
  }
  if (result.contains("nics")) return line + exit_text(result["nics"][i]["out"]);
  return order.size() > 1 ? line + ' ' + order[0].dump() : line;
}

std::string tree_text(const Json& result, std::size_t i) {
  std::string line;
  for (const Json& gpu : result["trees"][i]) line += ' ' + gpu.dump();
  return result.contains("tree_nics") ? line + "  by " + result["tree_nics"][i]["nic"].get<std::string>() : line;
}

/// Each on a line, those that follow each other and are alike on one: "  rings 0 to 11: 0 -> 1".
void print_alike(const std::string& what, std::size_t count, const std::function<std::string(std::size_t)>& text_of) {
  for (std::size_t first = 0, last = 0; first < count; first = last) {
    const std::string line = text_of(first);
    for (last = first + 1; last < count && text_of(last) == line;) ++last;
    if (last - first == 1)
      std::cout << fmt::format("  {} {}:{}\n", what, first, line);
    else
      std::cout << fmt::format("  {}s {} to {}:{}\n", what, first, last - 1, line);
  }
}

void print_trees(const Json& result) {
  if (result["trees"].empty()) return;
  constexpr double kNone_Bps = 1e8;  // source: models/libraries/graph/channel_plan.cpp, of a channel without a path
  const double rate_Bps = result["library_tree_bandwidth_Bps"].get<double>();
  std::cout << "trees: chains"
            << (rate_Bps > kNone_Bps ? " of " + to_text(BytesPerSecond{rate_Bps}) + " each as the library counts"
                                     : " in the order of the GPUs, as the library finds none")
            << ", class " << result["tree_class"].get<std::string>() << '\n';
  print_alike("tree", result["trees"].size(), [&](std::size_t i) { return tree_text(result, i); });
}

void print_tuner(const Json& result) {
  if (!result.contains("library_takes")) return;
  std::vector<std::vector<std::string>> rows{{"algorithm", "protocol", "bandwidth", "latency", "time", ""}};
  const Json& taken = result["library_takes"];
  for (const Json& row : result["tuner"]) {
    const bool is_taken = row["algorithm"] == taken["algorithm"] && row["protocol"] == taken["protocol"];
    rows.push_back({row["algorithm"].get<std::string>(), row["protocol"].get<std::string>(),
                    to_text(BytesPerSecond{row["bandwidth_Bps"].get<double>()}),
                    to_text(Seconds{row["latency_s"].get<double>()}), to_text(Seconds{row["time_s"].get<double>()}),
                    is_taken                     ? "taken"
                    : row["enabled"].get<bool>() ? ""
                                                 : "off"});
  }
  std::cout << "tuner estimate (the library's, not a forecast):\n";
  print_table(rows);
  std::cout << "it takes " << taken["channels"] << " blocks of " << taken["threads"] << " threads\n";
}

void print_rings(const Json& result) {
  if (result.contains("nodes"))
    std::cout << result["nodes"] << " nodes of " << result["gpus_per_node"] << " GPUs, in each of them\n";
  std::cout << result["library"].get<std::string>() << ": " << result["channels"].size() << " distinct rings, "
            << result["blocks"] << " thread blocks, class " << result["path_class"].get<std::string>() << ", worth "
            << result["link_equivalents"] << " links" << (result["fallback"].get<bool>() ? ", FALLBACK" : "") << '\n'
            << result["why"].get<std::string>() << '\n';
  print_alike("ring", result["channels"].size(), [&](std::size_t i) { return ring_text(result, i); });
  if (result.value("swaps_rings", false))
    std::cout << "  in every second node rings 0 and 1, 2 and 3, ... change places\n";
  print_trees(result);
  print_tuner(result);
  print_warnings(result);
}

/// GPUs of a query by any of their names.
std::vector<int> numbered(Context& context, const Json& query) {
  const Topology& topology = context.machine(query["platform"].get<std::string>())->platform().topology();
  const query::KeyTable& keys = query::query_kinds().get("rings").keys();
  return query::with_numbers(keys, query, topology, "command line")["gpus"].get<std::vector<int>>();
}

}  // namespace

void add_rings(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("rings", "the rings a communication library builds, and why");
  struct Options {
    Options(CLI::App& app, Context& shared) : query(app, shared, "rings") {}
    QueryOptions query;
    std::string out{};
    bool nccl_graph = false;
  };
  auto o = std::make_shared<Options>(*command, context);
  auto* graph = command->add_flag("--nccl-graph", o->nccl_graph, "rings and trees as a file for NCCL_GRAPH_FILE");
  for (const char* other : {"--op", "--nvls", "--nodes", "--json"}) graph->excludes(command->get_option(other));
  command->add_option("--out", o->out, "file for --nccl-graph (default: standard output)")->needs(graph);
  command->footer(
      "Example:\n  linkcast rings --platform p100-dgx1 --gpus 0-4\n"
      "  linkcast rings --platform v100-dgx1 --gpus 0-7 --library nccl-2.18 --op all_reduce --size 1MiB\n"
      "  linkcast rings --platform v100-dgx1 --gpus 0-7 --library nccl-2.18 --nccl-graph --out rings.xml");
  command->callback([o, &context] {
    const Json query = o->query.query();
    if (o->nccl_graph && context.whatif) throw InputError("--nccl-graph: one file, not one before and one after");
    const Json result = run_query(context, query);
    if (o->nccl_graph)
      write_out(o->out, exporters::nccl::graph_xml(
                            *context.edited(o->query.platform())
                                 ->communicator(result["library"].get<std::string>(), numbered(context, query))));
    else if (print_as_data(context, result, context.whatif ? "" : "channels"))
      return;
    else if (context.whatif)
      print_whatif(result);
    else
      print_rings(result);
  });
}

}  // namespace linkcast::cli
