#include "cli/draft_file.hpp"

#include <filesystem>
#include <iostream>
#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast::cli {

DraftFile::DraftFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  if (path_ == "-") path_.clear();
  if (path_.empty()) return;
  if (std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_))
    throw InputError(option_ + ": " + path_ + ": is not a regular file");
  draft_ = path_ + ".partial";
  file_.open(draft_, std::ios::binary | std::ios::trunc);
  if (!file_) throw InputError(option_ + ": " + path_ + ": cannot be written");
}

DraftFile::~DraftFile() {
  if (path_.empty() || done_) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(draft_, ignored);
}

std::ostream& DraftFile::out() { return path_.empty() ? std::cout : file_; }

void DraftFile::check() {
  if (!out()) throw InputError(option_ + ": " + path_ + ": cannot be written: disk full?");
}

void DraftFile::close() {
  if (path_.empty()) {
    std::cout.flush();
    return check();
  }
  file_.close();
  check();
  std::error_code error;
  std::filesystem::rename(draft_, path_, error);
  if (error) throw InputError(option_ + ": " + path_ + ": cannot be written: disk full?");
  done_ = true;
}

namespace {

/// Links and hard links to one file count as it.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code none;
  if (std::filesystem::equivalent(one, other, none)) return true;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(one), none) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(other), none);
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    for (const std::string& input : inputs)
      if (same_file(output->path, input))
        throw InputError(output->option + ": " + output->path + ": is the file that is read");
    for (auto earlier = outputs.begin(); earlier != output; ++earlier)
      if (!earlier->path.empty() && same_file(output->path, earlier->path))
        throw InputError(output->option + ": " + output->path + ": is the file that " + earlier->option + " writes");
  }
}

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
