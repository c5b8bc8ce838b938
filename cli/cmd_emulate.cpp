#include <filesystem>
#include <iostream>

#include "calibrate/import/importer.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/texts.hpp"
#include "validate/emulation/compare.hpp"
#include "validate/emulation/study.hpp"

namespace linkcast::cli {
namespace {

struct EmulateOptions {
  std::vector<std::string> wished;
  std::string onto, machine, out, library, p2p_level = "NVL", compare;
  int gpus = 0;
  bool graphs = false;
};

/// A file's name without what no name of a topology has.
std::string name_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) == 0 ? '-' : static_cast<char>(std::tolower(byte));
  }
  return name;
}

Platform nominal(Topology topology) {
  Calibration none;
  none.path = topology.path;
  none.name = none.topology = topology.name;
  return {std::move(topology), std::move(none)};
}

/// A shipped platform with the edits, a topology file, or a topology file of NCCL.
std::vector<emulation::Wish> wishes_of(Context& context, const std::string& text, int gpus) {
  const std::string ending = std::filesystem::path(text).extension().string();
  if (ending == ".xml") {
    const ImportRequest request{{text}, "wished", "", {{"partial", "yes"}}};
    const Platform machine = nominal(parse_topology(import_record("nccl-xml", request), text));
    return emulation::subset_wishes(machine, name_of(text), gpus);
  }
  if (ending == ".json") return emulation::subset_wishes(nominal(read_topology(text)), name_of(text), gpus);
  return emulation::subset_wishes(nominal(context.edited(text)->platform().wiring()), text, gpus);
}

void print_study(const EmulateOptions& o, const emulation::StudyRequest& request, const Json& forecast) {
  std::cout << forecast["cases"].size() << " topologies on " << request.machine << " in " << o.out
            << ": commit forecast.json, then sh " << o.out << "/run.sh on the machine\n";
  std::vector<std::vector<std::string>> rows{{"topology", "alike", "rings", "class", "all_reduce of 128 MiB"}};
  constexpr double kShown_B = 134217728;  // one of the study's sizes
  for (std::size_t i = 0; i < request.wishes.size(); ++i) {
    const Json& one = forecast["cases"][i];
    std::string time;
    for (const Json& row : one["times"])
      if (row["op"] == "all_reduce" && row["size_B"].get<double>() == kShown_B)
        time = seconds(row["time_s"]) + ", " + row["algorithm"].get<std::string>();
    rows.push_back({request.wishes[i].id, std::to_string(request.wishes[i].alike),
                    std::to_string(one["channels"].size()), one["path_class"].get<std::string>(), time});
  }
  print_table(rows);
}

std::string verdict(const Json& row, const char* graph) {
  if (!row.contains(graph)) return "not dumped";
  const Json& one = row[graph];
  if (one["equal"].get<bool>()) return "equal";
  return one["channels"]["chosen"].dump() + " " + text(one["path_class"]["chosen"]) + ", forecast " +
         one["channels"]["forecast"].dump() + " " + text(one["path_class"]["forecast"]) +
         (one["orders"]["equal"].get<bool>() ? "" : ", other order");
}

void print_comparison(const Json& result) {
  std::vector<std::vector<std::string>> rows{{"topology", "rings", "trees", "points", "worst"}};
  for (const Json& one : result["cases"]) {
    const Json* worst = nullptr;
    for (const Json& time : one["times"])
      if (!worst || std::abs(time["error"].get<double>()) > std::abs((*worst)["error"].get<double>())) worst = &time;
    rows.push_back({text(one["id"]), verdict(one, "rings"), verdict(one, "trees"), std::to_string(one["times"].size()),
                    worst ? text((*worst)["op"]) + " " + to_text(Bytes{(*worst)["size_B"].get<double>()}) + " " +
                                percent((*worst)["error"].get<double>())
                          : one.value("waived", "nothing measured")});
  }
  print_table(rows);
  std::cout << result["graphs"]["equal"] << " of " << result["graphs"]["compared"]
            << " graphs as forecast; times from 1 MiB:\n";
  rows = {{"operation", "points", "median", "95 % below", "inside"}};
  for (const Json& one : result["operations"])
    rows.push_back({text(one["op"]), one["points"].dump(), percent(one["median_error"].get<double>()),
                    percent(one["p95_error"].get<double>()), percent(one["inside"].get<double>())});
  print_table(rows);
}

emulation::StudyRequest request_of(const EmulateOptions& o, Context& context) {
  for (const auto& [option, value] : {std::pair{"--onto", &o.onto}, {"--machine", &o.machine}, {"--out", &o.out}})
    if (value->empty()) throw InputError(std::string(option) + ": is required, except with --compare");
  if (!o.graphs && o.wished.empty()) throw InputError("emulate: name a platform or a topology file, or --graphs");
  if (o.gpus == 0) throw InputError("--gpus: is required, except with --compare");
  const int real = static_cast<int>(bus_ids_of_topology_file(o.onto).size()),
            known = context.machine(o.machine)->platform().gpu_count();
  if (o.gpus > std::min(real, known))
    throw InputError("--gpus: " + o.onto + " has " + std::to_string(real) + " GPUs, and " + o.machine + " " +
                     std::to_string(known));
  emulation::StudyRequest request{o.machine, o.onto, o.library, o.p2p_level, o.out};
  if (o.graphs) request.wishes = emulation::graph_wishes(o.gpus);
  for (const std::string& text : o.wished)
    for (emulation::Wish& wish : wishes_of(context, text, o.gpus)) request.wishes.push_back(std::move(wish));
  return request;
}

void run_emulate(const EmulateOptions& o, Context& context) {
  if (!o.compare.empty()) {
    if (!o.wished.empty() || o.graphs) throw InputError("--compare: reads a folder and takes no topologies");
    const Json result = emulation::compare_study(o.compare);
    if (!print_as_data(context, result, "operations")) print_comparison(result);
    return;
  }
  const emulation::StudyRequest request = request_of(o, context);
  const Json forecast = emulation::write_study(context.catalogue(), request);
  if (!print_as_data(context, forecast, "cases")) print_study(o, request, forecast);
}

}  // namespace

void add_emulate(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("emulate", "topologies that real GPUs are told to have: files to run, and forecasts");
  auto o = std::make_shared<EmulateOptions>();
  command
      ->add_option(
          "wished", o->wished,
          "platforms, topology files (*.json) or NCCL's (*.xml): each class of their sets of GPUs, up to symmetry")
      ->type_name("PLATFORM|TOPOLOGY");
  command->add_option("--gpus", o->gpus, "so many GPUs of each")->type_name("K");
  command->add_flag("--graphs", o->graphs, "all graphs of 3 or 4 GPUs, with 1, 2, 6, 18 and mixed NVLinks");
  reads_stdin(
      command->add_option("--onto", o->onto, "NCCL_TOPO_DUMP_FILE of the real machine, whose GPUs are to run them")
          ->type_name("MACHINE.xml"));
  command->add_option("--machine", o->machine, "platform that the real machine is, see 'linkcast list platforms'");
  command
      ->add_option("--out", o->out, "folder to write: topology files, environment, run.sh, study.json, forecast.json")
      ->type_name("DIR");
  command->add_option("--library", o->library, "communication library (default: the machine's)");
  command->add_option("--p2p-level", o->p2p_level, "NCCL_P2P_LEVEL of the run")
      ->check(CLI::IsMember({"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"}))
      ->capture_default_str();
  command->add_option("--compare", o->compare, "instead: what a folder's results say against its forecast")
      ->type_name("DIR");
  add_format(*command, context);
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast emulate p100-dgx1 --gpus 4 --onto machine.xml --machine hgx-h200 --out study\n"
      "  linkcast emulate --graphs --gpus 4 --onto machine.xml --machine hgx-h200 --out graphs\n"
      "  linkcast emulate --compare study");
  command->callback([o, &context] { run_emulate(*o, context); });
}

}  // namespace linkcast::cli
