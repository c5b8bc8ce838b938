#pragma once
// Events of a Chrome trace as torch.profiler exports it, and spans of CPU code among them.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::kineto {

/// Kinds of event that Kineto records, by their "cat".
enum class Category {
  kOther,
  kKernel,
  kGpuCopy,
  kGpuSet,
  kOperator,    ///< of PyTorch, on the CPU
  kRuntime,     ///< a call of CUDA's runtime or driver
  kAnnotation,  ///< of the code by its user or by PyTorch, on the CPU
};
Category category_of(const std::string& text);
/// Work on the GPU.
constexpr bool on_gpu(Category category) {
  return category == Category::kKernel || category == Category::kGpuCopy || category == Category::kGpuSet;
}

/// Calls of CUDA that make the CPU or a stream wait.
enum class WaitCall { kNone, kDevice, kStream, kStreamForEvent };
WaitCall wait_call_of(const std::string& name);

/// One complete ("X") event. Times are seconds from the first of them on.
struct Event {
  std::size_t index = 0;
  Category category = Category::kOther;
  std::string name;
  double start_s = 0, end_s = 0;
  std::string thread;
  const Json* args = nullptr;
};

/// @throws InputError  file and event
[[noreturn]] void fail(const std::string& file, std::size_t event, const std::string& what);
/// As text, whatever it is; empty if there is none.
std::string text_of(const Json& args, const char* key);
/// @param json  of "traceEvents"; outlives the events. @throws InputError
std::vector<Event> complete_events(const std::string& file, const Json& json);

inline bool on_gpu(const Event& event) { return on_gpu(event.category); }
inline bool by_runtime(const Event& event) { return event.category == Category::kRuntime; }
/// Annotation of the code by its user or by PyTorch, on the CPU.
bool is_span(const Event& event, const char* head);

/// Intervals of CPU code, by thread, that contain others.
class Spans {
 public:
  void add(const Event& event) { add(event.thread, event.start_s, event.end_s); }
  void add(const std::string& thread, double start_s, double end_s) { by_thread_[thread].push_back({start_s, end_s}); }

  /// Before the first question: of each thread in the order of their starts, with the last end of all up to each.
  void sort();
  /// One that begins no later must end no earlier: so must the last of all that begin no later.
  [[nodiscard]] bool contain(const Event& event) const;

 private:
  std::map<std::string, std::vector<std::pair<double, double>>> by_thread_;  ///< start, end
};

}  // namespace linkcast::kineto
