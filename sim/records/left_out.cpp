#include "sim/records/left_out.hpp"

#include <algorithm>

namespace linkcast {

std::vector<LeftOut> read_left_out(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("left-out/1");
  static_cast<void>(r.required<std::string>("source"));  // for readers
  std::vector<LeftOut> rows;
  for (ObjectReader& row : r.objects("rows")) {
    LeftOut one{row.choice("learned_from", {"collectives", "bench"}), {}};
    one.scatter = read_scatter(row);
    rows.push_back(std::move(one));
  }
  r.finish();
  return rows;
}

std::vector<Scatter> scatter_left_out(const std::vector<LeftOut>& rows, bool bench) {
  const auto by_bench = [&](const std::string& kind) {
    return bench && std::any_of(rows.begin(), rows.end(), [&](const LeftOut& row) {
             return row.learned_from == "bench" && row.scatter.transport == kind;
           });
  };
  std::vector<Scatter> scatter;
  for (const LeftOut& row : rows)
    if ((row.learned_from == "bench") == by_bench(row.scatter.transport)) scatter.push_back(row.scatter);
  return scatter;
}

}  // namespace linkcast
