#include <pthread.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "sim/log/log.hpp"
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

void serve(Context& context, const ServeOptions& o) {
  const EndSignals signals;
  serve::Service service(context.catalogue(), o.platforms, o.state);
  warm(context, service, signals, o.warm);
  serve::HttpServer server([&](const serve::HttpRequest& request) { return service.answer(request); }, kConnections);
  const int port = server.bind(o.host, o.port);
  std::cout << "listening on http://" << o.host << ':' << port << std::endl;
  const pthread_t waiting = pthread_self();
  std::atomic<bool> ending = false;
  std::thread listener([&] {
    server.run();
    if (!ending) pthread_kill(waiting, SIGTERM);  // it cannot listen any longer
  });
  signals.wait();
  ending = true;
  signals.release();
  log::Log("cli").note("serve: ending, no new connections; a second signal does not wait");
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
