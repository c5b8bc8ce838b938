#include "sim/machine/trace_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "sim/base/limits.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"

namespace linkcast {
namespace {

const std::string* find(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto value = values.find(key);
  return value == values.end() ? nullptr : &value->second;
}

[[noreturn]] void refuse(const std::string& key, const std::string& text, const std::string& allowed) {
  throw InputError("option " + key + ": '" + text + "' is not " + allowed);
}

/// Runs a reader of sim/base/parse.hpp, whose errors do not know the option.
template <class Read>
auto read_value(const std::string& key, const Read& read) {
  try {
    return read();
  } catch (const UnitError& error) {
    throw InputError("option " + key + ": " + error.what());
  }
}

}  // namespace

TraceOptions TraceOptions::of_gpu(const std::string& gpu) const {
  Values values = values_;
  if (fitted_) values.merge(fitted_(gpu));
  return TraceOptions(std::move(values));
}

std::string TraceOptions::text(const std::string& key, const std::string& otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : *value;
}

bool TraceOptions::picks(const std::string& key, const std::string& usual, const std::string& other) const {
  const std::string said = text(key, usual);
  if (said != usual && said != other)
    throw InputError("option " + key + ": '" + said + "' is neither " + usual + " nor " + other);
  return said == other;
}

double TraceOptions::number(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  if (value == nullptr) return otherwise;
  const Json json = parse_foreign_json(*value, "option " + key);
  if (!json.is_number()) refuse(key, *value, "a number");
  return json.get<double>();
}

int TraceOptions::whole(const std::string& key, int otherwise, int least) const {
  const std::string* value = find(values_, key);
  if (value == nullptr) return otherwise;
  const Json json = parse_foreign_json(*value, "option " + key);
  if (!json.is_number_integer() || json.get<std::int64_t>() < least || json.get<std::int64_t>() > 1000000000)
    refuse(key, *value, fmt::format("a whole number of at least {}", least));
  return json.get<int>();
}

double TraceOptions::seconds(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : read_value(key, [&] { return parse_seconds(*value).si; });
}

double TraceOptions::bytes(const std::string& key, double otherwise) const {
  const std::string* value = find(values_, key);
  return value == nullptr ? otherwise : read_value(key, [&] { return parse_bytes(*value).si; });
}

void TraceOptions::refuse_others(const std::string& source, const std::vector<TraceOption>& known) const {
  for (const auto& [key, value] : values_) {
    const auto same = [&key = key](const TraceOption& option) { return option.key == key; };
    if (std::any_of(known.begin(), known.end(), same)) continue;
    std::string keys;
    for (const TraceOption& option : known) keys += (keys.empty() ? "" : ", ") + option.key;
    throw InputError("option " + key + ": " + source + " takes " + (keys.empty() ? "none" : keys));
  }
}

}  // namespace linkcast

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
