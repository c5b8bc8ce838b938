#include "sim/machine/edited.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/base/parse.hpp"
#include "sim/base/ranges.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/edit.hpp"
#include "sim/machine/edited_links.hpp"
#include "sim/machine/edited_network.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/calibration.hpp"
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

double number_of(const Edit& edit, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(edit, "'" + text + "' is not a number");
  return value;
}

/// Edit "set PARAMETER=VALUE": a fitted parameter, or a figure of a NIC's engine. Taken as exact.
/// @throws InputError  there is no such parameter, or it cannot have this value
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
    const std::optional<double> si = parse_in(p.unit, value);
    p.value = si ? *si : number_of(edit, value);
  } catch (const UnitError& error) {
    refuse(edit, error.what());
  }
  const std::string wrong = row ? row->refusal(p.value) : range_refusal(p.unit, p.value);
  if (!wrong.empty()) refuse(edit, wrong);
  p.stderr_ = 0;
  p.provenance = "edited: set";
}

/// Applies edits one after the other to a copy of a machine.
class Editor {
 public:
  Editor(const Platform& base, const std::vector<Edit>& edits, const KindLookup& elsewhere)
      : base_(&base), edits_(&edits), elsewhere_(&elsewhere), wiring_(base.wiring()), fit_(base.calibration()) {}

  EditedPlatform run() {
    std::vector<std::string> texts;
    for (const Edit& edit : *edits_) {
      for (const Edit& one : edits_of_plane(edit, wiring_)) apply(one);
      texts.push_back(edit.text);
    }
    finish_rates();
    for (const Edit& edit : *edits_)
      if (edit.verb == EditVerb::kSet && !edit.whole_kind) set_parameter(edit, wiring_, fit_);
    check_values();
    const std::string edited = " (edited: " + listed(texts) + ")";
    wiring_.name += edited;
    wiring_.title += edited;
    fit_.topology = wiring_.name;
    EditedPlatform result{Platform(std::move(wiring_), std::move(fit_)), std::move(texts), std::move(notes_)};
    check_hosts(result.platform);
    return result;
  }

 private:
  void apply(const Edit& edit);
  void disable(const Edit& edit);
  void disable_p2p(const Edit& edit);
  void disable_gpudirect(const Edit& edit);
  void remove(const Edit& edit);
  void swap(const Edit& edit);
  void add(const Edit& edit);
  void scale(const Edit& edit);
  void slow(const Edit& edit);
  void flaky(const Edit& edit);
  void set_kind(const Edit& edit);
  void finish_rates();
  void check_values() const;
  void check_hosts(const Platform& edited) const;

  /// Nominal rate of a kind, and its fitted parameters put into the calibration.
  BytesPerSecond take_kind(const Edit& edit, const std::string& kind);
  void check_ends(const Edit& edit, const std::string& kind, int a, int b) const;
  [[nodiscard]] int device(const Edit& edit, const std::string& id) const;
  [[nodiscard]] std::pair<int, int> ends(const Edit& edit) const;
  /// Index of the cable that an edit names. @throws InputError  none, or several
  [[nodiscard]] std::size_t cable(const Edit& edit, const std::string& kind) const;
  /// "nic4-plx4 (1 x pcie4)" of cables with an end at one of these.
  [[nodiscard]] std::vector<std::string> cables_at(int a, int b) const;
  /// For one that names a device or a kind where a cable belongs.
  void refuse_no_cable(const Edit& edit) const;
  /// @throws InputError  it names a device: which cables are there
  void refuse_device(const Edit& edit) const;
  [[nodiscard]] std::set<std::string> kinds() const;
  [[nodiscard]] const std::string& id_of(int device) const {
    return wiring_.devices[static_cast<std::size_t>(device)].id;
  }
  template <class Condition>
  std::size_t erase_cables(Condition condition);
  /// There is no cable of the kind that the edit names. @param also  what else it could have named
  [[noreturn]] void refuse_kind(const Edit& edit, const std::string& what, const std::string& also = "") const;
  void reindex() {
    wiring_.index();
    drop_orphans(wiring_, fit_);
  }
  RateFactors& factors();

  const Platform* base_;
  const std::vector<Edit>* edits_;
  const KindLookup* elsewhere_;
  Topology wiring_;
  Calibration fit_;
  RateFactors factors_;
  std::vector<std::string> notes_;
};

void Editor::apply(const Edit& edit) {
  switch (edit.verb) {
    case EditVerb::kFabric:
      return edit_fabric(edit, wiring_, fit_, notes_);
    case EditVerb::kNics:
      return edit_nics(edit, wiring_);
    case EditVerb::kNetwork:
      return edit_network(edit, wiring_, fit_, notes_);
    case EditVerb::kOversubscription:
      return edit_oversubscription(edit, wiring_);
    case EditVerb::kDisable:
      if (edit.subject == "gpudirect") return disable_gpudirect(edit);
      return edit.subject == "p2p" ? disable_p2p(edit) : disable(edit);
    case EditVerb::kRemove:
      return remove(edit);
    case EditVerb::kSwap:
      return swap(edit);
    case EditVerb::kAdd:
      return add(edit);
    case EditVerb::kSet:
      if (edit.whole_kind) set_kind(edit);
      return;
    case EditVerb::kScale:
      return scale(edit);
    case EditVerb::kSlow:
      return slow(edit);
    case EditVerb::kFlaky:
      return flaky(edit);
  }
}

template <class Condition>
std::size_t Editor::erase_cables(Condition condition) {
  const std::size_t erased = std::erase_if(wiring_.cables, condition);
  if (erased > 0) reindex();
  return erased;
}

std::set<std::string> Editor::kinds() const {
  std::set<std::string> all;
  for (const Cable& cable : wiring_.cables) all.insert(cable.kind);
  return all;
}

int Editor::device(const Edit& edit, const std::string& id) const {
  if (const auto found = wiring_.find(id)) return *found;
  std::vector<std::string> known;
  for (const Device& d : wiring_.devices) known.push_back(d.id);
  refuse(edit, "'" + id + "' is no device of " + base_->wiring().name + ": one of " + listed(known));
}

std::pair<int, int> Editor::ends(const Edit& edit) const {
  for (auto dash = edit.subject.find('-'); dash != std::string::npos; dash = edit.subject.find('-', dash + 1)) {
    const auto a = wiring_.find(edit.subject.substr(0, dash)), b = wiring_.find(edit.subject.substr(dash + 1));
    if (a && b) return {*a, *b};
  }
  const auto dash = edit.subject.find('-');
  static_cast<void>(device(edit, edit.subject.substr(0, dash)));
  return {device(edit, edit.subject.substr(0, dash)), device(edit, edit.subject.substr(dash + 1))};
}

std::vector<std::string> Editor::cables_at(int a, int b) const {
  std::vector<std::string> known;
  for (const Cable& c : wiring_.cables)
    if (c.a == a || c.b == a || c.a == b || c.b == b)
      known.push_back(fmt::format("{} ({} x {})", c.id, c.count, c.kind));
  return known;
}

std::size_t Editor::cable(const Edit& edit, const std::string& kind) const {
  if (edit.subject.find('-') == std::string::npos) refuse_no_cable(edit);
  const auto [a, b] = ends(edit);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < wiring_.cables.size(); ++i) {
    const Cable& c = wiring_.cables[i];
    if (std::minmax(c.a, c.b) == std::minmax(a, b) && (kind.empty() || c.kind == kind)) found.push_back(i);
  }
  const std::vector<std::string> known = cables_at(a, b);
  const std::string both = id_of(a) + " and " + id_of(b);
  if (known.empty()) refuse(edit, "no such cable; " + both + " have no cable left");
  if (found.empty()) refuse(edit, "no such cable; at " + both + " are " + listed(known));
  if (found.size() > 1) refuse(edit, "several cables join these: name the kind, as in " + known.front());
  return found.front();
}

void Editor::refuse_no_cable(const Edit& edit) const {
  const std::string& name = edit.subject;
  if (std::any_of(wiring_.cables.begin(), wiring_.cables.end(),
                  [&](const Cable& c) { return names_kind(name, c.kind); }))
    refuse(edit, "'" + name + "' is a kind of cables: write disable " + name + ", or one cable");
  static_cast<void>(device(edit, name));
  refuse_device(edit);
}

void Editor::refuse_device(const Edit& edit) const {
  const auto named = wiring_.find(edit.subject);
  if (!named) return;
  const std::vector<std::string> known = cables_at(*named, *named);
  refuse(edit, "'" + edit.subject + "' is a device" +
                   (known.empty() ? ", and has no cable left" : ", not a cable: at it are " + listed(known)));
}

void Editor::refuse_kind(const Edit& edit, const std::string& what, const std::string& also) const {
  const std::string between = fabric_edit_for(edit.subject, wiring_);
  if (!between.empty()) refuse(edit, edit.subject + " joins nodes: write it as edit '" + between + "'");
  refuse_device(edit);
  refuse(edit, what + ": one of " + also + listed(kinds()));
}

void Editor::disable(const Edit& edit) {
  if (erase_cables([&](const Cable& c) { return names_kind(edit.subject, c.kind); }) == 0)
    refuse_kind(edit, "no cable of " + base_->wiring().name + " is of such a kind", "p2p, gpudirect, ");
}

void Editor::disable_p2p(const Edit& edit) {
  const auto on_accelerator = [&](int d) {
    const DeviceKind kind = wiring_.devices[static_cast<std::size_t>(d)].kind;
    return kind == DeviceKind::kGpu || kind == DeviceKind::kNvswitch;
  };
  const bool pcie = wiring_.pcie_peer != PciePeer::kNone;
  wiring_.pcie_peer = PciePeer::kNone;
  if (erase_cables([&](const Cable& c) { return on_accelerator(c.a) && on_accelerator(c.b); }) == 0 && !pcie)
    refuse(edit, "there is no peer access on " + base_->wiring().name);
}

void Editor::disable_gpudirect(const Edit& edit) {
  if (!wiring_.gpudirect_rdma) refuse(edit, base_->wiring().name + " is without it");
  wiring_.gpudirect_rdma = false;
  notes_.push_back("edit '" + edit.text +
                   "': data between adapters and GPUs cross host memory, and forecasts know it by these links alone: "
                   "no machine was measured so, and a time that other links or kernels limit stays as it is");
}

void Editor::remove(const Edit& edit) {
  const std::size_t index = cable(edit, edit.kind);
  Cable& bundle = wiring_.cables[index];
  if (edit.count > bundle.count) refuse(edit, fmt::format("{} has {} x {} only", bundle.id, bundle.count, bundle.kind));
  bundle.count -= edit.count == 0 ? bundle.count : edit.count;
  if (bundle.count == 0) wiring_.cables.erase(wiring_.cables.begin() + static_cast<std::ptrdiff_t>(index));
  reindex();
}

/// Kinds that the name leaves open, the newest first: nvlink5, nvlink4, ... of nvlink.
std::vector<std::string> generations_of(const std::string& kind) {
  std::vector<std::string> names;
  for (const CableKind& row : kCableKinds)
    if (row.generation > 0 && row.name.starts_with(kind)) names.emplace(names.begin(), row.name);
  return names;
}

BytesPerSecond Editor::take_kind(const Edit& edit, const std::string& kind) {
  if (!find_cable_kind(kind))
    refuse(edit,
           "unknown cable kind '" + kind + "'; here are " + listed(kinds()) + "; known are " + known_cable_kinds());
  std::optional<KindOffer> offer = offer_of(*base_, kind);
  const bool own = offer.has_value();
  if (!own) offer = (*elsewhere_)(kind);
  for (const Edit& other : *edits_)
    if (!offer && other.verb == EditVerb::kSet && other.subject == kind) offer = KindOffer{"", other.bandwidth, {}};
  // source: GPUs and adapters have 16 lanes
  if (const CableKind* row = find_cable_kind(kind); !offer && row->family == CableFamily::kPcie && row->rate_Bps > 0)
    offer = KindOffer{"", {16 * row->rate_Bps}, {}};
  if (!offer)
    refuse(edit, "no platform here has cables of the kind " + kind + did_you_mean(kind, generations_of(kind)) +
                     ": say its rate with set kind=" + kind + ":bandwidth=RATE; here are " + listed(kinds()));
  for (auto& [name, parameter] : offer->parameters) {
    if (!own) {
      parameter.provenance = "edited: as on " + offer->platform;
      widen(parameter);
    }
    fit_.parameters.emplace(name, parameter);
  }
  if (!own)
    notes_.push_back("edit '" + edit.text + "': " +
                     (offer->platform.empty() ? "nobody measured " + kind + ": its rate is nominal"
                                              : "rates of " + kind + " are taken from " + offer->platform));
  return offer->nominal;
}

void Editor::check_ends(const Edit& edit, const std::string& kind, int a, int b) const {
  const auto is = [&](int d, DeviceKind k) { return wiring_.devices[static_cast<std::size_t>(d)].kind == k; };
  if (a == b) refuse(edit, "a cable joins two different devices");
  if (is_socket_cable(kind) && !(is(a, DeviceKind::kCpu) && is(b, DeviceKind::kCpu)))
    refuse(edit, kind + " joins two CPUs");
  if (is_accelerator_cable(kind) && !is(a, DeviceKind::kGpu) && !is(b, DeviceKind::kGpu))
    refuse(edit, kind + " has a GPU at one end");
  if (is_accelerator_cable(kind) && (is(a, DeviceKind::kNic) || is(b, DeviceKind::kNic)))
    refuse(edit, kind + " joins devices of one host, and a NIC leads to others: PCIe joins it with a GPU");
  if (is_fabric_cable(kind)) refuse(edit, kind + " joins nodes: use a network or fabric edit");
}

void Editor::swap(const Edit& edit) {
  const bool one = edit.subject.find('-') != std::string::npos;
  std::vector<std::size_t> indices;
  if (one) indices.push_back(cable(edit, ""));
  for (std::size_t i = 0; i < wiring_.cables.size() && !one; ++i)
    if (wiring_.cables[i].kind == edit.subject) indices.push_back(i);
  if (indices.empty()) refuse_kind(edit, "no cable is of the kind " + edit.subject);
  if (is_fabric_cable(edit.kind)) refuse(edit, edit.kind + " joins nodes: a network edit changes it");
  const BytesPerSecond nominal = take_kind(edit, edit.kind);
  for (const std::size_t i : indices) {
    Cable& c = wiring_.cables[i];
    check_ends(edit, edit.kind, c.a, c.b);
    c.kind = edit.kind;
    c.bandwidth = nominal;
    c.source = "edit: " + edit.text;
    c.edited = true;
  }
  reindex();
}

void Editor::add(const Edit& edit) {
  const auto [a, b] = ends(edit);
  check_ends(edit, edit.kind, a, b);
  const BytesPerSecond nominal = take_kind(edit, edit.kind);
  for (Cable& c : wiring_.cables) {
    if (std::minmax(c.a, c.b) != std::minmax(a, b)) continue;
    if (c.kind != edit.kind)
      refuse(edit, fmt::format("{} has {} x {}: remove or swap it, one kind joins two devices", c.id, c.count, c.kind));
    c.count += edit.count;
    return;
  }
  wiring_.cables.push_back(
      {"", a, b, edit.kind, edit.count, nominal, "edit: " + edit.text, !offer_of(*base_, edit.kind)});
  reindex();
}

RateFactors& Editor::factors() {
  factors_.factor.resize(wiring_.cables.size(), 1);
  factors_.wider.resize(wiring_.cables.size(), 0);
  return factors_;
}

void Editor::set_kind(const Edit& edit) {
  bool any = false, fitted = false;
  for (std::size_t i = 0; i < wiring_.cables.size(); ++i) {
    Cable& c = wiring_.cables[i];
    if (c.kind != edit.subject) continue;
    any = true;
    const double ratio = edit.bandwidth / c.bandwidth;
    if (ratio == 1) continue;
    fitted = true;
    factors().factor[i] *= ratio;
    factors().wider[i] = 1;
    c.bandwidth = edit.bandwidth;
    c.edited = true;
  }
  if (!any) refuse_kind(edit, "no cable is of the kind " + edit.subject);
  if (fitted)
    notes_.push_back("edit '" + edit.text + "': " + edit.subject +
                     " is taken to attain the share of its nominal rate that was measured at another rate");
}

void Editor::scale(const Edit& edit) {
  const bool one = edit.subject.find('-') != std::string::npos;
  std::size_t scaled = 0;
  const std::size_t only = one ? cable(edit, edit.kind) : 0;
  for (std::size_t i = 0; i < wiring_.cables.size(); ++i) {
    if (one ? i != only : !names_kind(edit.subject, wiring_.cables[i].kind)) continue;
    factors().factor[i] *= edit.factor;
    wiring_.cables[i].reported = wiring_.cables[i].reported_bandwidth();
    wiring_.cables[i].bandwidth.si *= edit.factor;
    ++scaled;
  }
  if (!one && scale_fabric(edit, wiring_, fit_)) ++scaled;
  if (scaled == 0) refuse_device(edit);
  if (scaled == 0) refuse(edit, "no cable is of such a kind: one of " + listed(wiring_.cable_kinds()));
}

void Editor::slow(const Edit& edit) {
  wiring_.devices[static_cast<std::size_t>(device(edit, edit.subject))].slow *= edit.factor;
}

/// Of one cable, or of every cable of a kind, those between nodes among them.
void Editor::flaky(const Edit& edit) {
  const Parameter share{edit.factor, 0, "1", "edited: flaky"};
  if (edit.subject.find('-') != std::string::npos) {
    fit_.parameters[key::cable_retry_rate(fitted_subject(wiring_, wiring_.cables[cable(edit, edit.kind)])).name] =
        share;
    return;
  }
  const std::set<std::string> known = wiring_.cable_kinds();
  bool any = false;
  for (const std::string& kind : known) {
    if (!names_kind(edit.subject, kind)) continue;
    fit_.parameters[key::cable_retry_rate(kind).name] = share;
    any = true;
  }
  if (!any) refuse_device(edit);
  if (!any) refuse(edit, "no cable is of such a kind: one of " + listed(known));
}

/// A link between two slow devices is as slow as the slower. The card of a slow NIC is slow in all it does itself.
void Editor::finish_rates() {
  for (Device& d : wiring_.devices)
    if (d.engine) d.engine->slow_down(d.slow);
  RateFactors& rates = factors();
  for (std::size_t i = 0; i < wiring_.cables.size(); ++i) {
    Cable& c = wiring_.cables[i];
    const double slow = std::max(wiring_.devices[static_cast<std::size_t>(c.a)].slow,
                                 wiring_.devices[static_cast<std::size_t>(c.b)].slow);
    rates.factor[i] /= slow;
    c.reported = c.reported_bandwidth();
    c.bandwidth.si /= slow;
  }
  scale_rates(wiring_, rates, fit_);
}

/// Each edit is within its range, and many together need not be.
void Editor::check_values() const {
  const auto check = [&](const std::string& name, const std::string& wrong) {
    if (!wrong.empty())
      throw InputError("edits: together they change " + name + " of " + base_->wiring().name +
                       " beyond its range: " + wrong);
  };
  for (const Cable& c : wiring_.cables) {
    check("the bandwidth of " + c.id, c.bandwidth.si > 0 ? range_refusal("B/s", c.bandwidth.si) : "must be above 0");
  }
  for (const Device& d : wiring_.devices) check("how slow " + d.id + " is", range_refusal("1", d.slow));
  for (const auto& [name, parameter] : fit_.parameters)
    if (const ParameterRow* row = find_parameter_row(name)) check(name, row->refusal(parameter.value));
}

/// Every GPU that could reach host memory still can.
void Editor::check_hosts(const Platform& edited) const {
  for (int k = 0; k < base_->gpu_count(); ++k) {
    if (base_->socket_of(base_->gpu(k)) < 0 || edited.socket_of(edited.gpu(k)) >= 0) continue;
    std::vector<std::string> texts;
    for (const Edit& edit : *edits_) texts.push_back(edit.text);
    throw InputError(
        fmt::format("edits '{}' leave gpu{} of {} without a way to a CPU", listed(texts), k, base_->wiring().name));
  }
}

}  // namespace

std::optional<KindOffer> offer_of(const Platform& platform, const std::string& kind) {
  for (const Cable& cable : platform.wiring().cables) {
    if (cable.kind != kind) continue;
    KindOffer offer{platform.wiring().name, cable.bandwidth, {}};
    for (const auto& [name, parameter] : platform.calibration().parameters)
      if (const ParameterName parts(name); parts.of() == ParameterOf::kCable && parts.subject == kind)
        offer.parameters[name] = parameter;
    return offer;
  }
  return std::nullopt;
}

EditedPlatform edited_platform(const Platform& base, const std::vector<Edit>& edits, const KindLookup& elsewhere) {
  return Editor(base, edits, elsewhere).run();
}

}  // namespace linkcast
