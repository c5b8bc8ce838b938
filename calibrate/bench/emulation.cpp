#include "calibrate/bench/emulation.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calibrate/bench/nccl_sizes.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::bench {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSmallest = 8, kLargest = std::size_t{1} << 30, kStep = 8;

Json read_study(const std::string& path) {
  std::ifstream file(path);
  const Json study = Json::parse(file, nullptr, false);
  if (!file || study.is_discarded())
    throw InputError("--emulate: " + path + " cannot be read: a folder of linkcast emulate?");
  if (!study.is_object() || study.value("schema", "") != "emulation/1" || !study.contains("cases"))
    throw InputError(path + ": is no study of schema emulation/1");
  return study;
}

/// Those of the study, but for what this program sets itself.
std::map<std::string, std::string> environment_of(const Json& study, const std::string& path) {
  std::map<std::string, std::string> variables;
  const Json environment = study.value("environment", Json::object());
  for (const auto& [name, value] : environment.items()) {
    if (name.rfind("NCCL_", 0) != 0 || !value.is_string())
      throw InputError(path + " /environment/" + name + ": only NCCL_ variables are set, to texts");
    if (name.find("NVLS") == std::string::npos) variables[name] = value.get<std::string>();
  }
  return variables;
}

/// A case of more GPUs than there are is waived, and any GPUs will do to see whether NCCL takes its file.
void check_bus_ids(const Json& one, const std::string& path, const std::vector<std::string>& real) {
  const auto gpus = one.at("gpus").get<std::vector<std::size_t>>();
  const auto wanted = one.at("bus_ids").get<std::vector<std::string>>();
  if (gpus.size() > real.size()) return;
  if (wanted.size() != gpus.size()) throw InputError(path + " /cases: as many bus_ids as gpus");
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i] >= real.size() || real[gpus[i]] != wanted[i])
      throw InputError("--emulate: " + path + " was written for a GPU " + std::to_string(gpus[i]) + " at " + wanted[i] +
                       ", and this machine has " +
                       (gpus[i] < real.size() ? "it at " + real[gpus[i]] : std::string("none")) +
                       ": write the study with this machine's NCCL_TOPO_DUMP_FILE");
}

Options case_options(const Options& options, const Json& one, const fs::path& folder, int gpus) {
  Options made = options;
  made.emulated = one.at("id").get<std::string>();
  made.emulated_gpus = one.at("gpus").get<std::vector<int>>();
  made.occasion += "-" + made.emulated;
  const bool all = static_cast<int>(made.emulated_gpus.size()) <= gpus;
  const fs::path stem = fs::absolute(fs::path(options.out) / (made.emulated + "." + options.occasion));
  const std::string graphs = all ? ".graph.xml" : ".of-" + std::to_string(gpus) + ".xml";
  made.nccl_env["NCCL_TOPO_FILE"] = fs::absolute(folder / one.at("xml").get<std::string>()).string();
  made.nccl_env["NCCL_GRAPH_DUMP_FILE"] = stem.string() + graphs;
  made.nccl_env["NCCL_DEBUG"] = "INFO";
  made.nccl_env["NCCL_DEBUG_SUBSYS"] = "INIT,GRAPH,ENV";
  made.nccl_env["NCCL_DEBUG_FILE"] = stem.string() + ".nccl";
  return made;
}

}  // namespace

std::vector<Options> emulated_cases(const Options& options, const std::string& folder,
                                    const std::vector<std::string>& only, const std::vector<std::string>& bus_ids) try {
  const std::string path = (fs::path(folder) / "study.json").string();
  const Json study = read_study(path);
  Options common = options;
  for (const auto& [name, value] : environment_of(study, path)) common.nccl_env[name] = value;
  std::vector<Options> all;
  for (const Json& one : study.at("cases")) {
    const bool named = std::find(only.begin(), only.end(), one.at("id").get<std::string>()) != only.end();
    if (!only.empty() && !named) continue;
    check_bus_ids(one, path, bus_ids);
    all.push_back(case_options(common, one, folder, static_cast<int>(bus_ids.size())));
  }
  for (const std::string& id : only)
    if (std::none_of(all.begin(), all.end(), [&](const Options& one) { return one.emulated == id; }))
      throw InputError("--cases: " + path + " has no case '" + id + "'");
  return all;
} catch (const Json::exception& error) {
  throw InputError((fs::path(folder) / "study.json").string() + ": " + error.what());
}

std::vector<EmulatedCall> emulated_calls(int gpus) {
  std::vector<EmulatedCall> all;
  for (const std::string& op : nccl_operations())
    for (std::size_t size = kSmallest; size <= kLargest; size *= kStep)
      if (const std::size_t bytes = rounded_size(op, size, gpus); bytes > 0) all.push_back({op, bytes});
  return all;
}

nlohmann::ordered_json emulated_method(const Options& options, const std::string& nccl,
                                       const std::string& calls_per_repetition) {
  std::string settings = "NCCL_NVLS_ENABLE=0";
  for (const auto& [name, value] : options.nccl_env)
    if (name.rfind("NCCL_DEBUG", 0) != 0) settings += ", " + name + "=" + value.substr(value.rfind('/') + 1);
  return {{"case", options.emulated},
          {"nccl", nccl},
          {"process", "one process drives all GPUs"},
          {"settings", settings + "; other NCCL_ variables dropped"},
          {"size_B", "the size column of nccl-tests, rounded down to one float a rank where the operation splits it"},
          {"start", "all GPUs held by a spinning kernel, released together by the host"},
          {"clock", "CUDA events on each GPU around the queue of calls, the slowest GPU, divided by the calls"},
          {"calls_per_repetition", calls_per_repetition}};
}

}  // namespace linkcast::bench
