#pragma once
// Traces: foreign recordings and generators of applications, one file each, which register themselves; and opening one.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/registry.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {

/// Cost of an importer for a byte of its files, unpacked: CPU seconds, and memory.
struct ReadingCost {
  double byte_s, byte_B;
};

/// Takes a trace event by event: neither a recording nor a generated trace has to fit into memory.
class TraceSink {
 public:
  TraceSink() = default;
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;
  virtual ~TraceSink() = default;
  virtual void header(const TraceHeader& header) = 0;
  /// Events of one rank in its order. Those of different ranks should take turns: a reader keeps what lies between
  /// them.
  virtual void event(const TraceEvent& event) = 0;
};

/// What may be said to a source: `--option key=value`.
struct TraceOption {
  std::string key;
  std::string text;         ///< for --help: what it says, which values, what holds without it
  std::string parameter{};  ///< whose fitted value holds without it; empty: none
};

/// Values by key. @throws InputError  names the option and what is allowed
class TraceOptions {
 public:
  using Values = std::map<std::string, std::string>;
  /// Values of fitted parameters, by the name of a GPU; empty: not known.
  using Fitted = std::function<Values(const std::string& gpu)>;
  explicit TraceOptions(Values values, Fitted fitted = {}) : values_(std::move(values)), fitted_(std::move(fitted)) {}
  /// The same with the fitted values that hold for a recording's GPU, where an option was not given.
  [[nodiscard]] TraceOptions of_gpu(const std::string& gpu) const;
  [[nodiscard]] bool has(const std::string& key) const { return values_.count(key) > 0; }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const;
  /// One of two words: true for `other`, false for `usual`, which holds unless said. @throws InputError  a third word
  [[nodiscard]] bool picks(const std::string& key, const std::string& usual, const std::string& other) const;
  [[nodiscard]] int whole(const std::string& key, int otherwise, int least = 1) const;
  /// With a unit, e.g. "4.75ms".
  [[nodiscard]] double seconds(const std::string& key, double otherwise) const;
  [[nodiscard]] double bytes(const std::string& key, double otherwise) const;
  [[nodiscard]] double number(const std::string& key, double otherwise) const;
  /// @throws InputError  a key that is none of these
  void refuse_others(const std::string& source, const std::vector<TraceOption>& known) const;

 private:
  Values values_;
  Fitted fitted_;
};

/// Turns another tool's recording into a trace.
class TraceImporter {
 public:
  virtual ~TraceImporter() = default;
  [[nodiscard]] virtual std::vector<TraceOption> options() const { return {}; }
  [[nodiscard]] virtual ReadingCost cost() const {
    return {6e-8, 9};  // source: `limits_test.py --imports`: goal; others that are kept as a whole take less
  }
  /// @param files  in the order of the command line. @throws InputError  file and place of what cannot be read
  virtual void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const = 0;
};

/// Writes the trace of an application from what a paper says of it.
class TraceGenerator {
 public:
  virtual ~TraceGenerator() = default;
  [[nodiscard]] virtual std::vector<TraceOption> options() const { return {}; }
  virtual void run(const TraceOptions& options, TraceSink& sink) const = 0;
};

Registry<TraceImporter>& trace_importers();
Registry<TraceGenerator>& trace_generators();

}  // namespace linkcast

namespace linkcast::catalogue {

/// A trace that comes with linkcast.
struct ShippedTrace {
  std::string name;  ///< of the file, without .jsonl
  std::string path;
};

/// Sorted by name. @param data_dir  of the catalogue
std::vector<ShippedTrace> shipped_traces(const std::string& data_dir);

/// The file, or the shipped one of that name. @throws InputError  neither
std::string trace_path(const std::string& data_dir, const std::string& name);

/// A trace by name: a file, one that is shipped, or that of an application, generated into memory.
/// @param options  of the application, by key
/// @throws InputError  none of these; options that the application does not take, or of what is no application
std::unique_ptr<TraceReader> open_trace(const std::string& data_dir, const std::string& name,
                                        const std::map<std::string, std::string>& options);

/// A trace that is in memory. @param name  stands for a file in errors
std::unique_ptr<TraceReader> open_text(const std::string& text, const std::string& name);

}  // namespace linkcast::catalogue
