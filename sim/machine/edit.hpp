#pragma once
// What-if edits as text: one grammar for the command line and for the `edits` of a query. Meaning: docs/what-if.md.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast {

/// In the order in which they take effect, whatever the order in which they are given.
enum class EditVerb {
  kFabric,
  kNics,
  kNetwork,
  kOversubscription,
  kDisable,
  kRemove,
  kSwap,
  kAdd,
  kSet,
  kScale,
  kSlow,
  kFlaky
};

struct Edit {
  EditVerb verb = EditVerb::kDisable;
  std::string text;          ///< "remove gpu0-gpu4:1", the same for every way to write it
  std::string subject;       ///< cable "a-b", cable kind, device, generator of a fabric, network, or a parameter
  std::string kind;          ///< add, swap: the new kind; remove: that of the cable, where it was named
  int count = 0;             ///< add, remove: links, 0: the whole bundle; nics: adapters
  double factor = 1;         ///< scale, slow, oversubscription; flaky: share of packets sent again
  BytesPerSecond bandwidth;  ///< set kind=
  bool whole_kind = false;   ///< set: of a kind, else of a parameter
  std::vector<std::pair<std::string, std::string>> values;  ///< fabric, network: keys; set: the parameter's value
};

/// Names of the verbs: "fabric", "disable", ...
const std::vector<std::string>& edit_verbs();

/// Whether it changes the network between nodes.
constexpr bool of_network(EditVerb verb) { return verb <= EditVerb::kOversubscription; }

/// "remove gpu0-gpu4", also "--remove gpu0-gpu4" and "remove=gpu0-gpu4". @throws InputError  which edit, what is
/// allowed
Edit parse_edit(const std::string& text);
/// All of them in the order in which they take effect. @throws InputError  two of them contradict each other
std::vector<Edit> parse_edits(const std::vector<std::string>& texts);

/// True if `kind` is what a pattern names: itself, or a prefix of it ("nvlink", "pcie"). Cables between CPUs
/// (nvlink_cpu, ...) are named in full only.
bool names_kind(const std::string& pattern, const std::string& kind);

[[noreturn]] inline void refuse(const Edit& edit, const std::string& what) {
  throw InputError("edit '" + edit.text + "': " + what);
}

/// @returns -1 if the text is no whole number
int whole_number(const std::string& text);

/// Known names, for an error that stays readable.
template <class List>
std::string listed(const List& list) {
  constexpr std::size_t most = 60;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& item : list)
    if (shown++ < most) text += (text.empty() ? "" : ", ") + item;
  return text + (list.size() > most ? fmt::format(", and {} more", list.size() - most) : "");
}

}  // namespace linkcast
