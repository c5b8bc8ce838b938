#include "sim/records/left_out.hpp"

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

}  // namespace linkcast
