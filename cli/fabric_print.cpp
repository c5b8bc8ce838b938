// Text of `linkcast show PLATFORM --fabric`.
#include <iomanip>
#include <iostream>
#include <sstream>

#include "cli/command.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {

std::string rate(const Json& bandwidth_Bps) { return to_text(BytesPerSecond{bandwidth_Bps.get<double>()}); }

/// Four significant digits, whole numbers in full.
std::string fabric_number(double value) {
  std::ostringstream out;
  if (value >= 1000)
    out << std::fixed << std::setprecision(0) << value;
  else
    out << std::setprecision(4) << value;
  return out.str();
}

void print_line(const std::string& label, const std::string& text) {
  std::cout << std::left << std::setw(11) << label << text << '\n';
}

void print_size(const Json& fabric) {
  const auto count = [&](const char* key) { return std::to_string(fabric[key].get<int>()); };
  const Json& bisection = fabric["bisection"];
  print_line("endpoints", count("endpoints") + ": " + count("nodes") + " nodes x " + count("nics_per_node") + " NICs");
  print_line("switches", count("switches"));
  print_line("routing", fabric["routing"].get<std::string>());
  print_line("diameter", count("diameter_links") + " links, " + fabric_number(fabric["average_links"].get<double>()) +
                             " on average");
  print_line("bisection", rate(bisection["bandwidth_Bps"]) + " a direction over " +
                              std::to_string(bisection["cables"].get<int>()) + " cables");
  for (const Json& distance : fabric["distances"])
    print_line("pairs", fabric_number(100 * distance["share_of_pairs"].get<double>()) + " % " +
                            distance["name"].get<std::string>());
}

void print_classes(const Json& fabric) {
  std::vector<std::vector<std::string>> rows{
      {"class", "cable", "cables", "bandwidth", "latency", "ways a link", "at most", "alltoall"}};
  const double others = fabric["endpoints"].get<double>() - 1;
  for (const Json& link : fabric["classes"]) {
    const double most = link["forwarding_index"].get<double>(), bandwidth = link["bandwidth_Bps"].get<double>();
    rows.push_back({link["name"].get<std::string>(), link["cable"].get<std::string>(),
                    std::to_string(link["cables"].get<int>()), rate(link["bandwidth_Bps"]),
                    to_text(Seconds{link["latency_s"].get<double>()}), fabric_number(link["mean_ways"].get<double>()),
                    fabric_number(most), most > 0 ? to_text(BytesPerSecond{others * bandwidth / most}) : "-"});
  }
  print_table(rows);
}

}  // namespace

void print_fabric(const Json& fabric) {
  std::cout << fabric["generator"].get<std::string>() << " of " << fabric["platform"].get<std::string>() << "\n"
            << fabric["source"].get<std::string>() << "\n\n";
  print_size(fabric);
  std::cout << "\nlinks, and how many ways cross one of them when every endpoint sends to every other\n";
  print_classes(fabric);
  const Json& expected = fabric["expected"];
  std::cout << "\nexpected peak, minimal ways, nominal rates: of an endpoint and of a GPU\n";
  print_line("alltoall", rate(expected["alltoall_Bps"]) + ", " + rate(expected["alltoall_per_gpu_Bps"]) +
                             ", limited by " + expected["alltoall_limit"].get<std::string>() + " links");
  print_line("allreduce", rate(expected["allreduce_Bps"]) + ", " + rate(expected["allreduce_per_gpu_Bps"]));
  if (!fabric.contains("inside_a_node")) return;
  const Json& node = fabric["inside_a_node"];
  std::cout << "\nexpected peak inside a node, direct links only: of a GPU\n";
  print_line("alltoall", rate(node["alltoall_Bps"]) + ", forwarding index " +
                             fabric_number(node["forwarding_index"].get<double>()));
  print_line("allreduce", rate(node["allreduce_Bps"]) + ", " + std::to_string(node["rings"].get<int>()) +
                              " rings that share no link");
}

}  // namespace linkcast::cli
