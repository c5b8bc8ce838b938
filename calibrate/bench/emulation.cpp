#include "calibrate/bench/emulation.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/records/input_error.hpp"

namespace linkcast::bench {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

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

Options case_options(const Options& options, const Json& one, const fs::path& folder, int gpus) {
  Options made = options;
  made.emulated = one.at("id").get<std::string>();
  made.emulated_gpus = one.at("gpus").get<std::vector<int>>();
  made.occasion += "-" + made.emulated;
  const bool all = static_cast<int>(made.emulated_gpus.size()) <= gpus;
  const fs::path stem = fs::absolute(fs::path(options.out) / made.emulated);
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
                                    const std::vector<std::string>& only, int gpus) try {
  const std::string path = (fs::path(folder) / "study.json").string();
  const Json study = read_study(path);
  Options common = options;
  for (const auto& [name, value] : environment_of(study, path)) common.nccl_env[name] = value;
  std::vector<Options> all;
  for (const Json& one : study.at("cases")) {
    const bool named = std::find(only.begin(), only.end(), one.at("id").get<std::string>()) != only.end();
    if (only.empty() || named) all.push_back(case_options(common, one, folder, gpus));
  }
  for (const std::string& id : only)
    if (std::none_of(all.begin(), all.end(), [&](const Options& one) { return one.emulated == id; }))
      throw InputError("--cases: " + path + " has no case '" + id + "'");
  return all;
} catch (const Json::exception& error) {
  throw InputError((fs::path(folder) / "study.json").string() + ": " + error.what());
}

}  // namespace linkcast::bench
