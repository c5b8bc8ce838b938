#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "cli/command.hpp"
#include "sim/base/text.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/edited_network.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/networks.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

struct Row {
  std::string name, summary, source, command{};
};

using Rows = std::vector<Row>;

/// @param gpu  of platforms: what GPUs they have; empty: any
template <auto registry>
Rows plugins(Context& /*context*/, const std::string& /*gpu*/) {
  Rows rows;
  for (const PluginInfo& info : registry().list()) rows.push_back({info.name, info.summary, info.source});
  return rows;
}

Rows platforms(Context& context, const std::string& gpu) {
  Rows rows;
  std::set<std::string> known;
  for (const std::string& id : context.catalogue().platforms()) {
    const Platform& platform = context.machine(id)->platform();
    const std::string& model = platform.topology().devices[static_cast<std::size_t>(platform.gpu(0))].model;
    known.insert(model);
    if (gpu.empty() || means_gpu(gpu, model)) rows.push_back({id, platform.wiring().title, platform.wiring().source});
  }
  if (rows.empty()) throw InputError("gpu: no platform has '" + gpu + "': they have " + joined(known));
  return rows;
}

Rows traces(Context& context, const std::string& /*gpu*/) {
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

Rows kinds(Context& /*context*/, const std::string& /*gpu*/) {
  Rows rows;
  for (const PluginInfo& info : query::query_kinds().list())
    rows.push_back({info.name, info.summary, info.source, query::query_kinds().get(info.name).command()});
  return rows;
}

Rows claims(Context& context, const std::string& /*gpu*/) {
  Rows rows;
  for (const validate::Claim& claim : validate::load_claims(context.catalogue().data_dir() + "/validate/claims"))
    rows.push_back({claim.id, claim.statement, claim.source});
  return rows;
}

Rows networks(Context& /*context*/, const std::string& /*gpu*/) {
  Rows rows;
  for (const Network& network : kNetworks)
    rows.push_back({std::string(network.name), summary_of(network), std::string(network.source), ""});
  return rows;
}

const std::map<std::string, Rows (*)(Context&, const std::string&)> kLists = {{"platforms", platforms},
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
  auto gpu = std::make_shared<std::string>();
  command
      ->add_option(
          "what", *what,
          "platforms, collectives, libraries, algorithms, fabrics, networks, traces, kinds (of queries) or claims")
      ->required()
      ->check(CLI::IsMember(
          {"platforms", "collectives", "libraries", "algorithms", "fabrics", "networks", "traces", "kinds", "claims"}));
  command->add_option("--gpu", *gpu, "platforms: only those with this GPU, e.g. h100, RTX4090, NVIDIA B200");
  add_format(*command, context);
  command->footer("Example:\n  linkcast list platforms --gpu h100");
  command->callback([what, gpu, &context] {
    if (!gpu->empty() && *what != "platforms") throw InputError("gpu: chooses among platforms, not " + *what);
    const Rows rows = kLists.at(*what)(context, *gpu);
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
