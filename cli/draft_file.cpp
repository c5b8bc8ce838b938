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

void refuse_same_file(const std::string& option, const std::string& out, const std::string& input) {
  std::error_code none;
  if (!out.empty() && std::filesystem::equivalent(out, input, none))
    throw InputError(option + ": " + out + ": is the file that is read");
}

}  // namespace linkcast::cli
