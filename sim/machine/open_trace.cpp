#include "sim/machine/open_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "sim/base/near_names.hpp"
#include "sim/base/stop.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::catalogue {
namespace {

class TextSink final : public TraceSink {
 public:
  explicit TextSink(std::ostream& out) : out_(out) {}
  void header(const TraceHeader& header) override { out_ << trace_line(to_json(header)); }
  void event(const TraceEvent& event) override {
    work::look();
    out_ << trace_line(to_json(event));
  }

 private:
  std::ostream& out_;
};

bool is_application(const std::string& name) {
  const auto known = trace_generators().list();
  return std::any_of(known.begin(), known.end(), [&](const PluginInfo& info) { return info.name == name; });
}

std::unique_ptr<TraceReader> generated(const std::string& name, const std::map<std::string, std::string>& options) {
  const TraceGenerator& generator = trace_generators().get(name);
  const TraceOptions values(options);
  values.refuse_others(name, generator.options());
  auto text = std::make_unique<std::stringstream>();
  TextSink sink(*text);
  generator.run(values, sink);
  return std::make_unique<TraceReader>(std::move(text), name);
}

}  // namespace

std::string trace_path(const std::string& data_dir, const std::string& name) {
  if (std::filesystem::is_directory(name)) throw InputError(name + ": is a folder, not a file");
  if (std::filesystem::exists(name)) return name;
  std::vector<std::string> known;
  for (const ShippedTrace& shipped : shipped_traces(data_dir)) {
    if (shipped.name == name) return shipped.path;
    known.push_back(shipped.name);
  }
  for (const PluginInfo& info : trace_generators().list()) known.push_back(info.name);
  std::string names;
  for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
  throw InputError("trace: '" + name + "' is no file, no shipped trace and no application" + did_you_mean(name, known) +
                   ": one of " + names);
}

std::vector<ShippedTrace> shipped_traces(const std::string& data_dir) {
  const std::filesystem::path folder = std::filesystem::path(data_dir) / "apps-traces" / "samples";
  std::vector<ShippedTrace> traces;
  if (!std::filesystem::is_directory(folder)) return traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") traces.push_back({entry.path().stem().string(), entry.path().string()});
  std::sort(traces.begin(), traces.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return traces;
}

std::unique_ptr<TraceReader> open_text(const std::string& text, const std::string& name) {
  return std::make_unique<TraceReader>(std::make_unique<std::istringstream>(text), name);
}

std::unique_ptr<TraceReader> open_trace(const std::string& data_dir, const std::string& name,
                                        const std::map<std::string, std::string>& options) {
  if (is_application(name) && !std::filesystem::exists(name)) return generated(name, options);
  if (!options.empty()) throw InputError("options: " + name + " is no application: only those take options");
  return std::make_unique<TraceReader>(trace_path(data_dir, name));
}

}  // namespace linkcast::catalogue
