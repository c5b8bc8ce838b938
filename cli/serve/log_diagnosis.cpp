#include "cli/serve/log_diagnosis.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "validate/diagnosis/diagnose_logs.hpp"

namespace linkcast::serve {
namespace {

/// A text as a file that this process alone can open, for as long as this lives.
class KeptText {
 public:
  explicit KeptText(std::string_view text) : file_(::memfd_create("log", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error(std::string("log: cannot be kept: ") + std::strerror(errno));
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        ::close(file_);
        throw std::runtime_error(std::string("log: cannot be kept: ") + std::strerror(errno));
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  KeptText(const KeptText&) = delete;
  KeptText& operator=(const KeptText&) = delete;
  ~KeptText() { ::close(file_); }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }
  /// A text with its name for its path.
  [[nodiscard]] std::string named(std::string said) const {
    const std::string path = this->path(), name = "log";
    for (std::size_t at = said.find(path); at != std::string::npos; at = said.find(path, at + name.size()))
      said.replace(at, path.size(), name);
    return said;
  }

 private:
  int file_;
};

}  // namespace

Json diagnose_sent(catalogue::Catalogue& catalogue, const SentLog& sent) {
  const KeptText kept(sent.text);
  diagnosis::LogRequest request;
  request.files = {kept.path()};
  request.platform = sent.platform;
  request.edits = sent.edits;
  request.force = sent.force;
  try {
    diagnosis::LogAnswer answer = diagnosis::diagnose_logs(catalogue, request);
    answer.json["platform"] = sent.platform;
    answer.json["text"] = answer.text;
    return Json::parse(kept.named(answer.json.dump()));
  } catch (const InputError& error) {
    throw InputError(kept.named(error.what()));
  }
}

}  // namespace linkcast::serve
