#include "sim/engine/solvers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/engine/plan_record.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/engine/simgrid_module.hpp"
#include "sim/engine/simgrid_version.hpp"
#include "sim/engine/worker_program.hpp"

namespace linkcast {

void FluidSolver::load(const Problem& problem) {
  if (!problem.trunks.empty()) throw InvariantError("the engine knows no trunks: see without_trunks()");
  engine_.load(problem);
  solution_.start_s.assign(problem.activities.size(), 0);
  solution_.finish_s.assign(problem.activities.size(), 0);
  solution_.limited_by.assign(problem.activities.size(), kOwnCap);
  note_ended();
}

void FluidSolver::advance() {
  engine_.advance(engine_.next_event_s());
  note_ended();
}

void FluidSolver::note_ended() {
  for (const int activity : engine_.ended()) {
    solution_.start_s[at(activity)] = engine_.start_s(activity);
    solution_.finish_s[at(activity)] = engine_.now_s();
    solution_.limited_by[at(activity)] = engine_.limited_by(activity);
  }
}

Solution FluidSolver::take_solution() {
  engine_.check_all_ended();
  solution_.carried_B = engine_.carried_B();
  solution_.makespan_s = engine_.now_s();
  return std::move(solution_);
}

FluidModel::FluidModel(bool on_simgrid) : on_simgrid_(on_simgrid), many_(std::make_unique<ManyFlows>()) {}

FluidModel::~FluidModel() {
  if (runs_ > 0) log_.debug("solver fluid: {} activities in {} runs", activities_, runs_);
}

Solution FluidModel::run_exactly(const Problem& problem) {
  std::optional<SimGridLoop> loop;
  if (on_simgrid_) loop.emplace();
  solver_.load(problem);
  run_events(solver_);
  Solution solution = solver_.take_solution();
  check_order(problem, solution);  // the engine has checked the rest
  return solution;
}

Solution FluidModel::run(const Problem& problem) {
  const bool many = !on_simgrid_ && ManyFlows::takes(problem);
  if (!many && !problem.trunks.empty()) return run(without_trunks(problem));
  Solution solution = many ? many_->run(problem) : run_exactly(problem);
  if (PlanRecord* record = PlanRecord::current()) record->add(problem, solution);
  ++runs_;
  activities_ += problem.activities.size();
  log_.trace("fluid: {} activities, {} s", problem.activities.size(), solution.makespan_s);
  return solution;
}

namespace {

/// The "native" solver: SimGrid's own network model, the reference for correctness. SimGrid's engine
/// is one a process and cannot be reset, so each run is a fresh process: this program is executed
/// again as a worker that reads the Problem and writes the Solution.
/// Solution::limited_by is what the fluid solver says: SimGrid does not tell.
/// @limits  tens of milliseconds a run; weights: see WholeWeights
class NativeSolver final : public Solver {
 public:
  /// @throws InvariantError  the worker failed, or as in Solver::run
  Solution run(const Problem& problem) override;

 private:
  FluidModel fluid_;
};

// The worker is this same program (of the Python module, the one beside it), executed anew under another name:
// serve_if_worker() runs before main() and finds the Problem on its standard input. A plain fork would inherit the
// engine that "fluid" has started, with its clock and its sealed platform; and only a new program gets a bigger stack.

constexpr char kWorkerName[] = "linkcast-native-worker";

// SimGrid recurses once a link of a connected component.
// source: measured with 3.32 and 4.1: 8 MiB are enough for 50000 links, so 4 GiB are for 25 million
constexpr rlim_t kStack_B = rlim_t{4} << 30;

// First byte of the worker's answer.
constexpr char kSolved = 's';
constexpr char kFailed = 'f';

// ---- Problem and Solution as bytes; writer and reader are the same program ----

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    copy(&value, sizeof value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::size_t count = 0;
    get(count);
    if (count > bytes_.size() / sizeof(T)) throw InvariantError("native worker: cut message");
    values.resize(count);
    copy(values.data(), count * sizeof(T));
  }

 private:
  void copy(void* target, std::size_t count) {
    if (count > bytes_.size()) throw InvariantError("native worker: cut message");
    if (count > 0) std::memcpy(target, bytes_.data(), count);
    bytes_.remove_prefix(count);
  }
  std::string_view bytes_;
};

std::string write_problem(const Problem& problem) {
  Writer writer;
  writer.put(problem.capacity_Bps);
  writer.put(problem.queue_count);
  writer.put(problem.activities.size());
  for (const Activity& activity : problem.activities) {
    writer.put(activity.delay_s);
    writer.put(activity.work_B);
    writer.put(activity.rate_cap_Bps);
    writer.put(activity.uses);
    writer.put(activity.after);
    writer.put(activity.queues);
  }
  return writer.take();
}

Problem read_problem(std::string_view bytes) {
  Reader reader(bytes);
  Problem problem;
  reader.get(problem.capacity_Bps);
  reader.get(problem.queue_count);
  std::size_t activities = 0;
  reader.get(activities);
  problem.activities.resize(activities);
  for (Activity& activity : problem.activities) {
    reader.get(activity.delay_s);
    reader.get(activity.work_B);
    reader.get(activity.rate_cap_Bps);
    reader.get(activity.uses);
    reader.get(activity.after);
    reader.get(activity.queues);
  }
  return problem;
}

std::string write_solution(const Solution& solution) {
  Writer writer;
  writer.put(kSolved);
  writer.put(solution.start_s);
  writer.put(solution.finish_s);
  writer.put(solution.carried_B);
  writer.put(solution.makespan_s);
  return writer.take();
}

Solution read_solution(std::string_view bytes) {
  char status = 0;
  Reader reader(bytes);
  reader.get(status);
  if (status != kSolved) throw InvariantError(std::string(bytes.substr(1)));
  Solution solution;
  reader.get(solution.start_s);
  reader.get(solution.finish_s);
  reader.get(solution.carried_B);
  reader.get(solution.makespan_s);
  return solution;
}

// ---- Files ----

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ < 0) throw InvariantError(std::string("native worker: ") + std::strerror(errno));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  int descriptor() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InvariantError(std::string("native worker: ") + std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_all(int descriptor) {
  std::string bytes;
  std::vector<char> block(std::size_t{1} << 16);
  for (;;) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InvariantError(std::string("native worker: ") + std::strerror(errno));
    if (count == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(count));
  }
}

// ---- The worker ----

std::string answer(const std::string& question) {
  try {
    return write_solution(simgrid_module().solve(read_problem(question)));
  } catch (const std::exception& error) {
    return kFailed + std::string(error.what());
  }
}

/// Runs before main() in every program that has this solver, and returns at once unless it was
/// started by ask_worker(). What SimGrid prints goes to standard error.
[[gnu::constructor]] void serve_if_worker() {
  if (std::strcmp(program_invocation_name, kWorkerName) != 0) return;
  const int reply = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    write_all(reply, answer(read_all(STDIN_FILENO)));
  } catch (const std::exception&) {
    ::_exit(1);  // the asker is gone
  }
  ::_exit(0);  // no destructors: SimGrid's state dies with the process
}

// ---- The asker ----

/// In the forked child: only calls that are safe after a fork.
[[noreturn]] void become_worker(const char* program, int question, int reply) {
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = std::max(stack.rlim_cur, std::min(stack.rlim_max, kStack_B));
  ::setrlimit(RLIMIT_STACK, &stack);
  ::dup2(question, STDIN_FILENO);
  ::dup2(reply, STDOUT_FILENO);
  char name[sizeof kWorkerName];
  std::memcpy(name, kWorkerName, sizeof name);
  char* arguments[] = {name, nullptr};
  ::execv(program, arguments);
  ::_exit(1);
}

std::string ask_worker(const std::string& bytes) {
  File question(::memfd_create(kWorkerName, MFD_CLOEXEC));
  write_all(question.descriptor(), bytes);
  ::lseek(question.descriptor(), 0, SEEK_SET);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw InvariantError(std::string("native worker: ") + std::strerror(errno));
  File reply(ends[0]);
  File their_end(ends[1]);
  const std::string program = worker_program().string();
  const pid_t worker = ::fork();
  if (worker < 0) throw InvariantError(std::string("native worker: ") + std::strerror(errno));
  if (worker == 0) become_worker(program.c_str(), question.descriptor(), their_end.descriptor());
  their_end.close();
  std::string answer = read_all(reply.descriptor());
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer.empty()) {
    throw InvariantError("native worker died, wait status " + std::to_string(status));
  }
  return answer;
}

Solution NativeSolver::run(const Problem& problem) {
  check_problem(problem);
  need_simgrid_module();  // the worker could say it by an internal error alone
  if (!problem.trunks.empty()) return run(without_trunks(problem));
  Solution solution = read_solution(ask_worker(write_problem(problem)));
  solution.limited_by = fluid_.run(problem).limited_by;
  check_solution(problem, solution);
  return solution;
}

}  // namespace

std::vector<std::string> solver_names() { return {"fluid", "fluid_simgrid", "native"}; }

std::unique_ptr<Solver> make_solver(const std::string& name) {
  if (name == "fluid") return std::make_unique<FluidModel>();
  if (name == "fluid_simgrid") return std::make_unique<FluidModel>(true);
  if (name == "native") return std::make_unique<NativeSolver>();
  std::string known;
  for (const std::string& each : solver_names()) known += (known.empty() ? "" : ", ") + each;
  throw InputError("unknown solver '" + name + "'; known: " + known);
}

namespace {

std::string& chosen_solver() {
  thread_local std::string name = "fluid";
  return name;
}

}  // namespace

SolverChoice::SolverChoice(std::string name) : before_(std::exchange(chosen_solver(), std::move(name))) {
  if (chosen_solver() == "fluid_simgrid") loop_.emplace();
}
SolverChoice::~SolverChoice() { chosen_solver() = std::move(before_); }
const std::string& SolverChoice::name() { return chosen_solver(); }

std::string simgrid_version() {
  return std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR) + "." +
         std::to_string(SIMGRID_VERSION_PATCH);
}

}  // namespace linkcast
