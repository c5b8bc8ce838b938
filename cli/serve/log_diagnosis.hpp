#pragma once
// A benchmark's output, sent as text, against the forecasts of a platform.
#include <string>

#include "sim/machine/catalogue.hpp"

namespace linkcast::serve {

struct SentLog {
  std::string platform, text;
  std::vector<std::string> edits{};
  bool force = false;  ///< though it names other GPUs than the platform has
};

/// As `linkcast diagnose --json`, with key text: the same as people read it. @throws InputError  as that
Json diagnose_sent(catalogue::Catalogue& catalogue, const SentLog& sent);

}  // namespace linkcast::serve
