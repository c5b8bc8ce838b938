// Schedules of collectives that users write, as MSCCL's XML files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/algorithms/msccl_program.hpp"
#include "models/algorithms/ring_cost.hpp"
#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/plan/channel_flows.hpp"

namespace linkcast {
namespace {

using collective::CollectiveJob;
using collective::CollectivePlan;
using msccl::Block;
using msccl::Move;
using msccl::Program;
using msccl::Step;

constexpr int kMostRanks = 1024, kMostChunks = 65536;    // ours: of one file
constexpr std::int64_t kMost_B = std::int64_t{1} << 53;  // as of size_B

OnlyCall call_of(const Program& program) { return {program.operation, program.ranks, program.min_B, program.max_B}; }

// Reading.

class Reader {
 public:
  Reader(const std::string& text, std::string path) {
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
      line_ends_.push_back(static_cast<std::ptrdiff_t>(end));
    program_.path = std::move(path);
    const pugi::xml_parse_result parsed = document_.load_buffer(text.data(), text.size());
    if (!parsed) program_.fail(line_at(parsed.offset), std::string("no XML: ") + parsed.description());
  }

  /// @param refusal  why the call that the file is for is not wanted: asked before thread blocks are read
  Program read(const CallRefusal& refusal) {
    const pugi::xml_node algo = document_.child("algo");
    if (!algo) program_.fail(1, "the element algo is missing");
    if (const pugi::xml_node second = algo.next_sibling("algo"))
      program_.fail(line(second), "a second algo: a file holds one schedule, as for MSCCL");
    read_head(algo);
    if (const std::string why = refusal(call_of(program_)); !why.empty()) program_.fail(program_.line, why);
    const pugi::xml_attribute in_place = algo.attribute("inplace");
    program_.in_place = !in_place || in_place.as_int() != 0;
    bool outputs = false;
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      const int id = number(gpu, "id", 0, program_.ranks - 1);
      if (program_.scratch[at(id)] >= 0) program_.fail(line(gpu), "gpu " + std::to_string(id) + " is there twice");
      for (const char* buffer : {"i", "o", "s"})
        sizes_[*buffer] = number(gpu, (std::string(buffer) + "_chunks").c_str(), 0, kMostChunks);
      program_.scratch[at(id)] = sizes_['s'];
      outputs = outputs || sizes_['o'] > 0;
      for (const pugi::xml_node tb : gpu.children("tb")) read_block(tb, id);
    }
    for (std::size_t id = 0; id < program_.scratch.size(); ++id)
      if (program_.scratch[id] < 0) program_.fail(line(algo), "gpu " + std::to_string(id) + " is missing");
    if (!in_place) program_.in_place = !outputs;
    std::stable_sort(program_.blocks.begin(), program_.blocks.end(),
                     [](const Block& a, const Block& b) { return a.gpu < b.gpu; });
    return std::move(program_);
  }

 private:
  void read_head(const pugi::xml_node& algo) {
    program_.line = line(algo);
    program_.name = text(algo, "name");
    std::tie(program_.call, program_.operation) = operation(algo);
    program_.protocol = algo.attribute("proto").as_string("Simple");
    if (program_.protocol != "Simple" && program_.protocol != "LL" && program_.protocol != "LL128")
      program_.fail(program_.line, "proto=\"" + program_.protocol + "\": must be Simple, LL or LL128");
    program_.ranks = number(algo, "ngpus", 2, kMostRanks);
    program_.chunks = number(algo, "nchunksperloop", 1, kMostChunks);
    program_.channels = number(algo, "nchannels", 1, kMostRanks);
    program_.scratch.assign(at(program_.ranks), -1);
    if (algo.attribute("minBytes")) program_.min_B = number(algo, "minBytes", 0, kMost_B);
    if (algo.attribute("maxBytes")) program_.max_B = number(algo, "maxBytes", 0, kMost_B);
    if (program_.min_B >= program_.max_B)
      program_.fail(program_.line, "maxBytes must be above minBytes: it runs sizes from minBytes on, below maxBytes");
  }

  [[nodiscard]] int line_at(std::ptrdiff_t offset) const {
    const auto before = std::lower_bound(line_ends_.begin(), line_ends_.end(), offset);
    return 1 + static_cast<int>(before - line_ends_.begin());
  }
  [[nodiscard]] int line(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }

  [[nodiscard]] std::string text(const pugi::xml_node& node, const char* name) const {
    const std::string value = node.attribute(name).value();
    if (value.empty()) program_.fail(line(node), std::string("the attribute ") + name + " is missing");
    return value;
  }
  template <class Integer>
  [[nodiscard]] Integer number(const pugi::xml_node& node, const char* name, int least, Integer most) const {
    const std::string value = text(node, name);
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || number < least || number > most)
      program_.fail(line(node), std::string(name) + "=\"" + value + "\": must be " + std::to_string(least) + " to " +
                                    std::to_string(most));
    return static_cast<Integer>(number);
  }
  [[nodiscard]] std::pair<msccl::Collective, std::string> operation(const pugi::xml_node& algo) const {
    static const std::map<std::string, std::pair<msccl::Collective, std::string>> kNames = {
        {"allreduce", {msccl::Collective::kAllReduce, "all_reduce"}},
        {"allgather", {msccl::Collective::kAllGather, "all_gather"}},
        {"reduce_scatter", {msccl::Collective::kReduceScatter, "reduce_scatter"}},
        {"reducescatter", {msccl::Collective::kReduceScatter, "reduce_scatter"}},
        {"broadcast", {msccl::Collective::kBroadcast, "broadcast"}},
        {"alltoall", {msccl::Collective::kAlltoall, "alltoall"}}};
    const auto found = kNames.find(text(algo, "coll"));
    if (found == kNames.end())
      program_.fail(line(algo), fmt::format("coll=\"{}\": must be allreduce, allgather, reduce_scatter, broadcast or "
                                            "alltoall",
                                            text(algo, "coll")));
    return found->second;
  }

  void read_block(const pugi::xml_node& tb, int gpu) {
    Block block;
    block.gpu = gpu;
    block.line = line(tb);
    block.id = number(tb, "id", 0, kMostRanks * kMostRanks);
    block.send = number(tb, "send", -1, program_.ranks - 1);
    block.receive = number(tb, "recv", -1, program_.ranks - 1);
    block.channel = number(tb, "chan", 0, program_.channels - 1);
    if (block.send == gpu || block.receive == gpu) program_.fail(block.line, "a GPU that sends to itself");
    for (const Block& other : program_.blocks) {
      if (other.gpu != gpu) continue;
      if (other.id == block.id) program_.fail(block.line, fmt::format("tb {} of gpu {} is there twice", block.id, gpu));
      const bool sends = block.send >= 0 && other.send == block.send;
      if (other.channel == block.channel && (sends || (block.receive >= 0 && other.receive == block.receive)))
        program_.fail(block.line,
                      fmt::format("{} gpu {} on channel {}, as tb {} does: which message is whose depends on "
                                  "who is faster",
                                  sends ? "sends to" : "receives from", sends ? block.send : block.receive,
                                  block.channel, other.id));
    }
    for (const pugi::xml_node one : tb.children("step")) {
      work::look();
      if (number(one, "s", 0, kMostChunks) != static_cast<int>(block.steps.size()))
        program_.fail(line(one), "s: steps are numbered 0, 1, 2, ...");
      block.steps.push_back(read_step(one, block));
    }
    program_.blocks.push_back(std::move(block));
  }

  [[nodiscard]] char buffer(const pugi::xml_node& node, const char* name) const {
    const std::string value = text(node, name);
    if (value != "i" && value != "o" && value != "s")
      program_.fail(line(node), std::string(name) + "=\"" + value + "\": must be i, o or s");
    return value.front();
  }

  [[nodiscard]] Step read_step(const pugi::xml_node& node, const Block& block) const {
    static const std::map<std::string, Step> kTypes = {
        {"nop", {}},
        {"cpy", {.stores = true, .copies = true}},
        {"re", {.reduces = true, .stores = true, .copies = true}},
        {"s", {.sends = true}},
        {"r", {.receives = true, .stores = true}},
        {"rcs", {.receives = true, .stores = true, .sends = true}},
        {"rrs", {.receives = true, .reduces = true, .sends = true}},
        {"rrc", {.receives = true, .reduces = true, .stores = true}},
        {"rrcs", {.receives = true, .reduces = true, .stores = true, .sends = true}}};
    const auto type = kTypes.find(text(node, "type"));
    if (type == kTypes.end())
      program_.fail(line(node),
                    "type=\"" + text(node, "type") + "\": must be nop, cpy, re, s, r, rcs, rrs, rrc or rrcs");
    Step step = type->second;
    step.line = line(node);
    step.after_block = number(node, "depid", -1, kMostRanks * kMostRanks);
    step.after_step = number(node, "deps", -1, kMostChunks);
    if (!step.receives && !step.sends && !step.copies) return step;
    step.source = buffer(node, "srcbuf");
    step.target = buffer(node, "dstbuf");
    step.source_at = number(node, "srcoff", -1, kMostChunks);
    step.target_at = number(node, "dstoff", -1, kMostChunks);
    step.count = number(node, "cnt", 1, kMostChunks);
    step.tells = node.attribute("hasdep").as_int(1) != 0;
    if (step.sends && block.send < 0) program_.fail(step.line, "sends, and its tb has no send");
    if (step.receives && block.receive < 0) program_.fail(step.line, "receives, and its tb has no recv");
    if (!step.receives || step.reduces) check_inside(step, step.source, step.source_at);
    if (step.stores) check_inside(step, step.target, step.target_at);
    return step;
  }
  /// Against what the GPU's i_chunks, o_chunks, s_chunks say. In place a buffer that has none is a part of the other.
  void check_inside(const Step& step, char buffer, int first) const {
    if (first < 0) program_.fail(step.line, "an offset below 0");
    const int size = sizes_.at(buffer);
    if (first + step.count <= size || (size == 0 && program_.in_place && buffer != 's')) return;
    program_.fail(step.line, fmt::format("chunk {} is beyond the end of buffer {}: {}_chunks is {}",
                                         first + step.count - 1, buffer, buffer, size));
  }

  std::vector<std::ptrdiff_t> line_ends_{};  ///< where lines end, rising
  std::map<char, int> sizes_{};              ///< of the GPU that is read: chunks of each buffer
  pugi::xml_document document_;
  Program program_;
};

// Forecasting.

/// @source  MSCCL (microsoft/msccl, msccl-tools): the format of schedules; M. Cowan et al.: MSCCLang: Microsoft
/// Collective
///          Communication Language, ASPLOS 2023
/// @limits  a step begins when the one before it in its thread block has ended, and passes on a whole chunk: slices are
///          not pipelined. Kernels cost what those of a ring do. Steps of different thread blocks that touch one chunk
///          without depending on each other are not found. As in MSCCL a size from minBytes on and below maxBytes runs
///          by it, others as the library chooses.
class UserSchedule final : public Algorithm {
 public:
  explicit UserSchedule(Program program) : program_(std::move(program)) {
    msccl::Played played = msccl::play(program_);
    moves_ = std::move(played.moves);
    stuck_line_ = played.stuck_line;
  }

  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] std::optional<OnlyCall> only_call() const override { return call_of(program_); }
  [[nodiscard]] std::vector<std::string> operations() const override { return {program_.operation}; }
  /// Its messages by rounds: each in the first in which all that it depends on have arrived.
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int /*ranks*/) const override;
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return ring_cost(request);
  }
  void plan(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& plan) const override {
    const ProtocolChoice protocol = protocol_of(job);
    plan.choice.algorithm = name();
    plan.choice.protocol = program_.protocol;
    plan.choice.payload_share = protocol.payload_share;
    plan.choice.blocks = program_.channels;
    const auto [inside, between] = longest(job);
    collective::add_latency(job, {inside, between, 0}, plan);
    plan.latency_s = plan.cost.base_s;  // hops are delays of the messages
    plan.between_s = 0;
    add_moves(job, problem, plan);
  }
  [[nodiscard]] double first_byte_s(const CollectiveJob& job, const activities::HopDelay& delay_s) const override {
    double most = 0;
    for (const Move& move : moves_)
      if (crosses(job, move)) most = std::max(most, delay_s(end_of(job, move.from), end_of(job, move.to)));
    return most * longest(job).second;
  }
  [[nodiscard]] std::vector<std::string> warnings(const CollectiveJob& /*job*/,
                                                  const CollectivePlan& /*plan*/) const override {
    std::vector<std::string> warnings{"costs of " + name() + "'s steps are those of rings: it was never measured"};
    if (stuck_line_ > 0)
      warnings.push_back(fmt::format("{}:{} waits for ever where a chunk fills a slot of its connection: give maxBytes",
                                     program_.path, stuck_line_));
    return warnings;
  }
  /// Of each channel the GPUs from the first one on, as it sends.
  [[nodiscard]] std::vector<std::vector<int>> orders(const Communicator& communicator) const override {
    std::map<int, std::map<int, int>> next;  // by channel
    for (const Block& block : program_.blocks)
      if (block.send >= 0) next[block.channel].emplace(block.gpu, block.send);
    std::vector<std::vector<int>> orders;
    for (const auto& [channel, sends] : next) {
      std::set<int> seen;
      orders.emplace_back();
      for (int rank = sends.begin()->first; seen.insert(rank).second; rank = sends.at(rank)) {
        orders.back().push_back(communicator.gpus[at(rank) % communicator.gpus.size()]);
        if (sends.count(rank) == 0) break;
      }
    }
    return orders;
  }

 private:
  /// As answers call it: never as an algorithm of the library.
  [[nodiscard]] std::string name() const {
    if (algorithms().find(program_.name) == nullptr) return program_.name;
    return program_.name + " of " + std::filesystem::path(program_.path).filename().string();
  }
  [[nodiscard]] ProtocolChoice protocol_of(const CollectiveJob& job) const {
    if (!job.protocol.empty() && job.protocol != program_.protocol)
      program_.fail(program_.line, "is for protocol " + program_.protocol + ", not " + job.protocol);
    try {
      return job.rings().protocol(job.node(), job.communicator, job.op_name, {job.size_B}, program_.protocol);
    } catch (const InputError& error) {
      program_.fail(program_.line, error.what());
    }
  }

  static ClusterGpu place_of(const CollectiveJob& job, int rank) {
    const int members = static_cast<int>(job.communicator.gpus.size());
    return {rank / members, job.communicator.gpus[at(rank % members)]};
  }
  static int end_of(const CollectiveJob& job, int rank) {
    return activities::endpoint_of(job.machine, place_of(job, rank), {});
  }
  static bool crosses(const CollectiveJob& job, const Move& move) {
    return place_of(job, move.from).node != place_of(job, move.to).node;
  }

  /// Hops inside nodes and between them on the chain of most messages.
  [[nodiscard]] std::pair<double, double> longest(const CollectiveJob& job) const {
    std::vector<std::pair<double, double>> hops_of;  // up to each move
    std::pair<double, double> most{};
    const auto fewer = [](const auto& a, const auto& b) { return a.first + a.second < b.first + b.second; };
    for (const Move& move : moves_) {
      std::pair<double, double> hops{};
      for (const int before : move.after) hops = std::max(hops, hops_of[at(before)], fewer);
      if (move.from != move.to) (crosses(job, move) ? hops.second : hops.first) += 1;
      hops_of.push_back(hops);
      most = std::max(most, hops, fewer);
    }
    return most;
  }

  void add_moves(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& plan) const {
    const double chunk_B = job.size_B / program_.chunks;
    const activities::HopDelay distance_s = activities::distance_in(job.machine);
    for (const Move& move : moves_) {
      const ClusterGpu from = place_of(job, move.from), to = place_of(job, move.to);
      const bool between = from.node != to.node;
      const activities::ChannelLoad load{move.count * chunk_B, plan.choice.payload_share,
                                         collective::blocks_Bps(plan.cost, 1, between)};
      plan.busiest_B = std::max(plan.busiest_B, load.bytes);
      std::vector<Hop> hops;
      Activity flow;
      if (between) {
        activities::ChannelRoute route(problem, load);
        route.between(from, {}, to, {});
        flow.delay_s = plan.cost.network_hop_s + distance_s(end_of(job, move.from), end_of(job, move.to));
        flow.after = move.after;
        route.add(load.bytes, std::move(flow));
      } else {
        std::vector<Use> idle;
        if (move.from == move.to) {
          flow.work_B = load.bytes;
          flow.rate_cap_Bps = load.rate_cap_Bps;
        } else {
          hops = {hop_of(job.node(), from.gpu, to.gpu)};
          flow = activities::channel_activity(problem.in_node(), hops, load);
          idle = activities::idle_uses(problem.in_node(), hops, load);
          flow.delay_s = plan.cost.hop_s;
        }
        flow.after = move.after;
        problem.add_in_node(from.node, std::move(flow), idle);
      }
      if (job.one_node()) plan.hops.push_back(std::move(hops));
    }
  }
  static Hop hop_of(const Platform& node, int from, int to) {
    const bool peers = node.peer_route(node.gpu(from), node.gpu(to)).has_value();
    return {from, to, peers ? HopKind::kPeer : HopKind::kHostMemory};
  }

  Program program_;
  std::vector<Move> moves_{};
  int stuck_line_ = 0;  ///< Played::stuck_line
};

Schedule UserSchedule::schedule(const std::string& /*operation*/, int /*ranks*/) const {
  std::vector<std::vector<ScheduledMessage>> rounds;
  std::vector<int> rounds_up_to;  // each move
  for (const Move& move : moves_) {
    int round = 0;
    for (const int before : move.after) round = std::max(round, rounds_up_to[at(before)]);
    rounds_up_to.push_back(round + (move.from != move.to ? 1 : 0));
    if (move.from == move.to) continue;
    if (at(round) >= rounds.size()) rounds.resize(at(round) + 1);
    rounds[at(round)].push_back({move.from, move.to, static_cast<double>(move.count) / program_.chunks, move.reduces});
  }
  Phase phase;
  phase.rounds = static_cast<int>(rounds.size());
  phase.add = [rounds](int round, bool /*blocks*/, std::vector<ScheduledMessage>& out) {
    out.insert(out.end(), rounds[at(round)].begin(), rounds[at(round)].end());
  };
  return {program_.chunks, {phase}};
}

class MscclXml final : public AlgorithmReader {
 public:
  [[nodiscard]] bool reads(const std::string& text) const override { return text.find("<algo") != std::string::npos; }
  [[nodiscard]] std::unique_ptr<Algorithm> read(const std::string& text, const std::string& path,
                                                const CallRefusal& refusal) const override {
    return std::make_unique<UserSchedule>(Reader(text, path).read(refusal));
  }
};

const bool msccl_registered = algorithm_readers().add(
    {"msccl", "MSCCL's XML: steps of thread blocks", "M. Cowan et al., MSCCLang, ASPLOS 2023; microsoft/msccl"},
    [] { return std::make_unique<MscclXml>(); });

}  // namespace
}  // namespace linkcast
