#include "validate/measured_answer.hpp"

#include <map>
#include <tuple>

#include "validate/reduce.hpp"

namespace linkcast::validate {
namespace {

/// topology, source, target, transport, direction, via, bidirectional, size
using PointKey = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, bool, double>;
using Times = std::map<PointKey, std::vector<double>>;

PointKey key_of(const Json& query) {
  ObjectReader r(query, "query on measured data");
  r.choice("kind", {"p2p"});
  const auto platform = r.required<std::string>("platform");
  const auto source = r.required<std::string>("src");
  const auto target = r.required<std::string>("dst");
  const auto transport = r.required<std::string>("transport");
  PointKey key{platform,
               source,
               target,
               transport,
               r.optional<std::string>("direction").value_or(""),
               r.optional<std::string>("via").value_or(""),
               r.optional<bool>("bidirectional").value_or(false),
               r.required<double>("size_B")};
  r.finish();
  return key;
}

Json look_up(const Times& times, const Json& query) {
  PointKey key = key_of(query);
  auto found = times.find(key);
  if (std::get<4>(key).empty())  // not asked: whichever was measured
    for (const char* direction : {"write", "read"}) {
      if (found != times.end()) break;
      std::get<4>(key) = direction;
      found = times.find(key);
    }
  if (found == times.end()) throw InputError("no measured point for " + query.dump());
  std::vector<Labelled> points;
  for (const double time : found->second) points.push_back({0, time});
  const double time_s = reduce("median", points);
  const double payload_B = (std::get<6>(key) ? 2 : 1) * std::get<7>(key);
  return {{"time_s", time_s}, {"bandwidth_Bps", payload_B / time_s}, {"repetitions", points.size()}};
}

}  // namespace

Answer measured_answer(std::vector<Measurement> measurements, Answer structure) {
  Times times;
  for (const Measurement& m : measurements)
    for (const MeasuredPoint& p : m.points) {
      const std::string from = p.between_nodes ? "node0/" : "", to = p.between_nodes ? "node1/" : "";
      auto& all = times[{m.topology, from + p.source, to + p.target, p.transport, p.direction, p.via, p.bidirectional,
                         p.size_B}];
      all.insert(all.end(), p.time_s.begin(), p.time_s.end());
    }
  return [times = std::move(times), structure = std::move(structure)](const Json& query) {
    return query.value("kind", "") == "show" ? structure(query) : look_up(times, query);
  };
}

}  // namespace linkcast::validate
