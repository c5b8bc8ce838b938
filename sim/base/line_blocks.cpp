#include "sim/base/line_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

constexpr std::size_t kBlock = 131072;       // source: ours, what gzip data are unpacked by at a time
constexpr std::size_t kLongest = 268435456;  // source: ours, 256 MiB: a hundred times the header of 16,384 ranks
constexpr std::size_t kPadding = 64;  // source: simdjson.h, SIMDJSON_PADDING, at most so large in versions 1 to 3

}  // namespace

std::optional<std::string_view> LineBlocks::next() {
  std::size_t searched = begin_;
  while (true) {
    const void* newline = searched < end_ ? std::memchr(block_.data() + searched, '\n', end_ - searched) : nullptr;
    if (newline != nullptr) {
      const char* line = block_.data() + begin_;
      const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - line);
      begin_ += length + 1;
      return std::string_view(line, length);
    }
    const std::size_t kept = end_ - begin_;
    if (kept > kLongest) throw InputError("is longer than 256 MiB");
    if (!fill()) break;
    searched = begin_ + kept;
  }
  if (begin_ == end_) return std::nullopt;
  const std::string_view rest(block_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return rest;
}

/// As much as the stream has at hand: what is broken further on is met when it is read.
bool LineBlocks::fill() {
  if (stream_->peek() == std::istream::traits_type::eof()) return false;
  std::copy(block_.begin() + static_cast<std::ptrdiff_t>(begin_), block_.begin() + static_cast<std::ptrdiff_t>(end_),
            block_.begin());
  end_ -= begin_;
  begin_ = 0;
  const auto wanted = std::clamp<std::streamsize>(stream_->rdbuf()->in_avail(), 1, kBlock);
  const std::size_t needed = end_ + static_cast<std::size_t>(wanted) + kPadding;
  if (block_.size() < needed) block_.resize(std::max(needed, 2 * block_.size()));
  stream_->read(block_.data() + end_, wanted);
  end_ += static_cast<std::size_t>(stream_->gcount());
  return stream_->gcount() > 0;
}

}  // namespace linkcast
