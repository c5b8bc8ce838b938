#include "cli/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "calibrate/import/importer.hpp"
#include "calibrate/pipelines/import_files.hpp"
#include "calibrate/pipelines/init_machine.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"
#include "validate/diagnosis/log.hpp"

namespace linkcast::cli {
namespace {

using Words = std::vector<std::pair<const char*, const char*>>;  ///< words that no other file has, and what it is

bool holds(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

std::string by_words(const std::string& text, const Words& words) {
  for (const auto& [word, kind] : words)
    if (holds(text, word)) return kind;
  return "";
}

/// The format of import of a recording; empty: none is known. @param path  of that text
std::string recording_format(const std::string& text) {
  static const Regex actions(
      R"((?m)^(?:rank-)?\d+ (?:init|compute \S+|Irecv \d+|Isend \d+|waitAll|allReduce \d+)\s*$)");
  const std::string format = by_words(text, {{"SQLite format 3", "nsys"},
                                             {"\"traceEvents\"", "kineto"},
                                             {"\"pg_config\"", "flight-recorder"},
                                             {"|execution_trace|", "pytorch-et"},
                                             {"|execution_graph|", "pytorch-et"},
                                             {"\"COMM_COLL_NODE\"", "chakra"},
                                             {"comm_size", "chakra"},
                                             {"num_ranks ", "goal"}});
  return format.empty() && actions.find(text) ? "simgrid-ti" : format;
}

/// Files that import alone reads.
std::string other_format(const std::string& text) {
  static const Regex subnet(R"((?m)^Switch\s+\d+\s+"S-|==\(\s*\d+X\s+[\d.]+ Gbps)"), graph(R"("choice"\s*:\s*"xpu")");
  static const Regex slurm(R"((?m)^\s*(?:SwitchName|BlockName)=|^- topology:|^\s*cluster_default:)"),
      matrix(R"(\A[^\n,]*,0,1(?:,\d+)*\s*\n0,)");
  if (subnet.find(text) || (holds(text, "\"source_guid\"") && holds(text, "\"destination_guid\""))) return "ib-fabric";
  if (slurm.find(text)) return "topology-conf";
  if (graph.find(text)) return "infragraph";
  if (matrix.find(text)) return "mgbench-csv";
  return by_words(text, {{"\"discovery/1\"", "discovery"}, {"source,target,size_B", "csv"}});
}

/// Files that people paste for others: what one is, and what does not come of it.
std::string known_elsewhere(const std::string& text) {
  return by_words(
      text,
      {{"DCGM_FI_", "fields of DCGM say how busy a machine is, not what it can: 'dcgmi diag -r 3 --json' measures"},
       {"| NVIDIA-SMI ",
        "nvidia-smi without arguments says how busy GPUs are, not what joins them: 'nvidia-smi topo -m' and "
        "'nvidia-smi -L' do, 'linkcast init' reads them"},
       {"<nvidia_smi_log>", "nvidia-smi -q says what GPUs are, not what joins them: 'nvidia-smi topo -m' does"},
       {"KFD_ID: ", "amd-smi list says what GPUs are, not what joins them: 'amd-smi topology' does"},
       {"LINK METRIC TABLE", "amd-smi xgmi says what links carried, not where they lead: 'amd-smi topology' does"},
       {"<graphs ", "channels of NCCL (NCCL_GRAPH_DUMP_FILE): NCCL_TOPO_DUMP_FILE names a file that import reads"},
       {"NUMANode L#", "lstopo's text: 'lstopo --of xml' writes what import hwloc-xml reads"},
       {"node distances:", "numactl --hardware names no GPU: 'nvidia-smi topo -m' and 'lstopo --of xml' do"},
       {"-+-[0000:", "lspci's tree has no rates: 'lstopo --of xml' writes what import hwloc-xml reads"},
       {"CA type: ", "ibstat is of one host: ibnetdiscover lists the fabric, which import ib-fabric reads"},
       {"hca_id:", "ibv_devinfo is of one host: ibnetdiscover lists the fabric, which import ib-fabric reads"},
       {"| Diagnostic ", "the table of dcgmi diag has no rates: 'dcgmi diag -r 3 --json' has"},
       {",Total Time (ns),",
        "nsys stats says sums, no order: 'nsys export --type sqlite' writes what import nsys reads"},
       {"Intel(R) MPI Benchmarks", "is not read: OSU's benchmarks print what import osu reads"},
       {"mpiGraph", "is not read: osu_mbw_mr with one pair prints what import osu reads"},
       {"simpleP2P", "is not read: p2pBandwidthLatencyTest and nvbandwidth print what import reads"},
       {"kind: Node", "nodes of Kubernetes: 'linkcast serve' reads their labels (docs/schedulers.md)"},
       {" NCCL INFO ", "holds NCCL's own lines and no table of nccl-tests, nor calls of NCCL_DEBUG_SUBSYS=COLL"}});
}

constexpr std::uintmax_t kWhole_B = 16 << 20;  // ours: longer files, which may be refused for it, by their beginning
constexpr std::size_t kHead_B = 1 << 16;       // ours: more than the first line of a trace

std::string head(const std::string& path) {
  std::string text(kHead_B, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// A text of a file that is one, once.
class Held {
 public:
  explicit Held(const std::string& path)
      : path_(path),
        whole_(std::filesystem::file_size(path) <= kWhole_B),
        text_(whole_ ? file_text(path) : head(path)),
        log_(whole_ ? diagnosis::log_format(path) : "") {}

  /// The format of import; empty: none is known.
  [[nodiscard]] std::string format() const {
    if (const std::string recorded = recording_format(text_); !recorded.empty()) return recorded;
    if (!log_.empty()) return log_;
    if (holds(text_, " opCount ")) return "nccl-log";  // between the rows of a table, too
    if (const std::string wiring = pipelines::wiring_format(text_); !wiring.empty()) return wiring;
    return other_format(text_);
  }

  [[nodiscard]] std::string command() const {
    const std::string file = shell_argument(path_);
    const std::string own = by_words(text_, {{"\"trace/1\"", "linkcast replay {} --platform PLATFORM"},
                                             {"\"calibration/1\"", "linkcast show {}"},
                                             {"\"topology/1\"", "linkcast show {}"},
                                             {"\"variant/1\"", "linkcast show {}"},
                                             {"\"linkcast/study/1\"", "linkcast sweep {}"},
                                             {"\"launch/1\"",
                                              "linkcast calibrate fit MEASUREMENTS {} --topology "
                                              "PLATFORM --out FILE"}});
    static const Regex query(R"(^\s*\{[^\n]*"kind"\s*:\s*")");
    if (query.find(text_) && holds(text_, "\"platform\"")) return "linkcast predict --batch " + file;
    if (!own.empty()) return fmt::format(fmt::runtime(own), file);
    const std::string name = format();
    if (name.empty()) return is_of_init() ? "linkcast init " + file : "";
    if (name == log_) return "linkcast diagnose " + file;
    if (is_of_init()) return "linkcast init " + file;
    const std::string import = fmt::format("linkcast import {} {} ", name, file);
    if (pipelines::gives_trace(name)) return import + "--out TRACE, and linkcast replay TRACE --platform PLATFORM";
    return import +
           (name.ends_with("csv") ? "--machine NAME --topology PLATFORM --out FILE" : "--machine NAME --out FILE");
  }

  [[nodiscard]] std::string elsewhere() const { return known_elsewhere(text_); }
  [[nodiscard]] bool is_of_init() const { return pipelines::init_reads(text_); }
  /// Whole or damaged.
  [[nodiscard]] bool is_json_object() const {
    const auto first = text_.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text_[first] == '{';
  }

 private:
  std::string path_;
  bool whole_;
  std::string text_, log_;  ///< log_: format of what diagnose reads; empty: it is none
};

std::optional<Held> held_in(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  return Held(path);
}

InputError other_file(const std::string& path, const std::string& command, const std::string& right) {
  return InputError(path + ": is no file for " + command + ", by what it holds: " + right);
}

}  // namespace

std::string shell_argument(const std::string& path) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_-./+@:,=%", c) != nullptr;
  };
  if (!path.empty() && std::all_of(path.begin(), path.end(), plain)) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool is_log_file(const std::string& path) { return command_of_file(path).starts_with("linkcast diagnose "); }

std::string command_of_file(const std::string& path) {
  const auto held = held_in(path);
  return held ? held->command() : "";
}

std::string text_without_command(const std::string& word) {
  std::error_code none;
  if (std::filesystem::is_directory(word, none)) return word + ": is a folder: name a file in it";
  if (std::filesystem::exists(word, none) && !std::filesystem::is_regular_file(word, none))
    return word + ": is a device or a pipe, not a file: a command is missing before it";
  const auto held = held_in(word);
  if (!held) return word.find_first_of("./") == std::string::npos ? "" : word + ": is no command, and no such file";
  if (const std::string right = held->command(); !right.empty())
    return "a command is missing before '" + word + "': " + right;
  if (const std::string what = held->elsewhere(); !what.empty()) return word + ": " + what;
  return word + ": is not known by what it holds; 'linkcast import FORMAT FILE' reads " +
         linkcast::joined(pipelines::import_formats()) + " (linkcast help formats)";
}

void expect_file_of(const std::string& command, const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;
  const std::string begin = head(path);  // traces may be long: their first line is enough
  if (holds(begin, "trace/1") ? command == "replay" : begin.starts_with("\x1f\x8b")) return;
  const Held held(path);
  if (command == "init" && held.is_of_init()) return;
  const std::string right = held.command();
  if (right.empty() || right.starts_with("linkcast " + command + " ")) return;
  throw other_file(path, command, right);
}

void expect_files_of_format(const std::string& format, const std::vector<std::string>& paths) {
  std::vector<std::string> formats;
  for (const std::string& path : paths) {
    const auto held = held_in(path);
    formats.push_back(held ? held->format() : "");
  }
  const auto due = std::find(formats.begin(), formats.end(), import_format(format));
  if (due == formats.begin() || formats.empty()) return;
  if (due != formats.end()) {
    std::vector<std::string> order = paths;
    std::rotate(order.begin(), order.begin() + (due - formats.begin()), order.begin() + (due - formats.begin()) + 1);
    std::string files;
    for (const std::string& path : order) files += " " + shell_argument(path);
    throw other_file(paths.front(), "the first of import " + format, "linkcast import " + format + files);
  }
  const auto held = held_in(paths.front());
  if (const std::string right = held ? held->command() : ""; !right.empty() && !formats.front().empty())
    throw other_file(paths.front(), "import " + format,
                     fmt::format("linkcast import {} {}{}", formats.front(), shell_argument(paths.front()),
                                 right.starts_with("linkcast import ") ? "" : "; " + right));
}

std::string naming_file(const std::string& text, const std::string& command) {
  const std::size_t at = text.find(": not JSON: ");
  if (at == std::string::npos) return text;
  const std::string query = "command line: ";
  std::string path = text.substr(0, at);
  if (path.starts_with(query)) path.erase(0, query.size());
  if (const std::size_t line = path.rfind(" line "); line != std::string::npos) path.erase(line);
  const auto held = held_in(path);
  if (!held || held->is_json_object()) return text;  // of damaged JSON the text says where
  const std::string right = held->command();
  if (right.empty() || right.starts_with("linkcast " + command + " ")) return text;
  return other_file(path, command, right).what();
}

}  // namespace linkcast::cli
