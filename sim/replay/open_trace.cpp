#include "sim/replay/open_trace.hpp"

#include <algorithm>
#include <sstream>

#include "sim/plugin/trace_source.hpp"

namespace linkcast {
namespace {

class TextSink final : public TraceSink {
 public:
  explicit TextSink(std::ostream& out) : out_(out) {}
  void header(const TraceHeader& header) override { out_ << trace_line(to_json(header)); }
  void event(const TraceEvent& event) override { out_ << trace_line(to_json(event)); }

 private:
  std::ostream& out_;
};

}  // namespace

bool is_application(const std::string& name) {
  const auto known = trace_generators().list();
  return std::any_of(known.begin(), known.end(), [&](const PluginInfo& info) { return info.name == name; });
}

std::unique_ptr<TraceReader> open_trace(const std::string& name, const std::map<std::string, std::string>& options) {
  if (!is_application(name)) {
    if (!options.empty()) throw InputError("--option: " + name + " is a file; only applications take options");
    return std::make_unique<TraceReader>(name);
  }
  const TraceGenerator& generator = trace_generators().get(name);
  const TraceOptions values(options);
  values.refuse_others(name, generator.options());
  auto text = std::make_unique<std::stringstream>();
  TextSink sink(*text);
  generator.run(values, sink);
  return std::make_unique<TraceReader>(std::move(text), name);
}

}  // namespace linkcast
