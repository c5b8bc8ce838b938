#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "cli/command.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/edited_network.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/records/networks.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

struct Row {
  std::string name, summary, source, command{};
};

using Rows = std::vector<Row>;

template <auto registry>
Rows plugins(Context& /*context*/) {
  Rows rows;
  for (const PluginInfo& info : registry().list()) rows.push_back({info.name, info.summary, info.source});
  return rows;
}

Rows platforms(Context& context) {
  Rows rows;
  for (const std::string& id : context.catalogue().platforms()) {
    const Platform& platform = context.machine(id)->platform();
    rows.push_back({id, platform.wiring().title, platform.wiring().source});
  }
  return rows;
}

Rows traces(Context& context) {
  Rows rows;
  for (const catalogue::ShippedTrace& trace : catalogue::shipped_traces(context.catalogue().data_dir())) {
    const TraceReader reader(trace.path);
    const TraceHeader& header = reader.header();
    rows.push_back({trace.name, fmt::format("{} ranks: {}", header.ranks, header.name), header.source});
  }
  for (const PluginInfo& info : trace_generators().list())
    rows.push_back({info.name, "application: " + info.summary, info.source});
  return rows;
}

Rows kinds(Context& /*context*/) {
  Rows rows;
  for (const PluginInfo& info : query::query_kinds().list())
    rows.push_back({info.name, info.summary, info.source, query::query_kinds().get(info.name).command()});
  return rows;
}

Rows claims(Context& context) {
  Rows rows;
  for (const validate::Claim& claim : validate::load_claims(context.catalogue().data_dir() + "/validate/claims"))
    rows.push_back({claim.id, claim.statement, claim.source});
  return rows;
}

Rows networks(Context& /*context*/) {
  Rows rows;
  for (const Network& network : kNetworks)
    rows.push_back({std::string(network.name), summary_of(network), std::string(network.source), ""});
  return rows;
}

const std::map<std::string, Rows (*)(Context&)> kLists = {{"platforms", platforms},
                                                          {"collectives", plugins<collectives>},
                                                          {"libraries", plugins<libraries>},
                                                          {"algorithms", plugins<algorithms>},
                                                          {"fabrics", plugins<fabric_generators>},
                                                          {"networks", networks},
                                                          {"traces", traces},
                                                          {"kinds", kinds},
                                                          {"claims", claims}};

}  // namespace

void add_list(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("list", "names of platforms, collectives, libraries, algorithms, fabrics, ...");
  auto what = std::make_shared<std::string>();
  command
      ->add_option(
          "what", *what,
          "platforms, collectives, libraries, algorithms, fabrics, networks, traces, kinds (of queries) or claims")
      ->required()
      ->check(CLI::IsMember(
          {"platforms", "collectives", "libraries", "algorithms", "fabrics", "networks", "traces", "kinds", "claims"}));
  add_format(*command, context);
  command->footer("Example:\n  linkcast list platforms");
  command->callback([what, &context] {
    const Rows rows = kLists.at(*what)(context);
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
