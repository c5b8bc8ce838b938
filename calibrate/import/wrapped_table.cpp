// A terminal breaks lines after a fixed number of letters, inside words too; a mail breaks them between words. Which it
// was at each break follows from the words: a row has a cell for each device of the head, and half a word is no cell.
#include "calibrate/import/wrapped_table.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::topology_import {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMostPieces = 8;  // of a line; each break doubles what is tried. source: ours

bool is_name(const std::string& word) {
  static const Regex name(R"((?:GPU|NIC)\d+|[a-z]\w*\d\w*)");
  return bool{name.whole(word)};
}
bool is_cell(const std::string& word) {
  static const Regex cell(R"(X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|OK|CNS|GNS|TNS|NS|DR|U)");
  return bool{cell.whole(word)};
}
bool is_affinity(const std::string& word) {
  static const Regex affinity(R"(N/A|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)");
  return bool{affinity.whole(word)};
}

struct Head {
  Words names;
  std::size_t titles = 0;  ///< of columns behind the matrix
};

/// "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID", all names and titles whole.
std::optional<Head> head_of_words(const Words& words) {
  static const std::vector<Words> kTitles = {{"CPU", "Affinity"}, {"NUMA", "Affinity"}, {"GPU", "NUMA", "ID"}};
  Head head;
  auto at = words.begin();
  int gpus = 0;
  for (; at != words.end() && is_name(*at); ++at) {
    if (at->starts_with("GPU") && *at != "GPU" + std::to_string(gpus++)) return std::nullopt;
    head.names.push_back(*at);
  }
  for (const Words& title : kTitles)
    if (static_cast<std::size_t>(words.end() - at) >= title.size() && std::equal(title.begin(), title.end(), at)) {
      at += static_cast<std::ptrdiff_t>(title.size());
      ++head.titles;
    }
  if (at != words.end() || head.names.empty()) return std::nullopt;
  return head;
}

/// The pieces as one line, broken between words where a bit is 0 and inside one where it is 1.
Words joined_words(const std::vector<Words>& pieces, std::uint32_t inside) {
  Words all;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto from = pieces[i].begin();
    if (i > 0 && ((inside >> (i - 1)) & 1U) != 0) all.back() += *from++;
    all.insert(all.end(), from, pieces[i].end());
  }
  return all;
}

class Unwrapper {
 public:
  explicit Unwrapper(std::vector<std::string> lines) : lines_(std::move(lines)) {
    for (const std::string& line : lines_) words_.push_back(words_of(line));
    for (Words& words : words_) {  // "=" ends a line that a mail broke (RFC 2045)
      if (words.empty() || !words.back().ends_with('=')) continue;
      words.back().pop_back();
      if (words.back().empty()) words.pop_back();
    }
  }

  std::vector<std::string> run() {
    for (std::size_t at = 0; at < lines_.size(); ++at)
      if (words_[at].size() > 1 && words_[at][0] == "GPU0" && is_name(words_[at][1])) read_table(at);
    return std::move(lines_);
  }

 private:
  /// Lines from one on that are not blank, up to one that begins a row of `name`; nothing: there is none.
  [[nodiscard]] std::optional<std::vector<std::size_t>> lines_before(std::size_t from, const std::string& name) const;
  /// Lines of the last row: up to a line with other words, or a blank one.
  [[nodiscard]] std::vector<std::size_t> last_row(std::size_t from) const;
  /// The only joined line that fits; nothing: none does.
  template <class Fits>
  [[nodiscard]] std::optional<Words> joined(const std::vector<std::size_t>& lines, const Fits& fits) const;
  void read_table(std::size_t at);

  std::vector<std::string> lines_;
  std::vector<Words> words_;
};

std::optional<std::vector<std::size_t>> Unwrapper::lines_before(std::size_t from, const std::string& name) const {
  std::vector<std::size_t> lines;
  for (std::size_t i = from; i < lines_.size() && lines.size() <= kMostPieces; ++i) {
    if (words_[i].empty()) continue;
    const bool row = words_[i].size() > 1 && words_[i][0] == name && !is_name(words_[i][1]);
    if (row && i > from) return lines;
    lines.push_back(i);
  }
  return std::nullopt;
}

std::vector<std::size_t> Unwrapper::last_row(std::size_t from) const {
  static const Regex part(R"([A-Z]{1,4}|NV\d+|\d+|N/A?|/A|A|[\d,-]+)");
  std::vector<std::size_t> lines = {from};
  for (std::size_t i = from + 1; i < lines_.size() && !words_[i].empty(); ++i) {
    if (!std::all_of(words_[i].begin(), words_[i].end(), [](const auto& word) { return bool{part.whole(word)}; }))
      break;
    lines.push_back(i);
  }
  return lines;
}

template <class Fits>
std::optional<Words> Unwrapper::joined(const std::vector<std::size_t>& lines, const Fits& fits) const {
  if (lines.size() > kMostPieces) return std::nullopt;
  std::vector<Words> pieces;
  for (const std::size_t line : lines) pieces.push_back(words_[line]);
  std::optional<Words> found;
  for (std::uint32_t inside = 0; inside < (1U << (pieces.size() - 1)); ++inside) {
    Words all = joined_words(pieces, inside);
    if (!fits(all)) continue;
    if (found) return std::nullopt;
    found = std::move(all);
  }
  return found;
}

/// @param at  line of the head. Nothing changes where one line of the table does not fit, or fits twice.
void Unwrapper::read_table(std::size_t at) {
  auto pieces = lines_before(at, "GPU0");
  const auto words =
      pieces ? joined(*pieces, [](const Words& all) { return head_of_words(all).has_value(); }) : std::nullopt;
  if (!words) return;
  const Head head = *head_of_words(*words);
  std::vector<std::pair<std::vector<std::size_t>, Words>> rows = {{*pieces, *words}};
  std::size_t from = pieces->back() + 1;
  while (words_[from].empty()) ++from;
  for (std::size_t i = 0; i < head.names.size(); ++i) {
    const bool last = i + 1 == head.names.size();
    pieces = last ? last_row(from) : lines_before(from, head.names[i + 1]);
    if (!pieces) return;
    const auto row_of = [&](std::size_t affinities) {
      return joined(*pieces, [&](const Words& all) {
        const std::size_t cells = head.names.size();
        return all.size() >= 1 + cells && all.size() <= 1 + cells + affinities && all[0] == head.names[i] &&
               std::all_of(all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(cells), is_cell) &&
               std::all_of(all.begin() + 1 + static_cast<std::ptrdiff_t>(cells), all.end(), is_affinity) &&
               (affinities == 0 || all.size() == 1 + cells + affinities);
      });
    };
    auto row = row_of(head.titles);
    for (std::size_t fewer = head.titles; !row && fewer-- > 0;) row = row_of(fewer);
    if (!row) return;
    rows.emplace_back(*pieces, *row);
    from = pieces->back() + 1;
    while (!last && words_[from].empty()) ++from;
  }
  for (const auto& [lines, all] : rows) {
    if (lines.size() < 2) continue;
    std::string text;
    for (const std::string& word : all) text += (text.empty() ? "" : " ") + word;
    lines_[lines.front()] = text;
    for (std::size_t i = 1; i < lines.size(); ++i) lines_[lines[i]].clear();
  }
}

}  // namespace

std::vector<std::string> unwrapped_table(std::vector<std::string> lines) { return Unwrapper(std::move(lines)).run(); }

}  // namespace linkcast::topology_import
