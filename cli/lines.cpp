#include "cli/lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/progress.hpp"
#include "sim/base/estimate.hpp"
#include "sim/base/input_error.hpp"

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

}  // namespace linkcast::cli
