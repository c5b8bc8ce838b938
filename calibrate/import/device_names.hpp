#pragma once
// Printed device numbers as GPUs of the topology.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibrate/import/importer.hpp"

namespace linkcast {

/// True if the text is a kind and a number, e.g. gpu3; not gpu03.
bool is_device(const std::string& text, const std::string& kind);

class DeviceNames {
 public:
  /// @throws InputError  if option gpus is no list of numbers
  explicit DeviceNames(const ImportRequest& request);

  /// Number of the GPU that the files call `printed`. @throws InputError  if option gpus does not name it
  [[nodiscard]] int number(int printed) const;
  [[nodiscard]] std::string id(int printed) const { return fmt::format("gpu{}", number(printed)); }
  /// For the record: how devices were named.
  [[nodiscard]] std::string note() const;

  static ImportOption option();

 private:
  std::vector<int> gpus_;  ///< empty: as printed
};

}  // namespace linkcast
