#include "cli/explanations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/input_error.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/machine/platform.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::cli {
namespace {

struct WarningRow {
  const char *name, *pattern, *text, *page;
};

// The order decides where a text fits several patterns: the first.
constexpr WarningRow kWarnings[] = {
    {"nothing-measured", "nothing was measured on *",
     "This machine has no measurements of its own: its figures come from the nearest measured machines, scaled by "
     "nominal rates. The interval is wider for it. Measure what the warning names, then 'linkcast calibrate fit'.",
     "docs/calibrate.md"},
    {"network-not-measured", "nothing was measured of *",
     "Nobody measured this network on this machine: rates are those of data sheets, costs of messages those of similar "
     "networks. Times between nodes are wider for it. Two nodes of nccl-tests or OSU remove it.",
     "docs/fabrics.md"},
    {"between-nodes-not-measured", "nothing between nodes of * was measured*",
     "No measurement of this machine crosses nodes: adapters and cables get a usual share of their nominal rates. Two "
     "nodes of nccl-tests, given to 'linkcast calibrate fit', remove it.",
     "docs/calibrate.md"},
    {"collective-between-nodes-not-measured", "no collective between nodes of *",
     "Start-up and pace of hops between nodes are the library's own table, since no collective was measured there. It "
     "matters below some MiB. nccl-tests on two nodes removes it.",
     "docs/calibrate.md"},
    {"message-between-nodes-not-measured", "no message between nodes of *",
     "Start-ups of messages are those of other machines, rates the nominal ones. OSU or perftest between two nodes "
     "removes it.",
     "docs/model.md#messages"},
    {"message-not-measured", "no message *was measured*",
     "No message of this kind or size was measured inside a node: what its steps take elsewhere, and rates of links, "
     "stand in. Small sizes are the least sure. osu_latency and osu_bw of two ranks remove it.",
     "docs/model.md#messages"},
    {"host-inherited", "what issuing costs the host*",
     "The time that a CPU takes to issue a call was measured on another machine. It decides small collectives. "
     "--launch graph leaves the host out, --host-scale says how much slower yours is, 'linkcast measure' measures it.",
     "docs/launch.md"},
    {"posting-assumed", "what a process pays to post a message*",
     "The cost of posting a message was not measured: an assumption stands in, which limits many small messages. "
     "osu_mbw_mr of one pair removes it.",
     "docs/model.md#messages"},
    {"host-memory-unknown", "what several GPUs together get of host memory*",
     "Copies of several GPUs through one CPU's memory may share a limit that nobody measured here: none is assumed, so "
     "that such copies may be slower. nvbandwidth's all-to-host tests remove it.",
     "docs/model.md#constraints"},
    {"multicast-not-measured", "what multicast by NVSwitch *",
     "NVLS speed is what NCCL itself counts on, not measured here. --no-nvls leaves NVLS out; nccl-tests of all GPUs "
     "with NCCL_ALGO=NVLS removes it.",
     "docs/communicators.md#multicast-by-nvswitch-nvls"},
    {"inherited", "not measured on *: *% of the time",
     "Terms of this forecast come from another machine's calibration, while this machine measured others itself; the "
     "warning gives their share of the time. nccl-tests of this operation and library removes it.",
     "docs/calibrate.md"},
    {"library-table", "base and hop latencies are *",
     "Latency of small collectives is the library's own table, not measured here. It matters below about 1 MiB. "
     "nccl-tests from 8 B on removes it.",
     "docs/calibrate.md"},
    {"more-warnings", "* more of what was assumed: -v shows *",
     "At most three warnings are printed, the ones that matter most first; the others are there with -v, and all of "
     "them "
     "in --json.",
     "docs/answers.md"},
    {"nominal-rate", "the rate of *is nominal, not calibrated",
     "The link's rate is that of its data sheet: real copies attain some per cent less. A copy over this link, by "
     "nvbandwidth or p2pBandwidthLatencyTest, and a fit remove it.",
     "docs/model.md#copies"},
    {"start-up-stands-in", "start-up of *copies was not measured*",
     "Copies of this transport were not measured, and the start-up of a similar one stands in. It matters for small "
     "copies. p2pBandwidthLatencyTest removes it.",
     "docs/model.md#copies"},
    {"parameter-assumed", "parameter *was not measured on this machine*",
     "A parameter of the model has no value from data here: an assumption stands in. 'linkcast explain PARAMETER' says "
     "what it is and what measures it.",
     "docs/model.md#assumptions"},
    {"far-memory-assumed", "copies to the memory of the other socket*",
     "Copies to the other socket's memory are assumed to take twice as long as to the own one. nvbandwidth bound to "
     "the "
     "other socket by numactl removes it.",
     "docs/model.md#copies"},
    {"staged-by-runtime", "staged copies are moved by the runtime*",
     "Without peer access the CUDA runtime moves a copy through host memory: the engine and direction of the "
     "request change nothing. Use another transport, or enable peer access.",
     "docs/model.md#copies"},
    {"reduction-assumed", "the rate at which buffers are reduced is assumed",
     "How fast this library adds buffers was not measured, and decides a visible part of the time. "
     "osu_allreduce of large sizes removes it.",
     "docs/communicators.md#mpi-schedules-of-messages"},
    {"pageable-assumed", "the rate of copies between GPU and pageable host memory*",
     "This library stages buffers through ordinary host memory at an assumed rate. nvbandwidth's pageable tests remove "
     "it.",
     "docs/communicators.md#mpi-schedules-of-messages"},
    {"choice-not-public", "the choice of algorithms of *",
     "The vendor does not publish how its library chooses: the rules of the library that it comes from stand in. "
     "--algorithm sets one.",
     "docs/communicators.md#mpi-schedules-of-messages"},
    {"sizes-extrapolated", "size is *the calibrated range*",
     "The size lies outside those that were measured: the curve is continued, and the interval grows with each "
     "doubling. Measure this size.",
     "docs/model.md#intervals"},
    {"sharing-uncertain", "kernels of one GPU exchange with several*",
     "Exchanges of one GPU's kernels with several others took longer than fair sharing says where they were measured. "
     "The interval counts it.",
     "docs/model.md#constraints"},
    {"engine-orders", "copies wait for their copy engine*",
     "More copies than copy engines: which goes first is up to the hardware. The time is the median of random orders; "
     "fewer copies at once remove it.",
     "docs/model.md#copies"},
    {"rates-shared-late", "many flows: rates were shared out*",
     "With very many flows rates are shared out at short intervals and not at each end of a flow. Ends move by less "
     "than 1 %. --solver native does not do it.",
     "docs/model.md#engine"},
    {"rounds-stand-in", "too many messages for all of them*",
     "A collective of very many messages is simulated by some of its rounds, alike ones standing for others. Fewer "
     "ranks or larger messages remove it.",
     "docs/limits.md"},
    {"routes-stand-in", "of the * between two cards *",
     "Some of many equal routes through the fabric stand for all, which keeps the simulation small.",
     "docs/communicators.md#messages-between-nodes-and-alltoall-of-thousands-of-gpus"},
    {"stays-in-node", "nothing crosses the network between nodes*",
     "The request has noise or other jobs, but all GPUs are in one node: they change nothing.", "docs/noise.md"},
    {"several-communicators", "GPUs in several communicators*",
     "GPUs run kernels of several communicators at once, which is assumed to have room. Where thread blocks are short, "
     "one waits for the other and takes longer.",
     "docs/communicators.md#several-communicators-at-once"},
    {"fair-sharing-assumed", "communicators are assumed to share links fairly*",
     "Concurrent collectives slow each other down by fair shares of links. Where it was measured, forecasts were some "
     "per cent off.",
     "docs/communicators.md#several-communicators-at-once"},
    {"near-tie", "near tie: *",
     "The library's own cost model is nearly undecided between two algorithms or protocols, and may run the other. "
     "The interval spans both; NCCL_ALGO and NCCL_PROTO decide it.",
     "docs/communicators.md"},
    {"switches-not-measured", "reduction by the switches between nodes*",
     "Switches that reduce (SHARP) are assumed to keep up with their cables. nccl-tests with CollNet removes it.",
     "docs/communicators.md#switches-that-reduce-between-nodes-collnet-sharp"},
    {"pat-not-measured", "parallel aggregated trees were never measured*",
     "Steps of NCCL's algorithm PAT are the library's table. nccl-tests with NCCL_ALGO=PAT removes it.",
     "docs/communicators.md#parallel-aggregated-trees-pat"},
    {"own-schedule", "costs of *steps are those of rings*",
     "A schedule of your own takes the costs of NCCL's rings, since it was never measured.",
     "docs/communicators.md#algorithms-and-schedules-of-your-own"},
    {"schedule-may-hang", "*waits for ever where a chunk fills a slot*",
     "The schedule waits in a circle once a chunk fills its connection's buffer: the real library would hang. Give "
     "maxBytes in the file, or change the order of its steps.",
     "docs/communicators.md#algorithms-and-schedules-of-your-own"},
    {"schedule-left-out", "*runs as the library chooses*",
     "The schedule of your file is for another size or number of GPUs, so that the library's own choice was forecast.",
     "docs/communicators.md#algorithms-and-schedules-of-your-own"},
    {"channels-without-effect", "NVLS has its own number of thread blocks*",
     "Settings of channels were given, and NVLS does not follow them: they change nothing here.",
     "docs/communicators.md#multicast-by-nvswitch-nvls"},
    {"engine-figures-printed", "figures of the NIC's engine are printed ones*",
     "Rates of the adapter's own engine are from a paper or data sheet, not fitted.", "docs/model.md#messages"},
    {"plugin-unknown", "the network's plug-in replaces NCCL's choice*",
     "The cloud's plug-in has a private table of algorithms: NCCL's own choice is forecast instead, and another may "
     "run. NCCL_ALGO and NCCL_PROTO decide it.",
     "docs/communicators.md"},
    {"plugin-chose", "the tuner of EFA's plug-in chose *",
     "The plug-in of AWS overrules NCCL here. OFI_NCCL_TUNER_TYPE=INTERNAL gives the choice back to NCCL.",
     "docs/communicators.md"},
    {"engine-leaves-to-library", "*leaves this all_reduce to *",
     "The inference engine has no kernel of its own for this size, number or generation of GPUs, and calls NCCL: that "
     "is forecast.",
     "docs/communicators.md#inference-engines-vllm-sglang-trtllm"},
    {"variable-without-effect", "*changes nothing here: *",
     "A variable of NCCL's environment was read and has no effect on this machine or operation; the warning says why.",
     "docs/predict.md#collectives"},
    {"variables-not-modelled", "*no forecast depends on *",
     "These variables of NCCL's environment were read and change nothing that is modelled.",
     "docs/predict.md#collectives"},
    {"old-name", "*the old name goes on working in this version only",
     "A name was renamed: write the new one before the next version.", "docs/stability.md"},
    {"nearest-version", "*is forecast as *version that is modelled*",
     "Not every version of a library is modelled: the nearest one stands in. The tables of NCCL's tuner differ little "
     "between neighbours.",
     "docs/communicators.md"},
    {"edit-nominal", "edit '*nobody measured *",
     "The edit adds a kind of cable that no measured machine has: it gets its nominal rate.", "docs/what-if.md#edits"},
    {"edit-rates-of-another", "edit '*rates of *from *",
     "The edit adds a kind of cable that another machine measured: it gets that machine's rates.",
     "docs/what-if.md#edits"},
    {"edit-share-kept", "edit '*the share of *rate that was measured*",
     "The edit changes a nominal rate: the attained one follows by the same factor, which nobody measured.",
     "docs/what-if.md#edits"},
    {"edit-cables-narrow", "edit '*of a port's *",
     "The edit's network is faster than the node's own cable to the adapter, which then limits. 'swap' changes it.",
     "docs/what-if.md#edits"},
    {"edit-without-gpudirect", "edit '*cross host memory*",
     "Without GPUDirect data pass through host memory: only the links are known to change, other costs stay.",
     "docs/what-if.md#edits"},
    {"edit-network-not-measured", "edit '*nothing was measured of *",
     "Nobody measured the edit's network on this machine: rates are those of data sheets.", "docs/what-if.md#edits"},
    {"fallback", "*through host memory*",
     "The library finds no ring of direct links around these GPUs, so that hops cross host memory, several times "
     "slower. Other GPUs avoid it: 'linkcast place' finds them, 'linkcast rings' shows the rings.",
     "docs/communicators.md"},
    {"ring-in-rank-order", "*one ring *",
     "The library finds no closed ring of direct links around these GPUs and takes one ring in the order of their "
     "numbers. Other GPUs avoid it: 'linkcast place' finds them, 'linkcast rings' shows the rings.",
     "docs/communicators.md"},
    {"ring-of-no-rate", "the library finds no ring of the least rate*",
     "No ring is as fast as the least rate that the library looks for: it takes one in the order of the GPUs. Other "
     "GPUs "
     "avoid it.",
     "docs/communicators.md"},
    {"rings-over-nodes", "*rings over *nodes*",
     "The rings inside a node are not what the wiring would allow, which the rest of the text says, and rings over "
     "nodes inherit it. 'linkcast rings' shows them.",
     "docs/communicators.md#over-several-nodes"},
    {"tokens-assumed", "*chooses by tokens and hidden size*",
     "The inference engine chooses by tokens and hidden size, of which a query knows the bytes alone: a usual hidden "
     "size is assumed. --algorithm sets the choice.",
     "docs/communicators.md#inference-engines-vllm-sglang-trtllm"},
    {"one-rank", "a collective of one rank moves nothing*",
     "The job has one rank: placements differ only by what they leave free.", "docs/placement.md"},
    {"orders-not-all-tried", "too many rank orders to try all*",
     "The best placement that was found may not be the best there is; with fewer ranks all orders are tried.",
     "docs/placement.md"},
    {"symmetry-broken", "GPUs that a symmetry makes equal differ*",
     "The library searches by GPU number, so that sets that are wired alike get different rings: each is forecast.",
     "docs/placement.md"},
    {"slurm-newer", "*is newer than 0.0.*",
     "The scheduler's JSON is of a newer version than those that were seen; all keys that are needed are there.",
     "docs/schedulers.md#slurm"},
    {"trace-of-one-rank", "*is of one rank, whose collectives take no time alone*",
     "The recording has one rank and its collectives nobody to talk to: --option ranks=N replays it on N alike ranks.",
     "docs/replay.md"},
    {"ranks-changed", "*ranks and replayed on *",
     "The recording is replayed on another number of ranks: what each computes and sends stays as it was recorded.",
     "docs/replay.md"},
    {"trace-cut-off", "*it may have been cut off",
     "Ranks of the recording have different numbers of steps: its end may be missing. Record again, or fewer steps.",
     "docs/replay.md"},
    {"cpu-times-recorded", "CPU times of *are of the host that was recorded*",
     "Times of the CPU are those of the recording's host: host_scale says how much slower yours is.", "docs/replay.md"},
    {"compute-times-recorded", "compute times of *",
     "Compute was recorded on another kind of GPU and stays as it was: only what is exchanged is a forecast. Record "
     "on this machine to remove it.",
     "docs/replay.md"},
    {"no-interval", "no interval, which takes further runs*",
     "The trace comes from a pipe and can be read once, while an interval takes three runs. Give a file.",
     "docs/replay.md"},
};

struct NamedRow {
  std::string_view name;
  const char* text;
};

namespace term = uncertainty::term;
constexpr NamedRow kTerms[] = {
    {term::kBase, "Start-up of the whole collective or copy, whatever its size. nccl-tests of 8 B measures it."},
    {term::kHops,
     "Latency of steps one after the other: it grows with GPUs of a ring and depth of a tree. nccl-tests "
     "of 8 B at two GPU counts measures it; fewer ranks or a tree make it less."},
    {term::kSerialisation,
     "Bytes over the rate of the tightest link or thread block: what more bandwidth makes less. "
     "nccl-tests of 1 GiB measures it; the bottleneck names the link."},
    {term::kFilling, "Chunks and turns that bytes wait for, until a pipeline is full. It matters at middle sizes."},
    {term::kContention,
     "Others on the same links at the same time, and copies of the same GPU in the other direction. Another placement, "
     "fewer jobs, or one direction at a time make it less."},
    {term::kAlignment,
     "Parts that do not begin at 16 bytes and are moved by narrower loads. Sizes that divide by 16 "
     "bytes times the ranks remove it."},
    {term::kHostPath,
     "Hops through host memory, where no direct link joins two GPUs. Other GPUs or peer access remove "
     "it."},
    {term::kDistance,
     "Latency of cables and switches between nodes, and waits there. Nodes that are near make it less."},
    {term::kLaunch,
     "Calls of the host that issues the work. CUDA graphs (--launch graph) remove it, 'linkcast "
     "measure' measures it."},
    {term::kNoise, "Drawn slow-downs and other jobs of the network (--noise)."},
    {term::kMisfit,
     "No time: how far measurements lie from what was fitted to them, and what nobody measured. More "
     "measurements of this kind narrow it."},
    {term::kReduction, "Adding buffers up, where messages leave that to a CPU or a kernel of its own."},
    {term::kStaging, "Copies of buffers between GPU and host before and after messages. GPU-aware MPI removes it."},
    {term::kChoice,
     "No time: what the library may run instead, where its choice is nearly a tie. NCCL_ALGO and "
     "NCCL_PROTO remove it."}};

constexpr NamedRow kLimits[] = {
    {"host",
     "The CPU that issues calls is slower than the devices: links hardly matter. --launch graph, larger calls "
     "or a faster host change it."},
    {"start-up", "More than half of the time is latency: links hardly matter. Larger or fewer calls change it."},
    {"bandwidth", "The copy is limited by links; the bottleneck names them."},
    {"rates of single copies",
     "The copy is slower than its links: chunks through host memory, kernels, pageable memory or the GPU's own memory "
     "set its rate. Another transport or engine changes it."},
    {"thread blocks",
     "The library's kernels move less than the links would: more channels (NCCL_MIN_NCHANNELS) or "
     "another protocol change it."},
    {"rates of single messages",
     "Each message is slower than its links: several at a time, or larger ones, change "
     "it."}};

/// @returns  how ids of the kind look, and what it is; the compiler asks for each kind
std::pair<const char*, const char*> text_of(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kLink:
      return {"A->B",
              "One direction of all links of a cable between two devices limits, as the fitted or nominal rate "
              "says. 'linkcast show' gives its rate, --remove, --scale and --swap try another one."};
    case ConstraintKind::kDuplex:
      return {"A<->B",
              "Both directions of a cable together carry less than twice one direction, and that limits. "
              "nvbandwidth's bidirectional tests measure it."};
    case ConstraintKind::kKernelDuplex:
      return {"A<=>B",
              "Both directions of a cable together limit, where kernels move the bytes and not copy engines. "
              "nccl-tests through it measures it."};
    case ConstraintKind::kProcess:
      return {
          "GPU process",
          "The CPU core of a process limits: it copies the bytes of its messages through host memory, and reads small "
          "ones out of its GPU, one after the other. NCCL does not."};
    case ConstraintKind::kHostMemory:
      break;
  }
  return {"CPU memory",
          "The memory of a CPU limits what several devices write to it and read from it together. "
          "nvbandwidth's all-to-host tests measure it."};
}

constexpr NamedRow kFabricLimits[] = {
    {"NIC sends", "The adapter's own engine limits what it sends, below the rate of its cable."},
    {"NIC receives", "The adapter's own engine limits what it receives, below the rate of its cable."}};

/// Benchmarks that measure parameters of such owners; the compiler asks for each.
const char* measured_by(ParameterOf of) {
  switch (of) {
    case ParameterOf::kCable:
    case ParameterOf::kLink:
    case ParameterOf::kRange:
    case ParameterOf::kTransport:
    case ParameterOf::kEngine:
      return "nvbandwidth, p2pBandwidthLatencyTest or linkcast-bench";
    case ParameterOf::kLibrary:
      return "nccl-tests, rccl-tests or OSU";
    case ParameterOf::kNoise:
      return "repeated runs between the same nodes";
    case ParameterOf::kLaunch:
      return "'linkcast measure'";
    case ParameterOf::kRecording:
      return "a recorded step and the same step unrecorded";
    case ParameterOf::kHostMemory:
      break;
  }
  return "nvbandwidth's all-to-host tests";
}

/// A name of the row, with words in capitals for what it is of where there are several.
std::string example_name(const ParameterRow& row) {
  const std::string subject(row.subject.substr(0, row.subject.find(' ')));
  const auto or_subject = [&](const char* word) { return subject.empty() ? word : subject; };
  switch (row.of) {
    case ParameterOf::kCable:
      return row.key("KIND").name;
    case ParameterOf::kLink:
      return row.key("A->B").name;
    case ParameterOf::kRange:
      return row.key(or_subject("TRANSPORT") + ".r0").name;
    case ParameterOf::kTransport:
      return row.key(or_subject("TRANSPORT")).name;
    case ParameterOf::kLaunch:
      return row.key(or_subject("LAUNCH")).name;
    case ParameterOf::kLibrary:
      return fmt::format("LIBRARY.{}.{}", subject, row.what);
    case ParameterOf::kEngine:
    case ParameterOf::kNoise:
    case ParameterOf::kRecording:
    case ParameterOf::kHostMemory:
      break;
  }
  return row.key("").name;
}

/// @param whole  name of one parameter; else that of its row
Explanation of_parameter(const ParameterRow& row, const std::string& whole) {
  std::string text(row.meaning);
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  const std::string name = example_name(row);
  const bool several = row.subject.find(' ') != std::string::npos;
  return {"parameter", std::string(row.what),
          fmt::format("{} (unit {}; of {}{}). 'linkcast show PLATFORM' has its value and where that comes from, --set "
                      "{}=VALUE tries another; measured by {}, and fitted by 'linkcast calibrate fit'.",
                      text, row.unit.empty() ? "1" : row.unit, name.substr(0, name.rfind('.')),
                      several ? ": " + std::string(row.subject) : "", whole, measured_by(row.of)),
          "docs/model.md", ""};
}

std::vector<Explanation> all() {
  std::vector<Explanation> list;
  for (const WarningRow& row : kWarnings) list.push_back({"warning", row.name, row.text, row.page, row.pattern});
  for (const NamedRow& row : kTerms) list.push_back({"term", std::string(row.name), row.text, "docs/answers.md", ""});
  for (const ConstraintKind kind : {ConstraintKind::kLink, ConstraintKind::kDuplex, ConstraintKind::kKernelDuplex,
                                    ConstraintKind::kHostMemory, ConstraintKind::kProcess}) {
    const auto [name, text] = text_of(kind);
    list.push_back({"bottleneck", name, text, "docs/model.md#constraints", ""});
  }
  for (const NamedRow& row : kFabricLimits)
    list.push_back({"bottleneck", std::string(row.name), row.text, "docs/model.md#messages", ""});
  for (const NamedRow& row : kLimits) list.push_back({"limit", std::string(row.name), row.text, "docs/answers.md", ""});
  return list;
}

bool fits(std::string_view text, std::string_view pattern) {
  const bool anywhere_first = pattern.starts_with('*'), anywhere_last = pattern.ends_with('*');
  std::size_t at = 0, last = 0;
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('*', begin), pattern.size());
    const std::string_view piece = pattern.substr(begin, end - begin);
    const std::size_t found = text.find(piece, at);
    if (found == std::string_view::npos || (begin == 0 && !anywhere_first && found != 0)) return false;
    at = last = found + piece.size();
    begin = end + 1;
  }
  return anywhere_last || last == text.size() || text.ends_with(pattern.substr(pattern.rfind('*') + 1));
}

/// Name of the row of a link's id; empty: it is none.
std::string bottleneck_name(const std::string& what) {
  for (const char* arrow : {"<->", "<=>", "->"})
    if (const std::size_t at = what.find(arrow);
        at != std::string::npos && at > 0 && what.find(' ') == std::string::npos)
      return std::string("A") + arrow + "B";
  for (const char* end : {" sends", " receives"})
    if (what.ends_with(end)) return std::string("NIC") + end;
  if (what.ends_with(" process")) return "GPU process";
  return what.find(" memory") != std::string::npos ? "CPU memory" : "";
}

}  // namespace

const std::vector<Explanation>& explanations() {
  static const std::vector<Explanation> list = all();
  return list;
}

std::vector<Explanation> parameter_explanations() {
  std::vector<Explanation> list;
  for (const ParameterRow* row : parameter_rows()) list.push_back(of_parameter(*row, example_name(*row)));
  return list;
}

std::vector<Explanation> explanations_of(const std::string& said) {
  constexpr std::string_view kPrinted = "warning: ";  // a line as the terminal shows it
  const std::string what = said.starts_with(kPrinted) ? said.substr(kPrinted.size()) : said;
  std::vector<Explanation> found;
  for (const Explanation& one : explanations())
    if (one.name == what) found.push_back(one);
  for (const Explanation& one : parameter_explanations())
    if (one.name == what && std::none_of(found.begin(), found.end(), [&](const auto& f) { return f.text == one.text; }))
      found.push_back(one);
  if (!found.empty()) return found;
  if (const ParameterRow* row = find_parameter_row(what)) return {of_parameter(*row, what)};
  for (const Explanation& one : explanations())
    if (!one.pattern.empty() && fits(what, one.pattern)) return {one};
  const std::string name = bottleneck_name(what);
  for (const Explanation& one : explanations())
    if (!name.empty() && one.name == name) return {one};
  return {};
}

}  // namespace linkcast::cli
