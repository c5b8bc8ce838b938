#include "sim/records/nccl_choices.hpp"

#include <map>

#include "sim/base/object_reader.hpp"

namespace linkcast {
namespace {

// How NCCL writes them, in its tables and of its calls.
const std::map<std::string, std::string> kAlgorithms = {
    {"Ring", "ring"}, {"RING", "ring"},          {"Tree", "tree"},           {"TREE", "tree"},
    {"NVLS", "nvls"}, {"NVLSTree", "nvls_tree"}, {"NVLS_TREE", "nvls_tree"}, {"PAT", "pat"}};
const std::map<std::string, std::string> kProtocols = {
    {"LL", "LL"}, {"LL128", "LL128"}, {"Simple", "Simple"}, {"SIMPLE", "Simple"}};

const std::string& known(const ObjectReader& r, const std::string& key, const Json& name,
                         const std::map<std::string, std::string>& names) {
  const auto it = name.is_string() ? names.find(name.get<std::string>()) : names.end();
  if (it == names.end()) r.fail(key, "has " + name.dump() + ", which is none that is known");
  return it->second;
}

/// The fields of a row that is an array: texts, then numbers.
void check_row(const ObjectReader& r, const std::string& key, const Json& row, std::size_t numbers_before,
               std::size_t texts, std::size_t numbers_after) {
  bool right = row.is_array() && row.size() == numbers_before + texts + numbers_after;
  for (std::size_t i = 0; right && i < row.size(); ++i)
    right = i >= numbers_before && i < numbers_before + texts ? row[i].is_string() : row[i].is_number();
  if (!right) r.fail(key, "has " + row.dump() + ", which is no row of it");
}

FoundGraph read_graph(ObjectReader& r) {
  FoundGraph found{.graph = r.choice("graph", {"rings", "trees", "nvls", "collnet_chain", "collnet_direct"}),
                   .channels = r.required<int>("channels"),
                   .speed_GBps = r.required<double>("speed_GBps"),
                   .network_speed_GBps = r.required<double>("network_speed_GBps"),
                   .path_class = r.required<std::string>("path_class"),
                   .network_class = r.required<std::string>("network_class"),
                   .one_order = r.required<bool>("one_order"),
                   .orders = r.required<std::vector<std::vector<int>>>("orders")};
  r.finish();
  return found;
}

std::vector<TunerRow> read_tuner(ObjectReader& r) {
  std::vector<TunerRow> rows;
  for (const Json& row : r.raw("tuner")) {
    check_row(r, "tuner", row, 0, 3, 2);
    rows.push_back(
        {row[0], known(r, "tuner", row[1], kAlgorithms), known(r, "tuner", row[2], kProtocols), row[3], row[4]});
  }
  return rows;
}

std::vector<TakenCall> read_calls(ObjectReader& r) {
  std::vector<TakenCall> calls;
  for (ObjectReader& operation : r.objects("choices")) {
    const auto op = operation.required<std::string>("op");
    for (const Json& row : operation.raw("calls")) {
      check_row(operation, "calls", row, 1, 2, 1);
      calls.push_back({op, row[0], known(operation, "calls", row[1], kAlgorithms),
                       known(operation, "calls", row[2], kProtocols), row[3]});
    }
    operation.finish();
  }
  return calls;
}

NcclCase read_case(ObjectReader& r) {
  NcclCase one;
  one.version = r.required<std::string>("version");
  one.gpus = r.required<int>("gpus");
  for (ObjectReader& graph : r.objects("graphs")) one.graphs.push_back(read_graph(graph));
  if (auto wish = r.optional<std::string>("wish")) {
    one.wish = *wish;
  } else {
    one.platform = r.required<std::string>("platform");
    one.nodes = r.required<int>("nodes");
    one.rings = r.required<std::vector<std::vector<int>>>("rings");
    one.tuner = read_tuner(r);
    one.calls = read_calls(r);
  }
  r.finish();
  return one;
}

}  // namespace

std::vector<NcclCase> read_nccl_choices(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("nccl-choices/1");
  static_cast<void>(r.required<std::string>("source"));  // for readers
  std::vector<NcclCase> cases;
  for (ObjectReader& one : r.objects("cases")) cases.push_back(read_case(one));
  r.finish();
  return cases;
}

}  // namespace linkcast
