#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/texts.hpp"
#include "sim/base/index.hpp"
#include "sim/base/log.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/query/fabric_view.hpp"
#include "sim/records/parameters.hpp"
#include "topologies/formats/drawing.hpp"
#include "topologies/formats/infragraph.hpp"
#include "topologies/formats/nccl_xml.hpp"

namespace linkcast::cli {
namespace {

std::string rate(const Json& bandwidth_Bps) { return to_text(BytesPerSecond{bandwidth_Bps.get<double>()}); }

std::string whole(const Json& count) { return std::to_string(count.get<int>()); }

/// Four significant digits, whole numbers in full.
std::string fabric_number(const Json& json) {
  const auto value = json.get<double>();
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

void print_line(const std::string& label, const std::string& text) {
  std::cout << fmt::format("{:<11}{}\n", label, text);
}

void print_size(const Json& fabric) {
  const Json& bisection = fabric["bisection"];
  print_line("endpoints", fmt::format("{}: {} nodes x {} NICs", whole(fabric["endpoints"]), whole(fabric["nodes"]),
                                      whole(fabric["nics_per_node"])));
  print_line("switches", whole(fabric["switches"]));
  print_line("routing", fabric["routing"].get<std::string>());
  print_line("diameter", fmt::format("{} links, {} on average", whole(fabric["diameter_links"]),
                                     fabric_number(fabric["average_links"])));
  print_line("bisection", fmt::format("{} a direction over {} cables", rate(bisection["bandwidth_Bps"]),
                                      whole(bisection["cables"])));
  for (const Json& distance : fabric["distances"])
    print_line("pairs", fmt::format("{} % {}", fabric_number(100 * distance["share_of_pairs"].get<double>()),
                                    distance["name"].get<std::string>()));
}

void print_classes(const Json& fabric) {
  std::vector<std::vector<std::string>> rows{
      {"class", "cable", "cables", "bandwidth", "latency", "ways a link", "at most", "alltoall"}};
  const double others = fabric["endpoints"].get<double>() - 1;
  for (const Json& link : fabric["classes"]) {
    const double most = link["forwarding_index"].get<double>(), bandwidth = link["bandwidth_Bps"].get<double>();
    rows.push_back({link["name"].get<std::string>(), link["cable"].get<std::string>(), whole(link["cables"]),
                    rate(link["bandwidth_Bps"]), to_text(Seconds{link["latency_s"].get<double>()}),
                    fabric_number(link["mean_ways"]), fabric_number(most),
                    most > 0 ? to_text(BytesPerSecond{others * bandwidth / most}) : "-"});
  }
  print_table(rows);
}

}  // namespace

void print_fabric(const Json& fabric) {
  std::cout << fabric["generator"].get<std::string>() << " of " << fabric["platform"].get<std::string>() << "\n"
            << wrapped_text(fabric["source"].get<std::string>()) << '\n';
  print_size(fabric);
  std::cout << "\nlinks, and how many ways cross one when every endpoint sends to every other\n";
  print_classes(fabric);
  const Json& expected = fabric["expected"];
  std::cout << "\nexpected peak, minimal ways, nominal rates: of an endpoint and of a GPU\n";
  print_line("alltoall",
             fmt::format("{}, {}, limited by {} links", rate(expected["alltoall_Bps"]),
                         rate(expected["alltoall_per_gpu_Bps"]), expected["alltoall_limit"].get<std::string>()));
  print_line("allreduce",
             fmt::format("{}, {}", rate(expected["allreduce_Bps"]), rate(expected["allreduce_per_gpu_Bps"])));
  if (!fabric.contains("inside_a_node")) return;
  const Json& node = fabric["inside_a_node"];
  std::cout << "\nexpected peak inside a node, direct links only: of a GPU\n";
  print_line("alltoall", fmt::format("{}, forwarding index {}", rate(node["alltoall_Bps"]),
                                     fabric_number(node["forwarding_index"])));
  print_line("allreduce",
             fmt::format("{}, {} rings that share no link", rate(node["allreduce_Bps"]), whole(node["rings"])));
}

namespace {

std::string number(const Parameter& p) {
  const auto text = [&](double value) { return text_in(p.unit, value).value_or(std::to_string(value)); };
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
  std::string platform, out, fabric_file, algorithm, op, gpus;
  std::optional<std::string> algorithm_file;
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

/// Rank i on GPU i of these; over as many nodes as the ranks need, each with all its GPUs.
exporters::ScheduleRanks ranks_on(const Platform& platform, const std::vector<int>& gpus, int ranks) {
  const int members = static_cast<int>(gpus.size());
  exporters::ScheduleRanks drawn;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& gpu = platform.topology().devices[at(platform.gpu(gpus[at(rank % members)]))].id;
    drawn.names.push_back(ranks > members ? fmt::format("{}:{}", rank / members, gpu) : gpu);
  }
  drawn.medium = [&platform, gpus, members](int from, int to) {
    if (from / members != to / members) return exporters::Medium::kNetwork;
    const auto device = [&](int rank) { return platform.gpu(gpus[at(rank % members)]); };
    return platform.peer_route(device(from), device(to)) ? exporters::Medium::kPeerLink
                                                         : exporters::Medium::kHostMemory;
  };
  return drawn;
}

/// GPUs of each node that a drawing is on. @throws InputError  there is no such GPU, or one is there twice
std::vector<int> drawn_gpus(const ShowOptions& o, const Platform& platform) {
  if (o.gpus.empty()) return first_numbers(platform.gpu_count());
  std::vector<int> gpus = gpu_list(platform.topology(), o.gpus);
  std::set<int> seen;
  for (const int gpu : gpus) {
    if (gpu >= platform.gpu_count()) throw InputError(no_gpu(platform.topology(), std::to_string(gpu)));
    if (!seen.insert(gpu).second) throw InputError(fmt::format("gpus: {} is given twice", gpu));
  }
  return gpus;
}

/// Why a user's schedule cannot be drawn on these GPUs of each node; empty: it can.
std::string too_few_gpus(const catalogue::Machine& machine, const OnlyCall& call, const std::vector<int>& gpus) {
  const int members = static_cast<int>(gpus.size()), nodes = call.ranks / members;
  const std::string file = "is for " + call.text();
  if (nodes == 0) return fmt::format("{}, and {} GPUs are named", file, members);
  if (call.ranks % members != 0) return fmt::format("{}: not as many on each node of {} GPUs", file, members);
  if (nodes == 1) return "";
  if (machine.platform().topology().fabric.is_null())
    return fmt::format("{}: {} nodes of {} GPUs, and {} has no network between nodes", file, nodes, members,
                       machine.title());
  if (nodes <= machine.cluster().nodes()) return "";
  return fmt::format("{}: {} nodes of {} GPUs, and {} has {}", file, nodes, members, machine.title(),
                     machine.cluster().nodes());
}

/// A user's schedule, or an algorithm of rounds, on the machine's GPUs.
void show_schedule(const ShowOptions& o, const catalogue::Machine& machine) {
  const Platform& platform = machine.platform();
  std::vector<int> gpus = drawn_gpus(o, platform);
  std::unique_ptr<Algorithm> own;
  if (o.algorithm_file)
    own = read_algorithm(*o.algorithm_file, [&](const OnlyCall& call) {
      if (o.gpus.empty() && call.ranks < platform.gpu_count()) gpus.resize(at(call.ranks));
      return too_few_gpus(machine, call, gpus);
    });
  const Algorithm& algorithm = own ? *own : algorithms().get(o.algorithm);
  const std::vector<std::string> operations = algorithm.operations();
  if (operations.empty())
    throw InputError("algorithm: " + o.algorithm + " runs by routes, not by rounds: 'linkcast rings' shows those");
  const std::string op = o.op.empty() ? operations.front() : o.op;
  if (std::find(operations.begin(), operations.end(), op) == operations.end())
    throw InputError("op: must be one of " + linkcast::joined(operations));
  const int ranks = own ? own->only_call()->ranks : static_cast<int>(gpus.size());
  if (ranks < 2) throw InputError("gpus: a collective needs at least 2 GPUs");
  exporters::ScheduleRanks drawn = ranks_on(platform, gpus, ranks);
  drawn.title = fmt::format("{}: {} of {} ranks on {}",
                            own ? std::filesystem::path(*o.algorithm_file).filename().string() : o.algorithm, op, ranks,
                            platform.topology().name);
  const Schedule schedule = algorithm.schedule(op, ranks);
  write_out(o.out, o.dot ? exporters::to_dot(schedule, drawn) : exporters::to_svg(schedule, drawn));
}

void show(Context& context, const ShowOptions& o) {
  const bool schedule = !o.algorithm.empty() || o.algorithm_file;
  if (schedule && !o.svg && !o.dot) throw InputError("show: a schedule is drawn with --svg or --dot");
  if (!o.gpus.empty() && !schedule) throw InputError("show: --gpus are those of --algorithm or --algorithm-file");
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
  else if (schedule)
    show_schedule(o, *machine);
  else if (o.svg)
    write_out(o.out, exporters::to_svg(shown.wiring()));
  else if (o.dot)
    std::cout << exporters::to_dot(shown.wiring());
  else if (context.json || context.format == OutputFormat::kCsv)
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
  auto* file = command->add_option("--algorithm-file", o->algorithm_file,
                                   "with --svg or --dot: a schedule of your own, in MSCCL's XML, on these GPUs");
  auto* algorithm = command->add_option("--algorithm", o->algorithm,
                                        "the same of an algorithm of rounds, see 'linkcast list algorithms'");
  reads_stdin(file->excludes(algorithm));
  command->add_option("--op", o->op, "with --algorithm: operation (default: its first)")->needs(algorithm);
  command->add_option("--gpus", o->gpus,
                      "with both: GPU of each rank, e.g. 0-3; over nodes those of each (default: the first)");
  add_edits(*command, context, false);
  command->footer(
      "Example:\n  linkcast show v100-dgx1 --svg --out v100.svg\n"
      "  linkcast show v100-dgx1 --dot | dot -Tpng -o v100.png\n"
      "  linkcast show v100-dgx1 --nccl-topo --out v100-dgx1.xml\n"
      "  linkcast show lumi --fabric\n  linkcast show v100-dgx1 --svg --algorithm bruck --op all_gather --gpus 0-7");
  command->callback([o, &context] { show(context, *o); });
}

}  // namespace linkcast::cli
