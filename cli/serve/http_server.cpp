#include "cli/serve/http_server.hpp"

#include <arpa/inet.h>

#include "sim/base/object_reader.hpp"
#include "sim/engine/worker_program.hpp"

namespace linkcast::serve {

bool is_this_machine(const std::string& host) {
  in_addr address{};
  const bool loopback = host.rfind("127.", 0) == 0 && inet_pton(AF_INET, host.c_str(), &address) == 1;
  return loopback || host == "localhost" || host == "::1";
}

HttpReply error_reply(int status, const std::string& what) {
  return {status, write_quickly(Json{{"error", what}}) + "\n"};
}

std::unique_ptr<HttpServer> http_server(HttpHandler handler, std::size_t threads) {
  using Make = HttpServer*(HttpHandler*, std::size_t);
  auto* const make = reinterpret_cast<Make*>(module_symbol("liblinkcast_http.so", "linkcast_http_server"));
  return std::unique_ptr<HttpServer>(make(&handler, threads));
}

}  // namespace linkcast::serve
