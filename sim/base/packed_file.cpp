#include "sim/base/packed_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <streambuf>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast {
namespace {

class PackedBuffer final : public std::streambuf {
 public:
  explicit PackedBuffer(std::string path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (file_) gzbuffer(file_, kBuffer);
  }
  ~PackedBuffer() override {
    if (file_) gzclose(file_);
  }
  PackedBuffer(const PackedBuffer&) = delete;
  PackedBuffer& operator=(const PackedBuffer&) = delete;
  [[nodiscard]] bool open() const { return file_ != nullptr; }

 protected:
  int_type underflow() override {
    if (gptr() != egptr()) return traits_type::to_int_type(*gptr());
    look();
    const int read = file_ ? gzread(file_, unpacked_.data(), kBuffer) : 0;
    int error = Z_OK;
    if (file_) gzerror(file_, &error);
    if (error == Z_ERRNO) throw InputError(path_ + ": cannot be read");
    if (read < 0 || (error != Z_OK && error != Z_STREAM_END))
      throw InputError(path_ + ": gzip data that " + (error == Z_BUF_ERROR ? "end too early" : "are broken"));
    if (read == 0) return traits_type::eof();
    setg(unpacked_.data(), unpacked_.data(), unpacked_.data() + read);
    return traits_type::to_int_type(*gptr());
  }

 private:
  /// A file may hold more than its beginning let expect.
  void look() {
    constexpr unsigned kOften = 64;  // source: ours, 8 MiB between two looks at memory, of 10 us each
    work::look();
    if (++looks_ % kOften == 0 && work::Scope::current() != nullptr)
      work::refuse_memory_in_use(work::memory_in_use_B());
  }

  static constexpr unsigned kBuffer = 131072;
  unsigned looks_ = 0;
  std::string path_;
  gzFile file_;
  std::vector<char> unpacked_ = std::vector<char>(kBuffer);
};

class PackedStream final : public std::istream {
 public:
  explicit PackedStream(const std::string& path) : std::istream(nullptr), buffer_(path) {
    rdbuf(&buffer_);
    if (!buffer_.open()) {
      setstate(std::ios::failbit);
      return;
    }
    exceptions(std::ios::badbit);  // what the buffer throws comes through
  }

 private:
  PackedBuffer buffer_;
};

void append_utf8(std::string& text, std::uint32_t code) {
  constexpr std::uint32_t kOne = 0x80, kTwo = 0x800, kThree = 0x10000, kBits = 6, kLow = 0x3f;  // source: RFC 3629
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < kOne) {
    put(code);
    return;
  }
  if (code < kTwo) {
    put(0xc0 | code >> kBits);
  } else {
    if (code < kThree) {
      put(0xe0 | code >> (2 * kBits));
    } else {
      put(0xf0 | code >> (3 * kBits));
      put(kOne | (code >> (2 * kBits) & kLow));
    }
    put(kOne | (code >> kBits & kLow));
  }
  put(kOne | (code & kLow));
}

/// @param bytes  behind the mark. What is no pair of surrogates becomes U+FFFD.
std::string of_utf16(std::string_view bytes, bool little) {
  constexpr std::uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000, kBeyond = 0x10000, kBits = 10;  // RFC 2781
  constexpr std::uint32_t kReplacement = 0xfffd;
  const auto unit = [&](std::size_t i) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(bytes[i]), second = static_cast<unsigned char>(bytes[i + 1]);
    return little ? first | static_cast<std::uint32_t>(second) << 8 : static_cast<std::uint32_t>(first) << 8 | second;
  };
  std::string text;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    std::uint32_t code = unit(i);
    if (code >= kHigh && code < kEnd) {
      const std::uint32_t next = code < kLow && i + 3 < bytes.size() ? unit(i + 2) : 0;
      const bool pair = next >= kLow && next < kEnd;
      if (pair) i += 2;
      code = pair ? kBeyond + ((code - kHigh) << kBits) + (next - kLow) : kReplacement;
    }
    append_utf8(text, code);
  }
  return text;
}

}  // namespace

std::unique_ptr<std::istream> open_packed(const std::string& path) { return std::make_unique<PackedStream>(path); }

double unpacked_size_B(const std::string& path) {
  constexpr unsigned kBuffer = 65536;
  constexpr std::uint64_t kLooked = 4194304;  // source: ours, 4 MiB: 10 ms
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return 0;
  const auto size_B = static_cast<double>(std::filesystem::file_size(path, none));
  const gzFile file = none ? nullptr : gzopen(path.c_str(), "rb");
  if (file == nullptr) return 0;
  std::vector<char> part(kBuffer);
  double read_B = 0, packed_B = size_B;
  if (gzdirect(file) != 0) {
    read_B = size_B;
  } else {
    int got = 1;
    while (read_B < kLooked && (got = gzread(file, part.data(), kBuffer)) > 0) read_B += got;
    if (got > 0) packed_B = static_cast<double>(gzoffset(file));
  }
  gzclose(file);
  return packed_B > 0 ? read_B * std::max(1.0, size_B / packed_B) : read_B;
}

std::string file_bytes(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder, not a file");
  const std::unique_ptr<std::istream> stream = open_packed(path);
  if (!*stream) throw InputError(path + ": no such file, or not readable");
  return read_whole(*stream, path);
}

bool begins_utf16(std::string_view begin) { return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff"); }

std::string file_text(const std::string& path) {
  constexpr std::string_view kMark8 = "\xef\xbb\xbf";
  std::string bytes = file_bytes(path);
  if (begins_utf16(bytes)) return of_utf16(std::string_view(bytes).substr(2), bytes[0] == '\xff');
  if (bytes.starts_with(kMark8)) bytes.erase(0, kMark8.size());
  return bytes;
}

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
