#include "cli/serve/workers.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include "cli/serve/log_diagnosis.hpp"
#include "cli/serve/openapi.hpp"
#include "sim/base/log.hpp"
#include "sim/place/query/place_answer.hpp"
#include "sim/query/gpu_values.hpp"
#include "sim/query/query.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::serve {
namespace {

constexpr const char* kName = "query";
constexpr const char* kPlace = "place";
constexpr std::size_t kMostTimes = 100000;  // source: ours, about 0.2 kB each
constexpr int kMostWarmed = 8;              // ours: GPUs of a node whose busy sets, 256, are all gone through

bool is_file_name(const std::string& text) {
  std::error_code no_name;  // too long for one
  return text.find('/') != std::string::npos || std::filesystem::exists(text, no_name) || no_name;
}

/// A name that is no file's is left to whoever reads the trace: it opens nothing.
void refuse_trace(const Json& value, const std::string& name, const std::string& place) {
  if (value.is_object() && value.contains("trace")) refuse_trace(value["trace"], name, place + "/trace");
  if (value.is_string() && is_file_name(value.get<std::string>()))
    throw InputError(name, place, "files are not read here: a shipped trace or an application");
}

}  // namespace

Placer::Placer(catalogue::Catalogue& catalogue, std::vector<std::string> served)
    : catalogue_(catalogue), served_(std::move(served)), times_(kMostTimes) {
  if (served_.empty()) served_ = catalogue.platforms();
  for (const std::string& id : served_) static_cast<void>(catalogue_.machine(id));
}

Json Placer::platforms() {
  Json list = Json::array();
  for (const std::string& id : served_) list.push_back({{"id", id}, {"gpus", gpus(id)}});
  return list;
}

void Placer::refuse(const Json& query, const std::string& name) const {
  ObjectReader r(query, name);
  static_cast<void>(platform_of(r));
  if (r.optional<std::string>(kSolver).value_or(kServedSolver) != kServedSolver)
    r.fail(kSolver, std::string("only ") + kServedSolver + " is served");
  const Json kind = query.value("kind", Json(kPlace));
  if (kind.is_string()) refuse_files(kind.get<std::string>(), query, name, "");
}

void Placer::refuse_files(const std::string& kind, const Json& request, const std::string& name,
                          const std::string& pointer) const {
  refuse_files(query::common_keys(), request, name, pointer);
  if (const auto* found = query::query_kinds().find(kind)) refuse_files(found->keys(), request, name, pointer);
}

void Placer::refuse_files(const query::KeyTable& table, const Json& request, const std::string& name,
                          const std::string& pointer) const {
  for (const auto& item : request.items()) {
    const query::Key* key = query::find_key(table, item.key());
    if (key == nullptr) continue;  // its kind refuses it
    const std::string place = pointer + "/" + item.key();
    if (key->files == query::Files::kFile) throw InputError(name, place, "names a file, and files are not read here");
    if (key->files == query::Files::kTrace) refuse_trace(item.value(), name, place);
    if (key->files == query::Files::kUnsaid && query::may_name_file(*key))
      throw InputError(name, place, "is not served: it may name a file");
    if (key->fields.empty() || !item.value().is_structured()) continue;
    if (item.value().is_object()) refuse_files(key->fields, item.value(), name, place);
    for (std::size_t i = 0; item.value().is_array() && i < item.value().size(); ++i)
      if (item.value()[i].is_object())
        refuse_files(key->fields, item.value()[i], name, place + "/" + std::to_string(i));
  }
}

std::string Placer::platform_of(ObjectReader& r) const {
  auto id = r.required<std::string>("platform");
  refuse_platform(id, r.file(), r.pointer("platform"));
  return id;
}

void Placer::refuse_platform(const std::string& id, const std::string& name, const std::string& place) const {
  if (std::find(served_.begin(), served_.end(), id) != served_.end()) return;
  std::string list;
  for (const std::string& one : served_) list += (list.empty() ? "" : ", ") + one;
  throw InputError(name, place, "'" + id + "' is not served: one of " + list);
}

Json Placer::query(const Json& query) {
  if (query.is_object() && query.value("kind", Json()) == "place") return place(query);
  refuse(query, kName);
  return query::answer_or_throw(catalogue_, query, kName);
}

Json Placer::place(const Json& asked) {
  refuse(asked, kName);
  Json query = asked;
  if (!query.contains("kind")) query["kind"] = "place";
  if (query["kind"] != "place") throw InputError(kName, "/kind", "must be place here: /v1/query answers the others");
  return query::answer_or_throw(catalogue_, query, kName, [&](const catalogue::MachinePtr& machine, ObjectReader& r) {
    return placement::to_json(placement::place(catalogue_, placement::read_place_request(machine, r), memory_));
  });
}

Json Placer::diagnose(const Json& request) {
  ObjectReader r(request, kName);
  SentLog sent{platform_of(r), r.required<std::string>("log")};
  sent.edits = r.optional<std::vector<std::string>>("edits").value_or(sent.edits);
  sent.force = r.optional<bool>("force").value_or(false);
  r.finish();
  refuse({{"platform", sent.platform}, {"edits", sent.edits}}, kName);
  return diagnose_sent(catalogue_, sent);
}

int Placer::free_gpus(const Json& node) {
  ObjectReader r(node, "node");
  const Platform& platform = catalogue_.machine(platform_of(r))->platform();
  return platform.gpu_count() - static_cast<int>(placement::read_node_use(platform, r).busy.size());
}

double Placer::time_s(const Json& node, const std::string& job, int ranks) {
  Json query{{"kind", "place"}, {"job", job}, {"ranks", ranks}, {"top", 1}};
  query.update(node);
  const std::string key = query.dump();
  if (const double* known = times_.find(key)) return *known;
  return times_.put(key, place(query)["time_s"].get<double>());
}

void Placer::check_job(const std::string& job, int ranks, const std::string& platform, const std::string& name) {
  if (!platform.empty()) refuse_platform(platform, name, "/platform");
  const Json asked{{"job", job}};
  refuse_files(kPlace, asked, name, "");
  ObjectReader r(asked, name);
  placement::check_sizes(placement::read_job(r), ranks, r);
}

std::vector<placement::NodeCandidate> Placer::candidates(const NodeStates::Nodes& posted,
                                                         const placement::SlurmNodes& listed) {
  std::vector<placement::NodeCandidate> all;
  for (const auto& [name, state] : posted) all.push_back({name, "/nodes/" + name, state});
  for (const placement::SlurmNode& node : listed.nodes) {
    if (posted.count(node.name) > 0) continue;
    try {
      if (!node.platform.empty()) refuse_platform(node.platform, "feature", "linkcast");
      all.push_back(placement::candidate_of(catalogue_, node, "", nullptr));
    } catch (const InputError& error) {
      all.push_back({node.name, "", {}, error.what()});
    }
    all.back().place = "/nodes/" + node.name;
  }
  return all;
}

Json Placer::place_slurm(const Json& job, const std::vector<placement::NodeCandidate>& known, const std::string& name) {
  const placement::SlurmJob read = placement::read_slurm_job(job, name, known);
  refuse_files(kPlace, read.query, name, "/comment");
  for (const placement::NodeCandidate& node : read.candidates) {
    if (!node.refused.empty()) continue;
    refuse_platform(node.use.at("platform").get<std::string>(), name, node.place + "/platform");
    refuse_files(kPlace, node.use, name, node.place);
  }
  try {
    return placement::place_slurm_job(catalogue_, read, memory_);
  } catch (const placement::NoRoom& error) {
    Json out;
    if (!read.id.is_null()) out["job_id"] = read.id;
    out["waits"] = error.what();
    return out;
  }
}

Json Placer::node_state(const Json& given, const std::string& name) {
  ObjectReader asked(given, name);
  const std::string platform = platform_of(asked);
  const Json state = query::with_numbers(query::query_kinds().get("place").keys(), given,
                                         catalogue_.machine(platform)->platform().topology(), name);
  ObjectReader r(state, name);
  static_cast<void>(platform_of(r));
  refuse_files(kPlace, state, name, "");
  const placement::NodeUse use = placement::read_node_use(catalogue_.machine(platform)->platform(), r);
  Json kept{{"platform", platform}, {"busy", use.busy}};
  if (r.has("with")) kept["with"] = r.raw("with");
  r.finish();
  return kept;
}

Placer::Warming::Warming(Placer& placer, std::string platform, std::string job)
    : placer_(placer), platform_(std::move(platform)), job_(std::move(job)), gpus_(placer.gpus(platform_)) {}

bool Placer::Warming::next() {
  const int varied = gpus_ <= kMostWarmed ? gpus_ : 0;
  const unsigned states = 1U << static_cast<unsigned>(varied);
  Json busy = Json::array();
  for (int gpu = 0; gpu < varied; ++gpu)
    if ((busy_ >> static_cast<unsigned>(gpu) & 1U) != 0) busy.push_back(gpu);
  if (ranks_ == gpus_ - static_cast<int>(busy.size())) {
    if (++busy_ >= states) return false;
    ranks_ = 0;
    return true;
  }
  static_cast<void>(placer_.place({{"platform", platform_}, {"job", job_}, {"ranks", ++ranks_}, {"busy", busy}}));
  ++done_;
  return true;
}

namespace {

using SteadyClock = work::Scope::Clock;

constexpr std::chrono::milliseconds kLook{50};    // ours: how soon a client that went is noticed
constexpr std::chrono::milliseconds kGrace{500};  // ours: what does not look in time is no longer waited for

constexpr std::chrono::milliseconds kPatience{20};  // ours: placements take a few; what takes longer is slow
constexpr std::chrono::milliseconds kBusy{1000};    // ours: as long as that no thread is free in times that are well
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
  const bool stuck = all_busy_since_ && SteadyClock::now() - *all_busy_since_ > kBusy;
  return !ending_ && !stuck && jobs_.size() < options_.most_waiting;
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
  } catch (const work::Stopped&) {
    more = true;                           // once more, when nobody asks
  } catch (const std::exception& error) {  // the service lives on: whoever asks for the same gets the error
    log::Log("cli").note("serve: nothing more is prepared: {}", error.what());
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
    if (++busy_ == workers_.size()) all_busy_since_ = SteadyClock::now();
    lock.unlock();
    job->run(*worker.placer);
    lock.lock();
    --busy_;
    all_busy_since_.reset();
    if (first) first_since_.reset();
  }
}

}  // namespace linkcast::serve
