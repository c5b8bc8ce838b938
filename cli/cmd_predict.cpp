#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "sim/base/in_order.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/quantity.hpp"
#include "sim/query/batch_line.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::cli {
namespace {

/// Lines of a file, of a pipe or of standard input. Ctrl-C ends the wait for the next one.
class Lines {
 public:
  /// @param option  that names the file, for errors. @param path  "-": standard input
  /// @throws InputError  it cannot be read
  Lines(std::string option, std::string path);
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines();

  /// Whoever writes a line may wait for its answer: no file that lies on a disk.
  [[nodiscard]] bool live() const { return live_; }
  /// The next one is there without waiting.
  [[nodiscard]] bool has_next() const { return text_.find('\n', begin_) != std::string::npos; }
  /// @returns  false at the end. @throws work::Stopped  InputError  it cannot be read any more
  bool next(std::string& line);

 private:
  void wait() const;
  bool read_more();

  std::string option_, path_;
  int file_ = -1;
  bool live_ = false, ended_ = false;
  std::string text_{};  ///< read and not handed out, from begin_ on
  std::size_t begin_ = 0;
};

constexpr std::size_t kBlock_B = 65536;              // source: ours, what a pipe of Linux holds
constexpr std::chrono::milliseconds kUnwritten{20};  // source: ours, answers may wait so long to be written together
constexpr int kLook_ms = 50;  // source: ours, how soon Ctrl-C is noticed where another thread got it

Lines::Lines(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  const bool input = path_ == "-";
  if (!input && std::filesystem::is_directory(path_))
    throw InputError(option_ + ": " + path_ + ": is a folder, not a file");
  file_ = input ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw InputError(option_ + ": " + path_ + ": no such file, or not readable");
  live_ = input || !std::filesystem::is_regular_file(path_);
}

Lines::~Lines() {
  if (file_ > STDERR_FILENO) ::close(file_);
}

void Lines::wait() const {
  pollfd one{file_, POLLIN, 0};
  for (;;) {
    if (CtrlC::came()) throw work::Stopped();
    if (::poll(&one, 1, kLook_ms) > 0) return;
  }
}

bool Lines::read_more() {
  text_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = text_.size();
  text_.resize(before + kBlock_B);
  ssize_t size = -1;
  do {
    if (live_) wait();
    size = ::read(file_, text_.data() + before, kBlock_B);
  } while (size < 0 && errno == EINTR);
  text_.resize(before + static_cast<std::size_t>(size < 0 ? 0 : size));
  work::refuse_memory_in_use(static_cast<double>(text_.size()));  // of a line without an end
  if (size < 0) throw InputError(option_ + ": " + path_ + ": cannot be read: " + std::strerror(errno));
  return size > 0;
}

bool Lines::next(std::string& line) {
  std::size_t from = begin_;
  for (;;) {
    if (const std::size_t end = text_.find('\n', from); end != std::string::npos) {
      line.assign(text_, begin_, end - begin_);
      begin_ = end + 1;
      return true;
    }
    from = text_.size() - begin_;  // where what comes now begins, once the front is cut off
    if (!ended_) ended_ = !read_more();
    if (!ended_) continue;
    line.assign(text_, begin_);
    begin_ = text_.size();
    return !line.empty();
  }
}

// source: ours. A thread takes as many lines at once as take about so long, so that handing out costs little and the
// end of the work loses little; a copy takes 10 us.
constexpr double kPiece_s = 1e-3;
constexpr std::size_t kMostTogether = 64;

/// 0: a pipe, which is read once.
std::int64_t lines_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return 0;
  std::ifstream file(path);
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

class Batch {
 public:
  Batch(Context& context, std::string path, bool rows)
      : context_(context),
        path_(std::move(path)),
        options_{context.edit_list(), context.whatif, rows},
        work_(context.progress(), "batch", "queries", path_ == "-" ? 0 : lines_of(path_)) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  /// After an error too what is answered is written.
  ~Batch() { std::cout.write(text_.data(), static_cast<std::streamsize>(text_.size())); }

  /// Lines that are answered.
  [[nodiscard]] long done() const { return done_; }

  /// Writes what is answered.
  void flush() {
    std::cout.write(text_.data(), static_cast<std::streamsize>(text_.size())).flush();
    text_.clear();
    written_ = std::chrono::steady_clock::now();
    if (!std::cout) throw std::runtime_error("standard output: cannot be written");
  }

  void run(Lines& in) {
    for (std::string line;;) {
      if (in.live() && !in.has_next()) flush();  // who writes a line may wait for its answer
      if (!in.next(line)) return;
      work_.advance(done_);
      put(answer(context_.catalogue(), memories_, line, done_ + 1));
    }
  }

  /// Each thread has a catalogue of its own, so that none waits for another.
  void run(Lines& in, std::size_t threads) {
    const std::string data_dir = context_.catalogue().data_dir();
    std::vector<std::unique_ptr<Own>> of_threads(threads);
    std::atomic<std::size_t> together = 1;
    work::InOrder pieces(threads);
    std::vector<std::string> lines;
    long first = 1;
    const auto add = [&] {
      const bool waited_for = in.live() && !in.has_next();
      pieces.add([this, &data_dir, &of_threads, &together, waited_for, first,
                  lines = std::exchange(lines, {})](std::size_t thread) {
        const auto begin = std::chrono::steady_clock::now();
        std::unique_ptr<Own>& own = of_threads[thread];
        if (!own) own = std::make_unique<Own>(data_dir);
        std::vector<query::LineAnswer> answers;
        for (std::size_t i = 0; i < lines.size(); ++i)
          answers.push_back(answer(own->catalogue, own->memories, lines[i], first + static_cast<long>(i)));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        const double fit = kPiece_s * static_cast<double>(lines.size()) / std::max(took.count(), 1e-9);
        together = std::clamp(static_cast<std::size_t>(fit), std::size_t{1}, kMostTogether);
        return [this, waited_for, answers = std::move(answers)] {
          for (const query::LineAnswer& one : answers) put(one);
          if (waited_for) flush();
          work_.advance(done_);
        };
      });
    };
    for (std::string line; in.next(line);) {
      lines.push_back(std::move(line));
      if (lines.size() < together && (!in.live() || in.has_next())) continue;
      const long next = first + static_cast<long>(lines.size());
      add();
      first = next;
    }
    if (!lines.empty()) add();
    pieces.finish();
  }

 private:
  /// Catalogue and memories of one thread.
  struct Own {
    explicit Own(const std::string& data_dir) : catalogue(data_dir) {}
    catalogue::Catalogue catalogue;
    query::Memories memories{};
  };

  [[nodiscard]] query::LineAnswer answer(catalogue::Catalogue& catalogue, query::Memories& memories,
                                         const std::string& line, long number) const {
    if (query::is_blank(line)) return {};
    return query::answer_line(catalogue, line, path_ + " line " + std::to_string(number), options_, &memories);
  }

  void put(const query::LineAnswer& answer) {
    if (answer.failed && context_.exit_code == 0) context_.exit_code = kHoldsErrors;
    if (answer.broken) context_.exit_code = kBrokenInvariant;
    if (!answer.text.empty()) text_.append(answer.text).append(1, '\n');
    ++done_;
    if (text_.size() >= kBlock_B || std::chrono::steady_clock::now() - written_ > kUnwritten) flush();
  }

  Context& context_;
  std::string path_;
  query::BatchOptions options_;
  query::Memories memories_{};
  log::Work work_;
  long done_ = 0;
  std::string text_{};  ///< answers that are not written yet
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

/// One line in, one line out, same order; a bad line gives an error object and the batch goes on.
/// @param path  of JSON queries, one a line; "-": standard input. @param rows  what goes into a table's row alone
/// @param jobs  threads, each with memories of its own
/// @throws InputError  the file cannot be read. @throws work::Stopped  after it was told how to go on
void run_batch(Context& context, const std::string& path, bool rows, int jobs) {
  Lines in("--batch", path);
  Batch batch(context, path, rows);
  try {
    if (jobs == 1)
      batch.run(in);
    else
      batch.run(in, static_cast<std::size_t>(jobs));
    batch.flush();
  } catch (const work::Stopped&) {
    context.tell_stop("batch: " + std::to_string(batch.done()) + " lines are answered; to go on: tail -n +" +
                      std::to_string(batch.done() + 1) + " " + path);
    throw;
  }
}

// Answers over sizes, as nccl-tests prints its own.
// Texts on the network of a message or collective, and the progress of a long one.

constexpr double kMicro = 1e-6, kGiga = 1e9;  // source: nccl-tests prints us and GB/s

std::string micro(const Json& seconds) {
  const double us = seconds.get<double>() / kMicro;
  return us < 100 ? fmt::format("{:.2f}", us) : us < 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
}

std::string giga(const Json& rate) { return fmt::format("{:.2f}", rate.get<double>() / kGiga); }

std::string size_of_point(const Json& point) { return fmt::format("{:.0f}", point["size_B"].get<double>()); }

/// "busbw_Bps" of collectives, "bandwidth_Bps" of copies.
std::string rate_key(const Json& answer) { return answer.contains("busbw_Bps") ? "busbw_Bps" : "bandwidth_Bps"; }

void print_collectives(const Json& curve) {
  std::cout << fmt::format("# {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}  {}\n", "size", "time", "algbw", "busbw", "low",
                           "high", "algorithm")
            << fmt::format("# {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}\n", "(B)", "(us)", "(GB/s)", "(GB/s)", "(us)",
                           "(us)");
  for (const Json& p : curve["points"])
    std::cout << fmt::format("  {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}  {}, {}\n", size_of_point(p), micro(p["time_s"]),
                             giga(p["algbw_Bps"]), giga(p["busbw_Bps"]), micro(p["time_low_s"]),
                             micro(p["time_high_s"]), text(p["algorithm"]), text(p["protocol"]));
  std::cout << "# low, high: 90 % interval of the time\n# Avg bus bandwidth    : "
            << fmt::format("{:g}", curve["average_busbw_Bps"].get<double>() / kGiga) << '\n';
}

void print_copies(const Json& curve) {
  std::cout << fmt::format("# {:>12} {:>9} {:>10} {:>9} {:>9}  {}\n", "size", "time", "bandwidth", "low", "high",
                           "transport")
            << fmt::format("# {:>12} {:>9} {:>10} {:>9} {:>9}\n", "(B)", "(us)", "(GB/s)", "(us)", "(us)");
  for (const Json& p : curve["points"])
    std::cout << fmt::format("  {:>12} {:>9} {:>10} {:>9} {:>9}  {}\n", size_of_point(p), micro(p["time_s"]),
                             giga(p["bandwidth_Bps"]), micro(p["time_low_s"]), micro(p["time_high_s"]),
                             text(p["transport"]));
  std::cout << "# low, high: 90 % interval of the time\n# Avg bandwidth        : "
            << fmt::format("{:g}", curve["average_bandwidth_Bps"].get<double>() / kGiga) << '\n';
}

void print_both(const Json& curve) {
  const std::string key = rate_key(curve["points"].front()["after"]);
  const char* rate = key == "busbw_Bps" ? "busbw" : "bandwidth";
  std::cout << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10}\n", "size", "time", "time", rate, rate)
            << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "", "before", "after", "before", "after",
                           "change")
            << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "(B)", "(us)", "(us)", "(GB/s)", "(GB/s)",
                           "of time");
  for (const Json& p : curve["points"]) {
    const Json &before = p["before"], &after = p["after"];
    std::cout << fmt::format("  {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", size_of_point(p), micro(before["time_s"]),
                             micro(after["time_s"]), giga(before[key]), giga(after[key]),
                             signed_percent(after["time_s"].get<double>() / before["time_s"].get<double>() - 1));
  }
}

/// Warnings of all points, each once.
Json warnings_of(const Json& points) {
  Json all = Json::array();
  for (const Json& point : points) {
    const Json& answer = point.contains("after") ? point["after"] : point;
    for (const Json& warning : answer.value("warnings", Json::array()))
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
  }
  return all;
}

/// {"kind": "curve", "of", "points": answers with their size_B, "average_busbw_Bps" or "average_bandwidth_Bps"}; of
/// what-if answers the points have before, after and change.
/// @param answers  one a size, of one kind
Json curve_of(const std::vector<double>& sizes, const std::vector<Json>& answers) {
  Json points = Json::array();
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    points.push_back({{"size_B", static_cast<std::int64_t>(sizes[i])}});
    points.back().update(answers[i]);
    if (!answers[i].contains("after")) sum += answers[i][rate_key(answers[i])].get<double>();
  }
  const bool both = answers.front().contains("after");
  const Json& first = both ? answers.front()["after"] : answers.front();
  Json curve{{"kind", "curve"}, {"of", first["kind"]}};
  if (!both) curve["average_" + rate_key(first)] = sum / static_cast<double>(sizes.size());
  curve["warnings"] = warnings_of(points);
  curve["points"] = std::move(points);
  return curve;
}

void print_curve(const Json& curve) {
  if (curve["points"].front().contains("after"))
    print_both(curve);
  else if (curve["of"] == "collective")
    print_collectives(curve);
  else
    print_copies(curve);
  print_terms(curve);
  print_warnings(curve);
}

/// Rows to print: label, text.
std::vector<std::pair<std::string, std::string>> network_rows(const Json& result) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& job : result.value("beside", Json::array()))
    rows.emplace_back("beside it", fmt::format("{} on {} nodes, service level {}", job["op"].get<std::string>(),
                                               job["nodes"].dump(), job["service_level"].dump()));
  if (!result.contains("percentiles")) return rows;
  rows.emplace_back("quiet network", seconds(result["quiet_s"]));
  rows.emplace_back("noise",
                    fmt::format("{} samples of seed {}, service level {}, mean {}", result["samples"].dump(),
                                result["seed"].dump(), result["service_level"].dump(), seconds(result["mean_s"])));
  std::string text = "min " + seconds(result["min_s"]);
  for (const auto& [name, value] : result["percentiles"].items()) text += "  " + name + " " + seconds(value);
  rows.emplace_back("percentiles", text + "  max " + seconds(result["max_s"]));
  return rows;
}

std::string bandwidth(const Json& value) { return to_text(BytesPerSecond{value.get<double>()}); }

std::string joined(const Json& list, const char* between) {
  std::string text;
  for (const Json& item : list)
    text += (text.empty() ? "" : between) + (item.is_string() ? item.get<std::string>() : item.dump());
  return text;
}

/// "1.2 ms  (90 %: 1 ms to 1.4 ms)"
std::string time_text(const Json& result) {
  return fmt::format("{}  (90 %: {} to {})", seconds(result["time_s"]), seconds(result["time_low_s"]),
                     seconds(result["time_high_s"]));
}

std::string alternative_text(const Json& other) {
  const std::string estimate = other.contains("library_believes_s")
                                   ? fmt::format("  (tuner estimate {})", seconds(other["library_believes_s"]))
                                   : "";
  return fmt::format("{}, {}: {}{}", text(other["algorithm"]), text(other["protocol"]), seconds(other["time_s"]),
                     estimate);
}

std::string other_text(const Json& other) {
  const std::string nodes = other.contains("nodes") ? " of nodes " + joined(other["nodes"], " ") : "";
  return fmt::format("{} of {} on {}{}: {}  (alone {})", text(other["op"]),
                     to_text(Bytes{other["size_B"].get<double>()}), joined(other["gpus"], " "), nodes,
                     seconds(other["time_s"]), seconds(other["alone_s"]));
}

using AddRow = std::function<void(const char* label, const std::string& text)>;

void add_collective_rows(const Json& result, const AddRow& row) {
  if (result.contains("host_s"))
    row("launch", fmt::format("{}: host {}, devices {} a call", text(result["launch"]), seconds(result["host_s"]),
                              seconds(result["device_s"])));
  row("algorithm bandwidth", bandwidth(result["algbw_Bps"]));
  row("bus bandwidth", bandwidth(result["busbw_Bps"]));
  row("algorithm, protocol", fmt::format("{}, {}", text(result["algorithm"]), text(result["protocol"])));
  if (result.contains("rounds"))
    row("rounds", fmt::format("{} between {} ranks", result["rounds"].get<int>(), result["ranks"].dump()));
  else
    row("channels", fmt::format("{} distinct, {} blocks, {} on the busiest", result["channels"].size(),
                                result["blocks"].get<int>(), bandwidth(result["channel_bandwidth_Bps"])));
  for (const Json& order : result["channels"]) row("", joined(order, " "));
}

/// One row an item, the label at the first.
void add_list(const Json& result, const char* key, std::string (*of)(const Json&), const AddRow& row) {
  const Json items = result.value(key, Json::array());
  for (std::size_t i = 0; i < items.size(); ++i) row(i == 0 ? key : "", of(items[i]));
}

void add_copy_rows(const Json& result, const AddRow& row) {
  if (result.contains("engine"))
    row("messages",
        fmt::format("{}, {}: {}{}", result["messages"].get<long>(), text(result["engine"]),
                    result["classes"].get<long>(), result["engine"] == "direct" ? " activities" : " sorts of them"));
  if (result.contains("latency_s")) row("start-up", seconds(result["latency_s"]));
  if (result.contains("transport"))
    row("transport", text(result["transport"]) + (result.contains("via") ? " via " + text(result["via"]) : ""));
  if (result.contains("route")) row("route", joined(result["route"], "  "));
  if (result.contains("flow_times_s"))
    for (std::size_t i = 0; i < result["flow_times_s"].size(); ++i)
      row(i == 0 ? "flows" : "", seconds(result["flow_times_s"][i]) + "  " + text(result["transports"][i]));
}

/// The busiest; JSON has all.
void add_link_rows(const Json& links, const AddRow& row) {
  constexpr std::size_t kShown = 8, kPercent = 100;
  for (std::size_t i = 0; i < std::min(kShown, links.size()); ++i)
    row(i == 0 ? "links" : "",
        fmt::format("{}  {:.0f} %", text(links[i]["id"]), kPercent * links[i]["utilisation"].get<double>()));
}

void print_result(const Json& result) {
  std::vector<std::vector<std::string>> rows;
  const AddRow row = [&](const char* label, const std::string& content) { rows.push_back({label, " " + content}); };
  row("time", time_text(result));
  if (result.contains("alone_s"))
    row("alone", fmt::format("{}  ({:.2f} times as long with the others)", seconds(result["alone_s"]),
                             result["slowdown"].get<double>()));
  if (result.contains("bandwidth_Bps")) row("bandwidth", bandwidth(result["bandwidth_Bps"]));
  if (result.contains("algbw_Bps")) add_collective_rows(result, row);
  if (result.contains("library_believes"))
    row("tuner estimate", seconds(result["library_believes"]["time_s"]) + "  (the library's, not a forecast)");
  add_list(result, "alternatives", alternative_text, row);
  if (result.contains("hint")) row("hint", text(result["hint"]));
  add_list(result, "others", other_text, row);
  add_copy_rows(result, row);
  for (const auto& [label, content] : network_rows(result)) row(label.c_str(), content);
  row("bottleneck", joined(limits_of(result), "  "));
  if (result.contains("links")) add_link_rows(result["links"], row);
  print_table(rows);
  print_terms(result);
  print_warnings(result);
}

void show_result(const Context& context, const Json& result) {
  if (print_as_data(context, result)) return;
  if (context.whatif)
    print_whatif(result);
  else if (!result.contains("time_s"))  // of a kind that no table is known for
    std::cout << result.dump(2) << '\n';
  else
    print_result(result);
}

/// One question a size.
void run_sizes(Context& context, const QueryOptions& options, const std::vector<double>& sizes) {
  std::vector<Json> answers;
  log::Work work(context.progress(), "curve", "sizes", static_cast<std::int64_t>(sizes.size()));
  for (const double size_B : sizes) {
    work.advance(static_cast<std::int64_t>(answers.size()));
    answers.push_back(run_query(context, options.query_of_size(size_B)));
  }
  const Json curve = curve_of(sizes, answers);
  if (!print_as_data(context, curve, "points")) print_curve(curve);
}

/// The other choices are asked for where they are forecast: alone.
void ask_alternatives(Json& query, const query::KeyTable& keys) {
  if (query::find_key(keys, "alternatives") == nullptr) return;
  query["alternatives"] = !query.contains("with") && !query.contains("noise") && !query.contains("beside");
}

/// A subcommand for each kind of query that names one, with the options of its key table.
void add_kinds(CLI::App& predict, Context& context) {
  static const std::map<std::string, std::string> examples = {
      {"p2p", "--platform p100-dgx1 --src gpu0 --dst gpu1 --size 40MB --transport staged"},
      {"flows", "--platform v100-dgx1 --flow gpu0:gpu1:64MiB --flow gpu0:gpu2:64MiB --engine sm"},
      {"collective",
       "--platform p100-dgx1 --gpus 0-4 --op all_reduce --size 1GiB\n  linkcast predict collective --platform "
       "p100-dgx1 --gpus 0-7 --op all_reduce -b 8 -e 1G -f 2"}};
  std::vector<PluginInfo> kinds = query::query_kinds().list();
  std::erase_if(kinds, [](const PluginInfo& info) {
    return query::query_kinds().get(info.name).command() != "predict " + info.name;
  });
  std::vector<std::string> names;
  for (const PluginInfo& info : kinds) names.push_back(info.name);
  for (const PluginInfo& info : kinds) {
    if (!context.reaches(predict, info.name, names)) continue;
    const query::QueryKind& kind = query::query_kinds().get(info.name);
    auto* command = predict.add_subcommand(info.name, info.summary);
    auto options = std::make_shared<QueryOptions>(*command, context, info.name);
    if (const auto example = examples.find(info.name); example != examples.end())
      command->footer("Example:\n  linkcast " + kind.command() + " " + example->second);
    const bool sizes = info.name == "collective" || info.name == "p2p";
    if (sizes) options->take_sizes(*command);
    command->callback([options, sizes, &kind, &context] {
      if (const auto several = sizes ? options->sizes() : std::vector<double>(); !several.empty())
        return run_sizes(context, *options, several);
      Json query = options->query();
      ask_alternatives(query, kind.keys());
      show_result(context, run_query(context, query));
    });
  }
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("predict", "forecast copies, contending flows and collectives");
  auto batch = std::make_shared<std::string>();
  auto rows = std::make_shared<bool>(false);
  auto jobs = std::make_shared<int>(1);
  auto* file =
      command->add_option("--batch", *batch, "JSON queries, one a line ('-': standard input); one result a line");
  command->add_flag("--rows", *rows, "with --batch: only what goes into a table's row, as a flat object")->needs(file);
  command
      ->add_option(
          "--jobs", *jobs,
          "with --batch: threads, which share the limit of memory; the same answers in the same order (default: 1)")
      ->needs(file)
      ->check(CLI::Range(1, work::kMostThreads));
  command->footer("Example:\n  linkcast predict p2p --platform p100-dgx1 --src gpu0 --dst gpu5 --size 64MiB");
  add_edits(*command, context);
  add_kinds(*command, context);
  command->parse_complete_callback([command, batch] {  // before any subcommand prints
    if (!command->remaining().empty()) return;         // which is said by whoever finds it unknown
    if (command->get_subcommands().empty() == batch->empty())
      throw InputError("predict: give one of p2p, flows, collective, or --batch FILE (see --help)");
  });
  command->callback([batch, rows, jobs, &context] {
    if (!batch->empty()) run_batch(context, *batch, *rows, *jobs);
  });
}

}  // namespace linkcast::cli
