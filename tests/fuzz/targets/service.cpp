// The service: bodies to each path, and what comes in on a connection, byte by byte.
#include "cli/serve/service.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "cli/serve/http_server.hpp"
#include "tests/fuzz/targets/target.hpp"

namespace linkcast::fuzz {
namespace {

constexpr int kServerError = 500;  // source: RFC 9110, section 15.6.1: what a bug of ours is answered with

serve::Service& service() {
  static serve::Service one(data_dir(), [] {
    serve::ServiceOptions options;
    options.platforms = {"v100-dgx1", "p100-dgx1"};
    options.workers.threads = 1;
    options.workers.deadline = std::chrono::milliseconds(2000);
    return options;
  }());
  return one;
}

/// The first byte chooses the path.
void body(const Input& input) {
  static const std::vector<std::pair<std::string, std::string>> paths{
      {"POST", "/v1/place"},       {"POST", "/v1/query"},
      {"POST", "/v1/nodes/a"},     {"POST", "/v1/kubernetes/filter"},
      {"POST", "/v1/slurm/place"}, {"DELETE", "/v1/nodes/a"},
      {"GET", "/v1/slurm/nodes"},  {"POST", "/v1/kubernetes/prioritize"}};
  if (input.bytes.empty()) return;
  const auto& [method, path] = paths[static_cast<unsigned char>(input.bytes.front()) % paths.size()];
  const serve::HttpReply reply = service().answer({method, path, std::string(input.bytes.substr(1)), "", {}});
  if (reply.status == kServerError) found(method + " " + path + ": " + reply.body);
}

/// A service of its own on a Unix socket; it ends with the program.
const std::string& listening() {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()))).string();
  static serve::HttpServer& server = [&]() -> serve::HttpServer& {
    auto* made =  // until the program ends
        serve::http_server([](serve::HttpRequest request) { return service().answer(std::move(request)); }, 4)
            .release();
    std::filesystem::remove(path);
    made->bind(path);
    std::thread([made] { made->run(); }).detach();
    return *made;
  }();
  static_cast<void>(server);
  return path;
}

int connected(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  for (int tries = 0; connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0; ++tries) {
    if (tries == 1000) found("the service no longer takes connections");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fd;
}

/// All that comes in on a connection, up to its end.
void connection(const Input& input) {
  const int fd = connected(listening());
  constexpr timeval kPatience{20, 0};  // ours: the service closes a connection after ten seconds
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  std::size_t sent = 0;
  while (sent < input.bytes.size()) {
    const ssize_t more = send(fd, input.bytes.data() + sent, input.bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) break;  // refused half-way: too long
    sent += static_cast<std::size_t>(more);
  }
  shutdown(fd, SHUT_WR);
  std::string answer;
  char block[4096];
  ssize_t got = 0;
  while ((got = recv(fd, block, sizeof block, 0)) > 0) answer.append(block, static_cast<std::size_t>(got));
  const bool late = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  close(fd);
  if (late) found("no answer, and the connection is still open");
  if (!answer.empty() && answer.rfind("HTTP/1.1 ", 0) != 0) found("no HTTP: " + answer.substr(0, 200));
  if (answer.rfind("HTTP/1.1 500", 0) == 0) found(answer.substr(0, 500));
}

}  // namespace

std::vector<Target> service_targets() { return {{"http-body", "", body}, {"http-connection", "", connection}}; }

}  // namespace linkcast::fuzz
