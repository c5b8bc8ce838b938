#pragma once
// How far a long computation is. It is told to whoever runs it, by a parameter or through the catalogue.
#include <cstdint>
#include <string>
#include <string_view>

namespace linkcast::log {

/// Shows pieces of work, of which one may lie inside another: a batch has queries, a query samples.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  virtual ~Progress() = default;

  /// A piece of work begins, inside those that have begun and not ended.
  /// @param what   e.g. "noise". @param unit  what is counted, e.g. "samples". @param total  of these; 0: not known
  virtual void start(const std::string& what, const std::string& unit, std::int64_t total) = 0;
  /// Progress of the innermost. May throw to end the work, where whoever runs it was interrupted.
  /// @param done  so far. @param text  what else is worth saying
  virtual void advance(std::int64_t done, std::string_view text) = 0;
  /// The innermost ends.
  virtual void finish() = 0;
};

/// Shows nothing.
class NoProgress final : public Progress {
 public:
  void start(const std::string& /*what*/, const std::string& /*unit*/, std::int64_t /*total*/) override {}
  void advance(std::int64_t /*done*/, std::string_view /*text*/) override {}
  void finish() override {}
};

/// One piece of work, from here to the end of the scope.
class Work {
 public:
  Work(Progress& progress, const std::string& what, const std::string& unit, std::int64_t total = 0)
      : progress_(progress) {
    progress_.start(what, unit, total);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { progress_.finish(); }
  void advance(std::int64_t done, std::string_view text = {}) { progress_.advance(done, text); }

 private:
  Progress& progress_;
};

}  // namespace linkcast::log
