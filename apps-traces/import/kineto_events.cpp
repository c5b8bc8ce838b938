#include "apps-traces/import/kineto_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace linkcast::kineto {
namespace {

constexpr double kMicro = 1e-6;  // source: Chrome trace event format: ts and dur are microseconds

double number(const std::string& file, std::size_t index, const Json& event, const char* key) {
  const auto value = event.find(key);
  if (value == event.end() || !value->is_number()) fail(file, index, std::string(key) + " must be a number");
  return value->get<double>();
}

}  // namespace

void fail(const std::string& file, std::size_t event, const std::string& what) {
  throw InputError(file, fmt::format("/traceEvents/{}", event), what);
}

Category category_of(const std::string& text) {
  // source: pytorch/kineto libkineto/src/ActivityType.cpp
  static const std::map<std::string, Category> kCategories{{"kernel", Category::kKernel},
                                                           {"gpu_memcpy", Category::kGpuCopy},
                                                           {"gpu_memset", Category::kGpuSet},
                                                           {"cpu_op", Category::kOperator},
                                                           {"cuda_runtime", Category::kRuntime},
                                                           {"cuda_driver", Category::kRuntime},
                                                           {"user_annotation", Category::kAnnotation}};
  const auto found = kCategories.find(text);
  return found == kCategories.end() ? Category::kOther : found->second;
}

WaitCall wait_call_of(const std::string& name) {
  static const std::map<std::string, WaitCall> kCalls{{"cudaDeviceSynchronize", WaitCall::kDevice},
                                                      {"cudaStreamSynchronize", WaitCall::kStream},
                                                      {"cudaStreamWaitEvent", WaitCall::kStreamForEvent}};
  const auto found = kCalls.find(name);
  return found == kCalls.end() ? WaitCall::kNone : found->second;
}

std::string text_of(const Json& args, const char* key) {
  const auto value = args.find(key);
  if (value == args.end()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::vector<Event> complete_events(const std::string& file, const Json& json) {
  static const Json kNone = Json::object();
  std::vector<Event> events;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Json& event = json[i];
    if (!event.is_object()) fail(file, i, "must be an object");
    if (text_of(event, "ph") != "X") continue;
    const double start_us = number(file, i, event, "ts"), duration_us = number(file, i, event, "dur");
    if (duration_us < 0) fail(file, i, "dur must not be negative");
    const auto args = event.find("args");
    const bool has = args != event.end() && args->is_object();
    events.push_back({i, category_of(text_of(event, "cat")), text_of(event, "name"), start_us, start_us + duration_us,
                      text_of(event, "tid"), has ? &*args : &kNone});
  }
  double first_us = std::numeric_limits<double>::infinity();
  for (const Event& event : events) first_us = std::min(first_us, event.start_s);
  for (Event& event : events) {
    event.start_s = (event.start_s - first_us) * kMicro;
    event.end_s = (event.end_s - first_us) * kMicro;
  }
  return events;
}

void Spans::sort() {
  for (auto& [thread, spans] : by_thread_) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) spans[i].second = std::max(spans[i].second, spans[i - 1].second);
  }
}

bool Spans::contain(const Event& event) const {
  const auto found = by_thread_.find(event.thread);
  if (found == by_thread_.end()) return false;
  const auto& spans = found->second;
  const auto later = std::upper_bound(spans.begin(), spans.end(), event.start_s,
                                      [](double start_s, const auto& span) { return start_s < span.first; });
  return later != spans.begin() && std::prev(later)->second >= event.end_s;
}

bool is_span(const Event& event, const char* head) {
  return event.category == Category::kAnnotation && event.name.starts_with(head);
}

}  // namespace linkcast::kineto
