// A subnet of InfiniBand as ibnetdiscover, iblinkinfo or UFM (ufm_subnet.cpp) list it -> node-groups/1 with the fabric
// "listed" of it: hosts, switches, cables with their rates. Limits: what switches do not list is not there; routes are
// those with the fewest cables, whatever the subnet manager chose; latencies are those of data sheets.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "calibrate/import/ib_subnet.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"
#include "sim/records/node_groups.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast {
namespace {

using topology_import::fail_at;
using namespace ib;

class SubnetReader {
 public:
  explicit SubnetReader(const std::string& path) : path_(path), lines_(split(topology_import::read_text(path), '\n')) {}

  Subnet read() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      std::string& line = lines_[at_];
      if (line.ends_with('\r')) line.pop_back();
      if (!read_discovered(line)) read_link_info(line);
    }
    if (found_.cables.empty())
      throw InputError(
          path_ +
          ": no cable of a switch: neither the output of ibnetdiscover ('Switch 41 \"S-...\"') nor that of "
          "iblinkinfo ('==( 4X 53.125 Gbps ...')");
    return std::move(found_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(path_, static_cast<int>(at_) + 1, what); }
  bool read_discovered(const std::string& line);
  void read_link_info(const std::string& line);
  void add_node(const std::string& key, bool is_switch, const std::string& described, const std::string& guid);
  void add_cable(const Port& a, const Port& b, const IbCable& cable);
  [[nodiscard]] int port(const std::string& text) const {
    const auto number = whole_number(text);
    if (!number) fail("port " + text + " is no number");
    return *number;
  }

  std::string path_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  Subnet found_;
  std::map<Port, std::pair<Port, std::size_t>> ends_;  ///< a port's other end, and the line that says it first
  std::string here_;                                   ///< node whose ports follow; empty: none
};

void SubnetReader::add_node(const std::string& key, bool is_switch, const std::string& described,
                            const std::string& guid) {
  static const Regex padded(R"(\s*'?\s*(.*?)\s*'?\s*)");  // iblinkinfo pads names, old descriptions hold quotes
  IbNode& node = found_.nodes[key];
  node.is_switch = node.is_switch || is_switch;
  if (node.described.empty()) node.described = padded.whole(described)[1];
  if (node.guid.empty()) node.guid = guid;
}

void SubnetReader::add_cable(const Port& a, const Port& b, const IbCable& cable) {
  if (a == b) fail(fmt::format("port {} of {} has a cable to itself", a.number, a.node));
  if (!is_width(cable.lanes)) fail(fmt::format("{}x is no width of a cable", cable.lanes));
  const auto [at, is_new] = found_.cables.emplace(std::minmax(a, b), cable);
  if (!is_new && at->second.name() != cable.name())
    fail("this cable is " + cable.name() + " here and " + at->second.name() + " at its other end");
  for (const auto& [end, far] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto [known, first] = ends_.emplace(end, std::pair{far, at_ + 1});
    if (known->second.first != far)
      fail(fmt::format("port {} of {} has another cable in line {}", end.number, end.node, known->second.second));
  }
}

/// A line of ibnetdiscover(8). @returns false for another one
bool SubnetReader::read_discovered(const std::string& line) {
  static const Regex head(R"x((Switch|Ca|Rt)\s+\d+\s+"([SHR])-([0-9a-fA-F]+)"\s*#\s*"(.*)".*)x");
  static const Regex cable(
      R"x(\[(\d+)\](?:\[ext [^\]]*\])?\s*(?:\([0-9a-fA-F]+\))?\s*"([SHR])-([0-9a-fA-F]+)"\[(\d+)\](?:\[ext [^\]]*\])?(?:\([0-9a-fA-F]+\))?\s*#(.*))x");
  static const Regex rate(R"x(.*\b(\d{1,2})x([A-Z]+\d*)\s*)x"), named(R"x(\s*"(.*)" lid .*)x");
  const std::string bare = line.substr(std::min(line.size(), line.find_first_not_of(" \t")));
  if (const Match match = head.whole(bare)) {
    here_ = match[3];
    found_.command = "ibnetdiscover";
    add_node(here_, match[1] == "Switch", match[4], match[3]);
    return true;
  }
  static const Regex port_line(R"(\[\d+\].*)");  // a prompt too begins with a bracket
  if (!port_line.whole(bare)) return false;
  const Match match = cable.whole(bare);
  if (!match) {
    if (found_.command == "ibnetdiscover")
      fail("no line of ibnetdiscover: '[1] \"S-GUID\"[2] # \"name\" lid 3 4xHDR' is one");
    return false;
  }
  if (here_.empty()) fail("a port before the first Switch or Ca");
  const Match said = rate.whole(match[5]);
  const auto* speed =
      std::find_if(kSpeeds.begin(), kSpeeds.end(), [&](const Speed& one) { return said && said[2] == one.name; });
  if (speed == kSpeeds.end()) fail("the rate of the cable is missing or not known, e.g. 4xHDR");
  const bool of_switch = found_.nodes[here_].is_switch;
  const Match name = named.whole(match[5]);
  add_node(match[3], match[2] == "S", of_switch && name ? name[1] : "", match[3]);
  add_cable({here_, port(match[1])}, {match[3], port(match[4])}, {port(said[1]), speed});
  return true;
}

/// A line of iblinkinfo(8), whose nodes are told apart by LID. In line mode the switch stands in front of each.
void SubnetReader::read_link_info(const std::string& line) {
  static const Regex head(R"x((Switch|CA|RT):?\s+(?:0x([0-9a-fA-F]+)\s+)?(\S.*?):\s*)x");
  static const Regex cable(
      R"x(\s*(?:0x([0-9a-fA-F]+)\s+)?(?:"(.*?)"\s+)?(\d+)\s+(\d+)\[[^\]]*\]\s*==\((.*)\)==>\s*(?:0x([0-9a-fA-F]+)\s+)?(?:(\d+)\s+(\d+))?\s*\[[^\]]*\]\s*"(.*?)".*)x");
  static const Regex rate(R"x(\s*(\d+)X\s+([0-9.]+) Gbps\s+Active.*)x");
  if (const Match match = head.whole(line); match && line.find("==(") == std::string::npos) {
    here_ = match[1] + " " + match[3];
    return;
  }
  if (line.find("==(") == std::string::npos) return;
  const Match match = cable.whole(line);
  if (!match) fail("no line of iblinkinfo: '1 2[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 3 4[ ] \"name\" ( )' is one");
  found_.command = "iblinkinfo";
  const bool of_switch = match.has(2) || here_.starts_with("Switch ");
  if (!match.has(2) && here_.empty()) fail("a port before the first line 'Switch: GUID NAME:'");
  const std::string key = "lid " + match[3];
  const std::string own = match.has(2) ? match[2] : here_.substr(here_.find(' ') + 1);
  add_node(key, of_switch, own, match.has(1) ? match[1] : "");
  const Match said = rate.whole(match[5]);
  if (!said || !match.has(7)) return;  // down
  const auto* speed =
      std::find_if(kSpeeds.begin(), kSpeeds.end(), [&](const Speed& one) { return said[2] == one.signalled; });
  if (speed == kSpeeds.end()) fail("'" + said[2] + " Gbps' is no speed of a lane of InfiniBand");
  const std::string other = "lid " + match[7];
  add_node(other, false, match[9], match.has(6) ? match[6] : "");
  add_cable({key, port(match[4])}, {other, port(match[8])}, {port(said[1]), speed});
}

/// "leaf-a" of "MF0;leaf-a:MQM8700/U1", "core/L05/U1" of "MF0;core:CS8500/L05/U1"; empty for a name of many.
std::string switch_name(const std::string& described) {
  static const Regex managed(R"(M[FT]\d+;([^:]+):[^/]*(?:/(.*))?)"),
      common(R"((?i).*mellanox technologies.*|.*switch ?x?-?\d*.*quantum.*)");
  if (const Match match = managed.whole(described))
    return match[1] + (match.has(2) && match[2] != "U1" ? "/" + match[2] : "");
  return common.whole(described) ? "" : described;
}

/// Hosts and switches of a subnet under names of their own.
class FabricMaker {
 public:
  FabricMaker(const ImportRequest& request, Subnet subnet) : request_(request), subnet_(std::move(subnet)) {}
  Json run();

 private:
  struct Adapter {
    std::string hca, leaf;
    IbCable cable;
    friend bool operator<(const Adapter& a, const Adapter& b) {
      return std::pair(a.hca.size(), a.hca) < std::pair(b.hca.size(), b.hca);
    }
  };
  void name_switches();
  void find_hosts();
  void drop_uneven();
  [[nodiscard]] std::string class_of(const IbCable& cable, const char* where, const IbCable& usual) const {
    return cable.name() == usual.name() ? where : fmt::format("{}_{}", where, cable.name());
  }
  void add_links(Json& links, const std::string& name, const IbCable& cable, bool host) const;
  [[nodiscard]] Json groups() const;
  [[nodiscard]] Json fabric() const;
  [[nodiscard]] static IbCable most_frequent(const std::map<std::string, std::pair<int, IbCable>>& seen);

  const ImportRequest& request_;
  Subnet subnet_;
  std::map<std::string, std::string> switches_;        ///< key -> name
  std::map<std::string, std::vector<Adapter>> hosts_;  ///< name -> adapters in order
};

void FabricMaker::name_switches() {
  std::map<std::string, int> used;
  for (const auto& [key, node] : subnet_.nodes)
    if (node.is_switch) ++used[switch_name(node.described)];
  for (const auto& [key, node] : subnet_.nodes) {
    if (!node.is_switch) continue;
    const std::string name = switch_name(node.described), id = node.guid.empty() ? key : node.guid;
    switches_[key] = name.empty() ? "switch-" + id : used[name] > 1 ? name + "-" + id : name;
  }
}

void FabricMaker::find_hosts() {
  static const Regex common(R"((?i)MT\d+ .*|Mellanox.*)");
  // "node001 mlx5_0", "rack 1 node001 HCA-1": where the last word is no adapter, the first one is the host.
  static const Regex named(R"((\S+)\s+(\S.*?))"),
      adapter(R"((\S.*?)\s+(HCA-\d+|(?:mlx|hfi|qib|ib|roce|rdma|opa|bnxt|irdma|mana)\w*))");
  std::set<std::string> wanted;
  for (const std::string& one : split(option_text(request_, "hcas").value_or(""), ',')) wanted.insert(one);
  std::set<std::string> skipped;
  int reducers = 0;
  for (const auto& [ends, cable] : subnet_.cables) {
    const auto& [a, b] = ends;
    const bool a_switch = subnet_.nodes.at(a.node).is_switch, b_switch = subnet_.nodes.at(b.node).is_switch;
    if (a_switch == b_switch) {
      if (!a_switch) subnet_.notes.push_back("cables between two hosts are left out");
      continue;
    }
    const Port &host = a_switch ? b : a, &leaf = a_switch ? a : b;
    const IbNode& node = subnet_.nodes.at(host.node);
    if (node.described.find("Aggregation Node") != std::string::npos) {
      ++reducers;
      continue;
    }
    Match match = adapter.whole(node.described);
    if (!match) match = named.whole(node.described);
    const bool own_name = match && !common.whole(node.described);
    const std::string id = node.guid.empty() ? host.node : node.guid;
    const std::string name = own_name ? match[1] : "host-" + id, hca = own_name ? match[2] : "port";
    if (!wanted.empty() && wanted.count(hca) == 0) {
      skipped.insert(hca);
      continue;
    }
    hosts_[name].push_back(
        {hca + (host.number > 1 ? fmt::format("/{}", host.number) : ""), switches_.at(leaf.node), cable});
  }
  if (reducers > 0)
    subnet_.notes.push_back(
        fmt::format("{} aggregation nodes inside switches are left out: they can reduce (SHARP), "
                    "which key sharp of the fabric says",
                    reducers));
  if (!skipped.empty())
    subnet_.notes.push_back("adapters that option hcas does not name are left out: " + joined(skipped));
  for (auto& [name, adapters] : hosts_) {
    std::sort(adapters.begin(), adapters.end());
    for (std::size_t i = 0; i + 1 < adapters.size(); ++i)
      if (adapters[i].hca == adapters[i + 1].hca)
        throw InputError(request_.files.front() + ": '" + name + " " + adapters[i].hca +
                         "' is the name of two adapters: give the hosts names of their own (node descriptions)");
  }
}

/// Hosts with another number of adapters than most are no nodes of the job's sort: storage, logins, links that are
/// down.
void FabricMaker::drop_uneven() {
  std::map<std::size_t, int> hosts_with;
  for (const auto& [name, adapters] : hosts_) ++hosts_with[adapters.size()];
  std::size_t usual = 0;
  for (const auto& [adapters, hosts] : hosts_with)
    if (usual == 0 || hosts >= hosts_with[usual]) usual = adapters;
  std::string left_out;
  for (auto host = hosts_.begin(); host != hosts_.end();) {
    if (host->second.size() != usual) left_out += (left_out.empty() ? "" : ", ") + host->first;
    host = host->second.size() != usual ? hosts_.erase(host) : std::next(host);
  }
  if (!left_out.empty())
    subnet_.notes.push_back(
        fmt::format("finding: hosts with another number of adapters than {} are left out (option hcas "
                    "names those that count): {}",
                    usual, left_out));
}

IbCable FabricMaker::most_frequent(const std::map<std::string, std::pair<int, IbCable>>& seen) {
  const auto most = std::max_element(seen.begin(), seen.end(),
                                     [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  return most == seen.end() ? IbCable{} : most->second.second;
}

void FabricMaker::add_links(Json& links, const std::string& name, const IbCable& cable, bool host) const {
  links[name] = {{"cable", cable.kind()},
                 {"bandwidth", rate_text({cable.rate_Bps()})},
                 {"latency", host ? "75 ns" : "155 ns"},  // source: half a switch of 130 ns and 2 m, a switch and 5 m
                 {"source", subnet_.command + ": " + cable.name() +
                                ", nominal rate; assumed: switch of 130 ns, as NVIDIA's Quantum QM8700, " +
                                (host ? "half of it, 2 m" : "5 m") + " at 5 ns/m"}};
}

Json FabricMaker::fabric() const {
  std::map<std::string, std::pair<int, IbCable>> of_hosts, of_switches;
  for (const auto& [name, adapters] : hosts_)
    for (const Adapter& one : adapters) ++of_hosts.try_emplace(one.cable.name(), 0, one.cable).first->second.first;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::pair<int, IbCable>>> bundles;
  for (const auto& [ends, cable] : subnet_.cables) {
    const auto a = switches_.find(ends.first.node), b = switches_.find(ends.second.node);
    if (a == switches_.end() || b == switches_.end()) continue;
    const std::pair<std::string, std::string> between = std::minmax(a->second, b->second);
    ++bundles[between].try_emplace(cable.name(), 0, cable).first->second.first;
    ++of_switches.try_emplace(cable.name(), 0, cable).first->second.first;
  }
  const IbCable usual_host = most_frequent(of_hosts), usual_switch = most_frequent(of_switches);
  Json links = Json::object(), hosts = Json::array(), cables = Json::array(), switches = Json::array();
  std::vector<std::pair<std::vector<std::string>, Json>> ordered;  // hosts of a switch are neighbours
  for (const auto& [name, adapters] : hosts_) {
    const Adapter& slowest =
        *std::min_element(adapters.begin(), adapters.end(),
                          [](const Adapter& a, const Adapter& b) { return a.cable.rate_Bps() < b.cable.rate_Bps(); });
    const std::string link_class = class_of(slowest.cable, "host", usual_host);
    add_links(links, link_class, slowest.cable, true);
    std::vector<std::string> leaves;
    for (const Adapter& one : adapters) leaves.push_back(one.leaf);
    ordered.emplace_back(leaves, Json{{"name", name}, {"class", link_class}, {"switches", leaves}});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [leaves, host] : ordered) hosts.push_back(std::move(host));
  for (const auto& [between, kinds] : bundles)
    for (const auto& [kind, counted] : kinds) {
      const std::string link_class = class_of(counted.second, "switch", usual_switch);
      add_links(links, link_class, counted.second, false);
      cables.push_back({{"between", {between.first, between.second}}, {"count", counted.first}, {"class", link_class}});
    }
  for (const auto& [key, name] : switches_) switches.push_back(name);
  Json fabric = {{"generator", "listed"}, {"source", subnet_.command}, {"routing", "minimal"},
                 {"links", links},        {"switches", switches},      {"hosts", hosts},
                 {"cables", cables}};
  if (const auto nics = option_text(request_, "nics")) fabric["nics"] = split(*nics, ',');
  return fabric;
}

/// Leaf switches with their hosts, below one switch that stands for all above; a host at several is at all of them.
Json FabricMaker::groups() const {
  std::map<std::string, std::vector<std::string>> leaves;
  for (const auto& [name, adapters] : hosts_) {
    std::set<std::string> at;
    for (const Adapter& one : adapters) at.insert(one.leaf);
    leaves[joined(at, "+")].push_back(name);
  }
  Json list = Json::array(), above = Json::array();
  for (const auto& [leaf, nodes] : leaves) {
    list.push_back({{"name", leaf}, {"nodes", nodes}});
    above.push_back(leaf);
  }
  if (leaves.size() > 1)
    list.push_back({{"name", "above " + std::to_string(leaves.size()) + " leaves"}, {"switches", above}});
  return list;
}

Json FabricMaker::run() {
  name_switches();
  find_hosts();
  if (hosts_.empty()) throw InputError(request_.files.front() + ": no host hangs at a switch");
  drop_uneven();
  std::string source = subnet_.command;
  for (const std::string& note : std::set<std::string>(subnet_.notes.begin(), subnet_.notes.end()))
    source += "; " + note;
  source += "; assumed: routes with the fewest cables, as tables of a fat tree have them";
  return {{"schema", "node-groups/1"},
          {"name", request_.machine},
          {"source", source},
          {"switches", groups()},
          {"fabric", fabric()}};
}

class IbFabric final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"hcas", "adapters of a host that count, e.g. mlx5_0,mlx5_1 (default: all)"},
            {"speed", "of UFM's links without one: SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR"},
            {"nics", "nics of a node that the fabric joins, e.g. nic0,nic1 (default: all of the platform)"}};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    if (request.machine.empty()) throw InputError("machine: ib-fabric needs a name for the cluster");
    const bool ufm = !request.files.empty() && ib::is_ufm(topology_import::read_text(request.files.front()));
    if (request.files.size() != 1 && !ufm)
      throw InputError("file: ib-fabric reads one file, or the links, systems and ports of UFM");
    Json record = FabricMaker(request, ufm ? ib::read_ufm(request) : SubnetReader(request.files.front()).read()).run();
    static_cast<void>(read_node_groups(record, request.files.front()));
    return record;
  }
};

const bool ib_fabric_registered =
    importers().add({"ib-fabric", "ibnetdiscover, iblinkinfo or JSON of UFM -> node-groups/1 with the fabric of it",
                     "OpenFabrics infiniband-diags: ibnetdiscover(8), iblinkinfo(8); NVIDIA UFM REST API"},
                    [] { return std::make_unique<IbFabric>(); });

}  // namespace
}  // namespace linkcast
