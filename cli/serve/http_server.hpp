#pragma once
// HTTP/1.1 as far as a service needs it: a request with a whole body in, a reply with a whole body out.
// The service decides from the head of a request whether its body is read at all.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace linkcast::serve {

/// Refused by the rules of HTTP alone. Compressed bodies are, since a few bytes can stand for more than any memory
/// holds.
struct Refused {
  int status = 400;
  std::string why;
};

struct HttpRequest {
  std::string method;            ///< GET, POST, DELETE
  std::string path;              ///< decoded, without what follows a question mark
  std::string body{};            ///< empty until the handler has read it
  std::string authorization{};   ///< of the header
  std::string host{}, origin{};  ///< of the headers; origin: the page that asks, where a browser does
  /// The body as it was sent, at most kMostBody_B; may be empty: the request has none. Called once at most; where it is
  /// not called, the reply is the last one of its connection.
  /// @throws Refused  too long, compressed, a form, or it did not come
  std::function<std::string()> read_body{};
  std::function<bool()> gone{};  ///< whether its client has closed the connection; may be empty
  /// It is no request that can be understood: the handler counts it and replies with this, the last reply of its
  /// connection. Method and path may be empty then.
  std::optional<Refused> refused{};
};

struct HttpReply {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
};

/// {"error": what}
HttpReply error_reply(int status, const std::string& what);

/// localhost, 127.x.x.x or ::1
bool is_this_machine(const std::string& host);

/// Asked by several threads at once.
using HttpHandler = std::function<HttpReply(HttpRequest)>;

inline constexpr std::size_t kMostBody_B = 1048576, kMostHead_B = 65536;

/// Each connection has a thread of a pool; while others find none, one that waits for its client ends after 0.2 s. A
/// body above kMostBody_B is answered 413 and never held in memory; a request that takes longer than ten seconds to
/// arrive, or has a longer head than kMostHead_B, ends its connection. A request whose end is ambiguous is refused, and
/// the last one of its connection: a proxy may take it to end elsewhere (RFC 9112, section 6.3). Ranges are ignored.
class HttpServer {
 public:
  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  virtual ~HttpServer() = default;

  /// @param port  0: any that is free. @returns  the port. @throws InputError  it cannot be had
  virtual int bind(const std::string& host, int port) = 0;
  /// A socket of this machine's file system instead, for its owner alone. @throws InputError  it cannot be made
  virtual void bind(const std::string& path) = 0;
  /// Serves until stop(), and answers what has come in by then.
  virtual void run() = 0;
  /// From any thread, also before run().
  virtual void stop() = 0;
};

/// A server out of a module that is loaded here: its library brings TLS and Brotli, which every start would pay for.
/// @param threads  connections served at once. @throws InputError  the module or one of its
/// libraries is missing
std::unique_ptr<HttpServer> http_server(HttpHandler handler, std::size_t threads);

}  // namespace linkcast::serve
