#pragma once
// This machine, or pasted outputs of its tools, to a topology and a platform: `linkcast init`, and linkcast.init() of
// Python.
#include <map>
#include <string>
#include <vector>

#include "calibrate/pipelines/import_files.hpp"

namespace linkcast::pipelines {

struct NewMachine {
  std::vector<std::string> files{};  ///< outputs of nvidia-smi, rocm-smi, NCCL or hwloc, in any order; empty: ask here
  std::string out = ".";             ///< folder of NAME-topology.json and NAME.json
  std::string machine{};             ///< NAME; empty: that of the host
  std::map<std::string, std::string> options{};  ///< what the files do not say, as of their format
  bool force = false;                            ///< replace files that are there
};

struct InitialisedMachine {
  std::string found;               ///< what the files show, in one line
  std::string topology, platform;  ///< files that were written: wiring, and parameters
  std::size_t gpus = 0;
  std::vector<Note> import_notes;
  std::vector<std::string> notes;  ///< of the platform: which machines its parameters are inherited from
};

/// @throws InputError  no tool and no GPU here, files that say no wiring, or files of that name are there
InitialisedMachine init_machine(catalogue::Catalogue& catalogue, const NewMachine& request);

/// Whether a text is an output that init reads.
bool init_reads(const std::string& text);
/// The format of import of what says how a machine is wired: topo-m, rocm-topo, nccl-xml, hwloc-xml; empty: it is none.
std::string wiring_format(const std::string& text);

}  // namespace linkcast::pipelines
