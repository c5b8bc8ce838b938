#pragma once
// What may be wrong with a machine, and how a forecast of it with this fault is asked for.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/compare.hpp"

namespace linkcast::diagnosis {

enum class CauseKind {
  kLinks,
  kPcie,
  kPeers,
  kMulticast,
  kNuma,
  kGpu,
  kProtocol,
  kChannels,
  kClock,
  kNic,
  kFabric,
  kGpuDirect,
  kIommu,
  kStartup,
  kSockets,
  kPart,
  kUnknown
};

/// For tables and JSON: "lost links", ...
std::string_view text_of(CauseKind kind);
/// What tells this kind from others, to be run next.
std::string_view next_step(CauseKind kind);

/// One way in which it may be so: edits of the machine, or another question.
struct Trial {
  double times = 1;  ///< of graded causes: so many times slower is the part; else 1
  std::string text;  ///< "gpu0-gpu4 without 1 of 2 links"
  std::vector<std::string> edits{};
  std::function<void(Json& query)> twist{};  ///< what is asked else; empty: the same
};

/// Something that may be broken, and how badly.
struct Cause {
  CauseKind kind = CauseKind::kPart;
  std::string part;     ///< gpu3, gpu0-gpu4, all pairs, ...
  bool graded = false;  ///< the trials are of one fault, slight to bad: what lies between them may be, too
  std::vector<Trial> trials;
  std::function<std::vector<std::string>(double times)> edits{};  ///< of a graded one, so bad
  bool whole_machine = false;                                     ///< not of a part beside its neighbours
};

/// One that may be slight or bad. @param edits  of a factor
Cause graded_cause(CauseKind kind, const std::string& part, const std::string& what, bool whole_machine,
                   std::function<std::vector<std::string>(double times)> edits);

/// Whether a point was measured on several nodes.
bool on_several_nodes(const validate::ComparedPoint& point);

}  // namespace linkcast::diagnosis
