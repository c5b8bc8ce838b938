#include "cli/serve/http_server.hpp"

#include <httplib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/serve/connection.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/quick_json.hpp"

namespace linkcast::serve {
namespace {

/// httplib's own pool holds any number of accepted connections; here the one that accepts waits for a free thread.
class Pool final : public httplib::TaskQueue {
 public:
  explicit Pool(std::size_t threads) : most_(threads) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() override = default;

  /// Later versions of the library want to be told whether it was taken.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::declval<std::function<void()>>()));
  Taken enqueue(std::function<void()> job) override {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return jobs_.size() < most_; });
    jobs_.push_back(std::move(job));
    come_.notify_one();
    return static_cast<Taken>(true);
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
        come_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
        room_.notify_one();
      }
      job();
    }
  }

  std::size_t most_;
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

/// The connection that this thread serves.
thread_local Connection* served_now = nullptr;

}  // namespace

/// The library's server over connections of our own.
class LimitedServer final : public httplib::Server {
 public:
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
    Connection connection(socket, limits_);
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

  /// Versions of the library differ in what they want to be told.
  template <class Self>
  static bool process(Self& self, Connection& connection, bool& closed) {
    if constexpr (requires { self.process_request(connection, false, closed, nullptr); })
      return self.process_request(connection, false, closed, nullptr);
    else
      return self.process_request(connection, "", 0, "", 0, false, closed, nullptr);
  }

  ConnectionLimits limits_{.request_B = kMostHead_B + 2 * kMostBody_B};  // chunks have a head each
};

HttpReply error_reply(int status, const std::string& what) {
  return {status, write_quickly(Json{{"error", what}}) + "\n"};
}

class HttpServer::Impl {
 public:
  Impl(HttpHandler handler, std::size_t threads) : handler_(std::move(handler)) {
    server_.new_task_queue = [threads] { return new Pool(threads); };
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
    server_.set_error_handler([](const httplib::Request&, httplib::Response& out) {
      if (!out.body.empty()) return;
      const std::string what = out.status == 413 ? kTooLong : "not an HTTP request for this service";
      out.set_content(error_reply(out.status, what).body, "application/json");
    });
    // The library's own says what was thrown in a header.
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& out, const std::exception_ptr&) { out.status = 500; });
  }

  int bind(const std::string& host, int port) {
    const int got = port == 0 ? server_.bind_to_any_port(host) : (server_.bind_to_port(host, port) ? port : -1);
    if (got <= 0)
      throw InputError("port: " + host + ":" + std::to_string(port) + " cannot be had: taken, or no address of ours");
    return got;
  }
  void bind(const std::string& path) { server_.bind_to_file(path); }
  void run() {
    server_.listen_after_bind();
    ended_ = true;
  }
  /// The library forgets a stop that comes before it has begun to listen.
  void stop() {
    while (!server_.is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server_.stop();
  }

 private:
  void reply(const httplib::Request& in, std::function<std::string()> read_body, httplib::Response& out) const {
    const Connection* connection = served_now;
    HttpReply made = handler_({in.method, in.path, "", in.get_header_value("Authorization"), std::move(read_body),
                               [connection] { return connection != nullptr && connection->gone(); }});
    out.status = made.status;
    out.set_content(std::move(made.body), made.type.c_str());
  }

  /// Chunks have no length that could be looked at before. What is too long is read on, and forgotten, so that the next
  /// request of the connection begins where it should.
  /// @param read_all  whether it does
  static std::string body_of(const httplib::Request& in, const httplib::ContentReader& read,
                             const httplib::Response& out, bool& read_all) {
    const auto [encoding, last] = in.headers.equal_range("Content-Encoding");
    if (std::any_of(encoding, last, [](const auto& header) { return header.second != "identity"; }))
      throw RefusedBody{415, "the body is compressed: send it as it is, without Content-Encoding"};
    if (in.is_multipart_form_data())  // the library reads the parts of forms in another way, and throws in this one
      throw RefusedBody{415, "the body is a form: JSON is read here"};
    std::string body;
    bool too_long = false;
    read_all = read([&](const char* data, std::size_t size) {
      too_long |= body.size() + size > kMostBody_B;
      if (!too_long) body.append(data, size);
      return true;
    });
    if (too_long || out.status == 413) throw RefusedBody{413, kTooLong};
    if (!read_all) throw RefusedBody{out.status < 400 ? 400 : out.status, "the body did not come whole"};
    return body;
  }

  HttpHandler handler_;
  LimitedServer server_;
  std::atomic<bool> ended_ = false;
};

HttpServer::HttpServer(HttpHandler handler, std::size_t threads)
    : impl_(std::make_unique<Impl>(std::move(handler), threads)) {}
HttpServer::~HttpServer() = default;
int HttpServer::bind(const std::string& host, int port) { return impl_->bind(host, port); }
void HttpServer::bind(const std::string& path) { impl_->bind(path); }
void HttpServer::run() { impl_->run(); }
void HttpServer::stop() { impl_->stop(); }

}  // namespace linkcast::serve
