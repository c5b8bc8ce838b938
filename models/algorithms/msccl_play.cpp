// Checks of a user's schedule: in which order its steps can go, and what they leave in the buffers.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/algorithms/msccl_program.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::msccl {
namespace {

constexpr std::size_t kMostOperations = 4000000;  // ours: chunks times steps that are checked, about a second
/// Messages that a connection holds before somebody receives them.
/// source: NCCL_STEPS of NCCL's devcomm.h; MSCCLang, section 6: 8 at most, fewer with Simple
constexpr int kSlots = 8;

/// Order in which thread blocks can go through their steps. The buffer between two GPUs is a queue that blocks its
/// sender when full: whether all steps end does not depend on who is faster (G. Kahn, The semantics of a simple
/// language for parallel programming, 1974).
class StepOrder {
 public:
  /// @param by_chunk  each chunk takes a slot, as large ones do; else each message
  StepOrder(const Program& program, bool by_chunk)
      : program_(program), by_chunk_(by_chunk), done_(program.blocks.size(), 0), parts_(program.blocks.size(), 0) {
    for (std::size_t b = 0; b < program.blocks.size(); ++b) {
      const Block& block = program.blocks[b];
      number_[{block.gpu, block.id}] = b;
      if (block.send >= 0) sender_[{block.gpu, block.send, block.channel}] = b;
      if (block.receive >= 0) receiver_[{block.receive, block.gpu, block.channel}] = b;
    }
    for (const Block& block : program.blocks) check_dependencies(block);
  }

  /// @returns  numbers of blocks, one for each step that ends; fewer than steps where some wait for ever
  std::vector<std::size_t> run() {
    std::vector<std::size_t> order;
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t b = 0; b < program_.blocks.size(); ++b)
        while (goes(b)) {
          work::look();
          moved = true;
          if (advance(b)) order.push_back(b);
        }
    }
    return order;
  }
  [[nodiscard]] bool complete() const {
    for (std::size_t b = 0; b < done_.size(); ++b)
      if (!ended(b)) return false;
    return true;
  }

  /// Line of the first step in the file's order of GPUs that waits for ever, or of a circle that it leads to. @param
  /// why in words
  int stuck(std::string& why) const {
    std::vector<std::size_t> chain;
    std::size_t b = 0;
    while (ended(b)) ++b;
    while (std::find(chain.begin(), chain.end(), b) == chain.end()) {
      chain.push_back(b);
      const std::optional<std::size_t> next = waits_for(b);
      if (!next) {
        why = "waits for ever " + waiting(b) + never(b);
        return step(b).line;
      }
      b = *next;
    }
    chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), b));
    std::rotate(chain.begin(),
                std::min_element(chain.begin(), chain.end(),
                                 [&](std::size_t one, std::size_t other) { return step(one).line < step(other).line; }),
                chain.end());
    why = "waits for ever " + waiting(chain.front());
    for (std::size_t i = 1; i < std::min(chain.size(), kShown); ++i)
      why += fmt::format(", line {} {}", step(chain[i]).line, waiting(chain[i]));
    why += chain.size() > kShown ? fmt::format(" and {} more in a circle", chain.size() - kShown) : ": a circle";
    return step(chain.front()).line;
  }

 private:
  using Connection = std::tuple<int, int, int>;  ///< from, to, channel
  static constexpr std::size_t kShown = 4;       // ours: steps of a circle in one message

  [[nodiscard]] bool ended(std::size_t b) const { return done_[b] >= program_.blocks[b].steps.size(); }
  [[nodiscard]] const Step& step(std::size_t b) const { return program_.blocks[b].steps[done_[b]]; }
  [[nodiscard]] Connection in(std::size_t b) const {
    return {program_.blocks[b].receive, program_.blocks[b].gpu, program_.blocks[b].channel};
  }
  [[nodiscard]] Connection out(std::size_t b) const {
    return {program_.blocks[b].gpu, program_.blocks[b].send, program_.blocks[b].channel};
  }
  [[nodiscard]] int held(const Connection& connection) const {
    const auto found = held_.find(connection);
    return found == held_.end() ? 0 : found->second;
  }

  void check_dependencies(const Block& block) const {
    for (const Step& step : block.steps) {
      if (step.after_block < 0) continue;
      const auto other = number_.find({block.gpu, step.after_block});
      if (other == number_.end()) program_.fail(step.line, "depends on a tb that its gpu lacks");
      const std::vector<Step>& steps = program_.blocks[other->second].steps;
      if (step.after_step >= static_cast<int>(steps.size()))
        program_.fail(step.line, fmt::format("depends on step {} of tb {}, which has {} steps", step.after_step,
                                             step.after_block, steps.size()));
      if (step.after_step >= 0 &&
          std::none_of(steps.begin() + step.after_step, steps.end(), [](const Step& later) { return later.tells; }))
        program_.fail(step.line, fmt::format("depends on step {} of tb {}, which has hasdep=\"0\": nobody is told that "
                                             "it has ended",
                                             step.after_step, step.after_block));
    }
  }

  [[nodiscard]] bool waits_for_step(std::size_t b) const {
    const Step& step = this->step(b);
    return step.after_block >= 0 &&
           static_cast<int>(done_[number_.at({program_.blocks[b].gpu, step.after_block})]) <= step.after_step;
  }
  [[nodiscard]] bool waits_for_message(std::size_t b) const { return step(b).receives && held(in(b)) == 0; }
  [[nodiscard]] bool waits_for_room(std::size_t b) const { return step(b).sends && held(out(b)) >= kSlots; }

  [[nodiscard]] bool goes(std::size_t b) const {
    return !ended(b) && !waits_for_step(b) && !waits_for_message(b) && !waits_for_room(b);
  }

  /// For what the next step of a block that cannot go waits, in words.
  [[nodiscard]] std::string waiting(std::size_t b) const {
    const Block& block = program_.blocks[b];
    if (waits_for_step(b)) return fmt::format("for step {} of tb {}", step(b).after_step, step(b).after_block);
    if (waits_for_message(b)) return fmt::format("for a message of gpu {} on channel {}", block.receive, block.channel);
    return fmt::format("for gpu {} to receive: {} messages are on channel {}", block.send, kSlots, block.channel);
  }
  /// The block that it waits for. @returns  nothing: that has ended, or there is none
  [[nodiscard]] std::optional<std::size_t> waits_for(std::size_t b) const {
    const auto of = [&](const std::map<Connection, std::size_t>& ends,
                        const Connection& connection) -> std::optional<std::size_t> {
      const auto found = ends.find(connection);
      if (found == ends.end() || ended(found->second)) return std::nullopt;
      return found->second;
    };
    if (waits_for_step(b)) return number_.at({program_.blocks[b].gpu, step(b).after_block});
    return waits_for_message(b) ? of(sender_, in(b)) : of(receiver_, out(b));
  }
  [[nodiscard]] std::string never(std::size_t b) const {
    return waits_for_message(b) ? ": it is never sent" : ": they are never received";
  }

  /// @returns  whether the step has ended
  bool advance(std::size_t b) {
    const Step& step = this->step(b);
    if (step.receives) --held_[in(b)];
    if (step.sends) ++held_[out(b)];
    if (by_chunk_ && ++parts_[b] < step.count) return false;
    parts_[b] = 0;
    ++done_[b];
    return true;
  }

  const Program& program_;
  bool by_chunk_;
  std::vector<std::size_t> done_;  ///< by block: steps
  std::vector<int> parts_;         ///< by block: chunks of the step that goes on
  std::map<std::pair<int, int>, std::size_t> number_{};
  std::map<Connection, std::size_t> sender_{}, receiver_{};
  std::map<Connection, int> held_{};  ///< messages, or chunks
};

/// Chunks of ranks' inputs that a chunk is the sum of: rank x chunks + index, sorted.
using Sum = std::vector<int>;

class Play {
 public:
  explicit Play(const Program& program)
      : program_(program), done_(program.blocks.size(), 0), ends_(program.blocks.size()) {
    const int ranks = program.ranks;
    const bool of_ranks = gathers() || scatters() || exchanges();
    parts_ = of_ranks ? program.chunks / ranks : program.chunks;
    if (of_ranks && program.chunks % ranks != 0)
      program.fail(program.line, "nchunksperloop must be a multiple of ngpus");
    for (int rank = 0; rank < ranks; ++rank) {
      Memory memory;
      memory['i'].resize(at(gathers() ? parts_ : program.chunks));
      memory['o'].resize(at(scatters() ? parts_ : program.chunks));
      memory['s'].resize(at(program.scratch[at(rank)]));
      memories_.push_back(std::move(memory));
      for (int chunk = 0; chunk < (gathers() ? parts_ : program.chunks); ++chunk)
        if (program.call != Collective::kBroadcast || rank == 0)
          *cell(rank, 'i', chunk, program.line) = {contribution(rank, chunk)};
    }
    for (std::size_t b = 0; b < program.blocks.size(); ++b) {
      const Block& block = program.blocks[b];
      number_[{block.gpu, block.id}] = static_cast<int>(b);
    }
  }

  Played run() {
    StepOrder order(program_, false);
    for (const std::size_t b : order.run()) {
      work::look();
      step(b);
    }
    std::string why;
    if (!order.complete()) {
      const int line = order.stuck(why);
      program_.fail(line, why);
    }
    for (const auto& [connection, queue] : messages_)
      if (!queue.empty()) program_.fail(queue.front().line, "what it sends is never received");
    check_result();
    StepOrder chunks(program_, true);
    chunks.run();
    return {std::move(moves_), chunks.complete() ? 0 : chunks.stuck(why)};
  }

 private:
  using Memory = std::map<char, std::vector<Sum>>;
  using Connection = std::tuple<int, int, int>;  ///< from, to, channel
  struct Message {
    int move = 0, line = 0;
    std::vector<Sum> chunks;
  };

  [[nodiscard]] bool gathers() const { return program_.call == Collective::kAllGather; }
  [[nodiscard]] bool scatters() const { return program_.call == Collective::kReduceScatter; }
  [[nodiscard]] bool exchanges() const { return program_.call == Collective::kAlltoall; }
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
        else if (program_.call == Collective::kBroadcast)
          wanted = {contribution(0, chunk)};
        else
          for (int from = 0; from < program_.ranks; ++from)
            wanted.push_back(contribution(from, scatters() ? rank * parts_ + chunk : chunk));
        const Sum* found = cell(rank, 'o', chunk, program_.line);
        if (found == nullptr || *found != wanted)
          program_.fail(program_.line, "no " + program_.operation + ": at the end chunk " + std::to_string(chunk) +
                                           " of gpu " + std::to_string(rank) + " is not what it should be");
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

}  // namespace

void Program::fail(int line, const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", path, line, what));
}

Played play(const Program& program) { return Play(program).run(); }

}  // namespace linkcast::msccl
