#include "cli/network_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/texts.hpp"
#include "sim/records/input_error.hpp"
#include "sim/units/quantity.hpp"

namespace linkcast::cli {
namespace {

int whole_number(const std::string& text, const std::string& all) {
  const bool digits = !text.empty() && text.size() < 7 &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits) throw InputError("--beside: '" + all + "' is not OP:NODES or OP:NODES:LEVEL, e.g. incast:32");
  return std::stoi(text);
}

/// "incast:32" or "incast:32:1"
Json parse_beside(const std::string& text) {
  const auto first = text.find(':');
  const std::string rest = first == std::string::npos ? "" : text.substr(first + 1);
  const auto second = rest.find(':');
  Json job{{"op", text.substr(0, first)}, {"nodes", whole_number(rest.substr(0, second), text)}};
  if (second != std::string::npos) job["service_level"] = whole_number(rest.substr(second + 1), text);
  return job;
}

/// CLI11 takes what is too large for the largest that fits.
std::string wrong_seed(const std::string& text) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  std::int64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (digits && error == std::errc() && end == text.data() + text.size()) return "";
  return "'" + text + "' is no seed: a whole number from 0 to 2^63 - 1";
}

}  // namespace

void add_noise(CLI::App& command, NetworkOptions& o) {
  command
      .add_option("--noise", o.noise,
                  "SEED: traffic of other jobs between switches, with percentiles; default: an empty network")
      ->check(wrong_seed);
  command.add_option("--samples", o.samples, "draws of noise, default 200");
  command.add_option("--service-level", o.service_level,
                     "of the messages, default 0; noise is on the level that other jobs use");
}

void add_jobs(CLI::App& command, NetworkOptions& o) {
  command.add_option("--beside", o.beside,
                     "OP:NODES[:LEVEL] of another job that runs for as long: incast, alltoall or all_reduce on other "
                     "nodes, as many GPUs of each; default level: that of the first");
  command.add_option("--allocation", o.allocation,
                     "which nodes the jobs get: packed (in order, no switch shared; default) or random");
  command.add_option("--allocation-seed", o.allocation_seed, "of --allocation random, default 0")->check(wrong_seed);
}

void put_network(const NetworkOptions& o, Json& query) {
  if (o.noise) query["noise"] = *o.noise;
  if (o.samples) query["samples"] = *o.samples;
  if (o.service_level) query["service_level"] = *o.service_level;
  if (!o.allocation.empty()) query["allocation"] = o.allocation;
  if (o.allocation_seed) query["allocation_seed"] = *o.allocation_seed;
  for (const std::string& job : o.beside) query["beside"].push_back(parse_beside(job));
}

std::vector<std::pair<std::string, std::string>> network_rows(const Json& result) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& job : result.value("beside", Json::array()))
    rows.emplace_back("beside it", fmt::format("{} on {} nodes, service level {}", job["op"].get<std::string>(),
                                               job["nodes"].dump(), job["service_level"].dump()));
  if (!result.contains("percentiles")) return rows;
  rows.emplace_back("quiet network", seconds(result["quiet_s"]));
  rows.emplace_back("noise",
                    fmt::format("{} samples of seed {}, service level {}, mean {}", result["samples"].dump(),
                                result["seed"].dump(), result["service_level"].dump(), seconds(result["mean_s"])));
  std::string text = "min " + seconds(result["min_s"]);
  for (const auto& [name, value] : result["percentiles"].items()) text += "  " + name + " " + seconds(value);
  rows.emplace_back("percentiles", text + "  max " + seconds(result["max_s"]));
  return rows;
}

}  // namespace linkcast::cli
