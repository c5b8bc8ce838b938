// Logs as other programs print them, of forecasts: for tests of what reads such logs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string_view>

#include "cli/command.hpp"
#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "cli/topo_matrix.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/records/forecast_mark.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::cli {
namespace {

constexpr double kMicrosecond_s = 1e-6, kGiga_Bps = 1e9;  // source: nccl-tests prints us and GB/s
constexpr int kIterations = 20;                           // source: nccl-tests README.md, -n
constexpr double kWord_B = 4;                             // source: nccl-tests README.md, type float
constexpr std::uint64_t kSeeds = std::numeric_limits<std::int64_t>::max();
constexpr int kFirstProcess = 1001;  // ours: any number

/// The columns of an operation. source: NVIDIA/nccl-tests src/all_reduce.cu and its like
struct Columns {
  const char* op;
  bool reduces, rooted, in_parts;  ///< in_parts: count is of one rank's part
};
constexpr Columns kColumnsOfOps[] = {
    {"all_reduce", true, false, false}, {"reduce", true, true, false},    {"reduce_scatter", true, false, true},
    {"all_gather", false, false, true}, {"gather", false, true, true},    {"scatter", false, true, true},
    {"broadcast", false, true, false},  {"alltoall", false, false, true}, {"sendrecv", false, false, false}};

const Columns& columns_of(const std::string& op) {
  for (const Columns& one : kColumnsOfOps)
    if (op == one.op) return one;
  throw InputError("--op: nccl-tests has no '" + op + "'");
}

/// "22809" of nccl-2.28, as nccl-tests prints it. @throws InputError  another library
int version_number(const std::string& library) {
  const std::string version = library_version_name(library), family = library_family(library);
  const std::size_t dot = version.find('.');
  if ((family != "nccl" && family != "rccl") || dot == std::string::npos)
    throw InputError("--library: nccl-tests runs NCCL or RCCL, and not " + library);
  constexpr int kMajor = 10000, kMinor = 100;  // source: NCCL's nccl.h, NCCL_VERSION
  return std::stoi(version.substr(0, dot)) * kMajor + std::stoi(version.substr(dot + 1)) * kMinor;
}

/// source: NVIDIA/nccl-tests src/common.cu, which leaves out what does not fit seven letters
std::string time_text(double us) {
  constexpr double kWhole = 10000, kOne = 100;
  return us >= kWhole ? fmt::format("{:.0f}", us) : us >= kOne ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

class NcclTestsLog {
 public:
  NcclTestsLog(Context& context, const QueryOptions& options) : context_(context), options_(options) {}

  void print(const std::vector<double>& sizes) {
    std::string rows;
    double sum = 0;
    std::vector<double> printed;
    for (const double wanted_B : sizes) {
      const Json first = forecast(wanted_B);
      const Columns& columns = columns_of(text(first["inputs"]["query"]["op"]));
      const double size_B = whole_elements(columns, first, wanted_B);
      if (size_B <= 0) continue;
      printed.push_back(size_B);
      for (const bool in_place : {false, true}) {
        const Json answer = in_place || size_B != wanted_B ? forecast(size_B) : first;
        if (rows.empty()) first_ = answer;
        if (!in_place) rows += row_of(columns, answer, size_B);
        const double time_s = answer.value("mean_s", answer["time_s"].get<double>());
        const double algbw = size_B / time_s,
                     busbw = algbw * answer["busbw_Bps"].get<double>() / answer["algbw_Bps"].get<double>();
        sum += busbw;
        rows += fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}{}", time_text(time_s / kMicrosecond_s),
                            algbw / kGiga_Bps, busbw / kGiga_Bps, "N/A", in_place ? "\n" : "");
      }
    }
    if (printed.empty()) throw InputError("--size: is less than an element of 4 bytes a rank");
    std::cout << head(printed) << rows << "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "
              << fmt::format("{:g}", sum / static_cast<double>(2 * printed.size()) / kGiga_Bps) << "\n# "
              << kForecastMark << "\n";
    print_warnings(first_);
  }

 private:
  /// Each with draws of its own, where there is noise: the mean of as many as nccl-tests has iterations.
  Json forecast(double size_B) {
    Json query = options_.query_of_size(size_B);
    if (query.contains("noise")) {
      query["noise"] = (query["noise"].get<std::uint64_t>() + drawn_++) & kSeeds;
      if (!query.contains("samples")) query["samples"] = kIterations;
    }
    return run_query(context_, query);
  }
  [[nodiscard]] int ranks() const { return static_cast<int>(first_["ranks"].get<std::int64_t>()); }
  /// Bytes of whole elements a part, as nccl-tests rounds them. source: NVIDIA/nccl-tests src/all_gather.cu
  static double whole_elements(const Columns& columns, const Json& answer, double size_B) {
    const double unit_B = kWord_B * (columns.in_parts ? answer["ranks"].get<double>() : 1);
    return unit_B * std::floor(size_B / unit_B);
  }
  std::string row_of(const Columns& columns, const Json& answer, double size_B) const {
    const double parts = columns.in_parts ? answer["ranks"].get<double>() : 1;
    return fmt::format("{:>12.0f}  {:>12.0f}  {:>8}  {:>6}  {:>6}", size_B, size_B / kWord_B / parts, "float",
                       columns.reduces ? "sum" : "none", columns.rooted ? 0 : -1);
  }
  [[nodiscard]] std::string head(const std::vector<double>& sizes) const {
    const catalogue::MachinePtr machine = context_.edited(options_.platform());
    const Topology& topology = machine->platform().topology();
    const std::string library = text(first_["library"]), launch = first_.value("launch", "graph");
    const int version = version_number(library), number = ranks();
    const std::vector<int> gpus = members(topology);
    const bool one_process = launch == "single_process";
    std::string head = fmt::format(
        "# {}: platform {}, {}\n# Collective test starting: {}_perf\n# nccl-tests version 2.17 nccl-headers={} "
        "nccl-library={}\n# nThread 1 nGpus {} minBytes {:.0f} maxBytes {:.0f} step: {} warmup iters: 1 iters: {} agg "
        "iters: 1 validation: 0 graph: {}\n#\n# Using devices\n",
        kForecastMark, options_.platform(), library, text(first_["inputs"]["query"]["op"]), version, version,
        one_process ? static_cast<int>(gpus.size()) : 1, sizes.front(), sizes.back(),
        sizes.size() > 1 ? fmt::format("{:g}(factor)", sizes[1] / sizes[0]) : "2(factor)", kIterations,
        launch == "graph" ? 1 : 0);
    for (int rank = 0; rank < number; ++rank) {
      const auto of_node = static_cast<std::size_t>(rank) % gpus.size();
      const auto node = static_cast<std::size_t>(rank) / gpus.size();
      const Device& gpu =
          topology.devices[static_cast<std::size_t>(topology.gpus()[static_cast<std::size_t>(gpus[of_node])])];
      head += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on forecast-node{} device {:>2} [{}] {}\n", rank,
                          kFirstProcess + (one_process ? static_cast<int>(node) : rank), node, gpus[of_node],
                          bus_of(gpu, gpus[of_node]), gpu.model);
    }
    return head +
           "#\n"
           "#                                                              out-of-place                       in-place "
           "         \n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
           "busbw #wrong\n"
           "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
           "(GB/s)       \n";
  }
  /// GPUs of a node in rank order.
  [[nodiscard]] std::vector<int> members(const Topology& topology) const {
    const Json& query = first_["inputs"]["query"];
    std::vector<int> gpus;
    if (query.contains("gpus"))
      for (const Json& gpu : query["gpus"]) {
        if (!gpu.is_number_integer()) throw InputError("--gpus: a log has numbers of GPUs: 0,1,4,5 or 0-3");
        gpus.push_back(gpu.get<int>());
      }
    const int count = query.value("gpus_per_node", static_cast<int>(topology.gpus().size()));
    for (int gpu = 0; !query.contains("gpus") && gpu < count; ++gpu) gpus.push_back(gpu);
    return gpus;
  }
  /// "0x1b" of bus 0000:1b:00.0; where it is not known, the GPU's number.
  static std::string bus_of(const Device& gpu, int number) {
    const std::size_t colon = gpu.bus_id.find(':');
    return colon == std::string::npos ? fmt::format("{:#04x}", number + 1) : "0x" + gpu.bus_id.substr(colon + 1, 2);
  }

  Context& context_;
  const QueryOptions& options_;
  Json first_;
  std::uint64_t drawn_ = 0;
};

/// All GPUs of the node, where none are named, as -g of nccl-tests.
void default_members(CLI::App& command, Context& context, const std::string& platform) {
  CLI::Option* gpus = command.get_option("--gpus");
  if (gpus->count() > 0 || command.get_option("--nodes")->count() > 0) return;
  const int count = context.edited(platform)->platform().gpu_count();
  gpus->add_result("0-" + std::to_string(count - 1));
  gpus->run_callback();
}

void add_topo_m(CLI::App& fake, Context& context) {
  auto* command = fake.add_subcommand("topo-m", "the matrix that nvidia-smi topo -m prints of such a machine");
  auto platform = std::make_shared<std::string>();
  command->add_option("-p,--platform,platform", *platform, "machine, see 'linkcast list platforms'")->required();
  add_edits(*command, context, false);
  command->footer(
      "Example:\n  linkcast fake topo-m dgx2\n  linkcast fake topo-m v100-dgx1 --remove gpu0-gpu3 >topo.txt");
  command->callback([platform, &context] { std::cout << nvidia_smi_topo(context.edited(*platform)->platform()); });
}

}  // namespace

void add_fake(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("fake", "a forecast in the form of another program's log, to test what reads it");
  command->require_subcommand(1);
  add_topo_m(*command, context);
  auto* nccl = command->add_subcommand("nccl-tests",
                                       "as nccl-tests print a collective; the first line says that it is a forecast");
  auto options = std::make_shared<QueryOptions>(*nccl, context, "collective");
  options->take_sizes(*nccl);
  nccl->footer(
      "Example:\n  linkcast fake nccl-tests -p hgx-h100 --op all_reduce -b 8 -e 1G -f 2\n"
      "  linkcast fake nccl-tests -p v100-dgx1 --op all_reduce -b 8 -e 1G -f 2 --scale gpu0-gpu3:0.5 >log.txt\n"
      "--noise SEED draws other jobs between switches, each row anew. Diagnose and import read the log; calibrate "
      "refuses it.");
  nccl->callback([options, nccl, &context] {
    if (context.json || context.format != OutputFormat::kTable)
      throw InputError("--format: a log is text: predict collective has --json and --format csv");
    default_members(*nccl, context, options->platform());
    columns_of(nccl->get_option("--op")->as<std::string>());
    std::vector<double> sizes = options->sizes();
    if (sizes.empty()) sizes.push_back(options->query()["size_B"].get<double>());
    NcclTestsLog(context, *options).print(sizes);
  });
}

}  // namespace linkcast::cli
