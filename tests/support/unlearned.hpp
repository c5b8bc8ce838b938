#pragma once
// A shipped platform as it was before collectives taught it anything: for laws of links and rings in closed form.
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast::test {

/// Path of a calibration of that platform without parameters of NCCL: they are what the library believes.
/// @param blocks_limit  false: thread blocks move whatever links carry
inline std::string unlearned(const std::string& platform, bool blocks_limit = true) {
  Json calibration = read_json_file(test::data_dir() + "/models/params/" + platform + ".json");
  Json kept = Json::object();
  for (const auto& [name, parameter] : calibration["parameters"].items())
    if (name.rfind("nccl.", 0) != 0) kept[name] = parameter;
  for (const std::string cost : {"ring.LL", "ring.LL128", "ring.Simple", "sendrecv", "network.LL", "network.Simple"})
    if (!blocks_limit)
      kept["nccl." + cost + ".channel_Bps"] = {
          {"value", 1e15}, {"stderr", 0}, {"unit", "B/s"}, {"provenance", "fitted"}};
  calibration["parameters"] = kept;
  calibration.erase("correlation");
  const auto path = std::filesystem::temp_directory_path() /
                    ("linkcast-unlearned-" + platform + (blocks_limit ? "" : "-free") + ".json");
  const auto draft = path.string() + "." + std::to_string(reinterpret_cast<std::uintptr_t>(&calibration));
  std::ofstream(draft) << calibration.dump();
  std::filesystem::rename(draft, path);  // several tests may run at once
  return path.string();
}

}  // namespace linkcast::test
