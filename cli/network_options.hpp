#pragma once
// Options of `predict` about the network that a message or collective runs in, and what its answer says of it.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/records/object_reader.hpp"

namespace linkcast::cli {

struct NetworkOptions {
  std::optional<std::int64_t> noise{}, allocation_seed{};
  std::optional<int> samples{}, service_level{};
  std::string allocation{};
  std::vector<std::string> beside{};
};

/// --noise, --samples, --service-level
void add_noise(CLI::App& command, NetworkOptions& options);
/// --allocation, --allocation-seed, --beside
void add_jobs(CLI::App& command, NetworkOptions& options);
/// Keys of the same names.
void put_network(const NetworkOptions& options, Json& query);
/// Rows to print: label, text.
std::vector<std::pair<std::string, std::string>> network_rows(const Json& result);

}  // namespace linkcast::cli
