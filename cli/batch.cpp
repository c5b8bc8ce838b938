#include "cli/batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cli/lines.hpp"
#include "sim/base/in_order.hpp"
#include "sim/query/batch_line.hpp"

namespace linkcast::cli {
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
  /// What a thread has of its own.
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
