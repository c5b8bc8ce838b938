#include "sim/query/gpu_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/parse.hpp"
#include "sim/machine/gpu_names.hpp"

namespace linkcast::query {
namespace {

using namespace std::string_view_literals;

Json device_value(const Json& value, const Topology& topology) {
  if (value.is_number_integer() && value >= 0) return fmt::format("gpu{}", value.get<std::int64_t>());
  return value.is_string() ? Json(gpu_device(topology, value.get_ref<const std::string&>())) : value;
}

/// @param strict  a text must name a GPU
Json list_value(const Json& value, const Topology& topology, bool strict) {
  const Json given = value.is_string() ? Json::array({value}) : value;
  if (!given.is_array() && strict) throw InputError("must be an array of GPUs, e.g. [0, 1] or \"0-3\"");
  if (!given.is_array()) return value;  // its reader says what it must be
  Json list = Json::array();
  for (const Json& one : given) {
    const bool text = one.is_string();
    const std::string name = text ? one.get<std::string>() : "";
    if (!text || (!strict && name.find(',') == std::string::npos && !read_gpu_text(name)))
      list.push_back(one);
    else
      for (const int gpu : gpu_list(topology, name)) list.push_back(gpu);
  }
  return list;
}

/// "64MiB" in bytes as the command line reads it, also in lists; what is no text stays.
/// @throws InputError  with file and pointer
Json size_value(const Json& value, const std::string& file, const std::string& pointer) {
  constexpr std::size_t kLongest = 32;  // source: ours, twice what the largest size takes
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kLongest || std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }))
      throw InputError(file, pointer, "is no size, e.g. \"64MiB\"");
    const std::string option = "size";
    try {
      return parse_size(option, text);
    } catch (const InputError& error) {
      throw InputError(file, pointer, std::string(error.what()).substr(option.size() + 2));
    }
  }
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& one : value) list.push_back(size_value(one, file, fmt::format("{}/{}", pointer, list.size())));
  return list;
}

void size_flows(Json& flows, const std::string& file, const std::string& pointer) {
  constexpr std::size_t kSize = 2;  // of [device, device, size]
  if (!flows.is_array()) return;
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (flows[i].is_array() && flows[i].size() > kSize)
      flows[i][kSize] = size_value(flows[i][kSize], file, fmt::format("{}/{}/{}", pointer, i, kSize));
}

/// size_B and sizes_B of a job, or of each of a list, in bytes.
void size_job(Json& job, const std::string& file, const std::string& pointer) {
  if (job.is_array())
    for (std::size_t i = 0; i < job.size(); ++i) size_job(job[i], file, fmt::format("{}/{}", pointer, i));
  if (!job.is_object()) return;
  for (const char* size : {"size_B", "sizes_B"})
    if (const auto found = job.find(size); found != job.end()) *found = size_value(*found, file, pointer + "/" + size);
}

Json flows_value(Json flows, const Topology& topology) {
  constexpr std::size_t kEnds = 2;  // of [device, device, size]
  if (!flows.is_array()) return flows;
  for (Json& flow : flows) {
    if (!flow.is_array()) continue;
    for (std::size_t end = 0; end < std::min(kEnds, flow.size()); ++end) flow[end] = device_value(flow[end], topology);
  }
  return flows;
}

Json numbered(const Key& key, const Json& value, const Topology& topology) {
  switch (key.gpus) {
    case GpuNames::kDevice:
      return device_value(value, topology);
    case GpuNames::kList:
    case GpuNames::kSome:
      return list_value(value, topology, key.gpus == GpuNames::kList);
    case GpuNames::kFlows:
      return flows_value(value, topology);
    case GpuNames::kNone:
      break;
  }
  return value;
}

bool has_text(const Json& value) {
  return value.is_string() || (value.is_array() && std::any_of(value.begin(), value.end(), has_text));
}

/// A device by its id as devices have it: "gpu0".
bool is_device_id(const Json& value, const Topology& topology) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("gpu") &&
         topology.find(value.get_ref<const std::string&>()).has_value();
}

/// Whether nothing of it is spelled otherwise.
bool stays(const Key& key, const Json& value, const Topology& topology) {
  constexpr std::size_t kEnds = 2;  // of [device, device, size]
  if (key.gpus == GpuNames::kDevice) return is_device_id(value, topology);
  if (key.gpus != GpuNames::kFlows) return !has_text(value);
  return value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& flow) {
           return flow.is_array() && flow.size() > kEnds && is_device_id(flow[0], topology) &&
                  is_device_id(flow[1], topology) && !has_text(flow[kEnds]);
         });
}

}  // namespace

void take_numbers(const KeyTable& table, const Topology& topology, const std::string& file, const std::string& pointer,
                  GivenQuery& query) {
  if (!query.get().is_object()) return;
  for (const Key& key : table) {
    const bool size = key.type == ValueType::kSize || key.name == "sizes_B"sv,
               job = key.name == "job"sv || key.name == "with"sv;
    if (!size && !job && key.gpus == GpuNames::kNone && key.type != ValueType::kObjects) continue;
    const auto given = query.get().find(key.name);
    if (given == query.get().end()) continue;
    const bool objects = key.type == ValueType::kObjects && given->is_array();
    if (!objects && !job && ((!size && key.gpus == GpuNames::kNone) || stays(key, *given, topology))) continue;
    const std::string at = pointer + "/" + key.name;
    Json& value = query.change()[key.name];
    if (objects) {
      std::size_t i = 0;
      for (Json& one : value) {
        GivenQuery inner(one);
        take_numbers(key.fields, topology, file, fmt::format("{}/{}", at, i++), inner);
        one = Json(inner.get());
      }
    } else if (size) {
      value = size_value(value, file, at);
    } else if (job) {
      size_job(value, file, at);
    } else {
      if (key.gpus == GpuNames::kFlows) size_flows(value, file, at);
      try {
        value = numbered(key, value, topology);
      } catch (const InputError& error) {
        throw InputError(file, at, error.what());
      }
    }
  }
}

Json with_numbers(const KeyTable& table, const Json& query, const Topology& topology, const std::string& file) {
  GivenQuery named(query);
  take_numbers(table, topology, file, "", named);
  return named.get();
}

}  // namespace linkcast::query
