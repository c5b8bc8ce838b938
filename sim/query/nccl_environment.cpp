#include "sim/query/nccl_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include "sim/base/text.hpp"
#include "sim/machine/collective.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::query {
namespace {

constexpr const char* kKey = "nccl_env";
constexpr const char* kThreads = "rates of thread blocks were measured with NCCL's own number of threads alone";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw InputError(fmt::format("/{}/{}: {}", kKey, name, what));
}

/// NCCL's names, small, and those of queries.
using Names = std::vector<std::pair<std::string, std::string>>;
// source: NCCL user guide, NCCL_ALGO and NCCL_PROTO
const Names kAlgorithms = {{"tree", "tree"},
                           {"ring", "ring"},
                           {"collnetdirect", "collnet_direct"},
                           {"collnetchain", "collnet_chain"},
                           {"nvls", "nvls"},
                           {"nvlstree", "nvls_tree"},
                           {"pat", "pat"}};
const Names kProtocols = {{"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}};

class Environment {
 public:
  explicit Environment(Json& query) : query_(query) {}

  void take(const std::string& name, const std::string& value) {
    const auto& known = setters();
    if (const auto found = known.find(name); found != known.end()) {
      (this->*found->second)(name, value);
      return;
    }
    if (changes_nothing(name)) {
      idle_.push_back(name);
      return;
    }
    if (const auto why = unknown_consequence(name); !why.empty()) fail(name, "is not modelled: " + why);
    std::string names;
    for (const auto& [one, ignored] : known) names += (names.empty() ? "" : ", ") + one;
    fail(name, "is not modelled, so that a forecast with it would be one without it; modelled are " + names);
  }
  /// Several variables together.
  void finish() {
    constexpr const char* kChannels = "NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS";
    if (least_ > 0 || most_ > 0)
      for (const char* key : {"channels", "least_channels", "most_channels"})
        if (query_.contains(key)) fail(kChannels, fmt::format("the key {} says it too: give one of both", key));
    if (most_ > 0 && least_ > most_) fail(kChannels, "the least is above the most");
    if (!without_.empty()) set("NCCL_ALGO, NCCL_PROTO", "without", without_);
    if (least_ > 0 && least_ == most_) {
      set("NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS", "channels", least_);
      return;
    }
    if (least_ > 0) set("NCCL_MIN_NCHANNELS", "least_channels", least_);
    if (most_ > 0) set("NCCL_MAX_NCHANNELS", "most_channels", most_);
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    if (idle_.empty()) return {};
    return {fmt::format("nccl_env: no forecast depends on {}", linkcast::joined(idle_))};
  }

 private:
  using Setter = void (Environment::*)(const std::string& name, const std::string& value);
  static const std::map<std::string, Setter>& setters() {
    static const std::map<std::string, Setter> all = {{"NCCL_ALGO", &Environment::algorithms},
                                                      {"NCCL_PROTO", &Environment::protocols},
                                                      {"NCCL_MIN_NCHANNELS", &Environment::least},
                                                      {"NCCL_MIN_CTAS", &Environment::least},
                                                      {"NCCL_MAX_NCHANNELS", &Environment::most},
                                                      {"NCCL_MAX_CTAS", &Environment::most},
                                                      {"NCCL_NVLS_ENABLE", &Environment::nvls},
                                                      {"NCCL_COLLNET_ENABLE", &Environment::collnet},
                                                      {"NCCL_PXN_DISABLE", &Environment::pxn_off},
                                                      {"NCCL_P2P_DISABLE", &Environment::peers_off},
                                                      {"NCCL_P2P_LEVEL", &Environment::peer_level},
                                                      {"NCCL_TOPO_FILE", &Environment::topology},
                                                      {"NCCL_CROSS_NIC", &Environment::cross_nic},
                                                      {"NCCL_NET_GDR_LEVEL", &Environment::gdr_level},
                                                      {"NCCL_BUFFSIZE", &Environment::buffer},
                                                      {"NCCL_LL_BUFFSIZE", &Environment::buffer},
                                                      {"NCCL_LL128_BUFFSIZE", &Environment::buffer},
                                                      {"NCCL_SHM_DISABLE", &Environment::shm_off},
                                                      {"NCCL_NCHANNELS_PER_NET_PEER", &Environment::peer_channels},
                                                      {"NCCL_TUNER_PLUGIN", &Environment::tuner},
                                                      {"OFI_NCCL_TUNER_TYPE", &Environment::tuner},
                                                      {"OFI_NCCL_FORCE_NUM_RAILS", &Environment::rails},
                                                      {"NCCL_IB_DISABLE", &Environment::ib_off},
                                                      {"NCCL_IB_QPS_PER_CONNECTION", &Environment::flows},
                                                      {"NCCL_IB_SPLIT_DATA_ON_QPS", &Environment::split_data}};
    return all;
  }
  /// Known variables whose consequences are not; empty: none of them.
  static std::string unknown_consequence(const std::string& name) {
    static const std::map<std::string, std::string> all = {
        {"NCCL_NTHREADS", kThreads},
        {"NCCL_LL128_NTHREADS", kThreads},
        {"NCCL_NCHANNELS_PER_PEER", "NCCL does not document it; NCCL_NCHANNELS_PER_NET_PEER is modelled"},
        {"NCCL_GRAPH_FILE", "rings and trees are those that the library finds"},
        {"NCCL_IB_HCA", "the edit nics says how many adapters of a node are used"}};
    const auto found = all.find(name);
    return found == all.end() ? "" : found->second;
  }
  static bool changes_nothing(const std::string& name) {
    static const std::set<std::string> names = {"NCCL_DEBUG",
                                                "NCCL_DEBUG_SUBSYS",
                                                "NCCL_DEBUG_FILE",
                                                "NCCL_SOCKET_IFNAME",
                                                "NCCL_SOCKET_FAMILY",
                                                "NCCL_TOPO_DUMP_FILE",
                                                "NCCL_COMM_ID",
                                                "NCCL_HOSTID",
                                                "NCCL_IB_TIMEOUT",
                                                "NCCL_IB_RETRY_CNT",
                                                "NCCL_ASYNC_ERROR_HANDLING",
                                                "NCCL_GRAPH_DUMP_FILE",
                                                "NCCL_CONF_FILE",
                                                "NCCL_VERSION",
                                                "NCCL_IB_GID_INDEX",
                                                "NCCL_CHECKS_DISABLE",
                                                "NCCL_SET_THREAD_NAME"};
    return names.contains(name);
  }

  void set(const std::string& name, const char* key, Json value) {
    if (query_.contains(key)) fail(name, fmt::format("the key {} says it too: give one of both", key));
    query_[key] = std::move(value);
  }
  /// One that is left is forced, others are left out.
  void names(const std::string& name, const std::string& value, const Names& known, const char* key) {
    const bool all_but = value.starts_with("^");
    std::set<std::string> said;
    for (const std::string& one : split(all_but ? value.substr(1) : value, ',')) {
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const auto& row) { return row.first == lower(one); });
      if (found == known.end()) {
        std::string allowed;
        for (const auto& row : known) allowed += (allowed.empty() ? "" : ", ") + row.first;
        fail(name, fmt::format("'{}' is none of {} (a list, all but those with ^ before it)", one, allowed));
      }
      said.insert(found->second);
    }
    if (said.empty() || value.ends_with(',')) fail(name, "names none, or ends with a comma");
    if (!all_but && said.size() == 1) {
      set(name, key, *said.begin());
      return;
    }
    for (const auto& row : known)
      if (said.contains(row.second) == all_but) without_.push_back(row.second);
  }
  void algorithms(const std::string& name, const std::string& value) { names(name, value, kAlgorithms, "algorithm"); }
  void protocols(const std::string& name, const std::string& value) { names(name, value, kProtocols, "protocol"); }

  static int whole(const std::string& name, const std::string& value) {
    constexpr std::size_t kDigits = 4;  // source: ours, far above what NCCL takes
    const bool digits = !value.empty() && value.size() <= kDigits &&
                        std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!digits || std::stoi(value) == 0) fail(name, "'" + value + "' is no number of channels");
    return std::stoi(value);
  }
  static void once(const std::string& name, const std::string& value, int& channels) {
    if (channels > 0) fail(name, "another variable says it too: give one of both");
    channels = whole(name, value);
  }
  void least(const std::string& name, const std::string& value) { once(name, value, least_); }
  void most(const std::string& name, const std::string& value) { once(name, value, most_); }

  static bool flag(const std::string& name, const std::string& value) {
    if (value != "0" && value != "1") fail(name, "'" + value + "' is neither 0 nor 1");
    return value == "1";
  }
  // NVLS: 2, the default, is where the machine has it.
  void nvls(const std::string& name, const std::string& value) { set(name, "nvls", value == "2" || flag(name, value)); }
  void collnet(const std::string& name, const std::string& value) { set(name, "collnet", flag(name, value)); }
  void pxn_off(const std::string& name, const std::string& value) {
    const bool off = flag(name, value);
    if (!idle_on_one_node(name)) set(name, "pxn", !off);
  }
  void peers_off(const std::string& name, const std::string& value) {
    if (flag(name, value)) set(name, "p2p_level", "LOC");
  }
  void peer_level(const std::string& name, const std::string& value) { set(name, "p2p_level", value); }
  /// A setting of what is between nodes, on one node.
  bool idle_on_one_node(const std::string& name) {
    const auto nodes = query_.find("nodes");
    const bool one = nodes == query_.end() || *nodes == 1;
    if (one) idle_.push_back(name);
    return one;
  }
  void cross_nic(const std::string& name, const std::string& value) {
    if (value != "0" && value != "1" && value != "2") fail(name, "'" + value + "' is none of 0, 1, 2");
    if (!idle_on_one_node(name)) set(name, "cross_nic", value[0] - '0');
  }
  void gdr_level(const std::string& name, const std::string& value) {
    const auto& known = path_classes();
    if (std::find(known.begin(), known.end(), value) == known.end())
      fail(name, fmt::format("'{}' is none of {}", value, fmt::join(known, ", ")));
    if (!idle_on_one_node(name)) set(name, "gdr_level", value);
  }
  void buffer(const std::string& name, const std::string& value) {
    constexpr std::size_t kDigits = 12;  // source: ours, far above any memory of a GPU
    if (value.empty() || value.size() > kDigits ||
        !std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c); }))
      fail(name, "'" + value + "' is no number of bytes");
    const char* key = name == "NCCL_BUFFSIZE"      ? "buffer_B"
                      : name == "NCCL_LL_BUFFSIZE" ? "ll_buffer_B"
                                                   : "ll128_buffer_B";
    set(name, key, std::stoll(value));
  }
  void shm_off(const std::string& name, const std::string& value) {
    if (flag(name, value)) set(name, "shm", false);
  }
  /// Whether its operation is made of messages, which read no settings of rings and trees, nor these those of messages.
  [[nodiscard]] bool of_messages() const {
    const auto op = query_.find("op");
    const Collective* known =
        op != query_.end() && op->is_string() ? collectives().find(op->get<std::string>()) : nullptr;
    return known != nullptr && known->shape() == Shape::kPairs;
  }
  void peer_channels(const std::string& name, const std::string& value) {
    const int channels = whole(name, value);
    if (!of_messages())
      idle_.push_back(name);
    else if (!idle_on_one_node(name))
      set(name, "peer_channels", channels);
  }
  void tuner(const std::string& name, const std::string& value) {
    const bool ofi = name.starts_with("OFI_");
    const std::string said = lower(value);
    if (said == (ofi ? "internal" : "none")) return no_tuner(name);
    if (!ofi || said != "region")
      fail(name, fmt::format("'{}' is not modelled: {} leaves the choice to NCCL{}", value, ofi ? "INTERNAL" : "none",
                             ofi ? ", REGION is what the plug-in does anyway" : ""));
    idle_.push_back(name);
  }
  /// With it the plug-in's tuner is off. source: aws/aws-ofi-nccl, src/tuner
  void rails(const std::string& name, const std::string&) { no_tuner(name); }
  void no_tuner(const std::string& name) {
    if (of_messages())
      idle_.push_back(name);
    else if (!idle_on_one_node(name))
      query_["plugin_tuner"] = false;
  }
  // The next three are of the machine: nccl_edits() has read them.
  void ib_off(const std::string& name, const std::string& value) { machine(name, flag(name, value)); }
  void flows(const std::string& name, const std::string& value) { machine(name, whole(name, value) > 1); }
  void split_data(const std::string& name, const std::string& value) {
    // Split or in turns, the bytes are spread over the same flows.
    static_cast<void>(flag(name, value));
    idle_.push_back(name);
  }
  void machine(const std::string& name, bool changes) {
    if (!changes)
      idle_.push_back(name);
    else
      static_cast<void>(idle_on_one_node(name));
  }
  // No file that those who forbid files do not see.
  void topology(const std::string& name, const std::string&) { fail(name, "is the key library_topology"); }

  Json& query_;
  std::vector<std::string> without_{}, idle_{};
  int least_ = 0, most_ = 0;
};

/// Whether NCCL sends by its own verbs: every cable of the fabric is InfiniBand's or RoCE's.
bool goes_by_verbs(const Json& fabric) {
  const auto links = fabric.find("links");
  if (links == fabric.end() || !links->is_object()) return false;
  return std::all_of(links->begin(), links->end(), [](const Json& one) {
    const std::string cable = one.is_object() ? one.value("cable", "") : "";
    return cable.starts_with("ib_") || cable.starts_with("roce_");
  });
}

}  // namespace

Json nccl_environment_of(const std::string& text, const std::string& option) {
  if (text.empty() || text.ends_with(',')) throw InputError(option + ": is empty, or ends with a comma");
  Json out = Json::object();
  std::string name;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    if (equals != std::string::npos) {
      name = part.substr(0, equals);
      if (!name.starts_with("NCCL_") && !name.starts_with("OFI_NCCL_"))
        throw InputError(option + ": '" + name + "' is no variable of NCCL");
      if (out.contains(name)) throw InputError(option + ": " + name + " is said twice");
      out[name] = part.substr(equals + 1);
    } else if (name.empty()) {
      throw InputError(option + ": '" + part + "' is not NCCL_NAME=VALUE, e.g. NCCL_PROTO=^LL,NCCL_MAX_NCHANNELS=8");
    } else {
      out[name] = out[name].get<std::string>() + "," + part;
    }
  }
  return out;
}

NcclEdits nccl_edits(const Json& query, const Topology& topology) {
  NcclEdits made;
  const auto found = query.find(kKey);
  if (found == query.end() || !found->is_object() || query.value("nodes", Json(1)) == 1 || !topology.fabric.is_object())
    return made;
  const auto value = [&](const char* name) {
    const auto one = found->find(name);
    return one != found->end() && one->is_string() ? one->get<std::string>() : "";
  };
  const auto no_effect = [&](const char* name, const std::string& why) {
    made.warnings.push_back(fmt::format("{}: {} changes nothing here: {}", kKey, name, why));
  };
  if (value("NCCL_IB_DISABLE") == "1") {
    if (goes_by_verbs(topology.fabric))
      made.edits.emplace_back("network tcp");
    else
      no_effect("NCCL_IB_DISABLE", "the network is neither InfiniBand nor RoCE");
  }
  const std::string flows = value("NCCL_IB_QPS_PER_CONNECTION");
  if (flows.empty() || flows == "1" || !made.edits.empty()) return made;
  if (topology.fabric.value("flows", Json(1)).dump() == flows) return made;  // an edit says it already
  const std::string routing = topology.fabric.value("routing", "");
  if (!goes_by_verbs(topology.fabric))
    no_effect("NCCL_IB_QPS_PER_CONNECTION", "the network is neither InfiniBand nor RoCE");
  else if (routing != "ecmp")
    no_effect("NCCL_IB_QPS_PER_CONNECTION", "routing " + routing + " hashes no flows");
  else
    made.edits.push_back(fmt::format("fabric {}:flows={}", topology.fabric.value("generator", ""), flows));
  return made;
}

std::vector<std::string> take_nccl_environment(Json& query) {
  const auto found = query.find(kKey);
  if (found == query.end()) return {};
  if (!found->is_object()) throw InputError(fmt::format("/{}: must be an object of NCCL's variables", kKey));
  const auto library = query.find("library");
  if (library != query.end() && library->is_string() && library->get<std::string>().starts_with("mpi"))
    throw InputError(fmt::format("/{}: is of NCCL, and {} is none", kKey, library->get<std::string>()));
  const Json variables = *found;
  query.erase(kKey);
  Environment environment(query);
  for (const auto& [name, value] : variables.items()) {
    if (!value.is_string()) fail(name, "must be a text, as in the environment");
    environment.take(name, value.get<std::string>());
  }
  environment.finish();
  return environment.warnings();
}

}  // namespace linkcast::query
