#include "sim/machine/catalogue.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/base/file_hash.hpp"
#include "sim/base/log.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/machine/edited.hpp"
#include "sim/machine/edited_network.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/machine/inherit.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/topology_reader.hpp"
#include "sim/machine/variant.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::catalogue {
namespace fs = std::filesystem;
namespace {

/// Costs of the network of a machine that was measured inside a node alone: those that its variant assumes.
void add_network(const MachineFiles& files, Topology& topology, Calibration& calibration) {
  const std::string path = files.shipped_topology(topology.name);
  if (fs::exists(files.shipped_calibration(topology.name)) || !fs::exists(path)) return;
  const MachineFile file = MachineFiles::read(path);
  if (file.schema != MachineSchema::kVariant) return;
  const Calibration own = calibration;
  put_network(read_variant(file.json, path), topology, calibration);
  bool measured = false;
  for (const auto& [name, parameter] : own.parameters) {
    if (parameter.provenance != "fitted") continue;
    const auto [found, was_dropped] = calibration.parameters.insert_or_assign(name, parameter);
    measured = measured || was_dropped;
  }
  if (measured) calibration.notes = own.notes;
}

// Machines with edits or library topologies, kept with their communicators: a batch that goes through edits in turn
// builds each once, a sweep over any number of them stays in bounded memory. source: ours, about 0.1 MB each
constexpr std::size_t kDerivedKept = 512;

}  // namespace

Catalogue::Catalogue(std::string data_dir) : data_dir_(std::move(data_dir)), files_(data_dir_), derived_(kDerivedKept) {
  if (!fs::is_directory(fs::path(data_dir_) / "topologies"))
    throw InputError(data_dir_ + ": not a linkcast data folder: it has no topologies/");
  log::Log("catalogue").trace("data of {}", data_dir_);  // the log comes before the catalogue, and so outlives it
}

std::vector<std::string> Catalogue::platforms() const { return files_.platforms(); }

bool Catalogue::has_platform(const std::string& id) const { return machines_.count(id) > 0 || files_.is_shipped(id); }

MachinePtr Catalogue::machine(const std::string& id) {
  if (const auto it = machines_.find(id); it != machines_.end()) return it->second;
  if (const auto own = files_.shipped(id)) {
    const std::string name = fs::path(own->path).stem().string();
    return name == id ? load(id, *own) : machines_.emplace(id, machine(name)).first->second;
  }
  if (MachineFiles::is_file(id)) return load(id, MachineFiles::read(id));
  throw InputError(unknown_name("platform", id, platforms()).what() + std::string(", or the file of a machine"));
}

Platform Catalogue::variant_of(const MachineFile& file) {
  const std::string& path = file.path;
  const Variant variant = read_variant(file.json, path);
  if (variant.is_own_machine()) return unmeasured(file);
  std::string base = variant.base;
  if (const fs::path beside = fs::path(path).parent_path() / base; fs::path(base).extension() == ".json")
    base = beside.string();
  else if (!fs::exists(files_.shipped_calibration(base)))  // no variants of variants
    throw InputError(path, "/base", "'" + base + "' is no platform with a calibration of its own");
  return variant_platform(variant, machine(base)->platform());
}

Platform Catalogue::unmeasured(const MachineFile& file) {
  Topology topology = files_.read_wiring(file);
  const std::string library = usual_library(topology);
  const bool named = !topology.inherits.empty();
  auto machines = named ? files_.inherited_by(topology) : files_.lenders();
  for (auto& machine : machines)  // a shipped machine by its file
    if (machine.topology.sha256 == topology.sha256) return {std::move(topology), std::move(machine.calibration)};
  Calibration inherited = named ? lending::inherited_calibration(topology, machines, library)
                                : lending::stranger(topology, machines, library);
  const fs::path left_out = fs::path(data_dir_) / "calibrate" / "data" / "left-out.json";
  if (fs::exists(left_out)) {
    inherited.scatter = scatter_left_out(read_left_out(left_out.string()), false);
    inherited.from.push_back({left_out.string(), sha256_of_file(left_out.string())});
  }
  for (SourceFile& file : inherited.from) file.path = fs::relative(file.path, data_dir_).generic_string();
  if (file.schema == MachineSchema::kVariant) put_network(read_variant(file.json, file.path), topology, inherited);
  for (const std::string& note : inherited.notes) log::Log("catalogue").debug("platform {}: {}", file.path, note);
  return {std::move(topology), std::move(inherited)};
}

MachinePtr Catalogue::load(const std::string& id, const MachineFile& file) {
  log::Log("catalogue").debug("platform {}: {}, {}", id, file.path, to_text(file.schema));
  const auto read = [&]() -> Platform {
    if (file.schema == MachineSchema::kVariant) return variant_of(file);
    if (file.schema == MachineSchema::kTopology) return unmeasured(file);
    Calibration calibration = read_calibration(file.json, file.path);
    Topology topology = files_.read_topology_of(calibration);
    add_network(files_, topology, calibration);
    log::Log("catalogue").debug("platform {}: {}", id, topology.path);
    return {std::move(topology), std::move(calibration)};
  };
  return machines_.emplace(id, std::make_shared<const Machine>(id, read())).first->second;
}

MachinePtr Catalogue::adopt(const std::string& id, Topology topology, Calibration calibration) {
  return machines_[id] = std::make_shared<const Machine>(id, Platform(std::move(topology), std::move(calibration)));
}

std::optional<KindOffer> Catalogue::shipped_kind(const std::string& kind) {
  std::optional<KindOffer> nominal;
  std::vector<std::string> ids = platforms();
  files_.drop_variants(ids);
  for (const std::string& id : ids) {
    auto offer = offer_of(machine(id)->platform(), kind);
    if (!offer) continue;
    for (const auto& [name, parameter] : offer->parameters)
      if (parameter.provenance == "fitted") return offer;
    if (!nominal) nominal = std::move(offer);
  }
  return nominal;
}

MachinePtr Catalogue::build_edited(const Machine& base, const std::vector<Edit>& edits) {
  EditedPlatform built =
      edited_platform(base.platform(), edits, [this](const std::string& kind) { return shipped_kind(kind); });
  if (of_network(edits.front().verb)) check_network(edits.front(), built.platform.wiring());  // they are sorted
  for (const Edit& edit : edits) log::Log("catalogue").debug("platform {}: edit '{}'", base.name(), edit.text);
  return std::make_shared<const Machine>(base.name(), std::move(built.platform), std::move(built.texts),
                                         std::move(built.notes));
}

template <class Make>
MachinePtr Catalogue::derived(const MachinePtr& base, const std::string& how, const Make& make) {
  if (const Derived* known = derived_.find({base.get(), how})) return known->machine;
  return derived_.put({base.get(), how}, {base, make()}).machine;
}

MachinePtr Catalogue::edited(const MachinePtr& machine, const std::vector<std::string>& given) {
  if (given.empty()) return machine;
  std::vector<std::string> texts;
  for (const std::string& text : given) texts.push_back(edit_with_gpus(machine->platform().wiring(), text));
  const std::vector<Edit> edits = parse_edits(texts);
  std::string key = "edited";
  for (const Edit& edit : edits) key += '\n' + edit.text;
  return derived(machine, key, [&] { return build_edited(*machine, edits); });
}

MachinePtr Catalogue::with_library_topology(const MachinePtr& machine, const std::string& xml,
                                            const std::string& p2p_level) {
  if (xml.empty() && p2p_level.empty()) return machine;
  return derived(machine, "library topology " + p2p_level + "\n" + xml, [&] {
    LibraryTopology seen;
    seen.p2p_level = p2p_level;
    if (!xml.empty()) {
      Calibration none;  // the library's estimates are nominal
      ReadTopology read = topology_readers().get("nccl-xml").read(xml, machine->platform());
      none.path = xml;
      none.name = none.topology = read.topology.name;
      seen.sha256 = read.topology.sha256;
      seen.one_way = std::move(read.one_way);
      seen.platform = std::make_shared<const Platform>(std::move(read.topology), std::move(none));
    }
    log::Log("catalogue").debug("platform {}: libraries see {} {}", machine->name(), xml, p2p_level);
    return machine->with_library_topology(std::move(seen));
  });
}

Solver& Catalogue::solver(const std::string& name) {
  auto& slot = solvers_[name];
  if (!slot) slot = make_solver(name);
  return *slot;
}

}  // namespace linkcast::catalogue
