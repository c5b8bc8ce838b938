#include <filesystem>
#include <iostream>

#include "cli/command.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/fabric_generator.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/open_trace.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/query/query_kind.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

struct Row {
  std::string name, summary, source, command{};
};

std::vector<Row> rows_of(const std::string& what, Context& context) {
  std::vector<Row> rows;
  const auto plugins = [&](const std::vector<PluginInfo>& list) {
    for (const PluginInfo& info : list) rows.push_back({info.name, info.summary, info.source});
  };
  if (what == "platforms")
    for (const std::string& id : context.catalogue().platforms()) {
      const Platform& platform = context.machine(id)->platform();
      rows.push_back({id, platform.wiring().title, platform.wiring().source});
    }
  if (what == "collectives") plugins(collectives().list());
  if (what == "libraries") plugins(libraries().list());
  if (what == "algorithms") plugins(algorithms().list());
  if (what == "fabrics") plugins(fabric_generators().list());
  if (what == "kinds")
    for (const PluginInfo& info : query::query_kinds().list())
      rows.push_back({info.name, info.summary, info.source, query::query_kinds().get(info.name).command()});
  if (what == "claims")
    for (const validate::Claim& claim : validate::load_claims(context.catalogue().data_dir() + "/validate/claims"))
      rows.push_back({claim.id, claim.statement, claim.source});
  if (what == "traces") {
    for (const catalogue::ShippedTrace& trace : catalogue::shipped_traces(context.catalogue().data_dir())) {
      const TraceReader reader(trace.path);
      const TraceHeader& header = reader.header();
      rows.push_back({trace.name, std::to_string(header.ranks) + " ranks: " + header.name, header.source});
    }
    for (const PluginInfo& info : trace_generators().list())
      rows.push_back({info.name, "application: " + info.summary, info.source});
  }
  return rows;
}

}  // namespace

void add_list(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("list", "names of platforms, collectives, libraries, algorithms, fabrics, ...");
  auto what = std::make_shared<std::string>();
  command
      ->add_option("what", *what,
                   "platforms, collectives, libraries, algorithms, fabrics, traces, kinds (of queries) or claims")
      ->required()
      ->check(CLI::IsMember(
          {"platforms", "collectives", "libraries", "algorithms", "fabrics", "traces", "kinds", "claims"}));
  add_format(*command, context);
  command->footer("Example:\n  linkcast list platforms");
  command->callback([what, &context] {
    const auto rows = rows_of(*what, context);
    Json list = Json::array();
    for (const Row& row : rows) {
      list.push_back({{"name", row.name}, {"summary", row.summary}, {"source", row.source}});
      if (!row.command.empty()) list.back()["command"] = row.command;
    }
    if (print_as_data(context, Json{{*what, list}}, *what)) return;
    std::vector<std::vector<std::string>> table;
    for (const Row& row : rows) table.push_back({row.name, row.summary});
    print_table(table);
  });
}

}  // namespace linkcast::cli
