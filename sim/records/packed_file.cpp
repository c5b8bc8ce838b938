#include "sim/records/packed_file.hpp"

#include <zlib.h>

#include <streambuf>
#include <vector>

#include "sim/records/input_error.hpp"

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
  static constexpr unsigned kBuffer = 131072;
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

}  // namespace

std::unique_ptr<std::istream> open_packed(const std::string& path) { return std::make_unique<PackedStream>(path); }

}  // namespace linkcast
