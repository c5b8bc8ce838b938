#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "sim/placement/place.hpp"
#include "sim/serve/http_server.hpp"
#include "sim/serve/service.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kConnections = 64;  // ours: served at once; a scheduler keeps a few open

struct ServeOptions {
  std::string host = "127.0.0.1", state;
  int port = 8090;
  std::vector<std::string> platforms, warm;
};

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

  [[nodiscard]] bool came() const {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
  }
  void wait() const {
    int which = 0;
    sigwait(&set_, &which);
  }

 private:
  sigset_t set_{};
};

void warm(serve::Service& service, const EndSignals& signals, const std::vector<std::string>& jobs) {
  auto last = std::chrono::steady_clock::now();
  placement::tell_search([&](long /*evaluated*/) {
    if (signals.came()) throw Interrupted();
  });
  try {
    for (const std::string& job : jobs)
      service.warm(job, [&](long done) {
        if (std::chrono::steady_clock::now() - last < std::chrono::seconds(2)) return;
        last = std::chrono::steady_clock::now();
        std::cerr << "serve: warming " << job << ", " << done << " placements\n";
      });
  } catch (const Interrupted&) {  // the signal is still there to be waited for
  }
  placement::tell_search([](long /*evaluated*/) {});
}

void serve(Context& context, const ServeOptions& o) {
  const EndSignals signals;
  serve::Service service(context.catalogue(), o.platforms, o.state);
  warm(service, signals, o.warm);
  serve::HttpServer server([&](const serve::HttpRequest& request) { return service.answer(request); }, kConnections);
  const int port = server.bind(o.host, o.port);
  std::cout << "listening on http://" << o.host << ':' << port << std::endl;
  const pthread_t waiting = pthread_self();
  std::atomic<bool> told = false;
  std::thread listener([&] {
    server.run();
    if (!told) pthread_kill(waiting, SIGTERM);  // it cannot listen any longer
  });
  signals.wait();
  told = true;
  signals.release();
  std::cerr << "serve: ending, no new connections; a second signal does not wait\n";
  server.stop();
  listener.join();
}

}  // namespace

void add_serve(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("serve", "answer placements and queries over HTTP, also Kubernetes' scheduler");
  auto o = std::make_shared<ServeOptions>();
  command->add_option("--port", o->port, "TCP port; 0: any that is free, which is printed (default: 8090)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--host", o->host, "address to listen at (default: 127.0.0.1, this machine only)");
  command
      ->add_option("-p,--platform", o->platforms,
                   "platform or calibration file that may be asked for; repeatable (default: every shipped one)")
      ->allow_extra_args(false);
  command
      ->add_option("--warm", o->warm,
                   "place this job, e.g. all_reduce:64MiB, on the platforms in every state before the first request; "
                   "repeatable")
      ->type_name("JOB")
      ->allow_extra_args(false);
  command->add_option("--state", o->state, "file that keeps what nodes run (default: forgotten at the end)");
  command->footer("Example:\n  linkcast serve --platform v100-dgx1 --warm all_reduce:64MiB --state nodes.json");
  command->callback([o, &context] { serve(context, *o); });
}

}  // namespace linkcast::cli
