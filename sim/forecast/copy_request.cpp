#include "sim/forecast/copy_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/index.hpp"
#include "sim/plan/request.hpp"
#include "sim/query/key.hpp"

namespace linkcast::copy {
namespace {

constexpr const char* kOfMessages =
    "process is of copies inside a node: what was measured between processes or by a NIC holds what issues it";

/// Number of a NIC on the fabric. @returns -1 if the text is no NIC of the platform
int nic_named(const Cluster& machine, const ObjectReader& r, const std::string& key, const Json& text) {
  if (!text.is_string()) return -1;
  const Topology& topology = machine.node().topology();
  const auto& id = text.get_ref<const std::string&>();
  const auto device = topology.find(id);
  if (!device || topology.devices[at(*device)].kind != DeviceKind::kNic) return -1;
  for (int nic = 0; nic < machine.nics(); ++nic)
    if (machine.nic_device(nic) == *device) return nic;
  r.fail(key, "'" + id + "' is not on the fabric of " + topology.name);
}

/// Of a message between processes, the same in a node and between nodes: kMessage, or a kind of message.
bool is_message(const Json& transport) {
  if (!transport.is_string()) return false;
  const auto& name = transport.get_ref<const std::string&>();
  const auto& names = Transports::message_names();
  return name == kMessage || std::find(names.begin(), names.end(), name) != names.end();
}

/// Kinds of messages, and the one that follows from the ends.
std::vector<std::string> message_kinds() {
  std::vector<std::string> kinds{kMessage};
  const auto& names = Transports::message_names();
  kinds.insert(kinds.end(), names.begin(), names.end());
  return kinds;
}

/// Name of the curve of messages; empty: the one that follows from the ends.
std::string curve_of(const std::string& transport) { return transport == kMessage ? "" : transport; }

bool read_timing(ObjectReader& r, CopyRequest& request, Timing usual) {
  request.timing = usual;
  if (!r.has("timing")) return false;
  request.timing = r.choice("timing", {"single", "back_to_back"}) == "single" ? Timing::kSingle : Timing::kBackToBack;
  return true;
}

void read_way_back(ObjectReader& r, CopyRequest& request) {
  if (!r.optional<bool>("bidirectional").value_or(false)) return;
  const Copy& there = request.copies.front();
  request.copies.push_back({there.to, there.from, there.bytes, there.message});
}

void read_copy(const Platform& node, ObjectReader& r, CopyRequest& request, log::Progress& progress) {
  if (r.has("transport"))
    request.inside.transport = r.choice("transport", {"local", "peer", "relay", "staged", "host"});
  if (const auto via = r.optional<std::string>("via"))
    request.inside.via = activities::device_by_id(node, *via, r, "via");
  read_way_back(r, request);
  request.inside.by = activities::read_engine(r);
  request.inside.read = activities::read_direction(r);
  read_timing(r, request, Timing::kBackToBack);
  request.inside.single = request.timing == Timing::kSingle && !request.host;
  request.inside.pageable = r.optional<bool>("pageable").value_or(false);
  if (r.has("chunk_B")) request.inside.chunk_B = activities::read_size(r, "chunk_B");
  request.load = congestion::read_noise(r, node.calibration(), progress, congestion::Crosses::kNothing);
  r.optional<bool>("round_trip");  // of a copy it changes nothing, as noise does not
}

void read_message(const Cluster& machine, ObjectReader& r, CopyRequest& request, log::Progress& progress) {
  const Copy there = request.copies.front();
  const bool same_node = there.from.node == there.to.node;
  if (r.has("transport")) request.between.transport = curve_of(r.choice("transport", message_kinds()));
  query::refuse_keys(r, {"engine", "direction", "via", "chunk_B", "pageable"},
                     "is of copies inside a node, and this is a message between processes");
  const bool gpu = machine.node().topology().devices[at(there.from.device)].kind == DeviceKind::kGpu;
  if (gpu && same_node && there.from.device == there.to.device)  // a CPU has many processes
    r.fail("dst", "is the device that sends: a copy inside it is no message");
  read_way_back(r, request);
  read_timing(r, request, Timing::kSingle);
  const bool queued = request.timing == Timing::kBackToBack;
  if (queued && request.copies.size() > 1 && !same_node)
    r.fail("bidirectional", "is not known of messages one behind the other between nodes");
  request.load = congestion::read_noise(r, machine.node().calibration(), progress,
                                        same_node ? congestion::Crosses::kNothing : congestion::Crosses::kFabric);
  if (request.load.noise && queued) r.fail("noise", "is not modelled of messages one behind the other");
  request.load.round_trip = r.optional<bool>("round_trip").value_or(false);
  if (request.load.round_trip && !request.load.draws())
    r.fail("round_trip", "is of draws of noise: give noise as well");
  if (request.load.round_trip && request.copies.size() > 1)
    r.fail("round_trip", "is of one message and its answer, not of both directions at once");
}

/// By one card: what it reads and throws away, or what comes back to the same memory.
void read_loop(const Cluster& machine, ObjectReader& r, CopyRequest& request) {
  query::refuse_keys(
      r, {"transport", "engine", "direction", "chunk_B", "pageable", "bidirectional", "noise", "round_trip"},
      "is not of bytes that one card moves alone");
  const auto src = r.required<std::string>("src"), dst = r.required<std::string>("dst");
  const activities::ClusterEnd end = read_end(machine, r, "src", src);
  request.copies = {{end, end, activities::read_size(r, "size_B"), true}};
  if (r.has("via")) {
    if (dst != src) r.fail("dst", "over one card the bytes come back to the memory of src: name " + src);
    request.via_nic = nic_named(machine, r, "via", r.raw("via"));
    if (request.via_nic < 0)
      r.fail("via",
             "'" + r.required<std::string>("via") + "' is not on the fabric of " + machine.node().topology().name);
  } else {
    request.into_nic = nic_named(machine, r, "dst", r.raw("dst"));
  }
  request.timing = Timing::kBackToBack;
  if (r.has("timing")) r.choice("timing", {"back_to_back"});
}

/// @param one  of nothing, where its errors are
Copy read_flow(const Cluster& machine, const Json& flow, const ObjectReader& one) {
  if (!flow.is_array() || flow.size() != 3 || !flow[0].is_string() || !flow[1].is_string() || !flow[2].is_number())
    throw InputError(one.file(), one.pointer(), "must be [src, dst, size_B], e.g. [\"gpu0\", \"gpu1\", 67108864]");
  Copy copy;
  copy.from = read_end(machine, one, "0", flow[0].get_ref<const std::string&>());
  copy.to = read_end(machine, one, "1", flow[1].get_ref<const std::string&>());
  copy.bytes = activities::checked_size(one, "2", flow[2].get<double>());
  copy.message = copy.from.node != copy.to.node;
  return copy;
}

/// A flow between devices of a lone node, read without a thought of errors. @returns none: it is another
std::optional<Copy> plain_flow(const Cluster& machine, const Json& flow) {
  if (!flow.is_array() || flow.size() != 3 || !flow[2].is_number()) return std::nullopt;
  const auto end = [&](const Json& name) -> std::optional<int> {
    if (!name.is_string() || names_node(name)) return std::nullopt;
    return activities::usable_device(machine.node(), name.get_ref<const std::string&>());
  };
  const auto from = end(flow[0]), to = end(flow[1]);
  const auto bytes = flow[2].get<double>();
  if (!from || !to || !activities::is_size(bytes)) return std::nullopt;
  return Copy{{0, *from}, {0, *to}, bytes};
}

/// What flows of both sorts have in common; a key that none of them knows is refused.
void read_flow_keys(const Cluster& machine, ObjectReader& r, CopyRequest& request, log::Progress& progress) {
  const bool all_messages = request.names_nodes && r.has("transport") && r.raw("transport") == kMessage;
  std::ptrdiff_t messages = 0, between = 0;
  for (Copy& copy : request.copies) {
    between += copy.from.node != copy.to.node;
    copy.message = copy.message || all_messages;
    messages += copy.message;
  }
  const bool some_inside = messages < std::ssize(request.copies);
  if (!some_inside)
    query::refuse_keys(r, {"engine", "direction"},
                       between == messages
                           ? "is of copies inside a node, and every flow joins two nodes"
                           : "is of copies inside a node, and every flow is a message between processes");
  if (some_inside) {
    request.inside.by = activities::read_engine(r);
    request.inside.read = activities::read_direction(r);
  }
  const bool told = read_timing(r, request, Timing::kSingle);
  if (told && messages > 0 && request.timing == Timing::kBackToBack)
    r.fail("timing", "back_to_back is of copies inside a node, and of one message between nodes: see p2p");
  request.inside.single = request.timing == Timing::kSingle && !request.host;
  if (request.host && messages > 0) r.fail("launch", kOfMessages);
  if (r.has("transport")) {
    const std::vector<std::string> copied = {"peer", "relay", "staged"};
    std::vector<std::string> known = some_inside ? copied : std::vector<std::string>{};
    const std::vector<std::string> sent = message_kinds();
    if (messages > 0) known.insert(known.end(), sent.begin(), sent.end());
    const std::string transport = r.choice("transport", known);
    const bool of_copies = std::find(copied.begin(), copied.end(), transport) != copied.end();
    (of_copies ? request.inside.transport : request.between.transport) = curve_of(transport);
  }
  request.load = congestion::read_noise(r, machine.node().calibration(), progress,
                                        between > 0 ? congestion::Crosses::kFabric : congestion::Crosses::kNothing);
  request.between.shares = messages > 1;
}

}  // namespace

std::string name_of(Timing timing) { return timing == Timing::kSingle ? "single" : "back_to_back"; }

bool names_node(const Json& end) { return end.is_string() && end.get_ref<const std::string&>().starts_with("node"); }

bool names_nodes(const Json& query) {
  const auto end = [&](const char* key) {
    const auto found = query.find(key);
    return found != query.end() && names_node(*found);
  };
  if (end("src") || end("dst")) return true;
  const auto flows = query.find("flows");
  if (flows == query.end() || !flows->is_array()) return false;
  return std::any_of(flows->begin(), flows->end(), [](const Json& flow) {
    return flow.is_array() && std::any_of(flow.begin(), flow.end(), names_node);
  });
}

bool names_nic(const Platform& platform, const Json& query) {
  const auto nic = [&](const char* key) {
    const auto found = query.find(key);
    if (found == query.end() || !found->is_string()) return false;
    const auto device = platform.topology().find(found->get_ref<const std::string&>());
    return device && platform.topology().devices[at(*device)].kind == DeviceKind::kNic;
  };
  return nic("dst") || nic("via");
}

activities::ClusterEnd read_end(const Cluster& machine, const ObjectReader& r, const std::string& key,
                                const std::string& text) {
  if (!text.starts_with("node")) return {0, activities::device_by_id(machine.node(), text, r, key)};
  const auto slash = text.find('/');
  const std::string node = text.substr(0, slash);
  const bool plain = node.size() == 5 || (node.size() > 5 && node[4] != '0');  // node0 is never written node00
  const bool numbered = plain && node.size() < 12 &&
                        std::all_of(node.begin() + 4, node.end(), [](unsigned char c) { return std::isdigit(c); });
  const int number = numbered ? std::stoi(node.substr(4)) : -1;
  if (number < 0 || number >= machine.nodes() || slash == std::string::npos)
    r.fail(key, fmt::format("'{}' is no GPU or CPU of a node: node0/gpu0 to node{}/gpu{}", text, machine.nodes() - 1,
                            machine.node().gpu_count() - 1));
  return {number, activities::device_by_id(machine.node(), text.substr(slash + 1), r, key)};
}

CopyRequest read_p2p(const Cluster& machine, ObjectReader& r, log::Progress& progress,
                     const std::optional<CopyHost>& host) {
  CopyRequest request;
  request.host = host;
  const Json &src = r.raw("src"), &dst = r.raw("dst");
  request.names_nodes = names_node(src) || names_node(dst);
  const bool loop = !request.names_nodes && (nic_named(machine, r, "dst", dst) >= 0 ||
                                             (r.has("via") && nic_named(machine, r, "via", r.raw("via")) >= 0));
  if (host && loop) r.fail("launch", kOfMessages);
  if (loop) {
    read_loop(machine, r, request);
  } else {
    Copy copy;
    copy.from = read_end(machine, r, "src", r.required<std::string>("src"));
    copy.to = read_end(machine, r, "dst", r.required<std::string>("dst"));
    copy.bytes = activities::read_size(r, "size_B");
    copy.message =
        copy.from.node != copy.to.node || (request.names_nodes && r.has("transport") && is_message(r.raw("transport")));
    request.copies.push_back(copy);
    if (copy.message)
      read_message(machine, r, request, progress);
    else
      read_copy(machine.node(), r, request, progress);
  }
  r.finish();
  return request;
}

CopyRequest read_flows(const Cluster& machine, ObjectReader& r, log::Progress& progress,
                       const std::optional<CopyHost>& host) {
  CopyRequest request;
  request.host = host;
  request.together = true;
  const Json& list = r.raw("flows");
  if (!list.is_array() || list.empty()) r.fail("flows", "must be a non-empty array of [src, dst, size_B]");
  request.copies.reserve(list.size());
  static const Json no_keys = Json::object();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const auto plain = plain_flow(machine, list[i])) {
      request.copies.push_back(*plain);
      continue;
    }
    const ObjectReader one(no_keys, r.file(), fmt::format("{}/{}", r.pointer("flows"), i));
    request.copies.push_back(read_flow(machine, list[i], one));
    request.names_nodes = request.names_nodes || names_node(list[i][0]) || names_node(list[i][1]);
  }
  read_flow_keys(machine, r, request, progress);
  r.finish();
  return request;
}

}  // namespace linkcast::copy
