#include "cli/trace_out.hpp"

#include <utility>

namespace linkcast::cli {
namespace {

constexpr std::int64_t kEventsBetween = 64;  // that are written, between two looks at the clock

}  // namespace

TraceOut::TraceOut(std::string path, log::Progress& progress)
    : file_("--out", std::move(path)), work_(progress, "trace", "events") {}

void TraceOut::header(const TraceHeader& header) { write(trace_line(to_json(header))); }
void TraceOut::event(const TraceEvent& event) {
  write(trace_line(to_json(event)));
  if (++events_ % kEventsBetween == 0) work_.advance(events_);
}

void TraceOut::write(const std::string& line) {
  file_.out() << line;
  file_.check();
}

std::map<std::string, std::string> key_values(const std::vector<std::string>& texts, const std::string& command) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
      throw InputError("--option: '" + text + "' is not key=value, see 'linkcast help " + command + "'");
    const std::string key = text.substr(0, sign);
    if (!values.emplace(key, text.substr(sign + 1)).second) throw InputError("--option " + key + ": is given twice");
  }
  return values;
}

}  // namespace linkcast::cli
