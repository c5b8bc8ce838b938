// linkcast emulate: wishes, files, forecasts, comparison.
#include "calibrate/import/emulated_topology.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"
#include "validate/emulation/compare.hpp"
#include "validate/emulation/study.hpp"

namespace linkcast::test::emulate_test {
namespace {

namespace fs = std::filesystem;

const std::string kOnto = test::data_dir() + "/tests/input/nccl-topology-4-h200.xml";

Platform structure_of(const std::string& id) {
  Topology topology = catalogue().machine(id)->platform().wiring();
  Calibration none;
  none.topology = topology.name;
  return {std::move(topology), std::move(none)};
}

int sum_alike(const std::vector<emulation::Wish>& wishes) {
  int sum = 0;
  for (const emulation::Wish& wish : wishes) sum += wish.alike;
  return sum;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// What NCCL would dump had it chosen as forecast.
std::string dump_of(const Json& forecast, bool rings_only = false) {
  std::ostringstream text;
  text << "<graphs version=\"1\">\n";
  for (int id = 0; id < (rings_only ? 1 : 2); ++id) {
    const Json& orders = forecast[id == 0 ? "channels" : "trees"];
    text << "<graph id=\"" << id << "\" pattern=\"" << (id == 0 ? 4 : 1) << "\" crossnic=\"0\" nchannels=\""
         << (id == 0 ? forecast["rings_found"].get<std::size_t>() : orders.size()) << "\" speedintra=\""
         << forecast[id == 0 ? "library_channel_bandwidth_Bps" : "library_tree_bandwidth_Bps"].get<double>() / 1e9
         << "\" speedinter=\"0\" typeintra=\"" << forecast[id == 0 ? "path_class" : "tree_class"].get<std::string>()
         << "\" typeinter=\"PIX\" samechannels=\"0\">\n";
    for (const Json& order : orders) {
      text << "<channel>";
      for (const Json& gpu : order) text << "<gpu dev=\"" << gpu << "\"/>";
      text << "</channel>\n";
    }
    text << "</graph>\n";
  }
  text << "</graphs>\n";
  return text.str();
}

emulation::StudyRequest small_study(const std::string& out) {
  emulation::StudyRequest request{"hgx-h200", kOnto, "", "NVL", out};
  const auto all = emulation::graph_wishes(3);
  request.wishes = {all[1], all.back()};
  return request;
}

}  // namespace

TEST_CASE("the 70 sets of four GPUs of a DGX-1 are six", "[unit]") {
  const auto wishes = emulation::subset_wishes(structure_of("p100-dgx1"), "p100-dgx1", 4);
  CHECK(wishes.size() == 6);
  CHECK(sum_alike(wishes) == 70);
  CHECK(wishes.front().id == "p100-dgx1-0-1-2-3");
  for (const auto& row : wishes.front().links.between) CHECK(std::accumulate(row.begin(), row.end(), 0) == 3);
}

TEST_CASE("sets keep their sockets, counts and switches", "[unit]") {
  const auto pairs = emulation::subset_wishes(structure_of("v100-dgx1"), "v100-dgx1", 2);
  CHECK(sum_alike(pairs) == 28);
  std::set<std::pair<int, int>> kinds;  // links, sockets apart
  for (const auto& wish : pairs) kinds.insert({wish.links.between[0][1], wish.links.socket[1]});
  CHECK(kinds == std::set<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}});
  const auto boards = emulation::subset_wishes(structure_of("hgx-h200"), "hgx-h200", 4);
  CHECK(boards.front().links.to_switch == std::vector<int>{18, 18, 18, 18});
  CHECK(sum_alike(boards) == 70);
}

TEST_CASE("graphs of three and four GPUs, up to renumbering", "[unit]") {
  // 4 and 11 graphs (OEIS A000088), one without edges; with edges 4 counts each, and mixed where there are two or more.
  CHECK(emulation::graph_wishes(3).size() == 1 + 3 * 4 + 2);
  CHECK(emulation::graph_wishes(4).size() == 1 + 10 * 4 + 9);
  std::set<std::string> ids;
  for (const auto& wish : emulation::graph_wishes(4)) {
    CHECK(ids.insert(wish.id).second);
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) CHECK(wish.links.between[a][b] == wish.links.between[b][a]);
  }
  CHECK(error_of([] { return emulation::graph_wishes(5); }).find("of 3 or 4 GPUs") != std::string::npos);
}

TEST_CASE("the file for NCCL has the machine's bus ids and no GPU without a link", "[unit]") {
  WishedLinks wish{{{0, 2, 0}, {2, 0, 0}, {0, 0, 0}}, {0, 0, 0}, {0, 0, 1}};
  const std::string text = emulated_topology(kOnto, wish);
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("<cpu ") == 2);
  CHECK(count("<gpu ") == 3);
  CHECK(count("target=\"0000:07:00.0\" count=\"2\"") == 1);
  CHECK(count("target=\"0000:09:00.0\" count=\"2\"") == 1);
  CHECK(count("target=\"fffe:ff:00.0\" count=\"1\"") == 1);  // else NCCL would look for NVLinks itself
  CHECK(count("class=\"0x060400\"") == 3);
  CHECK(bus_ids_of_topology_file(kOnto) ==
        std::vector<std::string>{"0000:07:00.0", "0000:09:00.0", "0000:0b:00.0", "0000:0d:00.0"});
  wish.socket.assign(5, 0);
  CHECK(error_of([&] { return emulated_topology(kOnto, wish); }).find("has 4 GPUs, and 5 are wished") !=
        std::string::npos);
}

TEST_CASE("a study that went as forecast, and one that did not", "[unit]") {
  const ScratchFolder folder;
  const std::string out = (folder / "study").string();
  const Json forecast = emulation::write_study(catalogue(), small_study(out));
  REQUIRE(forecast["cases"].size() == 2);
  CHECK(fs::exists(out + "/run.sh"));
  CHECK(text_of_file(out + "/environment") == "NCCL_NVLS_ENABLE=0\nNCCL_P2P_LEVEL=NVL\n");
  CHECK(error_of([&] { return emulation::compare_study(out); }).find("no results") != std::string::npos);

  const Json &first = forecast["cases"][0], &second = forecast["cases"][1];
  const auto id = [](const Json& one) { return one["id"].get<std::string>(); };
  write(out + "/results/" + id(first) + ".graph.xml", dump_of(first));
  write(out + "/results/" + id(second) + ".again.graph.xml", dump_of(second, true));
  Json other = second;
  other["path_class"] = "PHB";
  write(out + "/results/" + id(second) + ".graph.xml", dump_of(other, true));
  Json record{{"schema", "measurement/1"},
              {"id", "x"},
              {"machine", "hgx-h200"},
              {"topology", "hgx-h200"},
              {"bench", "emulate"},
              {"source", "a test"},
              {"timing", "back_to_back"},
              {"environment", Json::object()},
              {"method", {{"case", id(first)}}},
              {"notes", Json::array()},
              {"points", Json::array()}};
  for (const Json& time : first["times"])
    record["points"].push_back({{"op", time["op"]},
                                {"gpus", {0, 1, 2}},
                                {"size_B", time["size_B"]},
                                {"status", "ok"},
                                {"time_s", {time["time_s"].get<double>() / 1.25}},
                                {"verified", true}});
  write(out + "/results/hgx-h200-first-" + id(first) + "-emulate.json", record.dump());

  const Json result = emulation::compare_study(out);
  CHECK(result["graphs"] == Json{{"compared", 3}, {"equal", 2}});
  CHECK(result["cases"][0]["rings"]["equal"] == true);
  CHECK(result["cases"][0]["trees"]["equal"] == true);
  CHECK(result["cases"][1]["rings"]["equal"] == false);
  CHECK(result["cases"][1]["rings"]["path_class"]["chosen"] == "PHB");
  CHECK(result["operations"].size() == 9);
  for (const Json& op : result["operations"]) CHECK(std::abs(op["median_error"].get<double>() - 0.25) < 1e-6);
  // A forecast comes before its results.
  CHECK(error_of([&] { return emulation::write_study(catalogue(), small_study(out)); }).find("holds results") !=
        std::string::npos);
  record["method"]["case"] = "nobody";
  write(out + "/results/other.json", record.dump());
  CHECK(error_of([&] { return emulation::compare_study(out); }).find("'nobody' is no case") != std::string::npos);
}

TEST_CASE("the command writes and compares", "[unit]") {
  const ScratchFolder folder;
  const std::string out = (folder / "s").string();
  const Run made = run_program("emulate p100-dgx1 --gpus 4 --onto " + kOnto + " --machine hgx-h200 --out " + out);
  CHECK(made.code == 0);
  CHECK(made.out.find("6 topologies on hgx-h200") != std::string::npos);
  CHECK(run_program("emulate --compare " + out).code == 2);
  const std::string file = (folder / "My.Board.xml").string(), own = (folder / "own").string();
  fs::copy_file(kOnto, file);
  CHECK(run_program("emulate " + file + " --gpus 4 --onto " + kOnto + " --machine hgx-h200 --out " + own).code == 0);
  CHECK(fs::exists(own + "/my-board-0-1-2-3.xml"));
  CHECK(run_program("emulate p100-dgx1 --gpus 5 --onto " + kOnto + " --machine hgx-h200 --out " + out)
            .err.find("has 4 GPUs") != std::string::npos);
  CHECK(run_program("emulate --gpus 4 --onto " + kOnto + " --machine hgx-h200 --out " + out).code == 2);
}

/// The run's environment leaves NVLS out: so does the forecast, whatever the topology's switches could do.
TEST_CASE("a study forecasts no NVLS", "[unit]") {
  const ScratchFolder folder;
  emulation::StudyRequest request{"hgx-h200", kOnto, "", "NVL", (folder / "study").string()};
  request.wishes = emulation::subset_wishes(structure_of("dgx2"), "dgx2", 4);
  const Json forecast = emulation::write_study(catalogue(), request);
  int times = 0;
  for (const Json& one : forecast["cases"])
    for (const Json& time : one["times"]) {
      CHECK(time["algorithm"].get<std::string>().rfind("nvls", 0) != 0);
      ++times;
    }
  CHECK(times > 0);
}

}  // namespace linkcast::test::emulate_test
