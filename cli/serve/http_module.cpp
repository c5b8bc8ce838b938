#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/serve/http_server.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/text.hpp"

namespace linkcast::serve {

// One connection as the HTTP library reads it: each request has a time and a size that it cannot exceed, however slowly
// or without end its client sends. While others wait for a thread the time is short.

struct ConnectionLimits {
  std::chrono::milliseconds idle{5000};      // ours: without a request it gives its thread back, also at the end
  std::chrono::milliseconds request{10000};  // ours: from the first byte of a request to the last
  std::chrono::milliseconds reply{30000};    // ours: for a client that reads slowly
  std::chrono::milliseconds linger{1000};    // ours: for a client that still sends what is not read
  std::chrono::milliseconds crowded{200};    // ours: instead of these while other connections wait for a thread
  std::size_t request_B = 0;                 ///< head and body together
};

class Connection final : public httplib::Stream {
 public:
  /// @param crowded  whether other connections wait for a thread
  Connection(socket_t socket, const ConnectionLimits& limits, const std::atomic<bool>& crowded)
      : socket_(socket), limits_(limits), crowded_(crowded) {}

  /// Waits for a request. @returns  false: none came
  bool next_request() {
    since_ = Clock::now();
    if (begin_ == end_ && !ready(POLLIN, since_ + limits_.idle)) return false;
    left_B_ = limits_.request_B;
    since_ = Clock::now();
    until_ = since_ + limits_.request;
    reply_until_.reset();
    return true;
  }
  /// The client has closed its end: nobody waits for the answer.
  [[nodiscard]] bool gone() const {
    pollfd one{socket_, POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  /// The rest of it is not read: the reply to this request is its last one.
  void end_after_reply() { broken_ = unread_ = true; }
  /// After end_after_reply(): forgets for a while what the client still sends, so that it sees the reply and not a
  /// connection that was reset (RFC 9112, section 9.6).
  void linger() {
    if (!unread_) return;
    ::shutdown(socket_, SHUT_WR);
    since_ = Clock::now();
    until_ = std::min(until_, since_ + limits_.linger);
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
    if (!reply_until_) reply_until_ = (since_ = Clock::now()) + limits_.reply;
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
    constexpr long kLook_ms = 50;  // ours: between two looks at whether others wait
    while (true) {
      const auto end = crowded_ ? std::min(until, since_ + limits_.crowded) : until;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd one{socket_, what, 0};
      const int found = ::poll(&one, 1, static_cast<int>(std::clamp<long>(left, 0, kLook_ms)));
      if (found > 0) return true;
      if (found < 0 ? errno != EINTR : left <= kLook_ms) return false;
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
  const std::atomic<bool>& crowded_;
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0, end_ = 0, left_B_ = 0;
  Clock::time_point since_{};  ///< of what it waits for: a request, the rest of it, or that a reply is read
  Clock::time_point until_{};
  std::optional<Clock::time_point> reply_until_{};
  bool broken_ = false, unread_ = false;
};

namespace {

/// httplib's own pool holds any number of accepted connections; here the one that accepts waits for a free thread.
class Pool final : public httplib::TaskQueue {
 public:
  /// @param crowded  kept: whether connections wait for a thread
  Pool(std::size_t threads, std::atomic<bool>& crowded) : most_(threads), crowded_(crowded) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() override = default;

  /// Later versions of the library expect whether it was queued.
  using Queued = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::declval<std::function<void()>>()));
  Queued enqueue(std::function<void()> job) override {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return jobs_.size() < most_; });
    jobs_.push_back(std::move(job));
    crowded_ = jobs_.size() > free_;
    come_.notify_one();
    return static_cast<Queued>(true);
  }
  void shutdown() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    come_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    while (true) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        ++free_;
        come_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        --free_;
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
        crowded_ = jobs_.size() > free_;
        room_.notify_one();
      }
      job();
    }
  }

  std::size_t most_, free_ = 0;  ///< threads; those of them without a connection
  std::atomic<bool>& crowded_;
  std::vector<std::thread> threads_;
  std::deque<std::function<void()>> jobs_;
  std::mutex mutex_;
  std::condition_variable come_, room_;
  bool ending_ = false;
};

/// Without the library's SO_REUSEPORT, with which two services could take one port and not notice.
void socket_options(socket_t socket) {
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

constexpr const char* kTooLong = "the body has more than 1 MiB";

/// Readers may disagree where such a request ends (RFC 9112, section 6.3).
bool is_ambiguous(const httplib::Request& in) {
  const std::size_t lengths = in.get_header_value_count("Content-Length");
  const std::size_t codings = in.get_header_value_count("Transfer-Encoding");
  if (lengths + codings > 1) return true;
  const std::string length = in.get_header_value("Content-Length");
  if (lengths == 1 && (length.empty() || length.find_first_not_of("0123456789") != std::string::npos)) return true;
  std::string coding = in.get_header_value("Transfer-Encoding");
  std::transform(coding.begin(), coding.end(), coding.begin(), [](unsigned char c) { return std::tolower(c); });
  return codings == 1 && coding != "chunked";
}

/// By name, whatever its case and weight above 0 (RFC 9110, sections 8.4.1.3 and 12.5.3).
bool accepts_gzip(const httplib::Headers& headers) {
  std::string list;
  const auto [first, last] = headers.equal_range("Accept-Encoding");
  std::for_each(first, last, [&](const auto& header) { list += header.second + ","; });
  std::erase_if(list, [](char c) { return c == ' ' || c == '\t'; });
  std::transform(list.begin(), list.end(), list.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto is_zero = [](const std::string& parameter) {
    return parameter.starts_with("q=") && parameter.find_first_not_of("0.", 2) == std::string::npos;
  };
  for (const std::string& coding : split(list, ',')) {
    const std::vector<std::string> parts = split(coding, ';');
    if (!parts.empty() && (parts.front() == "gzip" || parts.front() == "x-gzip"))
      return std::none_of(parts.begin() + 1, parts.end(), is_zero);
  }
  return false;
}

std::string why_refused(int status) {
  switch (status) {
    case 413:
      return kTooLong;
    case 414:
      return "the path is too long";
    case 416:
      return "header Range is no range, and answers are whole: leave it out";
    default:
      return "not an HTTP request for this service";
  }
}

/// The connection that this thread serves.
thread_local Connection* served_now = nullptr;

}  // namespace

/// The library's server over connections of our own.
class LimitedServer final : public httplib::Server {
 public:
  explicit LimitedServer(std::size_t threads) {
    new_task_queue = [this, threads] { return new Pool(threads, crowded_); };
  }
  /// In place of the library's 5 connections: one that finds no room tries again after a second.
  void widen_backlog() { ::listen(svr_sock_, SOMAXCONN); }

  /// For its owner alone.
  void bind_to_file(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      throw InputError("socket: " + path + ": is too long, at most " + std::to_string(sizeof address.sun_path - 1) +
                       " bytes");
    path.copy(address.sun_path, path.size());
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const mode_t before = ::umask(0177);  // source: umask(2): read and write for the owner
    const bool bound = made >= 0 && replaceable(path) &&
                       ::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::umask(before);
    if (!bound || ::listen(made, SOMAXCONN) != 0) {
      if (made >= 0) ::close(made);
      throw InputError("socket: " + path + ": cannot be made: in use, or not writable");
    }
    svr_sock_ = made;
  }

 private:
  /// Nothing, or the socket of a service that has gone.
  static bool replaceable(const std::string& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return true;
    if (!S_ISSOCK(found.st_mode)) return false;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    const int asked = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answers =
        asked >= 0 && ::connect(asked, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (asked >= 0) ::close(asked);
    return !answers && ::unlink(path.c_str()) == 0;
  }

  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket, limits_, crowded_);
    served_now = &connection;
    bool well = true, closed = false;
    while (well && !closed && !connection.broken() && svr_sock_ != INVALID_SOCKET && connection.next_request())
      well = process(*this, connection, closed);
    served_now = nullptr;
    connection.linger();
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return well;
  }

  /// Versions of the library differ in what they expect here.
  template <class Self>
  static bool process(Self& self, Connection& connection, bool& closed) {
    const auto limited = [](httplib::Request& request) {
      request.ranges.clear();  // answers are whole: a thousand ranges of one would be a thousand answers
      // Brotli, which the library prefers, is at its densest here: a second for 285 kB, where gzip takes 2 ms.
      const bool gzip = accepts_gzip(request.headers);
      request.headers.erase("Accept-Encoding");
      if (gzip) request.set_header("Accept-Encoding", "gzip");
    };
    if constexpr (requires { self.process_request(connection, false, closed, limited); })
      return self.process_request(connection, false, closed, limited);
    else
      return self.process_request(connection, "", 0, "", 0, false, closed, limited);
  }

  ConnectionLimits limits_{.request_B = kMostHead_B + 2 * kMostBody_B};  // chunks have a head each
  std::atomic<bool> crowded_ = false;
};

namespace {

class Served final : public HttpServer {
 public:
  Served(HttpHandler handler, std::size_t threads) : handler_(std::move(handler)), server_(threads) {
    server_.set_socket_options(socket_options);
    server_.set_tcp_nodelay(true);
    server_.set_payload_max_length(kMostBody_B);
    const auto plain = [this](const httplib::Request& in, httplib::Response& out) {
      // The library would take a body for the next request.
      const std::string length = in.get_header_value("Content-Length");
      if ((!length.empty() && length != "0") || in.has_header("Transfer-Encoding")) served_now->end_after_reply();
      reply(in, {}, out);
    };
    const auto with_body = [this](const httplib::Request& in, httplib::Response& out,
                                  const httplib::ContentReader& read) {
      bool read_all = false;
      reply(
          in, [&] { return body_of(in, read, out, read_all); }, out);
      if (!read_all) served_now->end_after_reply();
    };
    server_.Get("/.*", plain);
    server_.Options("/.*", plain);
    server_.Post("/.*", with_body);
    server_.Put("/.*", with_body);
    server_.Patch("/.*", with_body);
    server_.Delete("/.*", with_body);
    server_.set_pre_routing_handler([this](const httplib::Request& in, httplib::Response& out) {
      if (!is_ambiguous(in)) return httplib::Server::HandlerResponse::Unhandled;
      refuse(in, {400, "its length is ambiguous: one Content-Length, or Transfer-Encoding: chunked"}, out);
      return httplib::Server::HandlerResponse::Handled;
    });
    // Also called for what handlers answer, which has a body.
    server_.set_error_handler([this](const httplib::Request& in, httplib::Response& out) {
      if (out.body.empty()) refuse(in, {out.status, why_refused(out.status)}, out);
    });
    // The library's own says what was thrown in a header.
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& out, const std::exception_ptr&) { out.status = 500; });
  }

  int bind(const std::string& host, int port) override {
    const int got = port == 0 ? server_.bind_to_any_port(host) : (server_.bind_to_port(host, port) ? port : -1);
    if (got <= 0)
      throw InputError("port: " + host + ":" + std::to_string(port) + " cannot be had: in use, or no address of ours");
    server_.widen_backlog();
    return got;
  }
  void bind(const std::string& path) override { server_.bind_to_file(path); }
  void run() override {
    server_.listen_after_bind();
    ended_ = true;
  }
  /// The library forgets a stop that comes before it has begun to listen.
  void stop() override {
    while (!server_.is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server_.stop();
  }

 private:
  /// The rest of the connection may belong to this request.
  void refuse(const httplib::Request& in, Refused refused, httplib::Response& out) const {
    const bool method = std::all_of(in.method.begin(), in.method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    HttpRequest request{method ? in.method : "", in.path};
    request.refused = std::move(refused);
    write(handler_(std::move(request)), out);
    served_now->end_after_reply();
  }

  void reply(const httplib::Request& in, std::function<std::string()> read_body, httplib::Response& out) const {
    const Connection* connection = served_now;
    const auto begin = std::chrono::steady_clock::now();
    HttpReply answer = handler_({in.method, in.path, "", in.get_header_value("Authorization"),
                                 in.get_header_value("Host"), in.get_header_value("Origin"), std::move(read_body),
                                 [connection] { return connection != nullptr && connection->gone(); }});
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    out.set_header("Server-Timing", "linkcast;dur=" + std::to_string(taken.count()));  // pages and proxies read it
    write(std::move(answer), out);
  }

  static void write(HttpReply answer, httplib::Response& out) {
    out.status = answer.status;
    out.set_header("X-Content-Type-Options", "nosniff");
    if (answer.type.rfind("text/html", 0) == 0)  // nothing from elsewhere, and no frame of another page around it
      out.set_header("Content-Security-Policy",
                     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                     "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    out.set_content(std::move(answer.body), answer.type.c_str());
  }

  /// Chunks have no length that could be looked at before. What is too long is read on, and forgotten, so that the next
  /// request of the connection begins where it should.
  /// @param read_all  whether it does
  static std::string body_of(const httplib::Request& in, const httplib::ContentReader& read,
                             const httplib::Response& out, bool& read_all) {
    if (!in.has_header("Content-Length") && !in.has_header("Transfer-Encoding")) {  // the library reads until the end
      if (in.method != "DELETE")
        throw Refused{411, "the body has no length: send Content-Length, or Transfer-Encoding: chunked"};
      read_all = true;
      return "";
    }
    const auto [encoding, last] = in.headers.equal_range("Content-Encoding");
    if (std::any_of(encoding, last, [](const auto& header) { return header.second != "identity"; }))
      throw Refused{415, "the body is compressed: send it as it is, without Content-Encoding"};
    if (in.is_multipart_form_data())  // the library reads the parts of forms in another way, and throws in this one
      throw Refused{415, "the body is a form: JSON is read here"};
    std::string body;
    bool too_long = false;
    read_all = read([&](const char* data, std::size_t size) {
      too_long |= body.size() + size > kMostBody_B;
      if (!too_long) body.append(data, size);
      return true;
    });
    if (too_long || out.status == 413) throw Refused{413, kTooLong};
    if (!read_all) throw Refused{out.status < 400 ? 400 : out.status, "the body did not come whole"};
    return body;
  }

  HttpHandler handler_;
  LimitedServer server_;
  std::atomic<bool> ended_ = false;
};

}  // namespace
}  // namespace linkcast::serve

extern "C" [[gnu::visibility("default")]] linkcast::serve::HttpServer* linkcast_http_server(
    linkcast::serve::HttpHandler* handler, std::size_t threads) {
  return new linkcast::serve::Served(std::move(*handler), threads);
}
