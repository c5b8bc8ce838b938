// GOAL, the text format of LogGOPSim: for each rank computations, sends and receives, and which requires which.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "apps-traces/import/dag_streams.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

/// One operation of a file.
struct Op {
  TraceKind kind = TraceKind::kCompute;
  std::string label;
  double amount = 0;  ///< units of time, or bytes
  int peer = -1;
  std::int64_t tag = 0, cpu = 0, nic = 0;
  long line = 0;
  std::vector<std::size_t> after_end{};    ///< requires
  std::vector<std::size_t> after_start{};  ///< irequires
};

/// Words, and each of { } : by itself; comments are left out.
class Tokens {
 public:
  explicit Tokens(const std::string& path) : lines_(path) {}

  /// The token that comes next stays; empty at the end of the file.
  const std::string& peek() {
    while (token_.empty() && fill()) continue;
    return token_;
  }
  std::string take() {
    peek();
    return std::exchange(token_, "");
  }
  bool take_if(const std::string& word) {
    if (peek() != word) return false;
    token_.clear();
    return true;
  }
  [[nodiscard]] long line() const { return lines_.number(); }
  [[noreturn]] void fail(const std::string& what) const { lines_.fail(what); }

 private:
  /// @returns  false at the end of the file
  bool fill() {
    const std::string& text = lines_.text();
    while (at_ < text.size() && std::isspace(static_cast<unsigned char>(text[at_])) != 0) ++at_;
    if (at_ >= text.size() || (!in_comment_ && text.compare(at_, 2, "//") == 0)) {
      at_ = 0;
      if (lines_.next()) return true;
      if (in_comment_) fail("the comment does not end");
      return false;
    }
    if (in_comment_ || text.compare(at_, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", in_comment_ ? at_ : at_ + 2);
      in_comment_ = end == std::string::npos;
      at_ = in_comment_ ? text.size() : end + 2;
      return true;
    }
    const std::size_t end = std::min(text.find_first_of(" \t\r\v\f{}:", at_), text.size());
    token_ = text.substr(at_, std::max<std::size_t>(end - at_, 1));
    at_ += token_.size();
    return true;
  }

  Lines lines_;
  std::size_t at_ = 0;
  std::string token_;
  bool in_comment_ = false;
};

class Goal {
 public:
  explicit Goal(const std::string& path) : tokens_(path) {
    expect("num_ranks");
    ranks_ = whole("the number of ranks", 1, kMostRanks);
  }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// The operations of the next rank, or nothing at the end.
  std::optional<int> next(std::vector<Op>& ops) {
    ops.clear();
    labels_.clear();
    if (tokens_.peek().empty()) return std::nullopt;
    expect("rank");
    const int rank = whole("a rank", 0, ranks_ - 1);
    if (!seen_.insert(rank).second) tokens_.fail(fmt::format("rank {} is there twice", rank));
    expect("{");
    while (!tokens_.take_if("}")) statement(ops);
    return rank;
  }

 private:
  void expect(const std::string& word) {
    if (!tokens_.take_if(word)) tokens_.fail("'" + word + "' is expected here, not " + found());
  }
  std::string found() { return tokens_.peek().empty() ? "the end of the file" : shown(tokens_.peek()); }

  int whole(const std::string& what, std::int64_t least, std::int64_t most) {
    const std::string text = found();
    const std::optional<std::int64_t> value = trace_whole(tokens_.take());
    if (!value || *value < least || *value > most)
      tokens_.fail(fmt::format("{} is not {}: a whole number from {} to {}", text, what, least, most));
    return static_cast<int>(*value);
  }

  void statement(std::vector<Op>& ops) {
    if (tokens_.peek().empty()) tokens_.fail("the rank's block does not end: '}' is missing");
    const std::string word = tokens_.take();
    if (operations().count(word) > 0) {
      operation(word, "", ops);
    } else if (tokens_.take_if(":")) {
      if (!labels_.emplace(word, ops.size()).second) tokens_.fail("label " + shown(word) + " is there twice");
      operation(tokens_.take(), word, ops);
    } else {
      const bool at_start = tokens_.take_if("irequires");
      if (!at_start) expect("requires");
      const std::size_t later = labelled(word);
      const std::size_t earlier = labelled(tokens_.take());
      (at_start ? ops[later].after_start : ops[later].after_end).push_back(earlier);
    }
  }

  static const std::map<std::string, TraceKind>& operations() {
    static const std::map<std::string, TraceKind> kinds{
        {"calc", TraceKind::kCompute}, {"send", TraceKind::kSend}, {"recv", TraceKind::kRecv}};
    return kinds;
  }

  std::size_t labelled(const std::string& label) {
    const auto found = labels_.find(label);
    if (found == labels_.end())
      tokens_.fail(label.empty() ? "a label is expected before the end of the file"
                                 : "no operation before this line has the label " + shown(label));
    return found->second;
  }

  void operation(const std::string& word, const std::string& label, std::vector<Op>& ops) {
    Op op;
    op.label = label;
    op.line = tokens_.line();
    const std::string amount = found();
    const auto known = operations().find(word);
    if (known == operations().end()) tokens_.fail(shown(word) + " is no operation: calc, send or recv");
    op.kind = known->second;
    if (op.kind == TraceKind::kCompute) {
      const std::optional<double> units = trace_number(tokens_.take());
      if (!units || *units < 0) tokens_.fail(amount + " is no time: a number of at least 0");
      op.amount = *units;
    } else {
      std::string text = tokens_.take();
      if (!text.empty() && text.back() == 'b') text.pop_back();
      const std::optional<std::int64_t> bytes = trace_whole(text);
      if (!bytes || *bytes < 0) tokens_.fail(amount + " is no size: bytes, e.g. 10b");
      op.amount = static_cast<double>(*bytes);
      expect(op.kind == TraceKind::kSend ? "to" : "from");
      op.peer = whole("a rank", 0, ranks_ - 1);
    }
    attributes(op);
    ops.push_back(std::move(op));
  }

  void attributes(Op& op) {
    constexpr std::int64_t kMost = 2'147'483'647;
    for (;;) {
      if (tokens_.take_if("cpu"))
        op.cpu = whole("a CPU", 0, kMost);
      else if (tokens_.take_if("nic"))
        op.nic = whole("a NIC", 0, kMost);
      else if (op.kind != TraceKind::kCompute && tokens_.take_if("tag"))
        op.tag = whole("a tag", -kMost, kMost);
      else
        return;
    }
  }

  Tokens tokens_;
  int ranks_ = 0;
  std::set<int> seen_;
  std::map<std::string, std::size_t> labels_;
};

/// The operations of one rank as events.
class RankWriter {
 public:
  RankWriter(int rank, double unit_s, const std::string& file, TraceSink& sink)
      : rank_(rank), unit_s_(unit_s), file_(file), sink_(sink) {}

  void write(const std::vector<Op>& ops) {
    std::vector<std::vector<std::size_t>> needs(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      needs[i] = ops[i].after_end;
      needs[i].insert(needs[i].end(), ops[i].after_start.begin(), ops[i].after_start.end());
    }
    const std::vector<std::size_t> order = in_order(needs);
    if (order.size() < ops.size()) fail_circle(ops, order);
    DagStreams streams(ops.size());
    std::vector<std::vector<std::size_t>> before(ops.size());
    std::vector<std::int64_t> ids(ops.size());
    std::vector<long> waiting(ops.size(), 0);  // operations to come that wait for it
    for (const std::size_t i : order) {
      before[i] = waits_of(ops[i], before);
      for (const std::size_t earlier : before[i]) ++waiting[earlier];
    }
    std::int64_t id = 0;
    for (const std::size_t i : order) {
      ids[i] = ++id;
      event(ops[i], i, before[i], ids, streams);
      if (waiting[i] == 0) streams.forget(i);
      for (const std::size_t earlier : before[i])
        if (--waiting[earlier] == 0) streams.forget(earlier);
    }
  }

 private:
  /// An operation may start as soon as those of `irequires` have: when all has ended that these wait for.
  static std::vector<std::size_t> waits_of(const Op& op, const std::vector<std::vector<std::size_t>>& before) {
    std::vector<std::size_t> all = op.after_end;
    for (const std::size_t started : op.after_start)
      all.insert(all.end(), before[started].begin(), before[started].end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void event(const Op& op, std::size_t index, const std::vector<std::size_t>& before,
             const std::vector<std::int64_t>& ids, DagStreams& streams) {
    TraceEvent event;
    event.rank = rank_;
    event.kind = op.kind;
    event.id = ids[index];
    event.name = op.label;
    const bool calc = op.kind == TraceKind::kCompute;
    event.stream = streams.add(index, calc ? fmt::format("cpu{}", op.cpu) : fmt::format("nic{}", op.nic), before);
    for (const std::size_t earlier : before)
      if (!streams.same_stream(index, earlier)) event.after.push_back(ids[earlier]);
    if (calc) {
      event.time_s = op.amount * unit_s_;
    } else {
      event.size_B = op.amount;
      event.peer = op.peer;
      event.tag = op.tag == 0 ? "" : std::to_string(op.tag);
    }
    sink_.event(event);
  }

  [[noreturn]] void fail_circle(const std::vector<Op>& ops, const std::vector<std::size_t>& order) const {
    std::vector<char> can(ops.size(), 0);
    for (const std::size_t i : order) can[i] = 1;
    const auto first = static_cast<std::size_t>(std::find(can.begin(), can.end(), 0) - can.begin());
    throw InputError(fmt::format("{} line {}: operation {} of rank {} waits for itself through what it requires", file_,
                                 ops[first].line, shown(ops[first].label), rank_));
  }

  int rank_;
  double unit_s_;
  const std::string& file_;
  TraceSink& sink_;
};

class GoalImporter final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"unit", "time of one unit of calc, 1ns unless said (LogGOPSim's own)"},
            {"eager", "sends of at most this size wait for no receive, 65535 B unless said (LogGOPSim's S)"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    if (files.size() != 1) throw InputError(fmt::format("file: goal reads one file, not {}", files.size()));
    const double unit_s = options.seconds("unit", 1e-9);
    constexpr double kLogGopsEager = 65535;  // source: LogGOPSim, default of its option -S
    Goal goal(files[0]);
    TraceHeader header;
    header.name = trace_file_name(files[0]);
    header.ranks = goal.ranks();
    header.source = "GOAL file " + header.name;
    header.eager_B = options.bytes("eager", kLogGopsEager);
    header.notes = {"one unit of calc is " + to_text(Seconds{unit_s}) + (options.has("unit") ? "" : " (assumed)"),
                    "sends of at most " + to_text(Bytes{header.eager_B}) + " wait for no receive" +
                        (options.has("eager") ? "" : " (assumed)"),
                    "assumed: calcs on one cpu that do not require each other run at once; LogGOPSim takes turns",
                    "assumed: a message costs what the replay's machine and library say, no o, g, G, O, L of LogGOPS"};
    sink.header(header);
    std::vector<Op> ops;
    while (const std::optional<int> rank = goal.next(ops)) RankWriter(*rank, unit_s, files[0], sink).write(ops);
  }
};

const bool goal_registered = trace_importers().add(
    {"goal", "GOAL of LogGOPSim: calc, send and recv with requires and irequires, one block a rank",
     "T. Hoefler, T. Schneider, A. Lumsdaine, LogGOPSim - Simulating Large-Scale Applications in the LogGOPS Model, "
     "LSAP 2010; T. Hoefler, C. Siebert, A. Lumsdaine, Group Operation Assembly Language, ICPP 2009"},
    [] { return std::make_unique<GoalImporter>(); });

}  // namespace
}  // namespace linkcast
