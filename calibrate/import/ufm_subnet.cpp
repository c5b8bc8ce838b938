// JSON of NVIDIA's UFM: ufmRest/resources/links, with it resources/systems and resources/ports.
// source: NVIDIA UFM Enterprise REST API, Links, Systems and Ports; recalled, no file of UFM's own was at hand
#include <optional>
#include <set>

#include "calibrate/import/ib_subnet.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::ib {
namespace {

/// A GUID in digits alone: "0x0002c903007b78b0" is 0002c903007b78b0.
std::string plain_guid(std::string guid) {
  if (guid.starts_with("0x") || guid.starts_with("0X")) guid.erase(0, 2);
  for (char& c : guid) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return guid;
}

std::string text_at(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto at = object.find(key); at != object.end() && !at->is_null())
      return at->is_string() ? at->get<std::string>() : at->dump();
  return "";
}

const Speed* speed_of(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto* speed = std::find_if(kSpeeds.begin(), kSpeeds.end(), [&](const Speed& one) { return text == one.name; });
  return speed == kSpeeds.end() ? nullptr : speed;
}

const std::string kSpeedNames = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR";

class UfmReader {
 public:
  explicit UfmReader(const ImportRequest& request) : said_(option_text(request, "speed")) {
    found_.command = "UFM";
    if (said_ && speed_of(*said_) == nullptr)
      throw InputError("option speed: '" + *said_ + "' is none of " + kSpeedNames);
    for (const std::string& file : request.files) read_file(file);
  }
  Subnet read();

 private:
  struct Link {
    std::string place, speed, width;
    Port ends[2];
  };
  void read_file(const std::string& path);
  void add_link(const Json& link, const std::string& place);
  void add_system(const Json& system);
  void add_port(const Json& port);
  [[nodiscard]] bool is_switch(const std::string& guid, const std::string& place) const;
  [[nodiscard]] IbCable cable_of(const Link& link);

  std::optional<std::string> said_;
  Subnet found_;
  std::string first_;  ///< file with links
  std::vector<Link> links_;
  std::map<std::string, bool> switches_;                       ///< by GUID, where it is said
  std::map<std::string, std::string> technology_, names_;      ///< of systems, by GUID
  std::map<Port, std::pair<std::string, std::string>> ports_;  ///< active speed and width
  std::map<std::string, std::set<int>> used_;                  ///< ports of a node with cables
};

void UfmReader::read_file(const std::string& path) {
  const Json json = read_json_file(path);
  std::vector<const Json*> lists = {&json};
  if (json.is_object())
    for (const char* key : {"links", "systems", "ports"})
      if (json.contains(key)) lists.push_back(&json[key]);
  bool known = false;
  for (const Json* list : lists) {
    if (!list->is_array()) continue;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Json& one = (*list)[i];
      if (!one.is_object()) continue;
      known = true;
      if (one.contains("source_guid"))
        add_link(one, fmt::format("{}:/{}", path, i));
      else if (one.contains("active_speed"))
        add_port(one);
      else if (one.contains("system_name") && one.contains("type"))
        add_system(one);
      else
        throw InputError(path, fmt::format("/{}", i), "is neither a link nor a system nor a port of UFM");
    }
  }
  if (!known) throw InputError(path + ": holds neither links nor systems nor ports of UFM");
  if (first_.empty() && !links_.empty()) first_ = path;
}

void UfmReader::add_link(const Json& json, const std::string& place) {
  Link link{
      place, text_at(json, {"active_speed", "speed", "link_speed"}), text_at(json, {"active_width", "width"}), {}};
  for (const int end : {0, 1}) {
    const std::string side = end == 0 ? "source" : "destination";
    const std::string guid = plain_guid(text_at(json, {(side + "_guid").c_str()}));
    const auto number = topology_import::whole_number(text_at(json, {(side + "_port").c_str()}));
    if (guid.empty() || !number) throw InputError(place + ": a link needs " + side + "_guid and " + side + "_port");
    link.ends[end] = {guid, *number};
    used_[guid].insert(*number);
    const std::string shown = text_at(json, {(side + "_port_dname").c_str()});
    if (shown.find("HCA") != std::string::npos) switches_.emplace(guid, false);
    IbNode& node = found_.nodes[guid];
    node.guid = guid;
    if (node.described.empty())
      node.described = text_at(json, {(side + "_port_node_description").c_str(), (side + "_node_description").c_str()});
  }
  links_.push_back(std::move(link));
}

void UfmReader::add_system(const Json& system) {
  const std::string type = text_at(system, {"type"}), technology = text_at(system, {"technology"});
  std::set<std::string> guids = {plain_guid(text_at(system, {"guid", "system_guid", "name"}))};
  if (const auto ports = system.find("ports"); ports != system.end() && ports->is_array())
    for (const Json& port : *ports)  // GUID_NUMBER
      if (port.is_string())
        guids.insert(plain_guid(port.get<std::string>().substr(0, port.get<std::string>().find('_'))));
  for (const std::string& guid : guids) {
    switches_[guid] = type == "switch";
    technology_[guid] = technology;
    names_[guid] = text_at(system, {"system_name"});
  }
}

void UfmReader::add_port(const Json& port) {
  const std::string name = text_at(port, {"name"});
  const std::string guid = plain_guid(name.find('_') == std::string::npos ? text_at(port, {"guid", "systemID"})
                                                                          : name.substr(0, name.find('_')));
  const auto number = topology_import::whole_number(text_at(port, {"number", "external_number"}));
  if (!number) return;
  ports_[{guid, *number}] = {text_at(port, {"active_speed"}), text_at(port, {"active_width"})};
  if (text_at(port, {"dname"}).find("HCA") != std::string::npos) switches_.emplace(guid, false);
}

/// By what systems or ports say, else by description or number of ports: an adapter has two at most.
bool UfmReader::is_switch(const std::string& guid, const std::string& place) const {
  static const Regex switches(R"((?i)M[FT]\d+;.*|.*\b(?:quantum|switch).*)"),
      adapters(R"(.*\s(?:HCA-\d+|mlx\d+_\d+).*|.*Aggregation Node.*)");
  constexpr std::size_t kMostPorts = 2;  // source: NVIDIA, ConnectX adapters have one port or two
  if (const auto said = switches_.find(guid); said != switches_.end()) return said->second;
  const std::string& described = found_.nodes.at(guid).described;
  if (adapters.whole(described)) return false;
  if (switches.whole(described) || used_.at(guid).size() > kMostPorts) return true;
  throw InputError(place + ": whether " + guid +
                   " is a switch or a host is not said: add the file of ufmRest/resources/systems");
}

IbCable UfmReader::cable_of(const Link& link) {
  static const Regex width(R"((?:IB_)?(\d{1,2})[xX])");
  static const Regex nothing(R"((?i)|n/?a|none|-|unknown)");
  std::string speed = link.speed, lanes = link.width;
  for (const Port& end : link.ends)
    if (const auto port = ports_.find(end); port != ports_.end()) {
      if (nothing.whole(speed)) speed = port->second.first;
      if (!width.whole(lanes)) lanes = port->second.second;
    }
  if (speed_of(speed) == nullptr && said_) speed = *said_;
  if (speed_of(speed) == nullptr && !nothing.whole(speed))
    throw InputError(link.place + ": speed '" + speed + "' is none of " + kSpeedNames + ": add option speed");
  for (const Port& end : link.ends)
    if (const auto system = technology_.find(end.node);
        speed_of(speed) == nullptr && system != technology_.end() && speed_of(system->second) != nullptr) {
      speed = system->second;
      found_.notes.push_back(
          "assumed: cables run at what the switch can (technology of systems); option speed or the "
          "file of ufmRest/resources/ports says otherwise");
    }
  if (speed_of(speed) == nullptr)
    throw InputError(link.place +
                     ": the speed of this link is not said: add the file of ufmRest/resources/ports, or option "
                     "speed=HDR, or whatever it is");
  const Match counted = width.whole(lanes);
  const int width_of = counted ? topology_import::whole_number(counted[1]).value_or(0) : 0;
  if (!is_width(width_of)) throw InputError(link.place + ": width '" + lanes + "' is no number of lanes, e.g. IB_4x");
  return {width_of, speed_of(speed)};
}

Subnet UfmReader::read() {
  if (links_.empty())
    throw InputError("file: UFM's links are needed (ufmRest/resources/links); systems and ports alone join nothing");
  for (auto& [guid, node] : found_.nodes) {
    node.is_switch = is_switch(guid, first_);
    if (node.described.empty()) node.described = names_[guid];
  }
  std::map<Port, Port> far;
  for (const Link& link : links_) {
    if (link.ends[0] == link.ends[1])
      throw InputError(
          fmt::format("{}: port {} of {} has a cable to itself", link.place, link.ends[0].number, link.ends[0].node));
    for (const int end : {0, 1})
      if (const auto known = far.emplace(link.ends[end], link.ends[1 - end]); known.first->second != link.ends[1 - end])
        throw InputError(fmt::format("{}: port {} of {} has another cable above", link.place, link.ends[end].number,
                                     link.ends[end].node));
    found_.cables.emplace(std::minmax(link.ends[0], link.ends[1]), cable_of(link));
  }
  return std::move(found_);
}

}  // namespace

bool is_ufm(const std::string& text) {
  static const Regex json(R"(\A\s*[\[{])");
  return json.find(text) &&
         (text.find("\"source_guid\"") != std::string::npos || text.find("\"system_name\"") != std::string::npos ||
          text.find("\"active_speed\"") != std::string::npos);
}

Subnet read_ufm(const ImportRequest& request) { return UfmReader(request).read(); }

}  // namespace linkcast::ib
