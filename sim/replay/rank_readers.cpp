#include "sim/replay/rank_readers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <streambuf>
#include <string_view>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast::replay {
namespace {

constexpr std::size_t kMostRanksRead = 512;        // source: ours, each has a buffer and a header of its own
constexpr long kLeastLines = 64;                   // source: ours, a piece with fewer costs more to find than to keep
constexpr std::size_t kMostHeaders_B = 1U << 24U;  // source: ours, less than what a file of so many ranks would keep
constexpr std::size_t kBuffer = 8192;              // source: ours, two pages

/// Lines of a file that follow each other and are of one rank.
struct Piece {
  std::streamoff begin = 0, end = 0;
};

struct Pieces {
  std::string header;  ///< with its newline
  std::vector<std::vector<Piece>> of_rank;
};

/// The rank of a line as linkcast writes it. @returns  -1: another line
int rank_of(std::string_view line, std::size_t ranks) {
  constexpr std::string_view kBegin = "{\"rank\":";
  if (!line.starts_with(kBegin)) return -1;
  int rank = -1;
  const auto [stop, error] = std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), rank);
  const bool ends = error == std::errc() && stop != line.data() + line.size() && (*stop == ',' || *stop == '}');
  return ends && rank >= 0 && at(rank) < ranks ? rank : -1;
}

/// Nothing where ranks take turns, or a line is not as linkcast writes it. @throws InputError  a line has no end
std::optional<Pieces> pieces_of(std::ifstream& file, std::size_t ranks) {
  LineBlocks lines(file);
  const auto header = lines.next();
  if (!header || !header->starts_with('{') || header->size() * ranks > kMostHeaders_B) return std::nullopt;
  Pieces found{std::string(*header) + "\n", std::vector<std::vector<Piece>>(ranks)};
  auto offset = static_cast<std::streamoff>(header->size() + 1);
  long count = 0, pieces = 0;
  for (int last = -1; const auto line = lines.next(); ++count) {
    const int rank = rank_of(*line, ranks);
    if (rank < 0) return std::nullopt;
    std::vector<Piece>& own = found.of_rank[at(rank)];
    if (rank != std::exchange(last, rank)) {
      own.push_back({offset, offset});
      if (++pieces > static_cast<long>(ranks) + count / kLeastLines) return std::nullopt;
    }
    offset += static_cast<std::streamoff>(line->size() + 1);
    own.back().end = offset;
  }
  return found;
}

/// The header and the pieces of one rank, as if they were a file.
class PieceText final : public std::streambuf {
 public:
  PieceText(std::shared_ptr<std::ifstream> file, std::string header, std::vector<Piece> pieces)
      : file_(std::move(file)), header_(std::move(header)), pieces_(std::move(pieces)) {
    setg(header_.data(), header_.data(), header_.data() + header_.size());
  }

 protected:
  int_type underflow() override {
    while (piece_ < pieces_.size() && pieces_[piece_].begin >= pieces_[piece_].end) ++piece_;
    if (piece_ == pieces_.size()) return traits_type::eof();
    Piece& piece = pieces_[piece_];
    const auto wanted = std::min<std::streamoff>(kBuffer, piece.end - piece.begin);
    file_->clear();
    file_->seekg(piece.begin);
    file_->read(buffer_.data(), wanted);
    const std::streamoff got = file_->gcount();
    piece.begin = got > 0 ? piece.begin + got : piece.end;  // the last line may have no newline
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got > 0 ? traits_type::to_int_type(buffer_.front()) : underflow();
  }

 private:
  std::shared_ptr<std::ifstream> file_;
  std::string header_;
  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;
  std::array<char, kBuffer> buffer_{};
};

class PieceStream final : public std::istream {
 public:
  PieceStream(std::shared_ptr<std::ifstream> file, std::string header, std::vector<Piece> pieces)
      : std::istream(nullptr), text_(std::move(file), std::move(header), std::move(pieces)) {
    rdbuf(&text_);
  }

 private:
  PieceText text_;
};

}  // namespace

std::unique_ptr<RankReaders> RankReaders::open(const std::string& path, const std::vector<long>& before) {
  std::error_code none;
  if (before.size() > kMostRanksRead || !std::filesystem::is_regular_file(path, none)) return nullptr;
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  std::optional<Pieces> pieces;
  try {
    pieces = pieces_of(*file, before.size());
  } catch (const InputError&) {  // whoever reads on says it
    return nullptr;
  }
  if (!pieces) return nullptr;
  std::unique_ptr<RankReaders> all(new RankReaders(path));
  TraceEvent event;
  for (std::size_t rank = 0; rank < before.size(); ++rank) {
    auto text = std::make_unique<PieceStream>(file, pieces->header, std::move(pieces->of_rank[rank]));
    all->readers_.push_back(std::make_unique<TraceReader>(std::move(text), path));
    for (long left = before[rank]; left > 0; --left)
      if (!all->next(static_cast<int>(rank), event)) return nullptr;  // it is another file by now
  }
  return all;
}

bool RankReaders::next(int rank, TraceEvent& event) {
  try {
    return readers_[at(rank)]->next(event);
  } catch (const InputError&) {
    fail();
  }
}

/// Lines of a piece are not those of the file.
void RankReaders::fail() const {
  TraceReader all(path_);
  for (TraceEvent event; all.next(event);) continue;
  throw InputError(path_ + ": has changed while it was read");
}

}  // namespace linkcast::replay
