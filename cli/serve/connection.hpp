#pragma once
// One connection as the HTTP library reads it: each request has a time and a size that it cannot exceed, however slowly
// or without end its client sends.
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace linkcast::serve {

struct ConnectionLimits {
  std::chrono::milliseconds idle{5000};      // ours: without a request it gives its thread back, also at the end
  std::chrono::milliseconds request{10000};  // ours: from the first byte of a request to the last
  std::chrono::milliseconds reply{30000};    // ours: for a client that reads slowly
  std::chrono::milliseconds linger{1000};    // ours: for a client that still sends what is not read
  std::size_t request_B = 0;                 ///< head and body together
};

class Connection final : public httplib::Stream {
 public:
  Connection(socket_t socket, const ConnectionLimits& limits) : socket_(socket), limits_(limits) {}

  /// Waits for a request. @returns  false: none came
  bool next_request() {
    if (begin_ == end_ && !ready(POLLIN, Clock::now() + limits_.idle)) return false;
    left_B_ = limits_.request_B;
    until_ = Clock::now() + limits_.request;
    reply_until_.reset();
    return true;
  }
  /// The client has closed its end: nobody waits for the answer.
  [[nodiscard]] bool gone() const {
    pollfd one{socket_, POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  /// What follows of it is not read: the reply to this request is its last one.
  void end_after_reply() { broken_ = unread_ = true; }
  /// After end_after_reply(): forgets for a while what the client still sends, so that it sees the reply and not a
  /// connection that was reset (RFC 9112, section 9.6).
  void linger() {
    if (!unread_) return;
    ::shutdown(socket_, SHUT_WR);
    until_ = std::min(until_, Clock::now() + limits_.linger);
    while (fill()) continue;
  }
  /// It took too long or too much: what follows of the connection cannot be understood.
  [[nodiscard]] bool broken() const { return broken_; }

  // Without `override`: later versions of the library have more of these, and Debian 12's fewer.
  bool is_readable() const { return begin_ != end_ || ready(POLLIN, until_); }
  bool wait_readable() const { return is_readable(); }
  bool is_writable() const { return ready(POLLOUT, Clock::now() + limits_.reply); }
  bool wait_writable() const { return is_writable(); }
  bool is_peer_alive() const { return !gone(); }
  ssize_t read(char* into, std::size_t size) {
    if (begin_ == end_ && !fill()) return -1;
    const std::size_t given = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, given, into);
    begin_ += given;
    return static_cast<ssize_t>(given);
  }
  ssize_t write(const char* from, std::size_t size) {
    if (!reply_until_) reply_until_ = Clock::now() + limits_.reply;
    for (std::size_t sent = 0; sent < size;) {
      if (!ready(POLLOUT, *reply_until_)) return fail();
      const ssize_t now = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (now < 0 && errno != EAGAIN && errno != EINTR) return fail();
      sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  socket_t socket() const { return socket_; }
  time_t duration() const { return 0; }
  void set_read_timeout(time_t /*sec*/, time_t /*usec*/ = 0) {}

 private:
  using Clock = std::chrono::steady_clock;

  ssize_t fail() {
    broken_ = true;
    return -1;
  }
  bool ready(short what, Clock::time_point until) const {
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd one{socket_, what, 0};
      const int found = ::poll(&one, 1, static_cast<int>(std::max<long>(left, 0)));
      if (found > 0) return true;
      if (found == 0 || errno != EINTR) return false;
    }
  }
  bool fill() {
    if (left_B_ == 0 || !ready(POLLIN, until_)) return fail() == 0;
    const ssize_t got = ::recv(socket_, buffer_.data(), std::min(buffer_.size(), left_B_), 0);
    if (got <= 0) return fail() == 0;
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    left_B_ -= end_;
    return true;
  }

  socket_t socket_;
  const ConnectionLimits& limits_;
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0, end_ = 0, left_B_ = 0;
  Clock::time_point until_{};
  std::optional<Clock::time_point> reply_until_{};
  bool broken_ = false, unread_ = false;
};

}  // namespace linkcast::serve
