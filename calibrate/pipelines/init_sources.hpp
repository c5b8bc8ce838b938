#pragma once
// Outputs of nvidia-smi or rocm-smi, run here or pasted into files.
#include <map>
#include <string>
#include <vector>

namespace linkcast::pipelines {

struct InitSources {
  std::string format;                          ///< importer that reads them
  std::vector<std::string> files;              ///< in its order
  std::map<std::string, std::string> options;  ///< of the importer
  std::vector<std::string> bus_ids;            ///< of the GPUs, where the tool prints them
};

/// Asks the tool that is on the PATH and keeps its outputs in a folder. @throws InputError  no tool, or
/// no GPU: one line
InitSources ask_machine(const std::string& folder);
/// Files in any order, told apart by what they hold. @param folder  for the parts of a file that holds several outputs
/// @throws InputError  no table among them; two of one sort
InitSources sort_outputs(const std::vector<std::string>& files, const std::string& folder);

/// @throws InputError  begins with "out": the file cannot be written
void write_output(const std::string& path, const std::string& text);

}  // namespace linkcast::pipelines
