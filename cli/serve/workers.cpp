#include "cli/serve/workers.hpp"

#include <future>
#include <utility>

namespace linkcast::serve {
namespace {

using SteadyClock = work::Scope::Clock;

constexpr std::chrono::milliseconds kLook{50};    // ours: how soon a client that went is noticed
constexpr std::chrono::milliseconds kGrace{500};  // ours: what does not look in time is no longer waited for

constexpr std::chrono::milliseconds kPatience{20};  // ours: placements take a few; what takes longer is slow
constexpr std::chrono::milliseconds kIdle{1};       // ours: without a question, before something is prepared

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
      answer.set_exception(
          std::make_exception_ptr(stop.why == work::Why::kGone ? Unanswered::kGone : Unanswered::kDeadline));
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
    if (workers_.size() == 1 && preparing_) preparing_->raise(work::Why::kInterrupted);  // nobody else can help
  }
  come_.notify_all();  // the first one takes it, the others look whether it is slow
  while (answer.wait_for(kLook) != std::future_status::ready) {
    if (gone && gone()) job->flag.raise(work::Why::kGone);
    if (job->flag.why() == work::Why::kGone) throw Unanswered::kGone;
    const auto now = SteadyClock::now();
    if (now > job->deadline) job->flag.raise(work::Why::kDeadline);  // looks see a flag at once, and a clock seldom
    if (now > job->deadline + kGrace) throw Unanswered::kDeadline;
  }
  return answer.get();
}

void Workers::each(const std::function<void(Placer&)>& what) {
  const std::lock_guard<std::mutex> lock(mutex_);  // before the first question: all of them wait
  for (Worker& worker : workers_) what(*worker.placer);
}

void Workers::while_idle(std::function<bool(Placer&)> piece) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_ = std::move(piece);
  }
  come_.notify_all();
}

std::size_t Workers::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return jobs_.size();
}

bool Workers::ready() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !ending_ && jobs_.size() < options_.most_waiting;
}

/// The first one has been at its question, or at what it prepares, for long.
bool Workers::needs_help() const {
  return !jobs_.empty() && first_since_ && SteadyClock::now() - *first_since_ > kPatience;
}

/// A piece of what is done while nobody asks, without the lock.
void Workers::idle(std::unique_lock<std::mutex>& lock) {
  auto piece = std::exchange(idle_, {});
  work::StopFlag flag;
  preparing_ = &flag;
  first_since_ = SteadyClock::now();
  lock.unlock();
  bool more = false;
  try {
    const work::Scope scope(flag);
    more = piece(*workers_.front().placer);
  } catch (const InputError&) {  // a platform that cannot: nothing to prepare
  } catch (const work::Stopped&) {
    more = true;  // once more, when nobody asks
  }
  lock.lock();
  first_since_.reset();
  preparing_ = nullptr;
  if (more) idle_ = std::move(piece);
}

/// Null: the end.
std::shared_ptr<Workers::Job> Workers::next(std::unique_lock<std::mutex>& lock, bool first) {
  while (!ending_ || !jobs_.empty()) {
    if (!jobs_.empty() && (first || ending_ || needs_help())) {
      std::shared_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      return job;
    }
    if (first && idle_ && !come_.wait_for(lock, kIdle, [this] { return ending_ || !jobs_.empty(); }))
      idle(lock);
    else if (first)
      come_.wait(lock, [this] { return ending_ || !jobs_.empty() || idle_; });
    else if (jobs_.empty())
      come_.wait(lock);
    else
      come_.wait_for(lock, kPatience);
  }
  return nullptr;
}

void Workers::work(Worker& worker) {
  const bool first = &worker == &workers_.front();
  std::unique_lock<std::mutex> lock(mutex_);
  while (const std::shared_ptr<Job> job = next(lock, first)) {
    if (first) first_since_ = SteadyClock::now();
    lock.unlock();
    job->run(*worker.placer);
    lock.lock();
    if (first) first_since_.reset();
  }
}

}  // namespace linkcast::serve
