#pragma once
// Counters of the service, in the text format of Prometheus.
// States of nodes from Slurm, in a file that is written again and again.
// Answers of the service to each path.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/serve/http_server.hpp"
#include "cli/serve/node_states.hpp"
#include "cli/serve/workers.hpp"
#include "sim/place/slurm.hpp"

namespace linkcast::serve {

/// Several threads may use it at once.
class Metrics {
 public:
  /// @param route  one of few: never what a client made up. @param taken_s  from the request to the reply
  void count(const std::string& route, int status, double taken_s);
  /// @source  Prometheus, Exposition formats: text format version 0.0.4
  [[nodiscard]] std::string text() const;

 private:
  // Upper bounds of the histogram, seconds. source: ours, around the 5 ms that a placement may take
  static constexpr std::array<double, 12> kBounds_s = {0.0005, 0.001, 0.002, 0.003, 0.005, 0.01,
                                                       0.02,   0.05,  0.1,   0.5,   1,     10};
  struct Histogram {
    std::array<std::uint64_t, kBounds_s.size() + 1> counts{};  ///< each in one; the last beyond all bounds
    double sum_s = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Histogram> histograms_;
};

/// One line of JSON a request, added to a file: what is in it was answered.
class RequestLog {
 public:
  /// @param file  empty: none. @throws InputError  it cannot be written
  explicit RequestLog(const std::string& file);
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;
  ~RequestLog();

  /// From any thread. A full disk costs lines, not answers.
  void add(const std::string& method, const std::string& route, int status, double taken_s, std::size_t in_B,
           std::size_t out_B) const;

 private:
  int file_ = -1;
};

/// Several threads may use it at once.
class SlurmFile {
 public:
  /// @param file  empty: there is none, and no nodes. @throws InputError  as nodes()
  explicit SlurmFile(std::string file);
  /// As the file says now: read again when it has changed. @throws InputError  it cannot be read, or no longer
  std::shared_ptr<const placement::SlurmNodes> nodes();

 private:
  std::string file_;
  std::mutex mutex_;
  std::filesystem::file_time_type written_{};
  std::uintmax_t size_B_ = 0;
  std::shared_ptr<const placement::SlurmNodes> nodes_;
};

struct ServiceOptions {
  std::vector<std::string> platforms{};  ///< served; empty: all
  std::string state{};                   ///< file of what nodes run; empty: kept in memory only
  bool local_names = false;  ///< only hosts named localhost or by address of this machine: browsers, and no token
  std::string slurm{};       ///< file of nodes as Slurm says they are, see SlurmFile; may be empty
  std::string log{};         ///< file of requests; empty: none
  std::string token{};       ///< who does not send it may ask for health alone; empty: everybody may all
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
  struct Endpoint;
  static std::string route_of(const std::string& path);
  HttpReply caught(HttpRequest& request);
  HttpReply dispatch(HttpRequest& request);
  HttpReply node(const HttpRequest& request);
  /// 503 if too many wait, 504 past the deadline.
  HttpReply by_worker(const HttpRequest& request, std::function<Json(Placer&)> make);
  [[nodiscard]] HttpReply readiness() const;
  HttpReply kubernetes(const HttpRequest& request, bool filter);
  HttpReply slurm(const HttpRequest& request, bool place);
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
