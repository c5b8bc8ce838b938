#pragma once
// What the service answers to each path.
#include <atomic>
#include <string>
#include <vector>

#include "cli/serve/http_server.hpp"
#include "cli/serve/metrics.hpp"
#include "cli/serve/node_states.hpp"
#include "cli/serve/placer.hpp"
#include "cli/serve/request_log.hpp"
#include "cli/serve/slurm_file.hpp"
#include "cli/serve/workers.hpp"

namespace linkcast::serve {

struct ServiceOptions {
  std::vector<std::string> platforms{};  ///< served; empty: all
  std::string state{};                   ///< file of what nodes run; empty: kept in memory only
  std::string slurm{};                   ///< file of nodes as Slurm says they are, see SlurmFile; may be empty
  std::string log{};                     ///< file of requests; empty: none
  std::string token{};                   ///< who does not send it may ask for health alone; empty: everybody may all
  WorkersOptions workers{};
};

class Service {
 public:
  /// @throws InputError
  Service(const std::string& data_dir, const ServiceOptions& options);

  /// Forecasts what is likely to be asked.
  void warm(const std::string& job, log::Progress& progress);
  /// Prepares the platforms while nobody asks. @param job  of any size: what it needs serves all sizes
  void warm_while_idle(const std::string& job);
  /// From any thread. Bad input is answered, nothing is thrown. The body is read once the token is right.
  HttpReply answer(HttpRequest request);
  /// From now on /readyz says that no more requests should come.
  void end() { ending_ = true; }

 private:
  HttpReply caught(const std::string& route, HttpRequest& request);
  HttpReply dispatch(const std::string& route, HttpRequest& request);
  HttpReply node(const HttpRequest& request);
  /// 503 if too many wait, 504 past the deadline.
  HttpReply by_worker(const HttpRequest& request, std::function<Json(Placer&)> make);
  [[nodiscard]] HttpReply readiness() const;
  HttpReply kubernetes(const HttpRequest& request, bool filter);
  HttpReply slurm(const HttpRequest& request);
  [[nodiscard]] std::string metrics_text() const;

  ServiceOptions options_;
  NodeStates nodes_;
  SlurmFile slurm_nodes_;
  RequestLog log_;
  Metrics metrics_;
  std::atomic<bool> ending_ = false;
  Workers workers_;  ///< ends first: its tasks use the others
};

}  // namespace linkcast::serve
