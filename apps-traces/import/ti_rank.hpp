#pragma once
// Work of one rank of a time-independent trace, as events.
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "apps-traces/import/lines.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {

inline constexpr const char* kTiWorld = "world";
std::string lower(std::string text);

/// Blocking calls run one after the other on stream "0". A request has a stream of its own until it is waited for, and
/// starts after the blocking call before it.
class TiRank {
 public:
  /// @param flops  per second; 0: not said
  TiRank(int rank, int ranks, double flops, TraceSink& sink) : rank_(rank), ranks_(ranks), flops_(flops), sink_(sink) {}
  /// @param words  rank, name, parameters. @throws InputError  with the line
  void action(const std::vector<std::string>& words, const Lines& lines);

 private:
  struct Request {
    std::string key;  ///< who sends to whom with which tag, or that it is a collective
    std::int64_t id = 0;
    int stream = 0;
  };
  /// The parameters of an action, and where they stand.
  class Call;
  using Handler = void (TiRank::*)(const Call&);
  static const std::map<std::string, Handler>& handlers();

  void nothing(const Call& call);
  void init(const Call& call);
  void compute(const Call& call);
  void sleep(const Call& call);
  void message(const Call& call);
  void sendrecv(const Call& call);
  void wait(const Call& call);
  void wait_all(const Call& call);
  void barrier(const Call& call);
  void broadcast(const Call& call);
  void reduce(const Call& call);
  void all_reduce(const Call& call);
  void shared(const Call& call);
  void all_gather_v(const Call& call);
  void reduce_scatter(const Call& call);
  void gather_v(const Call& call);
  void scatter_v(const Call& call);
  void all_to_all_v(const Call& call);
  void scan(const Call& call);

  void put_compute(double time_s, const std::string& name, const std::vector<std::int64_t>& after = {});
  void put_flops(const Call& call, double flops);
  void put_collective(const Call& call, const std::string& op, double size_B);
  /// @param root  place of the parameter that names the root; the type stands behind it
  void put_rooted(const Call& call, const std::string& op, std::size_t root);
  /// Messages that move at the same time, and what comes next waits for all of them.
  void put_together(const std::string& tag, const std::map<int, double>& to, const std::map<int, double>& from);
  void put_message(TraceKind kind, int peer, double size_B, const std::string& tag, const std::string& key);
  std::int64_t put(TraceEvent event, bool is_request, const std::string& key);
  void wait_for(const std::vector<Request>& requests, const std::string& name);
  TraceEvent event(TraceKind kind, const std::string& name) const;

  int rank_, ranks_;
  double flops_;
  TraceSink& sink_;
  double default_element_B_ = 1;
  std::int64_t id_ = 0;
  std::int64_t last_blocking_ = 0;  ///< 0: none
  std::deque<Request> open_{};
  std::vector<int> free_streams_{};
  int streams_ = 0;
};

}  // namespace linkcast
