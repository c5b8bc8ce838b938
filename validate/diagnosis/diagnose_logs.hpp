#pragma once
// Benchmark logs to diagnoses: `linkcast diagnose`, and linkcast.diagnose() of Python.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/diagnosis/change.hpp"
#include "validate/diagnosis/diagnose_files.hpp"
#include "validate/diagnosis/fleet.hpp"

namespace linkcast::diagnosis {

/// Three logs and more, baseline included, each against the others.
struct DiagnosedFleet {
  std::vector<FleetMember> members;
  std::map<std::string, Ranking> causes;  ///< by log, of those that are slow, where a platform is named
  [[nodiscard]] bool normal() const;
};

/// A log against one of before.
struct DiagnosedChange {
  std::string before, after;
  Json facts_before, facts_after;  ///< of facts_of(), and the nodes
  LogChange change;
  std::string platform{};  ///< that causes were tried out on; empty: none
  std::optional<Ranking> causes{};
};

/// A row a log; causes where they are known.
Json to_json(const DiagnosedFleet& fleet);
Json to_json(const DiagnosedChange& change);
std::string text_of(const DiagnosedFleet& fleet);
std::string text_of(const DiagnosedChange& change);

/// An answer of diagnose: files against forecasts, a change, a fleet, or several sets of nodes.
struct LogAnswer {
  Json json = Json::object();
  std::string text{};
  Verdict verdict = Verdict::kNormal;
  std::vector<std::string> platforms{};  ///< that were used, each once
};
/// Gets the text of a part as soon as it is known, its verdict, and why points of it have no forecast.
using EachPart = std::function<void(const std::string&, Verdict, const std::vector<std::string>&)>;
/// @param each  may be empty
/// @throws InputError  as diagnose_file(); logs of other GPUs than each other, or with nothing in common
LogAnswer diagnose_logs(catalogue::Catalogue& catalogue, const LogRequest& request, const EachPart& each = {});

}  // namespace linkcast::diagnosis
