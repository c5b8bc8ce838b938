#include "cli/serve/kubernetes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace linkcast::serve {
namespace {

constexpr const char* kExtenderName = "ExtenderArgs";
constexpr const char* kGpus = "nvidia.com/gpu";
constexpr const char* kProduct = "nvidia.com/gpu.product";
constexpr const char* kCount = "nvidia.com/gpu.count";
constexpr const char* kOurs = "linkcast/";

/// Go reads the names of fields in any case.
const Json* field(const Json& object, const std::string& name) {
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same) && !item.value().is_null())
      return &item.value();
  }
  return nullptr;
}

/// What stands at a pointer, or null.
Json at(const Json& value, const char* pointer) {
  const Json::json_pointer where(pointer);
  return value.contains(where) ? value.at(where) : Json();
}

std::string annotation(const Json& object, const std::string& key, const std::string& place) {
  const Json annotations = at(object, "/metadata/annotations");
  if (!annotations.is_object() || !annotations.contains(key)) return "";
  if (!annotations[key].is_string()) throw InputError(kExtenderName, place, "annotation " + key + " must be a text");
  return annotations[key].get<std::string>();
}

/// A misspelt one would be passed over in silence.
void refuse_unknown_annotations(const Json& object, const std::vector<std::string>& known, const std::string& place) {
  const Json annotations = at(object, "/metadata/annotations");
  if (!annotations.is_object()) return;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  for (const auto& item : annotations.items())
    if (item.key().starts_with(kOurs) && std::find(known.begin(), known.end(), item.key()) == known.end())
      throw InputError(kExtenderName, place, "annotation " + item.key() + " is none of " + list);
}

/// A whole number, or one in quotes; Kubernetes writes both.
int count_of(const Json& value, const std::string& place) {
  int count = -1;
  if (value.is_number_integer()) count = value.get<int>();
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size()) count = -1;
  }
  if (count < 0) throw InputError(kExtenderName, place, value.dump() + " is no number of GPUs");
  return count;
}

/// Of the containers together, or of the one that needs most before they start.
int gpus_of(const Json& pod) {
  const auto wanted = [&](const char* list, const auto& fold) {
    const Json containers = at(pod, list);
    if (!containers.is_array()) return;
    for (std::size_t i = 0; i < containers.size(); ++i)
      if (const Json limits = at(containers[i], "/resources/limits"); limits.is_object() && limits.contains(kGpus))
        fold(count_of(limits[kGpus], fmt::format("/Pod{}/{}/resources/limits", list, i)));
  };
  int together = 0, first = 0;
  wanted("/spec/containers", [&](int gpus) { together += gpus; });
  wanted("/spec/initContainers", [&](int gpus) { first = std::max(first, gpus); });
  return std::max(together, first);
}

/// "0,1,4-6"; empty: none.
Json numbers_of(const std::string& text, const std::string& place) {
  Json numbers = Json::array();
  const auto fail = [&]() -> InputError {
    return InputError(kExtenderName, place, "annotation linkcast/busy: '" + text + "' is not like 0,1,4-6");
  };
  const auto number = [&](const std::string& part) {
    int value = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    constexpr int most = 1000;  // ours: no node has as many GPUs
    if (error != std::errc() || end != part.data() + part.size() || value < 0 || value > most) throw fail();
    return value;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (last < first) throw fail();
    for (int gpu = first; gpu <= last; ++gpu) numbers.push_back(gpu);
    if (comma + 1 == text.size()) throw fail();
    begin = comma + 1;
  }
  return numbers;
}

/// What the node says of itself, else what the pod says of such nodes.
std::string platform_of_node(const Json& node, const PodAsk& pod, const PlatformOf& platform_of,
                             const std::string& place) {
  if (const std::string said = annotation(node, "linkcast/platform", place); !said.empty()) return said;
  const Json labels = at(node, "/metadata/labels");
  if (!labels.is_object() || !labels.contains(kProduct)) return pod.platform;
  if (!labels[kProduct].is_string() || !labels.contains(kCount))
    throw InputError(kExtenderName, place, std::string("label ") + kProduct + " must be a text, beside " + kCount);
  const std::string platform =
      platform_of({labels[kProduct].get<std::string>(), count_of(labels[kCount], place)}, pod.platform);
  if (!pod.platform.empty() && pod.platform != platform)
    throw InputError("labels: it is a " + platform + ", the pod's annotation linkcast/platform says " + pod.platform);
  return platform;
}

/// @param node  as sent, or null where only its name was
NodeOffer offer_of(const std::string& name, const Json& node, const PodAsk& pod, const NodeStates::Nodes& states,
                   const PlatformOf& platform_of, const std::string& place) {
  if (pod.job.empty()) return {name};
  if (const auto known = states.find(name); known != states.end()) return {name, known->second};
  try {
    refuse_unknown_annotations(node, {"linkcast/platform", "linkcast/busy"}, place);
    const std::string platform = platform_of_node(node, pod, platform_of, place);
    if (platform.empty()) return {name, {}, "linkcast: its platform is not known"};
    const Json annotations = at(node, "/metadata/annotations");
    if (!annotations.is_object() || !annotations.contains("linkcast/busy"))
      return {name, {}, "linkcast: its busy GPUs are not known"};
    return {name, Json{{"platform", platform}, {"busy", numbers_of(annotation(node, "linkcast/busy", place), place)}}};
  } catch (const InputError& error) {
    return {name, {}, std::string("linkcast: ") + error.what()};
  }
}

/// The job's times on nodes of one state are forecast once.
class Times {
 public:
  explicit Times(const TimeOn& time_on) : time_on_(time_on) {}
  double operator()(const Json& state) {
    const auto [at, is_new] = known_.try_emplace(state.dump(), 0);
    if (is_new) at->second = time_on_(state);
    return at->second;
  }

 private:
  const TimeOn& time_on_;
  std::map<std::string, double> known_;
};

/// Why the pod cannot run there; empty: it can.
std::string refusal(const PodAsk& pod, const NodeOffer& node, const Free& free, Times& time_of) {
  if (pod.job.empty()) return "";
  if (!node.state) return node.unknown;
  try {
    const int left = free(*node.state);
    if (left < pod.gpus) return fmt::format("linkcast: {} GPUs are asked for, and {} are free", pod.gpus, left);
    static_cast<void>(time_of(*node.state));
  } catch (const InputError& error) {
    return std::string("linkcast: ") + error.what();
  }
  return "";
}

}  // namespace

ExtenderArgs read_extender_args(const Json& json, const NodeStates::Nodes& states, const PlatformOf& platform_of) {
  if (!json.is_object()) throw InputError(kExtenderName, "", "must be an object with Pod and Nodes or NodeNames");
  const Json* pod = field(json, "Pod");
  if (pod == nullptr || !pod->is_object()) throw InputError(kExtenderName, "/Pod", "missing, or no object");
  ExtenderArgs args;
  args.pod = {annotation(*pod, "linkcast/job", "/Pod"), annotation(*pod, "linkcast/platform", "/Pod"), gpus_of(*pod)};
  refuse_unknown_annotations(*pod, {"linkcast/job", "linkcast/platform"}, "/Pod");
  if (!args.pod.job.empty() && args.pod.gpus == 0)
    throw InputError(kExtenderName, "/Pod", "annotation linkcast/job, and no container has a limit nvidia.com/gpu");
  const Json* names = field(json, "NodeNames");
  const Json* nodes = field(json, "Nodes");
  if (names != nullptr) {
    args.by_name = true;
    if (!names->is_array()) throw InputError(kExtenderName, "/NodeNames", "must be an array of texts");
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string place = fmt::format("/NodeNames/{}", i);
      if (!(*names)[i].is_string()) throw InputError(kExtenderName, place, "must be a text");
      args.nodes.push_back(offer_of((*names)[i].get<std::string>(), Json(), args.pod, states, platform_of, place));
    }
    return args;
  }
  if (nodes == nullptr) throw InputError(kExtenderName, "", "has neither Nodes nor NodeNames");
  const Json items = at(*nodes, "/items");
  if (!items.is_array()) throw InputError(kExtenderName, "/Nodes/items", "missing, or no array");
  args.node_list = *nodes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = fmt::format("/Nodes/items/{}", i);
    const Json name = at(items[i], "/metadata/name");
    if (!name.is_string()) throw InputError(kExtenderName, place + "/metadata/name", "missing, or no text");
    args.nodes.push_back(offer_of(name.get<std::string>(), items[i], args.pod, states, platform_of, place));
  }
  return args;
}

Json filter_result(const ExtenderArgs& args, const Free& free, const TimeOn& time_on) {
  Times time_of(time_on);
  Json failed = Json::object(), names = Json::array(), items = Json::array();
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    const std::string why = refusal(args.pod, args.nodes[i], free, time_of);
    if (!why.empty()) {
      failed[args.nodes[i].name] = why;
      continue;
    }
    names.push_back(args.nodes[i].name);
    if (!args.by_name) items.push_back(args.node_list["items"][i]);
  }
  Json result{{"Nodes", Json()}, {"NodeNames", Json()}};
  if (args.by_name) {
    result["NodeNames"] = std::move(names);
  } else {
    result["Nodes"] = args.node_list;
    result["Nodes"]["items"] = std::move(items);
  }
  result["FailedNodes"] = std::move(failed);
  result["FailedAndUnresolvableNodes"] = Json::object();
  result["Error"] = "";
  return result;
}

Json host_priorities(const ExtenderArgs& args, const Free& free, const TimeOn& time_on) {
  Times time_of(time_on);
  std::vector<double> times_s;
  double best_s = std::numeric_limits<double>::infinity();
  for (const NodeOffer& node : args.nodes) {
    const bool can = !args.pod.job.empty() && refusal(args.pod, node, free, time_of).empty();
    times_s.push_back(can ? time_of(*node.state) : std::numeric_limits<double>::infinity());
    if (can) best_s = std::min(best_s, time_of({{"platform", (*node.state)["platform"]}}));
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    double share = 0;  // of what the best would do in the time
    if (times_s[i] < std::numeric_limits<double>::infinity()) share = times_s[i] > 0 ? best_s / times_s[i] : 1;
    list.push_back({{"Host", args.nodes[i].name}, {"Score", std::lround(kBestPriority * std::min(1.0, share))}});
  }
  return list;
}

}  // namespace linkcast::serve
