#include "cli/batch.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cli/progress.hpp"
#include "sim/query/batch_line.hpp"
#include "sim/work/in_order.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kTogether = 32;  // source: ours, lines that a thread takes at once: a copy takes 10 us

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

  void run(std::istream& in) {
    std::string line;
    while (std::getline(in, line)) {
      work_.advance(done_);
      put(answer(context_.catalogue(), line, done_ + 1));
    }
  }

  /// Each thread has a catalogue of its own, so that none waits for another.
  void run(std::istream& in, std::size_t threads) {
    std::vector<std::unique_ptr<catalogue::Catalogue>> catalogues;
    for (std::size_t i = 0; i < threads; ++i)
      catalogues.push_back(std::make_unique<catalogue::Catalogue>(context_.catalogue().data_dir()));
    work::InOrder pieces(threads);
    const bool asked = path_ == "-";  // who writes a line may wait for its answer
    const std::size_t together = asked ? 1 : kTogether;
    in.tie(nullptr);  // others write
    std::vector<std::string> lines;
    long first = 1;
    const auto add = [&] {
      pieces.add([this, &catalogues, asked, first, lines = std::exchange(lines, {})](std::size_t thread) {
        std::vector<query::LineAnswer> answers;
        for (std::size_t i = 0; i < lines.size(); ++i)
          answers.push_back(answer(*catalogues[thread], lines[i], first + static_cast<long>(i)));
        return [this, asked, answers = std::move(answers)] {
          for (const query::LineAnswer& one : answers) put(one);
          if (asked) std::cout.flush();
          work_.advance(done_);
        };
      });
    };
    for (std::string line; std::getline(in, line);) {
      lines.push_back(std::move(line));
      if (lines.size() < together) continue;
      const long next = first + static_cast<long>(lines.size());
      add();
      first = next;
    }
    if (!lines.empty()) add();
    pieces.finish();
  }

 private:
  [[nodiscard]] query::LineAnswer answer(catalogue::Catalogue& catalogue, const std::string& line, long number) const {
    if (query::is_blank(line)) return {};
    return query::answer_line(catalogue, line, path_ + " line " + std::to_string(number), options_);
  }

  void put(const query::LineAnswer& answer) {
    if (answer.failed && context_.exit_code == 0) context_.exit_code = kHoldsErrors;
    if (answer.broken) context_.exit_code = kBrokenInvariant;
    if (!answer.text.empty()) std::cout << answer.text << '\n';
    ++done_;
  }

  Context& context_;
  std::string path_;
  query::BatchOptions options_;
  log::Work work_;
  long done_ = 0;
};

}  // namespace

void run_batch(Context& context, const std::string& path, bool rows, int jobs) {
  std::ifstream file;
  if (path != "-") {
    if (std::filesystem::is_directory(path)) throw InputError("--batch: " + path + ": is a folder, not a file");
    file.open(path);
    if (!file) throw InputError("--batch: " + path + ": no such file, or not readable");
  }
  std::istream& in = path == "-" ? std::cin : file;
  Batch batch(context, path, rows);
  try {
    if (jobs == 1)
      batch.run(in);
    else
      batch.run(in, static_cast<std::size_t>(jobs));
    if (CtrlC::came()) throw work::Stopped();  // while it waited for a line
  } catch (const work::Stopped&) {
    context.tell_stop("batch: " + std::to_string(batch.done()) + " lines are answered; to go on: tail -n +" +
                      std::to_string(batch.done() + 1) + " " + path);
    throw;
  }
}

}  // namespace linkcast::cli
