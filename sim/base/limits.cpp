#include "sim/base/limits.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <limits>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::work {
namespace {

constexpr double kMilli = 1e-3, kMinute = 60, kHour = 3600, kDay = 86400;  // source: definition
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string rounded(double value) { return fmt::format("{:.2g}", value); }

Limits from_environment() {
  Limits limits;
  if (const char* text = std::getenv(kMemoryVariable)) limits.memory_B = parse_memory_limit(text, kMemoryVariable);
  if (const char* text = std::getenv(kTimeVariable)) limits.time_s = parse_time_limit(text, kTimeVariable);
  return limits;
}

Limits& kept() {
  static Limits limits = from_environment();
  return limits;
}

}  // namespace

const Limits& limits() { return kept(); }

void set_limits(const Limits& limits) { kept() = limits; }

double parse_memory_limit(const std::string& text, const std::string& name) {
  if (text == "none") return kInfinite;
  try {
    if (const double bytes = parse_bytes(text).si; bytes > 0) return bytes;
  } catch (const UnitError&) {  // said below
  }
  throw InputError(name + ": '" + text + "' is no amount of memory, e.g. 16GiB, or none for no limit");
}

double parse_time_limit(const std::string& text, const std::string& name) {
  if (text == "none") return kInfinite;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && std::isfinite(value) && value > 0) {
    const std::string unit(text.substr(static_cast<std::size_t>(end - text.data())));
    const std::string word = unit.empty() || unit.front() != ' ' ? unit : unit.substr(1);
    for (const auto& [known, seconds] : {std::pair("ms", kMilli), {"s", 1.0}, {"min", kMinute}, {"h", kHour}})
      if (word == known) return value * seconds;
  }
  throw InputError(name + ": '" + text + "' is no time, e.g. 500 ms, 30 s, 20 min or 2 h, or none for no limit");
}

std::string duration_text(double seconds) {
  if (seconds < 2 * kMinute) return rounded(seconds) + " s";
  if (seconds < 2 * kHour) return rounded(seconds / kMinute) + " min";
  return seconds < 2 * kDay ? rounded(seconds / kHour) + " h" : rounded(seconds / kDay) + " days";
}

std::string memory_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kStep = 1024;  // source: definition
  std::size_t unit = 0;
  for (; bytes >= kStep && unit + 1 < std::size(kUnits); ++unit) bytes /= kStep;
  return rounded(bytes) + " " + kUnits[unit];
}

std::string limit_text(const Limits& limits) {
  return (limits.memory_B == kInfinite ? "any memory" : memory_text(limits.memory_B)) + " and " +
         (limits.time_s == kInfinite ? "any time" : duration_text(limits.time_s));
}

void refuse_memory_in_use(double memory_B) {
  if (memory_B > limits().memory_B)
    throw InputError("memory: " + memory_text(memory_B) + " are in use, more than the limit of " +
                     memory_text(limits().memory_B) + ": ask for less, or raise it by max_memory (" + kMemoryVariable +
                     ")");
}

double memory_in_use_B() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long all = 0, resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &all, &resident);
  static_cast<void>(std::fclose(file));
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

Scope::Scope(const StopFlag& flag, Clock::time_point deadline)
    : flag_(flag), deadline_(deadline), outer_(std::exchange(current_, this)) {}

Scope::~Scope() { current_ = outer_; }

double Scope::left_s() const {
  if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline_ - Clock::now()).count();
}

void Scope::look_at_end() const {
  if (const Why why = flag_.why(); why != Why::kGoesOn) throw Stopped{why};
  if (Clock::now() >= deadline_) throw Stopped{Why::kDeadline};
}

void Scope::look_closely() {
  look_at_end();
  const auto now = Clock::now();
  if (now < next_memory_) return;
  constexpr std::chrono::milliseconds kMemory{50};  // ours: reading /proc takes some 10 us
  next_memory_ = now + kMemory;
  refuse_memory_in_use(memory_in_use_B());
}

std::string to_text(const Estimate& estimate) {
  return fmt::format("{}: {} {:.2g} {}, {} of memory and {}", estimate.what, estimate.at_least ? "at least" : "about",
                     estimate.items, estimate.unit, memory_text(estimate.memory_B), duration_text(estimate.time_s));
}

void expect(const Estimate& estimate) {
  look();
  const Limits& most = limits();
  if (estimate.memory_B > most.memory_B || estimate.time_s > most.time_s)
    throw InputError(to_text(estimate) + ", more than the limit of " + limit_text(most) +
                     ": ask for less, or raise it by max_memory and max_time (" + kMemoryVariable + ", " +
                     kTimeVariable + ")");
  const Scope* scope = Scope::current();
  if (scope != nullptr && estimate.time_s > scope->left_s())
    throw InputError(to_text(estimate) + ", more than the " + duration_text(std::max(0.0, scope->left_s())) +
                     " left for this request");
}

double thread_time_s() {
  constexpr double kNano = 1e-9;  // source: definition
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

void Rounds::judge(std::int64_t so_far) {
  constexpr double kPace_s = 1;  // ours: below that, no pace is sure, and nobody has waited
  if (total_ == 0) return;
  const double spent_s = thread_time_s() - start_s_;
  if (spent_s < kPace_s || so_far <= 0) return;
  judged_ = true;
  if (total_ <= so_far) return;
  const double share = static_cast<double>(total_) / static_cast<double>(so_far);
  expect({what_, static_cast<double>(total_), unit_, memory_in_use_B(), spent_s * share});
}

void Rounds::judge_so_far(std::int64_t so_far) {
  const double spent_s = thread_time_s() - start_s_;
  if (spent_s > limits().time_s) expect({what_, static_cast<double>(so_far), unit_, memory_in_use_B(), spent_s, true});
}

}  // namespace linkcast::work
