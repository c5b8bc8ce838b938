#include "sim/serve/workers.hpp"

#include <future>
#include <utility>

namespace linkcast::serve {
namespace {

using SteadyClock = work::Scope::Clock;

constexpr std::chrono::milliseconds kLook{50};   // ours: how soon a client that went is noticed
constexpr std::chrono::milliseconds kGrace{500};  // ours: what does not look in time is no longer waited for

}  // namespace

struct Workers::Job {
  Task task;
  SteadyClock::time_point deadline{};
  work::StopFlag flag{};
  std::promise<std::string> answer{};

  void run(Placer& placer) {
    try {
      const work::Scope scope(flag, deadline);
      if (SteadyClock::now() >= deadline) throw work::Stopped{work::Why::kDeadline};  // it waited too long
      answer.set_value(task(placer));
    } catch (const work::Stopped& stop) {
      answer.set_exception(std::make_exception_ptr(stop.why == work::Why::kGone ? Unanswered::kGone
                                                                                : Unanswered::kDeadline));
    } catch (...) {
      answer.set_exception(std::current_exception());
    }
  }
};

Workers::Workers(const std::string& data_dir, const std::vector<std::string>& platforms, const WorkersOptions& options)
    : options_(options) {
  for (std::size_t i = 0; i < options.threads; ++i) {
    auto catalogue = std::make_unique<catalogue::Catalogue>(data_dir);
    auto placer = std::make_unique<Placer>(*catalogue, platforms);
    workers_.push_back({std::move(catalogue), std::move(placer)});
  }
  for (Worker& worker : workers_) worker.thread = std::thread([this, &worker] { work(worker); });
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  come_.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
}

std::string Workers::ask(Task task, const std::function<bool()>& gone) {
  const auto job = std::make_shared<Job>();
  job->task = std::move(task);
  job->deadline = SteadyClock::now() + options_.deadline;
  std::future<std::string> answer = job->answer.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (jobs_.size() >= options_.most_waiting) throw Unanswered::kTooMany;
    jobs_.push_back(job);
  }
  come_.notify_one();
  while (answer.wait_for(kLook) != std::future_status::ready) {
    if (gone && gone()) job->flag.raise(work::Why::kGone);
    if (SteadyClock::now() > job->deadline + kGrace) throw Unanswered::kDeadline;
    if (job->flag.why() != work::Why::kGoesOn) throw Unanswered::kGone;
  }
  return answer.get();
}

void Workers::each(const std::function<void(Placer&)>& what) {
  const std::lock_guard<std::mutex> lock(mutex_);  // before the first question: all of them wait
  for (Worker& worker : workers_) what(*worker.placer);
}

std::size_t Workers::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return jobs_.size();
}

bool Workers::ready() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !ending_ && jobs_.size() < options_.most_waiting;
}

void Workers::work(Worker& worker) {
  while (true) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      come_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job->run(*worker.placer);
  }
}

}  // namespace linkcast::serve
