#include "sim/catalogue/catalogue.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/engine/solvers.hpp"
#include "sim/lending/stranger.hpp"
#include "sim/log/log.hpp"
#include "sim/platform/gpu_names.hpp"
#include "sim/platform/variant.hpp"
#include "sim/plugin/fabric_generator.hpp"
#include "sim/plugin/topology_reader.hpp"
#include "sim/plugin/usual_library.hpp"
#include "sim/records/file_hash.hpp"
#include "sim/records/left_out.hpp"
#include "sim/records/near_names.hpp"
#include "sim/units/text.hpp"

namespace linkcast::catalogue {
namespace fs = std::filesystem;
namespace {

// Edited platforms kept with their communicators: a batch that goes through edits in turn builds each once, a sweep
// over any number of them stays in bounded memory. source: ours, about 0.1 MB each
constexpr std::size_t kEditedKept = 512;

/// A library would find NVLinks without a way back.
void check_told(const Platform& platform, const std::vector<int>& gpus) {
  const auto takes = [&](int gpu) { return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end(); };
  for (const auto& [from, to] : platform.told().one_way)
    if (takes(from) && takes(to))
      throw InputError("library_topology: the file lacks gpu" + std::to_string(from) + ", whose NVLinks to gpu" +
                       std::to_string(to) + " have no way back in it: NCCL stops. Add gpu" + std::to_string(from));
}

/// Erases what a map of tuples holds for one platform.
template <class Map>
void erase_platform(Map& map, const std::string& id) {
  std::erase_if(map, [&](const auto& item) { return std::get<0>(item.first) == id; });
}

}  // namespace

Catalogue::Catalogue(std::string data_dir) : data_dir_(std::move(data_dir)), files_(data_dir_) {
  if (!fs::is_directory(fs::path(data_dir_) / "topologies"))
    throw InputError(data_dir_ + ": not a linkcast data folder: it has no topologies/");
  log::Log("catalogue").trace("data of {}", data_dir_);  // the log comes before the catalogue, and so outlives it
}

Catalogue::~Catalogue() {
  if (communicator_use_.asked > 0)
    log::Log("catalogue")
        .trace("communicators: asked for {} times, {} of them were there", communicator_use_.asked,
               communicator_use_.there);
}

std::vector<std::string> Catalogue::platforms() const { return files_.platforms(); }

bool Catalogue::has_platform(const std::string& id) const {
  return platforms_.count(id) > 0 || files_.shipped(id).has_value();
}

const Platform& Catalogue::platform(const std::string& id) {
  if (const auto it = platforms_.find(id); it != platforms_.end()) return *it->second;
  if (const auto it = edited_.find(id); it != edited_.end()) return *it->second.platform;
  if (const auto it = told_.find(id); it != told_.end()) return *it->second.platform;
  if (const auto own = files_.shipped(id)) return load(id, *own);
  if (MachineFiles::is_file(id)) return load(id, id);
  throw InputError(unknown_name("platform", id, platforms()).what() + std::string(", or the file of a machine"));
}

Platform Catalogue::variant_of(const std::string& path) {
  const Variant variant = read_variant(path);
  std::string base = variant.base;
  if (const fs::path beside = fs::path(path).parent_path() / base; fs::path(base).extension() == ".json")
    base = beside.string();
  else if (!fs::exists(files_.shipped_calibration(base)))  // no variants of variants
    throw InputError(path, "/base", "'" + base + "' is no platform with a calibration of its own");
  return variant_platform(variant, platform(base));
}

Platform Catalogue::unmeasured(const std::string& path) {
  Topology topology = read_topology(path);
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
  for (const std::string& note : inherited.notes) log::Log("catalogue").debug("platform {}: {}", path, note);
  return {std::move(topology), std::move(inherited)};
}

const Platform& Catalogue::load(const std::string& id, const std::string& path) {
  const std::string schema = MachineFiles::schema_of(path);
  log::Log("catalogue").debug("platform {}: {}, {}", id, path, schema);
  const auto read = [&]() -> Platform {
    if (schema == "variant/1") return variant_of(path);
    if (schema == "topology/1") return unmeasured(path);
    Calibration calibration = read_calibration(path);
    Topology topology = files_.read_topology_of(calibration);
    log::Log("catalogue").debug("platform {}: {}", id, topology.path);
    return {std::move(topology), std::move(calibration)};
  };
  auto platform = std::make_unique<Platform>(read());
  return *platforms_.emplace(id, std::move(platform)).first->second;
}

Platform& Catalogue::adopt(const std::string& id, Topology topology, Calibration calibration) {
  forget(id);
  kept_.clear();
  auto& slot = platforms_[id];
  slot = std::make_unique<Platform>(std::move(topology), std::move(calibration));
  return *slot;
}

std::optional<KindOffer> Catalogue::shipped_kind(const std::string& kind) {
  std::optional<KindOffer> nominal;
  for (const std::string& id : platforms()) {
    auto offer = offer_of(platform(id), kind);
    if (!offer) continue;
    for (const auto& [name, parameter] : offer->parameters)
      if (parameter.provenance == "fitted") return offer;
    if (!nominal) nominal = std::move(offer);
  }
  return nominal;
}

EditedPlatform Catalogue::build_edited(const std::string& id, const std::vector<Edit>& edits) {
  EditedPlatform built =
      edited_platform(platform(id), edits, [this](const std::string& kind) { return shipped_kind(kind); });
  if (edits.front().verb != EditVerb::kFabric) return built;  // they are sorted
  Topology wiring = built.platform->wiring();
  wiring.path = "edit '" + edits.front().text + "'";  // where a wrong value came from
  static_cast<void>(build_fabric(wiring));
  return built;
}

std::string Catalogue::edited(const std::string& id, const std::vector<std::string>& given) {
  if (given.empty()) return id;
  std::vector<std::string> texts;
  for (const std::string& text : given) texts.push_back(edit_with_gpus(platform(id).wiring(), text));
  const std::vector<Edit> edits = parse_edits(texts);
  std::string key = id;
  for (const Edit& edit : edits) key += '\n' + edit.text;
  if (edited_.count(key)) return key;
  EditedPlatform built = build_edited(id, edits);
  for (const Edit& edit : edits) log::Log("catalogue").debug("platform {}: edit '{}'", id, edit.text);
  if (edited_.size() >= kEditedKept) forget_oldest();
  edited_.emplace(key, std::move(built));
  edited_order_.push_back(key);
  return key;
}

const EditedPlatform* Catalogue::edits_of(const std::string& id) const {
  const auto told = told_.find(id);
  const auto it = edited_.find(told == told_.end() ? id : told->second.base);
  return it == edited_.end() ? nullptr : &it->second;
}

void Catalogue::forget_oldest() {
  const std::string id = edited_order_.front();
  edited_order_.pop_front();
  std::vector<std::string> of_it;
  for (const auto& [told, platform] : told_)
    if (platform.base == id) of_it.push_back(told);
  for (const std::string& told : of_it) {
    forget(told);
    told_.erase(told);
  }
  forget(id);
  edited_.erase(id);
}

/// What was made for a platform.
void Catalogue::forget(const std::string& id) {
  erase_platform(communicators_, id);
  erase_platform(across_, id);
  clusters_.erase(id);
  lone_nodes_.erase(id);
}

std::string Catalogue::told(const std::string& id, const std::string& xml, const std::string& p2p_level) {
  if (xml.empty() && p2p_level.empty()) return id;
  const std::string key = id + "\ntold " + p2p_level + "\n" + xml;
  if (told_.count(key)) return key;
  auto machine = std::make_unique<Platform>(platform(id));
  Told told;
  told.p2p_level = p2p_level;
  if (!xml.empty()) {
    Calibration none;  // what a library believes is nominal
    ReadTopology read = topology_readers().get("nccl-xml").read(xml, *machine);
    none.path = xml;
    none.name = none.topology = read.topology.name;
    told.sha256 = read.topology.sha256;
    told.one_way = std::move(read.one_way);
    told.machine = std::make_shared<const Platform>(std::move(read.topology), std::move(none));
  }
  machine->tell(std::move(told));
  log::Log("catalogue").debug("platform {}: libraries are told {} {}", id, xml, p2p_level);
  told_.emplace(key, ToldPlatform{id, std::move(machine)});
  return key;
}

const Cluster& Catalogue::cluster(const std::string& platform_id) {
  auto& slot = clusters_[platform_id];
  if (slot) return *slot;
  const Platform& node = platform(platform_id);
  const Topology& wiring = node.wiring();
  BuiltFabric built = build_fabric(wiring);
  std::vector<std::string> nics;
  for (const int nic : built.nics) nics.push_back(wiring.devices[static_cast<std::size_t>(nic)].id);
  slot = std::make_unique<Cluster>(node, std::move(built.fabric), parse_fabric_routing(built.routing), nics);
  return *slot;
}

const Cluster& Catalogue::lone_node(const std::string& platform_id) {
  auto& slot = lone_nodes_[platform_id];
  if (!slot) slot = std::make_unique<Cluster>(platform(platform_id));
  return *slot;
}

Solver& Catalogue::solver(const std::string& name) {
  auto& slot = solvers_[name];
  if (!slot) slot = make_solver(name);
  return *slot;
}

const Communicator& Catalogue::communicator(const std::string& platform_id, const std::string& library,
                                            const std::vector<int>& gpus) {
  const auto key = std::make_tuple(platform_id, library, gpus);
  ++communicator_use_.asked;
  if (const auto it = communicators_.find(key); it != communicators_.end()) {
    ++communicator_use_.there;
    return it->second;
  }
  log::Log("catalogue").debug("{} builds a communicator of {} GPUs", library, gpus.size());
  const RingLibrary& rings = ring_library(library);
  if (told_.count(platform_id) > 0 && !rings.takes_topology_files())
    throw InputError("library_topology, p2p_level: " + library +
                     " looks at the machine itself: take one of nccl-2.7 to nccl-2.30");
  check_told(platform(platform_id), gpus);
  Communicator built = rings.build(platform(platform_id), gpus);
  return communicators_.emplace(key, std::move(built)).first->second;
}

const Communicator& Catalogue::communicator_across(const std::string& platform_id, const std::string& library,
                                                   int nodes, const std::vector<int>& gpus, bool pxn) {
  if (told_.count(platform_id) > 0)
    throw InputError("library_topology, p2p_level: what a library is told is modelled for one node");
  const auto key = std::make_tuple(platform_id, library, nodes, gpus, pxn);
  ++communicator_use_.asked;
  if (const auto it = across_.find(key); it != across_.end()) {
    ++communicator_use_.there;
    return it->second;
  }
  log::Log("catalogue").debug("{} builds a communicator of {} nodes with {} GPUs", library, nodes, gpus.size());
  Communicator built = ring_library(library).build_across(cluster(platform_id), gpus, nodes, pxn);
  return across_.emplace(key, std::move(built)).first->second;
}

}  // namespace linkcast::catalogue
