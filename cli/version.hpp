#pragma once
#include <string>

namespace linkcast::cli {

/// Version and commit, then on a line of its own how it was built and with which SimGrid it runs.
std::string version_text();

}  // namespace linkcast::cli
