#include "sim/cli/trace_out.hpp"

#include <filesystem>
#include <iostream>
#include <utility>

namespace linkcast::cli {

TraceOut::TraceOut(std::string path) : path_(std::move(path)) {
  if (path_ == "-") path_.clear();
  if (path_.empty()) return;
  if (std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_))
    throw InputError("--out: " + path_ + ": is not a regular file");
  draft_ = path_ + ".partial";
  file_.open(draft_, std::ios::binary | std::ios::trunc);
  if (!file_) throw InputError("--out: " + path_ + ": cannot be written");
}

TraceOut::~TraceOut() {
  if (path_.empty() || done_) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(draft_, ignored);
}

void TraceOut::header(const TraceHeader& header) { write(trace_line(to_json(header))); }
void TraceOut::event(const TraceEvent& event) { write(trace_line(to_json(event))); }

void TraceOut::write(const std::string& line) {
  std::ostream& out = path_.empty() ? std::cout : file_;
  out << line;
  if (!out) throw InputError("--out: " + path_ + ": cannot be written: disk full?");
}

void TraceOut::close() {
  done_ = true;
  if (path_.empty()) {
    std::cout.flush();
    return;
  }
  file_.close();
  std::error_code error;
  if (!file_.fail()) std::filesystem::rename(draft_, path_, error);
  if (file_.fail() || error) throw InputError("--out: " + path_ + ": cannot be written: disk full?");
}

std::map<std::string, std::string> key_values(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
      throw InputError("--option: '" + text + "' is not key=value, see --help");
    const std::string key = text.substr(0, sign);
    if (!values.emplace(key, text.substr(sign + 1)).second) throw InputError("--option " + key + ": is given twice");
  }
  return values;
}

}  // namespace linkcast::cli
