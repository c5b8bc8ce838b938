// Schedules of collectives that users write, as MSCCL's XML files.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

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

constexpr int kMostRanks = 1024, kMostChunks = 65536;  // ours: of one file
constexpr std::size_t kMostOperations = 4000000;       // ours: chunks times steps that are checked, about a second

/// One step of a thread block. Buffers: i(nput), o(utput), s(cratch).
struct Step {
  bool receives = false, reduces = false, stores = false, sends = false, copies = false;
  char source = 'i', target = 'i';
  int source_at = 0, target_at = 0, count = 1;
  int after_block = -1, after_step = -1;  ///< of the same GPU, that it waits for
  int line = 0;
};

struct Block {
  int gpu = 0, id = 0, send = -1, receive = -1, channel = 0, line = 0;
  std::vector<Step> steps{};
};

enum class MscclCall { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAlltoall };

struct Program {
  MscclCall call = MscclCall::kAllReduce;
  std::string path, name, operation, protocol;
  int ranks = 0, chunks = 0, channels = 1;
  bool in_place = false;
  std::vector<int> scratch{};   ///< chunks of each GPU
  std::vector<Block> blocks{};  ///< GPU by GPU

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw InputError(path + ":" + std::to_string(line) + ": " + what);
  }
};

/// Chunks on their way from GPU to GPU, or copied or added inside one: one flow.
struct Move {
  int from = 0, to = 0;  ///< ranks; alike: inside one GPU
  int count = 0;         ///< chunks
  std::vector<int> after{};
  bool reduces = false;  ///< the receiver adds them to its own
};

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

  Program read() {
    const pugi::xml_node algo = document_.child("algo");
    if (!algo) program_.fail(1, "the element algo is missing");
    program_.name = text(algo, "name");
    std::tie(program_.call, program_.operation) = operation(algo);
    program_.protocol = *algo.attribute("proto").value() ? algo.attribute("proto").value() : "Simple";
    program_.ranks = number(algo, "ngpus", 2, kMostRanks);
    program_.chunks = number(algo, "nchunksperloop", 1, kMostChunks);
    program_.channels = number(algo, "nchannels", 1, kMostRanks);
    program_.scratch.assign(at(program_.ranks), -1);
    bool outputs = false;
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      const int id = number(gpu, "id", 0, program_.ranks - 1);
      if (program_.scratch[at(id)] >= 0) program_.fail(line(gpu), "gpu " + std::to_string(id) + " is there twice");
      program_.scratch[at(id)] = number(gpu, "s_chunks", 0, kMostChunks);
      outputs = outputs || number(gpu, "o_chunks", 0, kMostChunks) > 0;
      for (const pugi::xml_node tb : gpu.children("tb")) read_block(tb, id);
    }
    for (std::size_t id = 0; id < program_.scratch.size(); ++id)
      if (program_.scratch[id] < 0) program_.fail(line(algo), "gpu " + std::to_string(id) + " is missing");
    program_.in_place = algo.attribute("inplace") ? algo.attribute("inplace").as_int() != 0 : !outputs;
    std::stable_sort(program_.blocks.begin(), program_.blocks.end(),
                     [](const Block& a, const Block& b) { return a.gpu < b.gpu; });
    return std::move(program_);
  }

 private:
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
  [[nodiscard]] int number(const pugi::xml_node& node, const char* name, int least, int most) const {
    const std::string value = text(node, name);
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || number < least || number > most)
      program_.fail(line(node), std::string(name) + "=\"" + value + "\": must be " + std::to_string(least) + " to " +
                                    std::to_string(most));
    return static_cast<int>(number);
  }
  [[nodiscard]] std::pair<MscclCall, std::string> operation(const pugi::xml_node& algo) const {
    static const std::map<std::string, std::pair<MscclCall, std::string>> kNames = {
        {"allreduce", {MscclCall::kAllReduce, "all_reduce"}},
        {"allgather", {MscclCall::kAllGather, "all_gather"}},
        {"reduce_scatter", {MscclCall::kReduceScatter, "reduce_scatter"}},
        {"reducescatter", {MscclCall::kReduceScatter, "reduce_scatter"}},
        {"broadcast", {MscclCall::kBroadcast, "broadcast"}},
        {"alltoall", {MscclCall::kAlltoall, "alltoall"}}};
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
    for (const Block& other : program_.blocks)
      if (other.gpu == gpu && other.id == block.id)
        program_.fail(block.line,
                      "tb " + std::to_string(block.id) + " of gpu " + std::to_string(gpu) + " is there twice");
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
    if (step.sends && block.send < 0) program_.fail(step.line, "sends, and its tb has no send");
    if (step.receives && block.receive < 0) program_.fail(step.line, "receives, and its tb has no recv");
    return step;
  }

  std::vector<std::ptrdiff_t> line_ends_{};  ///< where lines end, rising
  pugi::xml_document document_;
  Program program_;
};

// Checking: plays the steps on sets of contributions. A send waits for nobody to receive it: it fits into a buffer.

/// Chunks of ranks' inputs that a chunk is the sum of: rank x chunks + index, sorted.
using Sum = std::vector<int>;

class Play {
 public:
  explicit Play(const Program& program)
      : program_(program), done_(program.blocks.size(), 0), ends_(program.blocks.size()) {
    const int ranks = program.ranks;
    const bool of_ranks = gathers() || scatters() || exchanges();
    parts_ = of_ranks ? program.chunks / ranks : program.chunks;
    if (of_ranks && program.chunks % ranks != 0) program.fail(1, "nchunksperloop must be a multiple of ngpus");
    for (int rank = 0; rank < ranks; ++rank) {
      Memory memory;
      memory['i'].resize(at(gathers() ? parts_ : program.chunks));
      memory['o'].resize(at(scatters() ? parts_ : program.chunks));
      memory['s'].resize(at(program.scratch[at(rank)]));
      memories_.push_back(std::move(memory));
      for (int chunk = 0; chunk < (gathers() ? parts_ : program.chunks); ++chunk)
        if (program.call != MscclCall::kBroadcast || rank == 0)
          *cell(rank, 'i', chunk, 1) = {contribution(rank, chunk)};
    }
    for (std::size_t b = 0; b < program.blocks.size(); ++b) {
      const Block& block = program.blocks[b];
      number_[{block.gpu, block.id}] = static_cast<int>(b);
    }
  }

  /// @returns  moves, each after those that it needs
  std::vector<Move> run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t b = 0; b < program_.blocks.size(); ++b)
        while (ready(b)) {
          work::look();
          step(b);
          moved = true;
        }
    }
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
      const Block& block = program_.blocks[b];
      if (done_[b] < block.steps.size())
        program_.fail(block.steps[done_[b]].line, "waits for ever: for a message or for the step that it depends on");
    }
    for (const auto& [connection, queue] : messages_)
      if (!queue.empty()) program_.fail(queue.front().line, "what it sends is never received");
    check_result();
    return std::move(moves_);
  }

 private:
  using Memory = std::map<char, std::vector<Sum>>;
  using Connection = std::tuple<int, int, int>;  ///< from, to, channel
  struct Message {
    int move = 0, line = 0;
    std::vector<Sum> chunks;
  };

  [[nodiscard]] bool gathers() const { return program_.call == MscclCall::kAllGather; }
  [[nodiscard]] bool scatters() const { return program_.call == MscclCall::kReduceScatter; }
  [[nodiscard]] bool exchanges() const { return program_.call == MscclCall::kAlltoall; }
  [[nodiscard]] int contribution(int rank, int chunk) const { return rank * program_.chunks + chunk; }
  /// In place the output is the input, or holds it, or is a part of it. @returns  null: outside the buffer
  Sum* cell(int rank, char buffer, int index, int line) {
    if (index < 0) program_.fail(line, "an offset below 0");
    if (program_.in_place && gathers() && buffer == 'i') {
      if (index >= parts_) return nullptr;
      buffer = 'o';
      index += rank * parts_;
    } else if (program_.in_place && scatters() && buffer == 'o') {
      if (index >= parts_) return nullptr;
      buffer = 'i';
      index += rank * parts_;
    } else if (program_.in_place && buffer == 'o') {
      buffer = gathers() ? 'o' : 'i';
    }
    std::vector<Sum>& chunks = memories_[at(rank)][buffer];
    return at(index) < chunks.size() ? &chunks[at(index)] : nullptr;
  }
  Sum& chunk(const Block& block, const Step& step, char buffer, int index) {
    Sum* found = cell(block.gpu, buffer, index, step.line);
    if (found == nullptr)
      program_.fail(step.line, "chunk " + std::to_string(index) + " is beyond the end of buffer " + buffer);
    return *found;
  }

  [[nodiscard]] bool ready(std::size_t b) const {
    const Block& block = program_.blocks[b];
    if (done_[b] >= block.steps.size()) return false;
    const Step& step = block.steps[done_[b]];
    if (step.after_block >= 0) {
      const auto other = number_.find({block.gpu, step.after_block});
      if (other == number_.end()) program_.fail(step.line, "depends on a tb that its gpu lacks");
      if (static_cast<int>(done_[at(other->second)]) <= step.after_step) return false;
    }
    if (!step.receives) return true;
    const auto queue = messages_.find({block.receive, block.gpu, block.channel});
    return queue != messages_.end() && !queue->second.empty();
  }

  void add(const Step& step, const Sum& more, Sum& sum) const {
    Sum both;
    std::merge(sum.begin(), sum.end(), more.begin(), more.end(), std::back_inserter(both));
    if (std::adjacent_find(both.begin(), both.end()) != both.end())
      program_.fail(step.line, "adds a chunk of a rank twice");
    sum = std::move(both);
  }

  /// Moves that a step waits for: those that end the step before it, and the one that it depends on.
  [[nodiscard]] std::set<int> before(std::size_t b, const Step& step) const {
    std::set<int> moves;
    if (!ends_[b].empty()) moves = ends_[b].back();
    if (step.after_block < 0 || step.after_step < 0) return moves;
    const int other = number_.at({program_.blocks[b].gpu, step.after_block});
    const std::set<int>& more = ends_[at(other)][at(step.after_step)];
    moves.insert(more.begin(), more.end());
    return moves;
  }
  int add_move(int from, int to, int count, const std::set<int>& after) {
    moves_.push_back({from, to, count, {after.begin(), after.end()}});
    return static_cast<int>(moves_.size()) - 1;
  }

  void step(std::size_t b) {
    const Block& block = program_.blocks[b];
    const Step& step = block.steps[done_[b]++];
    std::set<int> waits = before(b, step);
    if (step.receives || step.sends || step.copies) {
      std::vector<Sum> chunks = chunks_of(block, step, waits);
      for (int i = 0; step.stores && i < step.count; ++i)
        chunk(block, step, step.target, step.target_at + i) = chunks[at(i)];
      if (step.copies) waits = {add_move(block.gpu, block.gpu, step.count, waits)};
      if (step.sends) {
        waits = {add_move(block.gpu, block.send, step.count, waits)};
        messages_[{block.gpu, block.send, block.channel}].push_back({*waits.begin(), step.line, std::move(chunks)});
      }
    }
    ends_[b].push_back(std::move(waits));
  }

  /// Chunks that a step stores or sends. @param waits  gets the message that it receives
  std::vector<Sum> chunks_of(const Block& block, const Step& step, std::set<int>& waits) {
    std::vector<Sum> chunks;
    if (step.receives) {
      std::deque<Message>& queue = messages_.at({block.receive, block.gpu, block.channel});
      chunks = std::move(queue.front().chunks);
      waits.insert(queue.front().move);
      moves_[at(queue.front().move)].reduces = step.reduces;
      queue.pop_front();
      if (static_cast<int>(chunks.size()) != step.count)
        program_.fail(step.line, "receives " + std::to_string(step.count) + " chunks of a message of " +
                                     std::to_string(chunks.size()));
    }
    work_ += at(step.count) * at(program_.ranks);
    if (work_ > kMostOperations) program_.fail(step.line, "too many chunks and steps to check");
    for (int i = 0; i < step.count; ++i) {
      if (!step.receives) chunks.push_back(chunk(block, step, step.source, step.source_at + i));
      if (step.receives && step.reduces) add(step, chunk(block, step, step.source, step.source_at + i), chunks[at(i)]);
      if (step.copies && step.reduces) add(step, chunk(block, step, step.target, step.target_at + i), chunks[at(i)]);
      if (chunks[at(i)].empty()) program_.fail(step.line, "moves a chunk that nothing was written to");
    }
    return chunks;
  }

  void check_result() {
    for (int rank = 0; rank < program_.ranks; ++rank)
      for (int chunk = 0; chunk < (scatters() ? parts_ : program_.chunks); ++chunk) {
        Sum wanted;
        if (gathers())
          wanted = {contribution(chunk / parts_, chunk % parts_)};
        else if (exchanges())  // source: MPI_Alltoall: part r of rank q becomes part q of rank r
          wanted = {contribution(chunk / parts_, rank * parts_ + chunk % parts_)};
        else if (program_.call == MscclCall::kBroadcast)
          wanted = {contribution(0, chunk)};
        else
          for (int from = 0; from < program_.ranks; ++from)
            wanted.push_back(contribution(from, scatters() ? rank * parts_ + chunk : chunk));
        const Sum* found = cell(rank, 'o', chunk, 1);
        if (found == nullptr || *found != wanted)
          program_.fail(1, "no " + program_.operation + ": at the end chunk " + std::to_string(chunk) + " of gpu " +
                               std::to_string(rank) + " is not what it should be");
      }
  }

  const Program& program_;
  int parts_ = 0;  ///< chunks of a rank
  std::vector<Memory> memories_{};
  std::vector<std::size_t> done_;                 ///< by block: steps
  std::vector<std::vector<std::set<int>>> ends_;  ///< by block and step: moves that end it
  std::map<std::pair<int, int>, int> number_{};
  std::map<Connection, std::deque<Message>> messages_{};
  std::vector<Move> moves_{};
  std::size_t work_ = 0;
};

// Forecasting.

/// @source  MSCCL (microsoft/msccl, msccl-tools): the format of schedules; M. Cowan et al.: MSCCLang: Microsoft
/// Collective
///          Communication Language, ASPLOS 2023
/// @limits  a step begins when the one before it in its thread block has ended, and passes on a whole chunk: slices are
///          not pipelined. Kernels cost what those of a ring do. Steps of different thread blocks that touch one chunk
///          without depending on each other are not found.
class UserSchedule final : public Algorithm {
 public:
  explicit UserSchedule(Program program) : program_(std::move(program)), moves_(Play(program_).run()) {}

  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] std::optional<OnlyCall> only_call() const override {
    return OnlyCall{program_.operation, program_.ranks};
  }
  [[nodiscard]] std::vector<std::string> operations() const override { return {program_.operation}; }
  /// Its messages by rounds: each in the first in which all that it depends on have arrived.
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int /*ranks*/) const override;
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return ring_cost(request);
  }
  void plan(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& plan) const override {
    check(job);
    const ProtocolChoice protocol =
        job.rings().protocol(job.node(), job.communicator, job.op_name, {job.size_B}, program_.protocol);
    plan.choice.algorithm = program_.name;
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
    return {"costs of " + program_.name + "'s steps are those of rings: it was never measured"};
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
  void check(const CollectiveJob& job) const {
    const auto refuse = [&](const std::string& what) { throw InputError("algorithm_file: " + program_.path + what); };
    if (job.op_name != program_.operation) refuse(" is a schedule of " + program_.operation);
    if (job.ranks() != program_.ranks) refuse(" is for " + std::to_string(program_.ranks) + " GPUs");
    if (!job.protocol.empty() && job.protocol != program_.protocol) refuse(" is for protocol " + program_.protocol);
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
  std::vector<Move> moves_;
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
  [[nodiscard]] std::unique_ptr<Algorithm> read(const std::string& text, const std::string& path) const override {
    return std::make_unique<UserSchedule>(Reader(text, path).read());
  }
};

const bool msccl_registered = algorithm_readers().add(
    {"msccl", "MSCCL's XML: steps of thread blocks", "M. Cowan et al., MSCCLang, ASPLOS 2023; microsoft/msccl"},
    [] { return std::make_unique<MscclXml>(); });

}  // namespace
}  // namespace linkcast
