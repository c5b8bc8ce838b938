// What NCCL 2.28.9 finds in the topologies of `linkcast emulate` (calibrate/choices/ask.py --study), against the
// study's forecast.
#include <filesystem>
#include <fstream>

#include "sim/records/nccl_choices.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/scratch_folder.hpp"
#include "validate/emulation/compare.hpp"
#include "validate/emulation/study.hpp"

namespace linkcast::test::emulated_choices_test {
namespace {

namespace fs = std::filesystem;

/// As NCCL dumps it.
void write_dump(const fs::path& file, const NcclCase& one) {
  std::ofstream out(file);
  out << "<graphs version=\"1\">\n";
  for (const FoundGraph& found : one.graphs) {
    const bool rings = found.graph == "rings";
    out << "<graph id=\"" << (rings ? 0 : 1) << "\" pattern=\"" << (rings ? 4 : 1) << "\" crossnic=\"0\" nchannels=\""
        << found.channels << "\" speedintra=\"" << found.speed_GBps << "\" speedinter=\"" << found.network_speed_GBps
        << "\" typeintra=\"" << found.path_class << "\" typeinter=\"" << found.network_class << "\" samechannels=\""
        << found.one_order << "\">\n";
    for (const std::vector<int>& order : found.orders) {
      out << "<channel>";
      for (const int gpu : order) out << "<gpu dev=\"" << gpu << "\"/>";
      out << "</channel>\n";
    }
    out << "</graph>\n";
  }
  out << "</graphs>\n";
}

Platform wiring_of(const std::string& id) {
  Topology topology = catalogue().machine(id)->platform().wiring();
  Calibration none;
  none.topology = topology.name;
  return {std::move(topology), std::move(none)};
}

/// @returns  {graphs that are as forecast, graphs}
std::pair<int, int> compared(const std::string& record, std::vector<emulation::Wish> wishes) {
  const ScratchFolder folder;
  emulation::write_study(catalogue(), {"hgx-h200", test::data_dir() + "/tests/input/nccl-topology-4-h200.xml",
                                       "nccl-2.27", "NVL", (folder / "").string(), std::move(wishes)});
  fs::create_directories(folder / "results");
  for (const NcclCase& one :
       read_nccl_choices(test::data_dir() + "/calibrate/data/nccl-choices/" + record + "-2.28.9.json"))
    write_dump(folder / "results" / (one.wish + ".graph.xml"), one);
  const Json graphs = emulation::compare_study((folder / "").string())["graphs"];
  return {graphs["equal"], graphs["compared"]};
}

}  // namespace

TEST_CASE("NCCL finds the rings and trees that a study forecasts", "[physics]") {
  CHECK(compared("emulated-3", emulation::graph_wishes(3)) == std::pair{30, 30});
  CHECK(compared("emulated-4", emulation::graph_wishes(4)) == std::pair{98, 100});  // not: g4-03-12-x2
  std::vector<emulation::Wish> wishes;
  for (const std::string id : {"p100-dgx1", "v100-dgx1", "summit", "dgx2", "leonardo"})
    for (emulation::Wish& wish : emulation::subset_wishes(wiring_of(id), id, 4)) wishes.push_back(std::move(wish));
  CHECK(compared("emulated-machines", std::move(wishes)) == std::pair{64, 64});
}

}  // namespace linkcast::test::emulated_choices_test
