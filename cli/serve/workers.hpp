#pragma once
// Threads that forecast, each with machines and memories of its own: a slow question holds up one of them, until its
// deadline. The first one takes what it can, so that it remembers what was asked; the others help out where it is slow.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/serve/node_states.hpp"
#include "sim/base/limits.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/place/slurm.hpp"
#include "sim/query/key.hpp"

namespace linkcast::serve {

// Answers of the service that need forecasts, and what it remembers for them. For one thread.

class Placer {
 public:
  /// @param served  platforms that may be asked for; empty: all shipped ones. @throws InputError  one is not known
  Placer(catalogue::Catalogue& catalogue, std::vector<std::string> served);

  [[nodiscard]] const std::vector<std::string>& served() const { return served_; }
  [[nodiscard]] int gpus(const std::string& platform) { return catalogue_.machine(platform)->platform().gpu_count(); }
  /// [{id, gpus}]
  Json platforms();

  /// A line of a batch. @throws InputError  also for what would read files, or run programs
  Json query(const Json& query);
  /// The same of kind "place", which need not be said.
  Json place(const Json& query);
  /// A benchmark's output. @param request  {platform, log, edits, force}: see SentLog
  Json diagnose(const Json& request);
  int free_gpus(const Json& node);
  /// Time of the best placement on a node; kept. @param node  {platform, busy, with}, see NodeStates
  double time_s(const Json& node, const std::string& job, int ranks);
  /// @throws InputError  the job cannot be read, has sizes of other ranks or is not here, or the platform, if one is
  ///                     said, is not served
  void check_job(const std::string& job, int ranks, const std::string& platform, const std::string& name);
  std::string platform_of_labels(const GpuLabels& labels, const std::string& wanted) {
    return serve::platform_of_labels(catalogue_, served_, labels, wanted);
  }
  /// Nodes for a job of Slurm: what was posted of them, else what Slurm's file says.
  std::vector<placement::NodeCandidate> candidates(const NodeStates::Nodes& posted,
                                                   const placement::SlurmNodes& listed);
  /// As place_slurm_job(), or {job_id, waits: why} where no node has room now.
  Json place_slurm(const Json& job, const std::vector<placement::NodeCandidate>& known, const std::string& name);
  /// A node's state as it is kept: GPUs as numbers. @param name  stands for the file in errors
  Json node_state(const Json& state, const std::string& name);

  /// Places a job with every number of ranks on a platform, on each way its GPUs can be busy: one after the other until
  /// false is returned.
  class Warming {
   public:
    Warming(Placer& placer, std::string platform, std::string job);
    bool next();
    [[nodiscard]] long done() const { return done_; }

   private:
    Placer& placer_;
    std::string platform_, job_;
    int gpus_;
    unsigned busy_ = 0;  ///< a bit a GPU
    int ranks_ = 0;
    long done_ = 0;
  };

 private:
  void refuse(const Json& query, const std::string& name) const;
  /// Checks a query of this kind, or a part of one. @throws InputError  a value names a file, or may: query::Files
  void refuse_files(const std::string& kind, const Json& request, const std::string& name,
                    const std::string& pointer) const;
  void refuse_files(const query::KeyTable& table, const Json& request, const std::string& name,
                    const std::string& pointer) const;
  std::string platform_of(ObjectReader& r) const;
  void refuse_platform(const std::string& id, const std::string& name, const std::string& place) const;

  catalogue::Catalogue& catalogue_;
  std::vector<std::string> served_;
  placement::PlacementMemory memory_;
  placement::BoundedMap<std::string, double> times_;
};

/// What a worker is asked. It may outlive whoever asked: it owns what it needs.
using Task = std::function<std::string(Placer&)>;

struct WorkersOptions {
  std::size_t threads = 2;
  std::size_t most_waiting = 48;
  std::chrono::milliseconds deadline{10000};  ///< from asking to the answer
};

/// How a task ended that gave no answer.
enum class Unanswered { kTooMany, kDeadline, kGone };

class Workers {
 public:
  Workers(const std::string& data_dir, const std::vector<std::string>& platforms, const WorkersOptions& options);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  /// Does first what waits.
  ~Workers();

  /// Returns when it is done, and throws what it throws. Past its deadline, or once nobody waits for it, it is told to
  /// end, and not waited for.
  /// @param gone  asked now and then; may be empty. @throws Unanswered
  std::string ask(Task task, const std::function<bool()>& gone = {});
  /// What the first worker does from now on while nobody asks, a piece at a time, until false. A lone worker leaves a
  /// piece for a question, and begins it again later.
  void while_idle(std::function<bool(Placer&)> piece);
  /// Of each of the workers, one after the other, without a deadline.
  void each(const std::function<void(Placer&)>& what);
  [[nodiscard]] std::size_t waiting() const;
  /// One of them was free within the last second, and something can still wait.
  [[nodiscard]] bool ready() const;

 private:
  struct Job;
  struct Worker {
    std::unique_ptr<catalogue::Catalogue> catalogue;
    std::unique_ptr<Placer> placer;
    std::thread thread{};
  };
  void work(Worker& worker);
  std::shared_ptr<Job> next(std::unique_lock<std::mutex>& lock, bool first);
  [[nodiscard]] bool needs_help() const;
  void idle(std::unique_lock<std::mutex>& lock);

  WorkersOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable come_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::function<bool(Placer&)> idle_{};
  std::optional<work::Scope::Clock::time_point> first_since_{};     ///< of its question or piece; none: it is free
  work::StopFlag* preparing_ = nullptr;                             ///< of the piece that the first worker is at
  std::size_t busy_ = 0;                                            ///< threads that answer a question
  std::optional<work::Scope::Clock::time_point> all_busy_since_{};  ///< none: one is free
  bool ending_ = false;
  std::vector<Worker> workers_;
};

}  // namespace linkcast::serve
