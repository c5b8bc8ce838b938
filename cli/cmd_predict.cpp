#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
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

/// "1.2 ms  (90 %: 1 ms to 1.4 ms)"
std::string time_text(const Json& result) {
  return fmt::format("{}  (90 %: {} to {})", seconds(result["time_s"]), seconds(result["time_low_s"]),
                     seconds(result["time_high_s"]));
}

std::string alternative_text(const Json& other) {
  const std::string believed = other.contains("library_believes_s")
                                   ? fmt::format("  (the library believes {})", seconds(other["library_believes_s"]))
                                   : "";
  return fmt::format("{}, {}: {}{}", text(other["algorithm"]), text(other["protocol"]), seconds(other["time_s"]),
                     believed);
}

std::string other_text(const Json& other) {
  return fmt::format("{} of {} on {}: {}  (alone {})", text(other["op"]), to_text(Bytes{other["size_B"].get<double>()}),
                     joined(other["gpus"], " "), seconds(other["time_s"]), seconds(other["alone_s"]));
}

using AddRow = std::function<void(const char* label, const std::string& text)>;

void add_collective_rows(const Json& result, const AddRow& row) {
  row("algorithm bandwidth", bandwidth(result["algbw_Bps"]));
  row("bus bandwidth", bandwidth(result["busbw_Bps"]));
  row("algorithm, protocol", fmt::format("{}, {}", text(result["algorithm"]), text(result["protocol"])));
  if (result.contains("rounds"))
    row("rounds", fmt::format("{} between {} ranks", result["rounds"].get<int>(), result["ranks"].dump()));
  else
    row("channels", fmt::format("{} distinct, {} blocks, {} on the busiest", result["channels"].size(),
                                result["blocks"].get<int>(), bandwidth(result["channel_bandwidth_Bps"])));
  for (const Json& order : result["channels"]) row("", joined(order, " "));
}

/// One row an item, the label at the first.
void add_list(const Json& result, const char* key, std::string (*of)(const Json&), const AddRow& row) {
  const Json items = result.value(key, Json::array());
  for (std::size_t i = 0; i < items.size(); ++i) row(i == 0 ? key : "", of(items[i]));
}

void add_copy_rows(const Json& result, const AddRow& row) {
  if (result.contains("engine"))
    row("messages",
        fmt::format("{}, {}: {}{}", result["messages"].get<long>(), text(result["engine"]),
                    result["classes"].get<long>(), result["engine"] == "direct" ? " activities" : " sorts of them"));
  if (result.contains("latency_s")) row("start-up", seconds(result["latency_s"]));
  if (result.contains("transport"))
    row("transport", text(result["transport"]) + (result.contains("via") ? " via " + text(result["via"]) : ""));
  if (result.contains("route")) row("route", joined(result["route"], "  "));
  if (result.contains("flow_times_s"))
    for (std::size_t i = 0; i < result["flow_times_s"].size(); ++i)
      row(i == 0 ? "flows" : "", seconds(result["flow_times_s"][i]) + "  " + text(result["transports"][i]));
}

void print_result(const Json& result) {
  std::vector<std::vector<std::string>> rows;
  const AddRow row = [&](const char* label, const std::string& content) { rows.push_back({label, " " + content}); };
  row("time", time_text(result));
  if (result.contains("alone_s"))
    row("alone", fmt::format("{}  ({:.2f} times as long with the others)", seconds(result["alone_s"]),
                             result["slowdown"].get<double>()));
  if (result.contains("bandwidth_Bps")) row("bandwidth", bandwidth(result["bandwidth_Bps"]));
  if (result.contains("algbw_Bps")) add_collective_rows(result, row);
  if (result.contains("library_believes"))
    row("library believes", seconds(result["library_believes"]["time_s"]) + "  (its tuner, not a forecast)");
  add_list(result, "alternatives", alternative_text, row);
  if (result.contains("hint")) row("hint", text(result["hint"]));
  add_list(result, "others", other_text, row);
  add_copy_rows(result, row);
  for (const auto& [label, content] : network_rows(result)) row(label.c_str(), content);
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
  command->add_option("--timing", o->timing, "back_to_back (one of a queue of copies, default) or single (from rest)");
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
};

void add_flows(CLI::App& predict, Context& context) {
  auto* command = predict.add_subcommand("flows", "several copies that start together and contend");
  auto o = std::make_shared<FlowsOptions>();
  add_common(*command, context, o->platform);
  command->add_option("--flow", o->flows, "SRC:DST:SIZE, as often as there are copies")->required();
  command->add_option("--engine", o->engine, "dma (copies of one engine take turns, default) or sm (kernels share)");
  command->add_option("--transport", o->transport,
                      "peer, relay or staged for all of them; default: what the runtime takes");
  command->add_option("--direction", o->direction, "read (the targets pull) or write (the sources push)");
  command->add_option("--timing", o->timing, "single (all start from rest, default) or back_to_back");
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
  command->callback([o, &context] { show_result(context, run_query(context, collective_query(*o))); });
}

/// Edits of the command line come on top of those of a query.
void add_batch_edits(const Context& context, Json& query) {
  const auto edits = context.edit_list();
  if (edits.empty() || !query.is_object()) return;
  if (!query.contains("edits")) query["edits"] = Json::array();
  if (query["edits"].is_array())
    for (const std::string& edit : edits) query["edits"].push_back(edit);
}

/// 0: a pipe, which is read once.
std::int64_t lines_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return 0;
  std::ifstream file(path);
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
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
  log::Work work(context.progress(), "batch", "queries", path == "-" ? 0 : lines_of(path));
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    work.advance(number - 1);
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
