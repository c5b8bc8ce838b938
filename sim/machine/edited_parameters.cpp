#include "sim/machine/edited_parameters.hpp"

#include "sim/machine/edit_refusal.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

/// "nic0.read_window": a figure of a NIC's engine. @returns false if it names none
bool set_engine(const Edit& edit, Topology& topology) {
  const auto dot = edit.subject.find('.');
  const auto device = dot == std::string::npos ? std::nullopt : topology.find(edit.subject.substr(0, dot));
  if (!device || !topology.devices[static_cast<std::size_t>(*device)].engine) return false;
  try {
    return topology.devices[static_cast<std::size_t>(*device)].engine->set(edit.subject.substr(dot + 1),
                                                                           edit.values.front().second);
  } catch (const UnitError& error) {
    refuse(edit, error.what());
  }
}

}  // namespace

void set_parameter(const Edit& edit, Topology& topology, Calibration& calibration) {
  if (set_engine(edit, topology)) return;
  const ParameterRow* row = find_parameter_row(edit.subject);
  if (row && row->addable)
    calibration.parameters.try_emplace(edit.subject, Parameter{0, 0, std::string(row->unit), "edited: set"});
  const auto found = calibration.parameters.find(edit.subject);
  if (found == calibration.parameters.end()) {
    std::vector<std::string> known;
    const std::string head = edit.subject.substr(0, edit.subject.find('.'));
    for (const auto& [name, parameter] : calibration.parameters)
      if (name.rfind(head, 0) == 0) known.push_back(name);
    refuse(edit, "no such parameter" + (known.empty() ? ": see show" : ": one of " + listed(known)));
  }
  Parameter& p = found->second;
  try {
    const std::string& value = edit.values.front().second;
    p.value = p.unit == "s"     ? parse_seconds(value).si
              : p.unit == "B"   ? parse_bytes(value).si
              : p.unit == "B/s" ? parse_bandwidth(value).si
                                : std::stod(value);
  } catch (const std::exception& error) {
    refuse(edit, error.what());
  }
  if (const std::string wrong = row ? row->refusal(p.value) : ""; !wrong.empty()) refuse(edit, wrong);
  p.stderr_ = 0;
  p.provenance = "edited: set";
}

}  // namespace linkcast
