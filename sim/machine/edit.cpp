#include "sim/machine/edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/base/input_error.hpp"
#include "sim/base/ranges.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast {
namespace {

const std::vector<std::string> kForms = {
    "fabric GENERATOR:key=value,... (e.g. fabric dragonfly:nodes=64,links.global.bandwidth=50GB/s)",
    "nics NUMBER (e.g. nics 4)",
    "network NAME or NAME:key=value,... with nodes and bandwidth (e.g. network efa:nodes=64)",
    "oversubscription FACTOR (e.g. oversubscription 2)",
    "disable KIND, a prefix of kinds, p2p or gpudirect (e.g. disable nvlink)",
    "remove CABLE or CABLE:LINKS (e.g. remove gpu0-gpu4:1)",
    "swap CABLE:KIND or KIND:OTHERKIND (e.g. swap nvlink1:nvlink2)",
    "add A-B:KIND or A-B:KIND:LINKS (e.g. add gpu0-gpu5:nvlink2:2)",
    "set kind=KIND:bandwidth=RATE, or set PARAMETER=VALUE (e.g. set kind=nvlink2:bandwidth=50GB/s)",
    "scale CABLE:FACTOR or KIND:FACTOR (e.g. scale gpu0-gpu4:0.5)",
    "slow DEVICE:FACTOR (e.g. slow gpu3:1.2)",
    "flaky CABLE:SHARE or KIND:SHARE (e.g. flaky gpu0-gpu4:0.05)"};

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw InputError("edit '" + text + "': " + what);
}

[[noreturn]] void refuse_form(const Edit& edit) {
  refuse(edit.text, "write " + kForms[static_cast<std::size_t>(edit.verb)]);
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Splits at the last ':'. The second part is empty if there is none.
std::pair<std::string, std::string> at_last_colon(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

int links_of(const Edit& edit, const std::string& text, const char* what = "links") {
  constexpr int most = 1000;  // far above any bundle: a typing error, not a request
  const int count = whole_number(text);
  if (count < 1 || count > most)
    refuse(edit.text, fmt::format("'{}' is not a number of {} from 1 to {}", text, what, most));
  return count;
}

double factor_of(const Edit& edit, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (edit.verb == EditVerb::kFlaky) {
    if (!number || !(value >= 0 && value <= kLargestRetryShare))
      refuse(edit.text, "'" + text + "' is not a share from 0 to 0.999");
    return value;
  }
  constexpr double most = kLargestFactor;
  const double least = edit.verb == EditVerb::kSlow || edit.verb == EditVerb::kOversubscription ? 1 : 1 / most;
  if (!number || !std::isfinite(value) || !(value >= least && value <= most))
    refuse(edit.text, "'" + text + "' is not a factor from " + (least < 1 ? "0.001" : "1") + " to 1000");
  return value;
}

void read_remove(Edit& edit, std::string rest) {
  auto [before, last] = at_last_colon(rest);
  if (!last.empty() && std::isdigit(static_cast<unsigned char>(last.front()))) {
    edit.count = links_of(edit, last);
    rest = before;
  }
  std::tie(edit.subject, edit.kind) = at_last_colon(rest);
  if (edit.subject.empty()) refuse_form(edit);
}

void read_add(Edit& edit, std::string rest) {
  edit.count = 1;
  auto [before, last] = at_last_colon(rest);
  if (before.find(':') != std::string::npos) {
    edit.count = links_of(edit, last);
    rest = before;
  }
  std::tie(edit.subject, edit.kind) = at_last_colon(rest);
  if (edit.subject.find('-') == std::string::npos || edit.kind.empty() || edit.kind.find(':') != std::string::npos)
    refuse_form(edit);
}

void read_set(Edit& edit, const std::string& rest) {
  const std::string kind = "kind=", bandwidth = "bandwidth=";
  const auto colon = rest.find(':');
  if (rest.starts_with(kind)) {
    edit.whole_kind = true;
    edit.subject = rest.substr(kind.size(), colon == std::string::npos ? colon : colon - kind.size());
    if (colon == std::string::npos || edit.subject.empty()) refuse_form(edit);
    const std::string value = rest.substr(colon + 1);
    if (value.starts_with("latency"))
      refuse(edit.text, "a cable has no latency of its own: set a start-up, e.g. set transport.peer.r0.startup_s=5us");
    if (!value.starts_with(bandwidth)) refuse_form(edit);
    try {
      edit.bandwidth = parse_bandwidth(value.substr(bandwidth.size()));
    } catch (const UnitError& error) {
      refuse(edit.text, error.what());
    }
    if (!(edit.bandwidth.si > 0)) refuse(edit.text, "a bandwidth must be above 0");
    return;
  }
  const auto equals = rest.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == rest.size()) refuse_form(edit);
  edit.subject = rest.substr(0, equals);
  edit.values = {{edit.subject, rest.substr(equals + 1)}};
}

void read_fabric(Edit& edit, const std::string& rest) {
  if (edit.verb == EditVerb::kFabric && rest.starts_with("{")) {  // the object itself
    edit.subject = rest;
    edit.text = "fabric {...}";
    return;
  }
  const auto colon = rest.find(':');
  edit.subject = rest.substr(0, colon);
  if (edit.subject.empty()) refuse_form(edit);
  std::string list = colon == std::string::npos ? "" : rest.substr(colon + 1);
  if (colon != std::string::npos && list.empty()) refuse_form(edit);
  std::set<std::string> seen;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string part = trimmed(list.substr(0, comma));
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      refuse(edit.text, "'" + part + "' is not key=value");
    edit.values.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    if (!seen.insert(edit.values.back().first).second)
      refuse(edit.text, "'" + edit.values.back().first + "' is given twice");
    list = comma == std::string::npos ? "" : list.substr(comma + 1);
  }
}

void read_factor(Edit& edit, const std::string& rest) {
  const auto [subject, factor] = at_last_colon(rest);
  if (subject.empty() || factor.empty()) refuse_form(edit);
  edit.factor = factor_of(edit, factor);
  edit.subject = subject;
  if (edit.verb == EditVerb::kSlow || subject.find('-') == std::string::npos) return;
  std::tie(edit.subject, edit.kind) = at_last_colon(subject);
}

void read_swap(Edit& edit, const std::string& rest) {
  std::tie(edit.subject, edit.kind) = at_last_colon(rest);
  if (edit.subject.empty() || edit.kind.empty() || edit.subject.find(':') != std::string::npos) refuse_form(edit);
}

void read_argument(Edit& edit, const std::string& rest) {
  switch (edit.verb) {
    case EditVerb::kFabric:
    case EditVerb::kNetwork:
      return read_fabric(edit, rest);
    case EditVerb::kNics:
      edit.count = links_of(edit, rest, "adapters");
      return;
    case EditVerb::kOversubscription:
      edit.factor = factor_of(edit, rest);
      return;
    case EditVerb::kDisable:
      edit.subject = rest;
      return;
    case EditVerb::kRemove:
      return read_remove(edit, rest);
    case EditVerb::kSwap:
      return read_swap(edit, rest);
    case EditVerb::kAdd:
      return read_add(edit, rest);
    case EditVerb::kSet:
      return read_set(edit, rest);
    case EditVerb::kScale:
    case EditVerb::kSlow:
    case EditVerb::kFlaky:
      return read_factor(edit, rest);
  }
}

}  // namespace

int whole_number(const std::string& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? value : -1;
}

const std::vector<std::string>& edit_verbs() {
  static const std::vector<std::string> verbs = {"fabric",  "nics",   "network", "oversubscription",
                                                 "disable", "remove", "swap",    "add",
                                                 "set",     "scale",  "slow",    "flaky"};
  return verbs;
}

Edit parse_edit(const std::string& text) {
  std::string plain = trimmed(text);
  if (plain.starts_with("--")) plain.erase(0, 2);
  const auto end = plain.find_first_of(" =:");
  const auto& verbs = edit_verbs();
  const auto verb = std::find(verbs.begin(), verbs.end(), plain.substr(0, end));
  if (verb == verbs.end()) {
    std::string known;
    for (const std::string& form : kForms) known += (known.empty() ? "" : "; ") + form.substr(0, form.find(" (e.g."));
    refuse(text, "unknown edit: one of " + known);
  }
  Edit edit;
  edit.verb = static_cast<EditVerb>(verb - verbs.begin());
  const std::string rest = end == std::string::npos ? "" : trimmed(plain.substr(end + 1));
  edit.text = *verb + " " + rest;
  if (rest.empty() || (rest.find_first_of(" \t") != std::string::npos && edit.verb != EditVerb::kSet &&
                       edit.verb != EditVerb::kFabric && edit.verb != EditVerb::kNetwork))
    refuse_form(edit);
  read_argument(edit, rest);
  return edit;
}

std::vector<Edit> parse_edits(const std::vector<std::string>& texts) {
  std::vector<Edit> edits;
  std::set<std::string> once;
  for (const std::string& text : texts) {
    edits.push_back(parse_edit(text));
    const Edit& edit = edits.back();
    const std::string what = of_network(edit.verb) ? edit_verbs()[static_cast<std::size_t>(edit.verb)] : edit.subject;
    if ((of_network(edit.verb) || edit.verb == EditVerb::kSet) && !once.insert(what).second)
      refuse(edit.text, "'" + what + "' is given twice");
  }
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.verb < b.verb; });
  return edits;
}

bool names_kind(const std::string& pattern, const std::string& kind) {
  if (is_socket_cable(kind)) return pattern == kind;
  return !pattern.empty() && kind.starts_with(pattern);
}

}  // namespace linkcast
