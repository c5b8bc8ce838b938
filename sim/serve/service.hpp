#pragma once
// What the service answers to each path.
#include <string>
#include <vector>

#include "sim/serve/http_server.hpp"
#include "sim/serve/metrics.hpp"
#include "sim/serve/node_states.hpp"
#include "sim/serve/one_thread.hpp"
#include "sim/serve/placer.hpp"
#include "sim/serve/slurm_file.hpp"

namespace linkcast::serve {

class Service {
 public:
  /// @param catalogue  used by nobody else as long as this is. @param platforms  served; empty: all.
  /// @param state_file  of what nodes run; empty: kept in memory only. @param slurm_file  of nodes as Slurm says they
  /// are, see SlurmFile; may be empty. @throws InputError
  Service(catalogue::Catalogue& catalogue, const std::vector<std::string>& platforms, const std::string& state_file,
          const std::string& slurm_file);

  /// Forecasts what is likely to be asked.
  void warm(const std::string& job, log::Progress& progress);
  /// From any thread. Bad input is answered, nothing is thrown.
  HttpReply answer(const HttpRequest& request);

 private:
  HttpReply dispatch(const std::string& route, const HttpRequest& request);
  HttpReply node(const HttpRequest& request);
  /// Of what one thread only may do; 503 if too many wait.
  HttpReply by_placer(const std::function<Json()>& make);
  HttpReply kubernetes(const HttpRequest& request, bool filter);
  HttpReply slurm(const HttpRequest& request);
  [[nodiscard]] std::string metrics_text() const;

  Placer placer_;
  NodeStates nodes_;
  SlurmFile slurm_nodes_;
  Metrics metrics_;
  OneThread placer_thread_;  ///< ends first: its tasks use the others
};

}  // namespace linkcast::serve
