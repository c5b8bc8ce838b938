#include "calibrate/import/topology_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "sim/base/packed_file.hpp"
#include "sim/base/text.hpp"

namespace linkcast::topology_import {
namespace {

/// As topologies/schema.json has it: words of a-z and 0-9 joined by single hyphens.
bool is_topology_name(const std::string& text) {
  bool after_hyphen = true;
  for (const char c : text) {
    if (c == '-' && after_hyphen) return false;
    if (c != '-' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) return false;
    after_hyphen = c == '-';
  }
  return !after_hyphen;
}

/// Records are UTF-8, which the writer of JSON checks.
bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
  } catch (const Json::type_error&) {
    return false;
  }
  return true;
}

}  // namespace

BytesPerSecond PcieLink::rate() const {
  const auto lane = pcie_lane(generation);
  if (!lane) throw InvariantError(fmt::format("no rate of PCIe generation {}", generation));
  return width * *lane;
}

std::vector<ImportOption> described_options(const std::set<std::string>& keys) {
  static const std::map<std::string, std::string> texts = {
      {"device", "which device of the file, where several have GPUs"},
      {"gpu", "model, e.g. H100: gives generation and number of NVLinks where no file names it"},
      {"sm", "compute capability x 10 of a model not known here, e.g. 90"},
      {"nvlink", "generation of the NVLinks, " + known_generations(CableFamily::kAccelerator)},
      {"nvswitch", "yes or no: do the NVLinks go to NVSwitches"},
      {"pcie", "generation and lanes of the GPUs' PCIe where no file says, e.g. 4x16"},
      {"cpu", "intel, amd, ibm or arm"},
      {"numbers", "cuda or nvml: whose numbers gpu0, gpu1, ... follow"},
      {"partial", "yes: a dump of some GPUs; links to the others are left out"},
      {"pcie_peer", "all, same_socket or none: which GPUs may access each other over PCIe (assumed none)"}};
  std::vector<ImportOption> described;
  for (const std::string& key : keys) {
    const auto it = texts.find(key);
    if (it == texts.end()) throw InvariantError("no text for option " + key);
    described.push_back({key, it->second});
  }
  return described;
}

TopologyRequest::TopologyRequest(const ImportRequest& request, const std::set<std::string>& keys,
                                 std::size_t most_files)
    : request_(request) {
  if (request.machine.empty()) throw InputError("machine: is needed, it names the topology");
  if (!is_topology_name(request.machine))
    throw InputError("machine: '" + request.machine +
                     "' is no name for a topology: words of a-z and 0-9 with hyphens between them");
  for (const auto& [key, value] : request.options)
    if (!keys.count(key)) fail(key, "unknown option; known to this format: " + (keys.empty() ? "none" : joined(keys)));
  if (request.files.empty() || request.files.size() > most_files)
    throw InputError(fmt::format("file: {} files are given, this format reads {}", request.files.size(),
                                 most_files == 1 ? "one" : fmt::format("one to {}", most_files)));
}

void TopologyRequest::fail(const std::string& key, const std::string& what) const {
  throw InputError("option " + key + ": " + what);
}

std::optional<std::string> TopologyRequest::option(const std::string& key) const {
  const auto it = request_.options.find(key);
  if (it == request_.options.end()) return std::nullopt;
  if (it->second.empty()) fail(key, "has no value");
  if (!is_utf8(it->second)) fail(key, "is not UTF-8");
  return it->second;
}

std::optional<std::string> TopologyRequest::choice(const std::string& key, const std::set<std::string>& allowed) const {
  const auto value = option(key);
  if (value && !allowed.count(*value)) fail(key, "'" + *value + "' is not allowed: one of " + joined(allowed));
  return value;
}

std::optional<int> TopologyRequest::number(const std::string& key) const {
  const auto text = option(key);
  if (!text) return std::nullopt;
  const auto value = whole_number(*text);
  if (!value || *value < 1) fail(key, "'" + *text + "' is no whole number above 0");
  return value;
}

std::optional<bool> TopologyRequest::yes_or_no(const std::string& key) const {
  const auto value = choice(key, {"yes", "no"});
  if (!value) return std::nullopt;
  return *value == "yes";
}

std::optional<PcieLink> TopologyRequest::pcie() const {
  const auto text = option("pcie");
  if (!text) return std::nullopt;
  const auto x = text->find('x');
  const auto generation = whole_number(text->substr(0, x));
  const auto width = x == std::string::npos ? std::nullopt : whole_number(text->substr(x + 1));
  if (!generation || !pcie_lane(*generation) || !width || *width < 1 || *width > 32)
    fail("pcie", "'" + *text + "' is not GENERATIONxLANES, e.g. 4x16");
  return PcieLink{*generation, *width};
}

std::string TopologyRequest::pcie_peer(const std::optional<PeerAccess>& found) const {
  return choice("pcie_peer", {"none", "same_socket", "all"}).value_or(found ? found->value : "none");
}

std::string TopologyRequest::pcie_peer_source(const std::optional<PeerAccess>& found) const {
  if (option("pcie_peer")) return "pcie_peer: as option pcie_peer says";
  return found ? found->source : "assumed: no peer access over PCIe (option pcie_peer says otherwise)";
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= 1'000'000'000 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return value;
}

std::string read_text(const std::string& path) {
  const std::string content = file_text(path);
  std::istringstream text(content);
  int number = 0;
  for (std::string line; std::getline(text, line);)
    if (++number; !is_utf8(line)) fail_at(path, number, "not UTF-8");
  return content;
}

void fail_at(const std::string& file, int line, const std::string& what) {
  throw InputError(fmt::format("{} line {}: {}", file, line, what));
}

}  // namespace linkcast::topology_import
