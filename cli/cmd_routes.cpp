#include <iostream>

#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::cli {
namespace {

std::string joined_ids(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : " ") + item.get<std::string>();
  return text;
}

void print_ways(const Json& result) {
  std::vector<std::vector<std::string>> table = {
      {"way", "links", "time", "bandwidth", "start-up", "bottleneck", "through"}};
  for (const Json& route : result["routes"]) {
    const Json& links = route["route"];
    table.push_back({route["way"], std::to_string(route["hops"].get<int>()), to_text(Seconds{route["time_s"]}),
                     to_text(BytesPerSecond{route["bandwidth_Bps"]}), to_text(Seconds{route["latency_s"]}),
                     joined_ids(limits_of(route)), joined_ids(links)});
  }
  print_table(table);
  std::cout << result["minimal_ways"] << " minimal ways, " << result["detours"]
            << " detours; the fabric routes: " << result["routing"].get<std::string>() << '\n';
}

void print_routes(const Json& result) {
  if (result.contains("minimal_ways")) return print_ways(result);
  std::vector<std::vector<std::string>> table = {{"transport", "via", "time", "bandwidth", "start-up", "bottleneck"}};
  for (const Json& route : result["routes"]) {
    table.push_back({route["transport"], route.value("via", "-"), to_text(Seconds{route["time_s"]}),
                     to_text(BytesPerSecond{route["bandwidth_Bps"]}), to_text(Seconds{route["latency_s"]}),
                     joined_ids(limits_of(route))});
  }
  print_table(table);
  std::cout << "the runtime takes: " << result["runtime_takes"].get<std::string>() << '\n';
  print_warnings(result);
}

}  // namespace

void add_routes(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("routes", "every way between two GPUs, ranked by predicted time");
  auto options = std::make_shared<QueryOptions>(*command, context, "routes");
  command->footer(
      "Example:\n  linkcast routes --platform v100-dgx1 --src gpu0 --dst gpu7\n"
      "  linkcast routes --platform alps --src node0/gpu0 --dst node700/gpu0");
  command->callback([options, &context] {
    const Json result = run_query(context, options->query());
    if (print_as_data(context, result, context.whatif ? "" : "routes")) return;
    if (context.whatif)
      print_whatif(result);
    else
      print_routes(result);
  });
}

}  // namespace linkcast::cli
