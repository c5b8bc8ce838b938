#include "cli/batch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "sim/base/in_order.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/query/batch_line.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kBlock_B = 65536;  // source: ours, what a pipe of Linux holds
constexpr int kLook_ms = 50;             // source: ours, how soon Ctrl-C is noticed where another thread got it

}  // namespace

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

namespace {

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

  /// Lines that are answered.
  [[nodiscard]] long done() const { return done_; }

  void run(Lines& in) {
    for (std::string line;;) {
      if (in.live() && !in.has_next()) std::cout.flush();  // who writes a line may wait for its answer
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
      const bool flush = in.live() && !in.has_next();
      pieces.add([this, &data_dir, &of_threads, &together, flush, first,
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
        return [this, flush, answers = std::move(answers)] {
          for (const query::LineAnswer& one : answers) put(one);
          if (flush) std::cout.flush();
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
    if (!answer.text.empty()) std::cout << answer.text << '\n';
    if (!std::cout) throw std::runtime_error("standard output: cannot be written");
    ++done_;
  }

  Context& context_;
  std::string path_;
  query::BatchOptions options_;
  query::Memories memories_{};
  log::Work work_;
  long done_ = 0;
};

}  // namespace

void run_batch(Context& context, const std::string& path, bool rows, int jobs) {
  Lines in("--batch", path);
  Batch batch(context, path, rows);
  try {
    if (jobs == 1)
      batch.run(in);
    else
      batch.run(in, static_cast<std::size_t>(jobs));
  } catch (const work::Stopped&) {
    context.tell_stop("batch: " + std::to_string(batch.done()) + " lines are answered; to go on: tail -n +" +
                      std::to_string(batch.done() + 1) + " " + path);
    throw;
  }
}

}  // namespace linkcast::cli
