#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "cli/texts.hpp"
#include "sim/query/query.hpp"
#include "sim/query/whatif.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {

std::string bandwidth(const Json& value) { return to_text(BytesPerSecond{value.get<double>()}); }

std::string joined(const Json& list, const char* between) {
  std::string text;
  for (const Json& item : list)
    text += (text.empty() ? "" : between) + (item.is_string() ? item.get<std::string>() : item.dump());
  return text;
}

void print_result(const Json& result) {
  std::vector<std::vector<std::string>> rows = {{"time", " " + seconds(result["time_s"]) +
                                                             "  (90 %: " + seconds(result["time_low_s"]) + " to " +
                                                             seconds(result["time_high_s"]) + ")"}};
  const auto row = [&](const char* label, const std::string& text) { rows.push_back({label, " " + text}); };
  if (result.contains("alone_s"))
    row("alone", seconds(result["alone_s"]) + "  (" + fixed(result["slowdown"].get<double>(), 2) +
                     " times as long with the others)");
  if (result.contains("bandwidth_Bps")) row("bandwidth", bandwidth(result["bandwidth_Bps"]));
  if (result.contains("algbw_Bps")) {
    row("algorithm bandwidth", bandwidth(result["algbw_Bps"]));
    row("bus bandwidth", bandwidth(result["busbw_Bps"]));
    row("algorithm, protocol", result["algorithm"].get<std::string>() + ", " + result["protocol"].get<std::string>());
    if (result.contains("rounds"))
      row("rounds", std::to_string(result["rounds"].get<int>()) + " between " + result["ranks"].dump() + " ranks");
    else
      row("channels", std::to_string(result["channels"].size()) + " distinct, " +
                          std::to_string(result["blocks"].get<int>()) + " blocks, " +
                          bandwidth(result["channel_bandwidth_Bps"]) + " on the busiest");
    for (const Json& order : result["channels"]) row("", joined(order, " "));
  }
  if (result.contains("library_believes"))
    row("library believes", seconds(result["library_believes"]["time_s"]) + "  (its tuner, not a forecast)");
  for (const Json& other : result.value("alternatives", Json::array()))
    row(other == result["alternatives"].front() ? "alternatives" : "",
        other["algorithm"].get<std::string>() + ", " + other["protocol"].get<std::string>() + ": " +
            seconds(other["time_s"]) +
            (other.contains("library_believes_s")
                 ? "  (the library believes " + seconds(other["library_believes_s"]) + ")"
                 : ""));
  if (result.contains("hint")) row("hint", result["hint"].get<std::string>());
  for (const Json& other : result.value("others", Json::array()))
    row(other == result["others"].front() ? "others" : "",
        other["op"].get<std::string>() + " of " + to_text(Bytes{other["size_B"].get<double>()}) + " on " +
            joined(other["gpus"], " ") + ": " + seconds(other["time_s"]) + "  (alone " + seconds(other["alone_s"]) +
            ")");
  if (result.contains("engine"))
    row("messages", std::to_string(result["messages"].get<long>()) + ", " + result["engine"].get<std::string>() + ": " +
                        std::to_string(result["classes"].get<long>()) +
                        (result["engine"] == "direct" ? " activities" : " sorts of them"));
  if (result.contains("latency_s")) row("start-up", seconds(result["latency_s"]));
  if (result.contains("transport"))
    row("transport", result["transport"].get<std::string>() +
                         (result.contains("via") ? " via " + result["via"].get<std::string>() : ""));
  if (result.contains("route")) row("route", joined(result["route"], "  "));
  if (result.contains("flow_times_s"))
    for (std::size_t i = 0; i < result["flow_times_s"].size(); ++i)
      row(i == 0 ? "flows" : "",
          seconds(result["flow_times_s"][i]) + "  " + result["transports"][i].get<std::string>());
  for (const auto& [label, text] : network_rows(result)) row(label.c_str(), text);
  row("bottleneck", joined(result["bottleneck"], "  "));
  print_table(rows);
  print_warnings(result);
}

void show_result(const Context& context, const Json& result) {
  if (context.json)
    std::cout << result.dump(2) << '\n';
  else if (context.whatif)
    print_whatif(result);
  else
    print_result(result);
}

struct P2pOptions {
  std::string platform, src, dst, size, transport, via, engine, direction, timing, chunk;
  bool bidirectional = false, pageable = false;
  NetworkOptions network{};
};

void add_p2p(CLI::App& predict, Context& context) {
  auto* command = predict.add_subcommand("p2p", "one copy between two devices, nothing else going on");
  auto o = std::make_shared<P2pOptions>();
  add_common(*command, context, o->platform);
  command->add_option("--src", o->src, "device the bytes come from, e.g. gpu0")->required();
  command->add_option("--dst", o->dst, "device the bytes go to")->required();
  command->add_option("--size", o->size, "e.g. 64MiB")->required();
  command->add_option(
      "--transport", o->transport,
      "local, peer, relay (through another GPU), staged (through host memory, as with peer access off); "
      "default: what the runtime takes");
  command->add_option("--via", o->via, "relaying GPU; implies --transport relay. A NIC: out and in by that card");
  command->add_option("--engine", o->engine, "dma (copy engines, default) or sm (kernels)");
  command->add_option("--direction", o->direction,
                      "read (the target pulls) or write (the source pushes); default: write if that was measured");
  command->add_option("--timing", o->timing,
                      "single (from rest, default between nodes) or back_to_back (one of a queue, default in a node)");
  command->add_option("--chunk", o->chunk, "relay: chunk size, the second copy follows chunk by chunk");
  command->add_flag("--pageable", o->pageable, "host copies: memory that is not pinned");
  command->add_flag("--bidirectional", o->bidirectional, "both directions at once; bandwidth is their sum");
  add_noise(*command, o->network);
  command->footer(
      "Example:\n  linkcast predict p2p --platform p100-dgx1 --src gpu0 --dst gpu1 --size 40MB --transport staged");
  command->callback([o, &context] {
    Json query{{"kind", "p2p"}, {"platform", o->platform}, {"src", o->src}, {"dst", o->dst}};
    query["size_B"] = parse_size("--size", o->size);
    if (!o->transport.empty()) query["transport"] = o->transport;
    if (!o->via.empty()) query["via"] = o->via;
    if (!o->engine.empty()) query["engine"] = o->engine;
    if (!o->direction.empty()) query["direction"] = o->direction;
    if (!o->timing.empty()) query["timing"] = o->timing;
    if (!o->chunk.empty()) query["chunk_B"] = parse_size("--chunk", o->chunk);
    if (o->pageable) query["pageable"] = true;
    if (o->bidirectional) query["bidirectional"] = true;
    put_network(o->network, query);
    show_progress();
    show_result(context, run_query(context, query));
  });
}

/// "gpu0:gpu1:64MiB"
Json parse_flow(const std::string& text) {
  const auto first = text.find(':');
  const auto second = text.find(':', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos || text.find(':', second + 1) != std::string::npos)
    throw InputError("--flow: '" + text + "' is not SRC:DST:SIZE, e.g. gpu0:gpu1:64MiB");
  return {text.substr(0, first), text.substr(first + 1, second - first - 1),
          parse_size("--flow", text.substr(second + 1))};
}

struct FlowsOptions {
  std::string platform, engine, transport, direction, timing;
  std::vector<std::string> flows;
  NetworkOptions network{};
};

void add_flows(CLI::App& predict, Context& context) {
  auto* command =
      predict.add_subcommand("flows", "several copies that start together and contend, inside nodes and between them");
  auto o = std::make_shared<FlowsOptions>();
  add_common(*command, context, o->platform);
  command
      ->add_option("--flow", o->flows,
                   "SRC:DST:SIZE, as often as there are copies, e.g. gpu0:gpu1:64MiB, node0/gpu0:node1/gpu0:64MiB")
      ->required();
  command->add_option("--engine", o->engine, "dma (copies of one engine take turns, default) or sm (kernels share)");
  command->add_option("--transport", o->transport,
                      "peer, relay or staged for all copies inside nodes, or a kind of message for those between; "
                      "default: what the runtime takes");
  command->add_option("--direction", o->direction, "read (the targets pull) or write (the sources push)");
  command->add_option("--timing", o->timing, "single (all start from rest, default) or back_to_back (inside nodes)");
  add_noise(*command, o->network);
  command->footer(
      "Example:\n  linkcast predict flows --platform v100-dgx1 --flow gpu0:gpu1:64MiB --flow gpu0:gpu2:64MiB --engine "
      "sm");
  command->callback([o, &context] {
    Json query{{"kind", "flows"}, {"platform", o->platform}, {"flows", Json::array()}};
    for (const std::string& flow : o->flows) query["flows"].push_back(parse_flow(flow));
    if (!o->engine.empty()) query["engine"] = o->engine;
    if (!o->transport.empty()) query["transport"] = o->transport;
    if (!o->direction.empty()) query["direction"] = o->direction;
    if (!o->timing.empty()) query["timing"] = o->timing;
    put_network(o->network, query);
    show_progress();
    show_result(context, run_query(context, query));
  });
}

/// "all_reduce:64MiB:4-7"
Json parse_other(const std::string& text) {
  const auto first = text.find(':');
  const auto second = text.find(':', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos)
    throw InputError("--with: '" + text + "' is not OP:SIZE:GPUS, e.g. all_reduce:64MiB:4-7");
  return {{"op", text.substr(0, first)},
          {"size_B", parse_size("--with", text.substr(first + 1, second - first - 1))},
          {"gpus", parse_gpus(text.substr(second + 1), "--with")}};
}

struct CollectiveOptions {
  std::string platform, gpus, op, size, library, algorithm, protocol;
  std::vector<std::string> with;
  NetworkOptions network{};
  bool nvls = false;
  int nodes = 0, gpus_per_node = 0;
  std::optional<int> calls{};
};

Json collective_query(const CollectiveOptions& o) {
  Json query{{"kind", "collective"}, {"platform", o.platform}, {"op", o.op}};
  if (o.gpus.empty() && o.nodes == 0) throw InputError("--gpus, or --nodes and --gpus-per-node: one is required");
  if (o.nodes != 0) {
    query["nodes"] = o.nodes;
    query["gpus_per_node"] = o.gpus_per_node;
  } else {
    query["gpus"] = parse_gpus(o.gpus);
  }
  query["size_B"] = parse_size("--size", o.size);
  if (!o.library.empty()) query["library"] = o.library;
  if (!o.algorithm.empty()) query["algorithm"] = o.algorithm;
  if (!o.protocol.empty()) query["protocol"] = o.protocol;
  if (o.nvls) query["nvls"] = true;
  if (o.calls) query["calls"] = *o.calls;
  for (const std::string& other : o.with) query["with"].push_back(parse_other(other));
  put_network(o.network, query);
  query["alternatives"] = o.with.empty();
  return query;
}

void add_collective(CLI::App& predict, Context& context) {
  auto* command = predict.add_subcommand("collective", "one collective operation of a communication library");
  auto o = std::make_shared<CollectiveOptions>();
  add_common(*command, context, o->platform);
  auto* gpus = command->add_option("--gpus", o->gpus, "members in rank order, e.g. 0-3 or 0,1,4,5");
  auto* nodes = command->add_option("--nodes", o->nodes, "instead of --gpus: that many nodes of a cluster");
  auto* per_node = command->add_option("--gpus-per-node", o->gpus_per_node, "with --nodes: the first GPUs of each");
  gpus->excludes(nodes)->excludes(per_node);
  nodes->needs(per_node);
  per_node->needs(nodes);
  command->add_option("--op", o->op, "see 'linkcast list collectives'")->required();
  command->add_option("--size", o->size, "the size column of nccl-tests, e.g. 1GiB")->required();
  command->add_option("--library", o->library, "see 'linkcast list libraries'; default: that of the machine's time");
  command->add_option("--algorithm", o->algorithm, "ring, tree or nvls; default: what the library takes for the size");
  command->add_option("--calls", o->calls,
                      "made one behind the other, at least 1, default 20 as nccl-tests; the time is that of one");
  command->add_flag("--nvls", o->nvls, "the machine offers multicast by NVSwitch");
  command->add_option("--protocol", o->protocol, "LL, LL128 or Simple; default: what the library takes for the size");
  command->add_option(
      "--with", o->with,
      "OP:SIZE:GPUS of another communicator that starts at the same moment, as often as there are some");
  add_noise(*command, o->network);
  add_jobs(*command, o->network);
  command->footer(
      "Example:\n  linkcast predict collective --platform p100-dgx1 --gpus 0-4 --op all_reduce --size 1GiB");
  command->callback([o, &context] {
    show_progress();
    show_result(context, run_query(context, collective_query(*o)));
  });
}

/// Edits of the command line come on top of those of a query.
void add_batch_edits(const Context& context, Json& query) {
  const auto edits = context.edit_list();
  if (edits.empty() || !query.is_object()) return;
  if (!query.contains("edits")) query["edits"] = Json::array();
  if (query["edits"].is_array())
    for (const std::string& edit : edits) query["edits"].push_back(edit);
}

/// One line in, one line out, same order; a bad line gives an error object and the batch goes on.
void run_batch(Context& context, const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    if (std::filesystem::is_directory(path)) throw InputError("--batch: " + path + ": is a folder, not a file");
    file.open(path);
    if (!file) throw InputError("--batch: " + path + ": no such file, or not readable");
  }
  std::istream& in = path == "-" ? std::cin : file;
  using Clock = std::chrono::steady_clock;
  auto last_progress = Clock::now();
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string name = path + " line " + std::to_string(number);
    Json result{{"id", nullptr}};  // of a line that is not JSON
    try {
      Json query = parse_json(line, name);
      if (query.is_object() && query.contains("id")) result["id"] = query["id"];
      add_batch_edits(context, query);
      result = context.whatif ? query::whatif_answer(context.catalogue(), query, name)
                              : query::answer_or_throw(context.catalogue(), query, name);
    } catch (const InputError& error) {
      result["error"] = error.what();
    } catch (const std::exception& error) {  // a bug of ours must not cost the other answers
      result["error"] = std::string("internal: ") + error.what();
      context.exit_code = kBrokenInvariant;
    }
    std::cout << result.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';  // errors quote the line
    if (Clock::now() - last_progress > std::chrono::seconds(2)) {
      std::cerr << "batch: " << number << " queries answered\n";
      last_progress = Clock::now();
    }
  }
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("predict", "forecast copies, contending flows and collectives");
  auto batch = std::make_shared<std::string>();
  command->add_option("--batch", *batch, "JSON queries, one a line ('-': standard input); one result a line");
  command->footer("Example:\n  linkcast predict p2p --platform p100-dgx1 --src gpu0 --dst gpu5 --size 64MiB");
  add_edits(*command, context);
  add_p2p(*command, context);
  add_flows(*command, context);
  add_collective(*command, context);
  command->parse_complete_callback([command, batch] {  // before any subcommand prints
    if (command->get_subcommands().empty() == batch->empty())
      throw InputError("predict: give one of p2p, flows, collective, or --batch FILE (see --help)");
  });
  command->callback([batch, &context] {
    if (!batch->empty()) run_batch(context, *batch);
  });
}

}  // namespace linkcast::cli
