#pragma once
// Options that importers of topologies have in common.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/peer_access.hpp"
#include "sim/base/quantity.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::topology_import {

/// One PCI Express link.
struct PcieLink {
  int generation = 0, width = 0;
  [[nodiscard]] std::string kind() const { return std::string(cable_kind_of(CableFamily::kPcie, generation)->name); }
  [[nodiscard]] std::string text() const {  ///< "PCIe 3 x16"
    return fmt::format("PCIe {} x{}", generation, width);
  }
  /// One direction. @pre  a known generation
  [[nodiscard]] BytesPerSecond rate() const;
};

/// The options of a format, each with its line for --help. @throws InvariantError  for a key that no line describes
std::vector<ImportOption> described_options(const std::set<std::string>& keys);

/// Name, options and number of files of a request, checked.
class TopologyRequest {
 public:
  /// @param keys  options that the format knows
  /// @throws InputError  no --machine, or not a name for a topology; unknown option; more files than `most_files`
  TopologyRequest(const ImportRequest& request, const std::set<std::string>& keys, std::size_t most_files);

  [[nodiscard]] const std::string& name() const { return request_.machine; }
  [[nodiscard]] std::optional<std::string> option(const std::string& key) const;
  /// @throws InputError  if the value is not one of `allowed`
  [[nodiscard]] std::optional<std::string> choice(const std::string& key, const std::set<std::string>& allowed) const;
  /// @throws InputError  if the value is no whole number above 0
  [[nodiscard]] std::optional<int> number(const std::string& key) const;
  [[nodiscard]] std::optional<bool> yes_or_no(const std::string& key) const;
  /// option pcie=4x16
  [[nodiscard]] std::optional<PcieLink> pcie() const;

  /// Which GPUs may access each other over PCIe, as topologies write it: option pcie_peer, what was found, else none.
  [[nodiscard]] std::string pcie_peer(const std::optional<PeerAccess>& found = std::nullopt) const;
  /// Text about it for the record's source.
  [[nodiscard]] std::string pcie_peer_source(const std::optional<PeerAccess>& found = std::nullopt) const;

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  const ImportRequest& request_;
};

/// @returns nothing unless the text is a whole number of digits only, below 10^9
std::optional<int> whole_number(const std::string& text);

/// Text of a file. @throws InputError  if it cannot be read, or is not UTF-8
std::string read_text(const std::string& path);

/// @throws InputError  "FILE line LINE: WHAT"
[[noreturn]] void fail_at(const std::string& file, int line, const std::string& what);

}  // namespace linkcast::topology_import
