#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::cli {
namespace {

using Table = std::vector<std::vector<std::string>>;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string number_text(const std::string& key, double value) {
  if (ends_with(key, "_s")) return to_text(Seconds{value});
  if (ends_with(key, "_Bps")) return to_text(BytesPerSecond{value});
  if (ends_with(key, "_B")) return to_text(Bytes{value});
  return fmt::format("{:.4g}", value);
}

std::string text_of(const std::string& key, const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(key, value.get<double>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.dump();
  if (key == "channels") return fmt::format("{}", value.size());
  // source: ours, what still fits beside a second column; a ring is shown whole
  const std::size_t most = key == "bottleneck" ? 3 : value.size();
  std::string text;
  for (std::size_t i = 0; i < std::min(most, value.size()); ++i)
    text += (text.empty() ? "" : " ") + text_of(key, value[i]);
  if (value.size() > most) text += fmt::format(" and {} more", value.size() - most);
  return text.empty() ? "-" : text;
}

/// "-25.0 %", or how many times as much.
std::string change_text(const Json& before, const Json& after) {
  if (before == after) return "=";
  if (!before.is_number() || !after.is_number()) return "changed";
  const auto was = before.get<double>(), is = after.get<double>();
  if (!(was > 0)) return "changed";
  constexpr double times = 3;  // source: ours, above it a factor reads better than per cent
  const bool far = is > times * was || (is > 0 && was > times * is);
  return far ? fmt::format("x {:.2f}", is / was) : fmt::format("{:+.1f} %", 100 * (is / was - 1));
}

Json value_or_null(const Json& result, const std::string& key) { return result.contains(key) ? result[key] : Json(); }

void add_row(Table& table, const std::string& label, const std::string& key, const Json& before, const Json& after) {
  if (before.is_null() && after.is_null()) return;
  if (before == after && (before == Json(0.0) || before == Json::array())) return;  // nothing to say of it
  const bool counted = key == "channels";
  const Json was = counted && before.is_array() ? Json(before.size()) : before;
  const Json is = counted && after.is_array() ? Json(after.size()) : after;
  const std::string change = counted && before != after && was == is ? "other orders" : change_text(was, is);
  table.push_back({label, " " + text_of(key, before), " " + text_of(key, after), " " + change});
}

std::string interval(const Json& result, const std::string& name = "time") {
  const Json low = value_or_null(result, name + "_low_s"), high = value_or_null(result, name + "_high_s");
  if (low.is_null()) return "-";
  return to_text(Seconds{low.get<double>()}) + " to " + to_text(Seconds{high.get<double>()});
}

/// Copies, flows, collectives and rings: one row a key.
void print_answer(const Json& before, const Json& after) {
  static const std::vector<std::pair<const char*, const char*>> rows = {{"time_s", "time"},
                                                                        {"alone_s", "alone"},
                                                                        {"slowdown", "slowdown by others"},
                                                                        {"bandwidth_Bps", "bandwidth"},
                                                                        {"algbw_Bps", "algorithm bandwidth"},
                                                                        {"busbw_Bps", "bus bandwidth"},
                                                                        {"latency_s", "start-up"},
                                                                        {"transport", "transport"},
                                                                        {"via", "via"},
                                                                        {"route", "route"},
                                                                        {"flow_times_s", "flows"},
                                                                        {"transports", "transports"},
                                                                        {"library", "library"},
                                                                        {"algorithm", "algorithm"},
                                                                        {"protocol", "protocol"},
                                                                        {"channels", "distinct channels"},
                                                                        {"blocks", "thread blocks"},
                                                                        {"channel_bandwidth_Bps", "busiest channel"},
                                                                        {"path_class", "path class"},
                                                                        {"library_bandwidth_Bps", "library counts on"},
                                                                        {"link_equivalents", "links it is worth"},
                                                                        {"fallback", "fallback"}};
  Table table{{"", " before", " after", " change"}};
  for (const auto& [key, label] : rows) {
    add_row(table, label, key, value_or_null(before, key), value_or_null(after, key));
    if (std::string(key) == "time_s" && before.contains(key) && after.contains(key))
      table.push_back({"interval (90 %)", " " + interval(before), " " + interval(after)});
  }
  add_row(table, "bottleneck", "bottleneck", limits_of(before), limits_of(after));
  print_table(table);
}

void print_orders(const char* title, const Json& result) {
  std::cout << title << ": " << result["why"].get<std::string>() << '\n';
  for (std::size_t i = 0; i < result["channels"].size(); ++i)
    std::cout << "  ring " << i << ": " << text_of("", result["channels"][i]) << '\n';
}

void print_two_rings(const Json& before, const Json& after) {
  print_answer(before, after);
  print_orders("before", before);
  print_orders("after", after);
}

void print_routes(const Json& before, const Json& after) {
  const auto name = [](const Json& route) {
    return route["transport"].get<std::string>() +
           (route.contains("via") ? " via " + route["via"].get<std::string>() : "");
  };
  Table table{{"way", " before", " after", " change"}};
  const auto time_of = [&](const Json& routes, const std::string& wanted) {
    for (const Json& route : routes)
      if (name(route) == wanted) return route["time_s"];
    return Json();
  };
  for (const Json& route : after["routes"]) {
    const Json was = time_of(before["routes"], name(route));
    table.push_back({name(route), " " + text_of("time_s", was), " " + text_of("time_s", route["time_s"]),
                     was.is_null() ? " new" : " " + change_text(was, route["time_s"])});
  }
  for (const Json& route : before["routes"])
    if (time_of(after["routes"], name(route)).is_null())
      table.push_back({name(route), " " + text_of("time_s", route["time_s"]), " -", " gone"});
  table.push_back({"the runtime takes", " " + text_of("", before["runtime_takes"]),
                   " " + text_of("", after["runtime_takes"]),
                   " " + change_text(before["runtime_takes"], after["runtime_takes"])});
  print_table(table);
}

std::string cable_text(const Json& cable) {
  return fmt::format("{} x {} of {}", cable["count"].get<int>(), cable["kind"].get<std::string>(),
                     to_text(BytesPerSecond{cable["bandwidth_Bps"].get<double>()}));
}

/// Of a list of named things: what is gone, new or another.
template <class Text>
void add_list(Table& table, const Json& before, const Json& after, const std::string& key, Text text) {
  const auto find = [&](const Json& list, const Json& id) {
    for (const Json& item : list)
      if (item["id"] == id) return item;
    return Json();
  };
  for (const Json& item : before[key]) {
    const Json now = find(after[key], item["id"]);
    if (now.is_null()) table.push_back({item["id"].get<std::string>(), " " + text(item), " -", " gone"});
    if (now.is_null() || text(now) == text(item)) continue;
    table.push_back({item["id"].get<std::string>(), " " + text(item), " " + text(now), " changed"});
  }
  for (const Json& item : after[key])
    if (find(before[key], item["id"]).is_null())
      table.push_back({item["id"].get<std::string>(), " -", " " + text(item), " new"});
}

void print_platforms(const Json& before, const Json& after) {
  std::cout << after["title"].get<std::string>() << '\n';
  Table table{{"cable", " before", " after", " change"}};
  add_list(table, before, after, "cables", cable_text);
  table.push_back({"link", " before", " after", " change"});
  add_list(table, before, after, "links",
           [](const Json& link) { return to_text(BytesPerSecond{link["capacity_Bps"].get<double>()}); });
  print_table(table);
}

}  // namespace

void print_replays(const Json& result) {
  const Json& before = result["before"];
  const Json& after = result["after"];
  Table table{{"", " before", " after", " change"}};
  const auto row = [&](const std::string& label, const std::string& key) {
    add_row(table, label, key, before[key], after[key]);
  };
  const auto intervals = [&](const std::string& name) {
    table.push_back({"interval (90 %)", " " + interval(before, name), " " + interval(after, name)});
  };
  row("makespan", "makespan_s");
  intervals("time");
  row("step", "step_time_s");
  if (!before["step_time_s"].is_null()) intervals("step_time");
  row("exposed communication", "exposed_communication_s");
  row("bottleneck", "bottleneck");
  print_table(table);
  print_warnings(after);
}

void print_whatif(const Json& result) {
  const Json& before = result["before"];
  const Json& after = result["after"];
  static const std::map<std::string, void (*)(const Json&, const Json&)> printers = {
      {"show", print_platforms}, {"routes", print_routes}, {"rings", print_two_rings}};
  const auto printer = printers.find(after["kind"].get<std::string>());
  (printer == printers.end() ? print_answer : printer->second)(before, after);
  print_terms(result);
  print_warnings(after);
}

}  // namespace linkcast::cli
