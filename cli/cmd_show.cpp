#include <iostream>

#include "cli/command.hpp"
#include "cli/stdin_file.hpp"
#include "cli/wrap.hpp"
#include "sim/base/log.hpp"
#include "sim/base/parse.hpp"
#include "sim/query/fabric_view.hpp"
#include "sim/records/parameters.hpp"
#include "topologies/formats/drawing.hpp"
#include "topologies/formats/infragraph.hpp"
#include "topologies/formats/nccl_topo.hpp"

namespace linkcast::cli {
namespace {

std::string number(const Parameter& p) {
  const auto text = [&](double value) {
    if (p.unit == "s") return to_text(Seconds{value});
    if (p.unit == "B") return to_text(Bytes{value});
    if (p.unit == "B/s") return to_text(BytesPerSecond{value});
    return std::to_string(value);
  };
  return text(p.value) + (p.stderr_ > 0 ? " +- " + text(p.stderr_) : "");
}

/// Links and bottlenecks are named by them.
void print_groups(const Topology& wiring) {
  std::map<std::string, std::string> groups;
  for (const Device& device : wiring.devices)
    if (device.kind == DeviceKind::kNvswitch && !device.group.empty()) groups[device.group] += " " + device.id;
  if (groups.empty()) return;
  std::cout << "\ngroups of switches, which links and edits name\n";
  std::vector<std::vector<std::string>> table;
  for (const auto& [group, switches] : groups) table.push_back({"  " + group, switches});
  print_table(table);
}

void print_platform(const Platform& platform) {
  const Topology& wiring = platform.wiring();
  std::cout << wrapped_text(wiring.title) << wrapped_text(wiring.source) << "\ncables (nominal, one direction)\n";
  std::vector<std::vector<std::string>> table;
  for (const Cable& cable : wiring.cables)
    table.push_back({"  " + cable.id, std::to_string(cable.count) + " x " + cable.kind, to_text(cable.bandwidth)});
  print_table(table);
  print_groups(wiring);
  std::cout << "\nparameters\n";
  table.clear();
  for (const auto& [name, p] : platform.calibration().parameters)
    table.push_back({"  " + name, " " + number(p), p.provenance, std::string(find_parameter_row(name)->meaning)});
  print_table(table);
  std::cout << "\nmeasured on\n";
  for (const SourceFile& file : platform.calibration().from)
    std::cout << "  " << file.path << "  sha256 " << file.sha256.substr(0, 12) << "...\n";
}

struct ShowOptions {
  std::string platform, out, fabric_file;
  bool dot = false, svg = false, nccl_topo = false, infragraph = false, fabric = false, links = false;
};

/// As a batch is answered.
Json asked(Context& context, const ShowOptions& o) {
  return run_query(context, {{"kind", "show"}, {"platform", o.platform}});
}

void show_change(Context& context, const ShowOptions& o) {
  if (o.dot || o.svg || o.nccl_topo || o.infragraph || o.fabric)
    throw InputError("whatif show: without --dot, --svg, --nccl-topo, --infragraph and --fabric");
  const Json result = asked(context, o);
  if (!print_as_data(context, result)) print_whatif(result);
}

void show_fabric(Context& context, const ShowOptions& o, const Topology& wiring) {
  const Json answer = query::fabric_answer(wiring, query::fabric_of(wiring, o.fabric_file), o.links);
  if (!print_as_data(context, answer, o.links ? "links" : "classes")) print_fabric(answer);
}

void show(Context& context, const ShowOptions& o) {
  if (!o.out.empty() && !o.nccl_topo && !o.infragraph && !o.svg)
    throw InputError("show: --out needs --nccl-topo, --infragraph or --svg");
  if (context.whatif) return show_change(context, o);
  const catalogue::MachinePtr machine = context.edited(o.platform);
  const Platform& shown = machine->platform();
  if (o.fabric)
    show_fabric(context, o, shown.wiring());
  else if (o.nccl_topo)
    write_out(o.out, exporters::nccl::topology_xml(shown.wiring()));
  else if (o.infragraph)
    write_out(o.out, exporters::infragraph_json(shown.wiring()));
  else if (o.svg)
    write_out(o.out, exporters::to_svg(shown.wiring()));
  else if (o.dot)
    std::cout << exporters::to_dot(shown.wiring());
  else if (context.json || context.format == "csv")
    print_as_data(context, asked(context, o), "cables");
  else
    print_platform(shown);
  for (const std::string& note : shown.calibration().notes) log::Log("cli").warning("{}", note);
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("show", "what is wired to what on a platform, with rates, parameters and sources");
  auto o = std::make_shared<ShowOptions>();
  command->add_option("-p,--platform,platform", o->platform, "machine, see 'linkcast list platforms'")->required();
  add_format(*command, context);
  auto* json = command->get_option("--json");
  auto* dot = command->add_flag("--dot", o->dot, "Graphviz text on stdout")->excludes(json);
  auto* svg = command->add_flag("--svg", o->svg, "a drawing")->excludes(json)->excludes(dot);
  auto* nccl = command->add_flag("--nccl-topo", o->nccl_topo, "topology file of NCCL, with bus ids made up");
  nccl->excludes(json)->excludes(dot)->excludes(svg);
  auto* infragraph = command->add_flag("--infragraph", o->infragraph, "the same as JSON of InfraGraph");
  infragraph->excludes(json)->excludes(dot)->excludes(svg)->excludes(nccl);
  auto* fabric = command->add_flag("--fabric", o->fabric, "the network between nodes")->excludes(dot)->excludes(svg);
  fabric->excludes(nccl)->excludes(infragraph);
  reads_stdin(
      command
          ->add_option("--fabric-file", o->fabric_file, "JSON file whose \"fabric\" stands in for that of the platform")
          ->needs(fabric));
  command->add_flag("--links", o->links, "every link, with --fabric --json")->needs(fabric)->needs(json);
  command->add_option("--out", o->out, "file for --nccl-topo, --infragraph, --svg (default: standard output)");
  add_edits(*command, context, false);
  command->footer(
      "Example:\n  linkcast show v100-dgx1 --svg --out v100.svg\n"
      "  linkcast show v100-dgx1 --dot | dot -Tpng -o v100.png\n"
      "  linkcast show v100-dgx1 --nccl-topo --out v100-dgx1.xml\n"
      "  linkcast show lumi --fabric");
  command->callback([o, &context] { show(context, *o); });
}

}  // namespace linkcast::cli
