#pragma once
#include <cstddef>
#include <istream>
#include <optional>
#include <string_view>
#include <vector>

namespace linkcast {

/// Lines of a stream where they lie in a block of it, so that none is copied; and as many readable bytes behind each as
/// simdjson wants there.
class LineBlocks {
 public:
  /// @param stream  outlives it
  explicit LineBlocks(std::istream& stream) : stream_(&stream) {}
  /// Without its newline; valid until the next. nullopt after the last. @throws InputError  it has no end
  std::optional<std::string_view> next();

 private:
  bool fill();

  std::istream* stream_;
  std::vector<char> block_{};
  std::size_t begin_ = 0, end_ = 0;  ///< what was read and not yet handed out
};

}  // namespace linkcast
