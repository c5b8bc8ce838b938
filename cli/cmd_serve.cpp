#include <fmt/format.h>
#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/serve/http_server.hpp"
#include "cli/serve/service.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/log.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kConnections = 64;  // ours: served at once; a scheduler keeps a few open
constexpr int kMostWorkers = 256;

struct ServeOptions {
  std::string host = "127.0.0.1", socket, token_file, deadline = "10s";
  int port = 8090, workers = 0;
  bool page = false, browser = true;  ///< said and opened, for somebody who looks at it
  std::vector<std::string> warm;
  serve::ServiceOptions service;
};

/// Its first line. @throws InputError  none, or one that others could guess
std::string read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!file || !std::getline(file, token)) throw InputError("--token-file: " + path + ": no such file, or empty");
  constexpr std::size_t kLeast = 16;  // source: ours, 64 bits written in hexadecimal
  if (token.size() < kLeast || token.find_first_of(" \t\r") != std::string::npos)
    throw InputError("--token-file: " + path + ": its first line must be a token of at least " +
                     std::to_string(kLeast) + " characters without spaces");
  return token;
}

/// Forecasts need memory each, and one core each.
std::size_t usual_workers() { return std::clamp(std::thread::hardware_concurrency(), 2U, 4U); }

void settle(ServeOptions& o) {
  constexpr double kMilli = 1000, kMost_ms = 1e12;  // source: definition; 30 years for none
  o.service.workers.deadline = std::chrono::milliseconds(
      static_cast<long>(std::min(kMost_ms, kMilli * work::parse_time_limit(o.deadline, "--deadline"))));
  o.service.workers.threads = o.workers > 0 ? static_cast<std::size_t>(o.workers) : usual_workers();
  if (!o.token_file.empty()) o.service.token = read_token(o.token_file);
  if (o.socket.empty() && !serve::is_this_machine(o.host) && o.token_file.empty())
    throw InputError("--host: " + o.host + " can be reached from other machines: --token-file is needed");
  o.service.local_names = o.socket.empty() && o.token_file.empty();
}

/// In the browser of this desktop, if there is one.
void open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  std::string program = "xdg-open", words = address;
  char* const arguments[] = {program.data(), words.data(), nullptr};
  pid_t child = 0;
  static_cast<void>(::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ));  // it is a courtesy
}

/// @source  RFC 3986, section 2.1; unreserved characters and slashes stay
std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-._~/", c) != nullptr)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return encoded;
}

/// Where the page is, on the first platform that was named.
std::string page_address(const ServeOptions& o, int port) {
  const std::vector<std::string>& platforms = o.service.platforms;
  return "http://" + o.host + ":" + std::to_string(port) + "/" +
         (platforms.empty() ? "" : "#platform=" + percent_encoded(platforms.front()));
}

/// SIGTERM and Ctrl-C, held back for this thread and those that it starts, so that one place waits for them.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { release(); }
  /// From then on a signal ends the program at once.
  void release() const { pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

  [[nodiscard]] bool pending() const {
    sigset_t waiting;
    sigpending(&waiting);
    return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1;
  }
  void wait() const {
    int which = 0;
    sigwait(&set_, &which);
  }

 private:
  sigset_t set_{};
};

/// Passes on, and ends the work once a signal is pending.
class UntilSignal final : public log::Progress {
 public:
  UntilSignal(const EndSignals& signals, log::Progress& shown) : signals_(signals), shown_(shown) {}
  void start(const std::string& what, const std::string& unit, std::int64_t total) override {
    shown_.start(what, unit, total);
  }
  void advance(std::int64_t done, std::string_view text) override {
    if (signals_.pending()) throw work::Stopped();
    shown_.advance(done, text);
  }
  void finish() override { shown_.finish(); }

 private:
  const EndSignals& signals_;
  log::Progress& shown_;
};

void warm(Context& context, serve::Service& service, const EndSignals& signals, const std::vector<std::string>& jobs) {
  UntilSignal progress(signals, context.progress());
  context.catalogue().show_progress(progress);
  try {
    for (const std::string& job : jobs) service.warm(job, progress);
  } catch (const work::Stopped&) {  // the signal is still there to be waited for
  }
  context.hide_progress();  // many wait for answers, nobody watches them
}

void serve(Context& context, ServeOptions& o) {
  settle(o);
  const EndSignals signals;
  serve::Service service(context.catalogue().data_dir(), o.service);
  warm(context, service, signals, o.warm);
  if (o.warm.empty()) service.warm_while_idle("all_reduce:64MiB");  // what most jobs do most
  const std::unique_ptr<serve::HttpServer> server =
      serve::http_server([&](serve::HttpRequest request) { return service.answer(std::move(request)); }, kConnections);
  if (o.socket.empty()) {
    const int port = server->bind(o.host, o.port);
    if (o.page)
      std::cout << "the page is at " << page_address(o, port) << "\nCtrl-C ends it" << std::endl;
    else
      std::cout << "listening on http://" << o.host << ':' << port << std::endl;
    if (o.page && o.browser) open_browser(page_address(o, port));
  } else {
    server->bind(o.socket);
    std::cout << "listening on " << o.socket << std::endl;
  }
  const pthread_t waiting = pthread_self();
  std::atomic<bool> ending = false;
  std::thread listener([&] {
    server->run();
    if (!ending) pthread_kill(waiting, SIGTERM);  // it cannot listen any longer
  });
  signals.wait();
  ending = true;
  signals.release();
  log::Log("cli").note("serve: ending, no new connections; a second signal does not wait");
  service.end();
  server->stop();
  listener.join();
  if (!o.socket.empty()) std::filesystem::remove(o.socket);
}

}  // namespace

void add_serve(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("serve", "answer placements and queries over HTTP, also Kubernetes' scheduler");
  auto o = std::make_shared<ServeOptions>();
  command->add_option("--port", o->port, "TCP port; 0: any that is free, which is printed (default: 8090)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--host", o->host, "address to listen at (default: 127.0.0.1, this machine only)");
  command
      ->add_option("-p,--platform", o->service.platforms,
                   "platform or calibration file that may be asked for; repeatable (default: every shipped one)")
      ->allow_extra_args(false);
  command
      ->add_option("--warm", o->warm,
                   "place this job, e.g. all_reduce:64MiB, on the platforms in every state before the first request; "
                   "repeatable")
      ->type_name("JOB")
      ->allow_extra_args(false);
  command->add_option("--state", o->service.state, "file that keeps what nodes run (default: forgotten at the end)");
  command
      ->add_option("--free", o->service.slurm,
                   "what 'scontrol show nodes --json' prints: free GPUs of nodes for /v1/slurm; read again when it "
                   "changes")
      ->type_name("FILE");
  command->add_option("--socket", o->socket, "listen at this Unix socket instead, which its owner alone may use");
  command->add_option("--token-file", o->token_file,
                      "file with a token: requests need 'Authorization: Bearer TOKEN', but for /healthz and /readyz");
  command->add_option("--log", o->service.log, "file to which each request adds a line of JSON");
  command->add_option("--deadline", o->deadline, "answered 504 after so long (default: 10s)")->type_name("TIME");
  command->add_option("--workers", o->workers, "threads that forecast (default: one a core, 2 to 4)")
      ->check(CLI::Range(1, kMostWorkers));
  command->footer("Example:\n  linkcast serve --platform v100-dgx1 --warm all_reduce:64MiB --state nodes.json");
  command->callback([o, &context] { serve(context, *o); });
}

void add_ui(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("ui", "the interactive page: change a machine, ask it, see why");
  auto o = std::make_shared<ServeOptions>();
  o->page = true;
  o->port = 0;
  command->add_option("--port", o->port, "TCP port of this machine (default: any that is free)")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("-p,--platform", o->service.platforms,
                   "platform or calibration file to offer, the first to begin with; repeatable (default: every "
                   "shipped one)")
      ->allow_extra_args(false);
  command->add_flag("!--no-browser", o->browser, "print the address, open nothing");
  command->footer("Example:\n  linkcast ui --platform v100-dgx1");
  command->callback([o, &context] { serve(context, *o); });
}

}  // namespace linkcast::cli
