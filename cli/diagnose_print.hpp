#pragma once
// Diagnoses as people read them.
#include <map>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "validate/diagnosis/fleet.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::cli {

/// @param facts  of facts_of()
void print_diagnosis(const std::string& path, const Json& facts, const diagnosis::Diagnosis& found,
                     const diagnosis::Bench& bench);

/// @param causes  by log, of those that are slow, where a platform was named
void print_fleet(const std::vector<diagnosis::FleetMember>& members,
                 const std::map<std::string, diagnosis::Ranking>& causes);

}  // namespace linkcast::cli
