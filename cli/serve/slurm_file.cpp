#include "cli/serve/slurm_file.hpp"

#include "sim/base/file_error.hpp"
#include "sim/base/log.hpp"

namespace linkcast::serve {
namespace {

placement::SlurmNodes read_listed(const std::string& file) {
  try {
    return placement::read_slurm_nodes(read_json_file(file), file);
  } catch (const std::filesystem::filesystem_error& error) {
    throw InputError(file_error_text(error));
  }
}

}  // namespace

SlurmFile::SlurmFile(std::string file) : file_(std::move(file)) {
  if (file_.empty()) nodes_ = std::make_shared<const placement::SlurmNodes>();
  static_cast<void>(nodes());
}

std::shared_ptr<const placement::SlurmNodes> SlurmFile::nodes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (file_.empty()) return nodes_;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file_, error);
  const std::uintmax_t size_B = error ? 0 : std::filesystem::file_size(file_, error);
  if (!error && nodes_ && written == written_ && size_B == size_B_) return nodes_;
  nodes_.reset();  // what was true before the file broke is not true now
  auto read = std::make_shared<const placement::SlurmNodes>(read_listed(file_));
  for (const std::string& warning : read->warnings) log::Log("serve").warning("{}", warning);
  written_ = written;
  size_B_ = size_B;
  nodes_ = std::move(read);
  return nodes_;
}

}  // namespace linkcast::serve
