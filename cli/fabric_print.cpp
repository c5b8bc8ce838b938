// Text of `linkcast show PLATFORM --fabric`.
#include <fmt/format.h>

#include <iostream>

#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "sim/base/parse.hpp"

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

}  // namespace linkcast::cli
