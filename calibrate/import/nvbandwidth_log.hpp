#pragma once
// Output of nvbandwidth, text or JSON (-j), in one shape.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/text_file.hpp"

namespace linkcast {

/// One matrix of a test.
struct NvbandwidthMatrix {
  std::string title;  ///< "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
  std::vector<std::vector<std::string>> cells;
  std::vector<std::string> places;  ///< where each row stands: "log.txt:12", "log.json:/nvbandwidth/..."
  std::string place;                ///< where the title stands
};

struct NvbandwidthTest {
  std::string name;  ///< device_to_device_memcpy_read_ce
  std::string place;
  bool waived = false;
  std::vector<NvbandwidthMatrix> matrices;
};

struct NvbandwidthLog {
  std::string version;
  std::vector<std::pair<std::string, std::string>> facts;  ///< driver, CUDA: key of the record, value as printed
  std::vector<std::string> gpus;                           ///< names, by printed number
  std::vector<NvbandwidthTest> tests;
  bool complete = false;  ///< ends as the program ends it: no test is missing
};

/// "CUDA Runtime Version" as the key cuda_runtime of a record's environment.
inline std::string fact_key(const std::string& printed) {
  return printed == "Driver Version" ? "driver" : printed == "CUDA Driver Version" ? "cuda_driver" : "cuda_runtime";
}

/// Rows without numbers in front; a cell that was not run is "N/A".
/// @throws InputError  file and line
NvbandwidthLog read_nvbandwidth_text(TextFile& file);
/// @throws InputError  file and JSON pointer
NvbandwidthLog read_nvbandwidth_json(const TextFile& file);

}  // namespace linkcast
