// Tables of nccl-tests become collectives of one node or of several.
// The text of older versions does not name its operation: option op or the name of the file says it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/nccl_log.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/forecast_mark.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast {
namespace {

const std::vector<std::string> kOps = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                       "alltoall",   "sendrecv",   "gather",         "scatter"};

/// The operations whose program a file's name holds: "all_reduce_perf" is not also "reduce_perf".
std::set<std::string> ops_of_name(const std::string& name) {
  std::set<std::string> found;
  for (const std::string& op : kOps) {
    const std::size_t at = name.find(op + "_perf");
    const bool inside = at != std::string::npos && at >= 4 && name.compare(at - 4, 4, "all_") == 0;
    if (at != std::string::npos && !inside) found.insert(op);
  }
  return found;
}

/// Whether the operation has a reduction, which nccl-tests print as none where it has not.
bool reduces(const NcclRow& row) { return !row.redop.empty() && row.redop != "none"; }

/// Operations whose table this may be: by reduction, root, and bus bandwidth over that of the algorithm.
/// source: NVIDIA/nccl-tests doc/PERFORMANCE.md: 2 (n - 1) / n of all_reduce, (n - 1) / n of all_gather,
/// reduce_scatter, alltoall, gather and scatter, 1 of the others
std::set<std::string> ops_of_table(const NcclRun& run, std::size_t ranks) {
  const auto row = std::max_element(run.rows.begin(), run.rows.end(),
                                    [](const NcclRow& a, const NcclRow& b) { return a.algbw < b.algbw; });
  if (ranks < 2 || !(row->algbw > 0)) return {};
  const bool rooted = !row->root.empty() && row->root != "-1";
  const double part = 1 - 1 / static_cast<double>(ranks);
  const auto fits = [&](double factor) {
    constexpr double kPrinted = 0.01, kFactor = 0.02;  // source: ours, rates have two decimals
    return std::abs(row->busbw - factor * row->algbw) < kPrinted + kFactor * row->busbw;
  };
  std::set<std::string> ops;
  const auto add = [&](double factor, const std::vector<std::string>& some) {
    if (fits(factor)) ops.insert(some.begin(), some.end());
  };
  if (reduces(*row)) {
    add(1, rooted ? std::vector<std::string>{"reduce"} : std::vector<std::string>{});
    if (!rooted) add(2 * part, {"all_reduce"});
    if (!rooted) add(part, {"reduce_scatter"});
  } else if (rooted) {
    add(1, {"broadcast"});
    add(part, {"gather", "scatter"});
  } else {
    add(1, {"sendrecv"});
    add(part, {"all_gather", "alltoall"});
    // data in place are checked of all_gather, not of alltoall, which NCCL cannot do so
    if (row->in_place && row->in_place->wrong) ops.erase("alltoall");
    if (row->in_place && !row->in_place->wrong && row->out_of_place && row->out_of_place->wrong)
      ops.erase("all_gather");
  }
  return ops;
}

std::string op_of(const NcclRun& run, const std::optional<std::string>& said, const std::string& path,
                  std::size_t ranks, RecordBuilder& record) {
  if (!run.program.empty()) {
    const std::string op = operation_of_program(run.program);
    if (op.empty())
      throw InputError(run.place + ": program '" + run.program + "' measures no operation of schema measurement/1");
    if (said && *said != op) throw InputError("option op: is '" + *said + "', " + run.place + " is of " + run.program);
    return op;
  }
  if (said) return *said;
  const auto found = ops_of_name(file_name(path));
  if (const auto fits = ops_of_table(run, ranks); found.size() != 1 && fits.size() == 1) {
    record.note("The operation of " + file_name(path) + " is " + *fits.begin() +
                " by reduction, root and bus bandwidth over algorithm bandwidth; the text does not say it.");
    return *fits.begin();
  } else if (found.size() != 1) {
    throw InputError(run.place + ": neither the text nor the file's name says the operation: add option op=" +
                     (fits.empty() ? "all_reduce" : joined(fits, ", or op=")));
  }
  record.note("The operation of " + file_name(path) + " is that of the file's name; the text does not say it.");
  return *found.begin();
}

/// Members, as the options give them.
struct SaidMembers {
  std::optional<std::vector<int>> gpus;  ///< in rank order, of each node
  std::optional<int> gpu_count, nodes;

  /// gpus=8 is a number of GPUs, gpus=0,1,3,2 and gpus=0-3 are their numbers.
  explicit SaidMembers(const ImportRequest& request) {
    const auto text = option_text(request, "gpus");
    const bool digits = text && text->find_first_not_of("0123456789") == std::string::npos;
    const bool list = text && !digits && (text->find(',') != std::string::npos || read_gpu_text(*text));
    if (text && !list) {
      gpu_count = static_cast<int>(*option_count(request, "gpus"));
      constexpr int kMost = 1024;  // far more than a node has. source: ours
      if (*gpu_count > kMost) throw InputError(fmt::format("option gpus: at most {} on a node", kMost));
    } else {
      gpus = option_gpus(request, "gpus");
    }
    if (const auto count = option_count(request, "nodes")) nodes = static_cast<int>(*count);
  }

  /// Options decide alone, as nothing is printed.
  [[nodiscard]] std::vector<int> alone() const {
    if (gpus) return *gpus;
    std::vector<int> all;
    for (int gpu = 0; gpu < gpu_count.value_or(0); ++gpu) all.push_back(gpu);
    return all;
  }
};

/// Ranks of each host, hosts in the order of their first rank.
/// @throws InputError  hosts of different numbers of ranks or devices, or whose ranks are mixed
std::vector<std::vector<NcclRank>> by_host(const NcclRun& run) {
  std::vector<std::vector<NcclRank>> hosts;
  for (const NcclRank& rank : run.ranks) {
    if (rank.group != run.ranks.front().group)
      throw InputError(run.place + ": ranks of several groups ran at once: schema measurement/1 has one collective");
    if (hosts.empty() || hosts.back().front().host != rank.host) hosts.emplace_back();
    hosts.back().push_back(rank);
  }
  std::set<std::string> names;
  for (const auto& ranks : hosts) {
    const std::string& name = ranks.front().host;
    if (!names.insert(name).second)
      throw InputError(run.place + ": ranks of " + name + " do not follow each other: run them node by node");
    if (ranks.size() != hosts.front().size())
      throw InputError(fmt::format("{}: {} has {} ranks, {} {}: schema measurement/1 has equal nodes", run.place,
                                   hosts.front().front().host, hosts.front().size(), name, ranks.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i].device != hosts.front()[i].device)
        throw InputError(run.place + ": the ranks of " + hosts.front().front().host + " and " + name +
                         " print different devices: schema measurement/1 has equal nodes");
  }
  return hosts;
}

Json members_json(const std::vector<int>& gpus, std::size_t nodes) {
  Json members{{"gpus", gpus}};
  if (nodes > 1) members["nodes"] = nodes;
  return members;
}

Json said_members(const NcclRun& run, const SaidMembers& said) {
  const std::vector<int> gpus = said.alone();
  if (gpus.empty())
    throw InputError(run.place + ": no line '# Rank 0 ...' says which GPUs ran: add option gpus=8, their number on " +
                     "a node, or gpus=0,1,3,2 in rank order, and nodes=2 where there were several");
  const int nodes = said.nodes.value_or(1);
  if (gpus.size() * static_cast<std::size_t>(nodes) < 2)
    throw InputError("option gpus: one rank: a collective has at least two");
  return members_json(gpus, static_cast<std::size_t>(nodes));
}

/// Members on each node, and the number of nodes where there are several.
Json members_of(const NcclRun& run, const SaidMembers& said) {
  if (run.ranks.empty()) return said_members(run, said);
  const std::vector<std::vector<NcclRank>> hosts = by_host(run);
  if (said.nodes && *said.nodes != static_cast<int>(hosts.size()))
    throw InputError(fmt::format("option nodes: is {}, {} prints {}", *said.nodes, run.place, hosts.size()));
  std::vector<int> gpus = said.alone();
  if (!gpus.empty() && gpus.size() != hosts.front().size())
    throw InputError(fmt::format("option gpus: names {} GPUs, {} has {}{}", gpus.size(), run.place,
                                 hosts.front().size(), hosts.size() > 1 ? " ranks a node" : " ranks"));
  if (!gpus.empty()) return members_json(gpus, hosts.size());
  for (const NcclRank& rank : hosts.front()) {
    if (std::count(gpus.begin(), gpus.end(), rank.device) > 0)
      throw InputError(
          fmt::format("{}: two ranks print device {}: add option gpus=0,1,... in rank order", run.place, rank.device));
    gpus.push_back(rank.device);
  }
  return members_json(gpus, hosts.size());
}

/// busbw by algbw of n ranks. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
double bus_share(const std::string& op, double n) {
  const double others = (n - 1) / n;
  if (op == "all_reduce") return 2 * others;
  return op == "broadcast" || op == "reduce" || op == "sendrecv" ? 1 : others;
}

/// A printed rate is another one times a factor, but for two decimals and times of three digits.
/// source: nccl-tests src/util.cu
/// @param from  may be printed too, so that half a digit of it is lost times the factor
/// @param open  share of it that its digits leave open
bool is_rate(double printed, double factor, double from, double open = 0) {
  constexpr double kDigit = 0.006, kShare = 0.02;
  return std::abs(printed - factor * from) <= kDigit * (1 + factor) + (kShare + open) * factor * from;
}

/// Size, time, algbw and busbw of a half say one thing: else a figure was damaged.
/// @param said  the number of ranks is said by options, not by the file
void check_columns(const NcclRow& row, const NcclTiming& timing, const std::string& op, double ranks, bool said) {
  constexpr double kMicro_GBps = 1e-3;  // source: bytes a microsecond
  const auto rate_of = [&](const std::string& name, const std::string& text) -> std::optional<double> {
    if (text.empty() || is_not_available(text)) return std::nullopt;
    const auto rate = decimal(text);
    if (!rate || *rate < 0) throw InputError(row.place + ": " + name + " '" + text + "' is not a number of 0 or more");
    return rate;
  };
  const auto rate = rate_of("algbw", timing.rate), bus = rate_of("busbw", timing.bus_rate);
  const auto size = decimal(row.size_B), time = decimal(timing.time);
  if (!rate || !size || !time || !(*time > 0)) return;
  const double whole = *size / *time * kMicro_GBps, others = (ranks - 1) / ranks;
  const double open = open_share(timing.time);
  if (!is_rate(*rate, 1, whole, open) &&
      !is_rate(*rate, others, whole, open))  // old versions leave out the part of one rank
    throw InputError(fmt::format("{}: size {}, time {} and algbw {} do not fit each other: {:.3g} is due", row.place,
                                 row.size_B, timing.time, timing.rate, whole));
  const double due = bus_share(op, ranks);
  if (!bus || is_rate(*bus, due, *rate) || *bus == *rate || is_rate(*bus, others, *rate)) return;  // old versions, too
  throw InputError(fmt::format(
      "{}: busbw is {:.3f} times algbw, with {} ranks it is {:.3f}: {}", row.place, *bus / *rate, ranks,
      bus_share(op, ranks),
      said ? "options gpus and nodes say another number of ranks than ran" : "the columns do not fit each other"));
}

void check_columns(const NcclRun& run, const Json& common) {
  const double ranks = static_cast<double>(common["gpus"].size()) * common.value("nodes", 1);
  for (const NcclRow& row : run.rows)
    for (const auto& timing : {row.out_of_place, row.in_place})
      if (timing) check_columns(row, *timing, common["op"], ranks, run.ranks.empty());
}

/// Who issued the calls, as `launch` of predict; empty: it cannot be told.
/// source: NVIDIA/nccl-tests README.md: -t threads a process, -g GPUs a thread, -m calls a group, -G graphs
std::string launch_of(const NcclRun& run) {
  const auto& [threads, gpus_per_thread, graph_launches, calls_per_group] = run.issue;
  if (graph_launches.value_or(0) > 0) return "graph";
  if (calls_per_group.value_or(1) > 1) return "";
  std::set<std::string> processes;
  for (const NcclRank& rank : run.ranks) processes.insert(rank.host + " " + rank.process);
  const bool own = run.ranks.size() > 1 && processes.size() == run.ranks.size();
  if (gpus_per_thread ? *gpus_per_thread == 1 : own) return "process";
  if (!gpus_per_thread) return "";
  const bool one = processes.size() == 1 && threads.value_or(1) == 1;
  return one && !run.ranks.empty() && *gpus_per_thread == static_cast<int>(run.ranks.size()) ? "single_process" : "";
}

std::string launch_of(const NcclRun& run, const std::optional<std::string>& said, RecordBuilder& record) {
  const std::string printed = launch_of(run);
  if (said && !printed.empty() && *said != printed)
    throw InputError("option launch: is '" + *said + "', " + run.place + " says " + printed);
  if (printed.empty() && !said)
    record.note("Who issued the calls cannot be told: small sizes say nothing about links (option launch).");
  return printed.empty() ? said.value_or("") : printed;
}

/// Data type and reduction, which the schema cannot tell apart, must be the same in all of a record.
void note_types(const NcclRun& run, const std::string& path, RecordBuilder& record) {
  for (const NcclRow& row : run.rows) {
    record.environment("type", row.type, row.place);
    if (!reduces(row)) continue;
    record.environment("redop", row.redop, row.place);
  }
  if (!run.ranks.empty() && !run.ranks.front().gpu.empty()) record.environment("gpu", run.ranks.front().gpu, path);
}

class Rows {
 public:
  /// @param common  op, gpus, and what the run was held to
  Rows(Json common, RecordBuilder& record) : common_(std::move(common)), record_(record) {}

  void add(const NcclRow& row) {
    const auto size = whole_size(row.size_B);
    if (!size) throw InputError(row.place + ": size '" + row.size_B + "' is no size");
    if (*size == 0) {
      record_.note("Left out: rows of size 0, which sent nothing.");
      return;
    }
    if (!row.root.empty() && row.root != "-1" && row.root != "0") {
      record_.note("Left out: rows whose root is not rank 0, which schema measurement/1 cannot say.");
      return;
    }
    if (row.out_of_place) add(row, *size, *row.out_of_place, false);
    if (row.in_place) add(row, *size, *row.in_place, true);
  }

 private:
  void add(const NcclRow& row, std::int64_t size, const NcclTiming& timing, bool in_place) {
    if (in_place && is_not_available(timing.time)) return;
    const bool checked = row.out_of_place && row.out_of_place->wrong;
    if (in_place && common_["op"] == "alltoall" && checked && !timing.wrong) {
      record_.note("Left out: alltoall in place, whose data nccl-tests does not check because NCCL cannot do it.");
      return;
    }
    const auto wrong = timing.wrong ? decimal(*timing.wrong) : 0.0;
    if (!wrong) throw InputError(row.place + ": '" + *timing.wrong + "' is no number of wrong elements");
    if (*wrong != 0) throw InputError(row.place + ": " + *timing.wrong + " wrong elements: not a measurement");
    const auto time = decimal(timing.time, -6);
    if (!time || !(*time > 0)) throw InputError(row.place + ": time '" + timing.time + "' is not a number above 0");
    Json point = common_;
    point["size_B"] = size;
    if (in_place) point["in_place"] = true;
    if (timing.wrong) point["verified"] = true;
    record_.add(point, "time_s", *time);
  }

  Json common_;
  RecordBuilder& record_;
};

class NcclTests final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"op", "operation, where text and file name do not say it: all_reduce, all_gather, ..."},
            {"gpus",
             "numbers of the topology's GPUs in rank order, of each node: 0,1,3,2 (default: the printed devices); "
             "8: how many, where no rank is printed"},
            {"nodes", "number of nodes, where no rank is printed (default: 1)"},
            {"hosts", "names of the nodes whose runs are taken, as printed, with commas (default: all runs)"},
            {"launch", "graph, process, single_process or pytorch, where the text does not say who issued the calls"},
            {"library", "NCCL's version as `linkcast list libraries` names it, where the text does not print it"},
            {"algorithm",
             "ring, tree, collnet_chain, nvls, nvls_tree or pat, or NCCL's own spelling, if NCCL_ALGO forced it"},
            {"protocol", "LL, LL128 or Simple if NCCL_PROTO forced it"},
            {"nvls", "on or off: multicast by NVSwitch, where the text does not print NCCL's own lines"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

/// The library that a text such as "... nccl-library=22809", "NCCL 22809" or "RCCL 2.22" names: the nearest that is
/// known.
void note_library(const NcclRun& run, RecordBuilder& record) {
  const std::string& version = run.version;
  const std::string family = run.rccl ? "rccl" : "nccl";
  const std::string word = version.substr(version.find_last_of("= ") + 1);
  const std::size_t dot = word.find('.');
  if (word.empty() || dot == 0 || word.size() > 6 || word.find_first_not_of("0123456789.") != std::string::npos) return;
  const auto [major, minor] = dot == std::string::npos
                                  ? nccl_version(std::stoi(word))
                                  : std::make_pair(std::stoi(word), std::stoi("0" + word.substr(dot + 1)));
  const std::string library = nearest_version(family, major, minor);
  if (library.empty()) return;
  record.library(library);
  const std::string printed = fmt::format("{}.{}", major, minor);
  record.environment("library_version", printed, run.place);
  record.note(fmt::format("library: {} {} was printed{}", run.rccl ? "RCCL" : "NCCL", printed,
                          library == family + "-" + printed ? "." : "; " + library + " is the nearest that is known."));
}

/// NVLS takes sums, minima and maxima of most types, and of float and double sums alone. source: recalled of NCCL's
/// sources (models/libraries/SOURCES.md, "NVLS on one node")
bool multicast_takes(const NcclRow& row) {
  static const std::set<std::string> kSums = {"sum"}, kAll = {"sum", "min", "max"};
  static const std::map<std::string, std::set<std::string>> kAllowed = {
      {"float", kSums}, {"double", kSums}, {"int32", kAll}, {"uint32", kAll},
      {"int64", kAll},  {"uint64", kAll},  {"half", kAll},  {"bfloat16", kAll}};
  if (!reduces(row)) return true;
  const auto known = kAllowed.find(row.type);
  return known != kAllowed.end() && known->second.count(row.redop) > 0;
}

/// In the words of a record's settings: a query of these points follows multicast and peer access.
void note_settings(const NcclRun& run, const std::optional<bool>& off, RecordBuilder& record) {
  std::optional<bool> nvls = off ? std::optional(!*off) : run.nvls;
  if (off && run.nvls && *run.nvls != *nvls)
    throw InputError(fmt::format("option nvls: is '{}', {} says otherwise", *nvls ? "on" : "off", run.place));
  if (!std::all_of(run.rows.begin(), run.rows.end(), multicast_takes)) {
    record.note("Multicast by NVSwitch does not take this type and reduction: these points are without it.");
    nvls = false;
  }
  std::string settings = !nvls ? "" : *nvls ? "NCCL_NVLS_ENABLE=1" : "NCCL_NVLS_ENABLE=0";
  for (const auto& [name, value] : run.environment) settings += (settings.empty() ? "" : ", ") + name + "=" + value;
  if (nvls) record.environment("nvls", *nvls ? "on" : "off", run.place);
  if (!settings.empty()) record.method("settings", settings);
  if (!run.environment.empty())
    record.note("NCCL ran with " + settings + ": a forecast of these points needs the same settings (nccl_env).");
}

}  // namespace

std::string operation_of_program(const std::string& program) {
  for (const std::string& op : kOps)
    if (program == op || program.starts_with(op + "_perf") || program == op + "_test") return op;
  return "";
}

namespace {

/// Runs of a file on the nodes that option hosts names, else all. Runs on other nodes count as repetitions.
std::vector<NcclRun> runs_of(const ImportRequest& request, const std::string& path, RecordBuilder& record) {
  std::vector<NcclRun> runs = read_nccl_runs(path);
  const auto said = option_text(request, "hosts");
  std::set<std::set<std::string>> sets;
  const auto hosts_of = [](const NcclRun& run) {
    std::set<std::string> hosts;
    for (const NcclRank& rank : run.ranks) hosts.insert(rank.host);
    return hosts;
  };
  if (said) {
    const std::vector<std::string> names = split(*said, ',');
    const std::set<std::string> wanted(names.begin(), names.end());
    std::erase_if(runs, [&](const NcclRun& run) { return hosts_of(run) != wanted; });
    if (runs.empty()) throw InputError("option hosts: " + path + " has no run on " + *said + " and no other nodes");
  }
  for (const NcclRun& run : runs) sets.insert(hosts_of(run));
  if (sets.size() > 1)
    record.note(fmt::format("Runs on {} sets of nodes count as repetitions of each other; option hosts takes one.",
                            sets.size()));
  return runs;
}

/// Shared by all files of an import.
struct Shared {
  const ImportRequest& request;
  Json forced;
  PrintedBuses buses{};
  std::optional<NcclRun> before{};  ///< the run before
  int runs = 0;                     ///< that gave points
  bool forecast = false;            ///< one of them at least
};

/// Algorithm and protocol that options or variables force; a record with runs of other variables would mix them as
/// repetitions.
/// @throws InputError  variables of another run differ, or what an option says
Json forced_in(const NcclRun& run, Shared& shared) {
  const auto differ = [](const NcclRun& a, const NcclRun& b) {
    for (const auto& [name, value] : a.environment) {
      const auto other = b.environment.find(name);
      if (other == b.environment.end() ? b.typed : other->second != value) return name + "=" + value;
    }
    return std::string();
  };
  std::string text = shared.before ? differ(run, *shared.before) : "";
  if (shared.before && text.empty()) text = differ(*shared.before, run);
  if (!text.empty())
    throw InputError(run.place + ": not with the same variables of NCCL as the run of " + shared.before->place + " (" +
                     text + "): import them one by one");
  shared.before = run;
  Json forced = shared.forced;
  const auto add = [&](const char* key, const char* variable, const std::map<std::string, std::string>& names) {
    const auto set = run.environment.find(variable);
    std::string name = set == run.environment.end() ? "" : set->second;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto known = names.find(name);
    if (known == names.end()) return;
    if (forced.contains(key) && forced[key] != known->second)
      throw InputError(fmt::format("option {}: {} says {}={}", key, run.place, variable, set->second));
    forced[key] = known->second;
  };
  // source: NCCL documentation, NCCL_ALGO and NCCL_PROTO: one name of several, whatever its case
  add("algorithm", "NCCL_ALGO",
      {{"ring", "ring"},
       {"tree", "tree"},
       {"collnetchain", "collnet_chain"},
       {"nvls", "nvls"},
       {"nvlstree", "nvls_tree"},
       {"pat", "pat"}});
  add("protocol", "NCCL_PROTO", {{"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}});
  return forced;
}

void add_run(const NcclRun& run, const std::string& path, Shared& shared, RecordBuilder& record) {
  const ImportRequest& request = shared.request;
  const Json forced = forced_in(run, shared);
  if (forced.empty() && !run.environment.contains("NCCL_ALGO") && !run.environment.contains("NCCL_PROTO"))
    record.note("assumed: NCCL chose algorithm and protocol; the program does not print NCCL_ALGO and NCCL_PROTO.");
  if (!run.version.empty()) record.environment("version", run.version, path);
  const auto library = option_choice(request, "library", libraries().names());
  library ? record.library(*library) : note_library(run, record);
  const std::string program = run.rccl ? "rccl-tests, " : "nccl-tests, ";
  shared.forecast = shared.forecast || run.forecast;
  record.source((shared.forecast ? std::string(kForecastMark) + ", as " : "") + program +
                (run.version.empty() ? "version not printed" : run.version));
  for (const std::string& note : run.notes) record.note(note);
  note_types(run, path, record);
  note_settings(run, option_second(request, "nvls", "on", "off"), record);
  if (!run.settings.empty()) record.method("settings of " + file_name(path), run.settings);
  const Json members = members_of(run, SaidMembers(request));
  const std::size_t ranks = members["gpus"].size() * members.value("nodes", std::size_t{1});
  Json common{{"op", op_of(run, option_choice(request, "op", kOps), path, ranks, record)}};
  common.update(members);
  std::set<std::pair<std::string, int>> devices;
  for (const NcclRank& rank : run.ranks) devices.emplace(rank.host, rank.device);
  if (devices.size() == run.ranks.size())  // else each process sees GPUs of its own
    for (const NcclRank& rank : run.ranks) shared.buses.add(rank.host, rank.device, rank.bus, run.place);
  check_columns(run, common);
  const std::string launch = launch_of(run, option_choice(request, "launch", launch_kinds()), record);
  if (!launch.empty()) common["launch"] = launch;
  common.update(forced);
  Rows rows(common, record);
  for (const NcclRow& row : run.rows) rows.add(row);
  ++shared.runs;
}

/// Every run of one file but those of one rank.
void add_file(const std::string& path, Shared& shared, RecordBuilder& record) {
  const std::vector<NcclRun> runs = runs_of(shared.request, path, record);
  for (const NcclRun& run : runs) {
    if (run.ranks.size() == 1)
      record.note("Left out: the run of " + file_name(run.place) + " has one rank: a collective has at least two.");
    else
      add_run(run, path, shared, record);
  }
  if (shared.runs == 0) throw InputError(runs.front().place + ": one rank: a collective has at least two");
}

Json NcclTests::run(const ImportRequest& request) const {
  RecordBuilder record(request, "nccl-tests", "nccl_tests", "back_to_back");
  Json forced = Json::object();
  if (const auto a = option_spelled<ForcedAlgorithm>(request, "algorithm")) forced["algorithm"] = *a;
  if (const auto p = option_choice(request, "protocol", {"LL", "LL128", "Simple"})) forced["protocol"] = *p;
  record.method("statistic", "printed means over the iterations of the program");
  record.note(option_text(request, "gpus")
                  ? "gpus: said by option gpus, in rank order."
                  : "assumed: printed device n is gpu<n> of the topology; option gpus says otherwise.");
  Shared shared{request, forced};
  for (const std::string& path : request.files) add_file(path, shared, record);
  return record.json();
}

const bool nccl_tests_registered = importers().add(
    {"nccl-tests", "text or JSON (-J) of all_reduce_perf and the others of nccl-tests or rccl-tests, anywhere in a log",
     "NVIDIA/nccl-tests README.md and src/common.cu, src/util.cu"},
    [] { return std::make_unique<NcclTests>(); });

}  // namespace
}  // namespace linkcast
