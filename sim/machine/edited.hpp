#pragma once
// A machine that does not exist: a platform with edits applied, the original stays as it is.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast {

/// What another platform knows of a cable kind.
struct KindOffer {
  std::string platform;
  BytesPerSecond nominal;
  std::map<std::string, Parameter> parameters;  ///< of the kind, by name
};
using KindLookup = std::function<std::optional<KindOffer>(const std::string& kind)>;

/// What a platform itself knows of a kind; nullopt if it has no such cable.
std::optional<KindOffer> offer_of(const Platform& platform, const std::string& kind);

struct EditedPlatform {
  Platform platform;
  std::vector<std::string> texts;  ///< the edits in the order in which they took effect
  std::vector<std::string> notes;  ///< what is assumed of rates that nobody measured
};

/// @param elsewhere  asked for kinds that the platform does not have
/// @throws InputError  which edit, what is wrong, what is known here; or a GPU without a way to its CPU
EditedPlatform edited_platform(const Platform& base, const std::vector<Edit>& edits, const KindLookup& elsewhere);

}  // namespace linkcast
