#include "sim/query/gpu_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/parse.hpp"
#include "sim/machine/gpu_names.hpp"

namespace linkcast::query {
namespace {

Json device_value(const Json& value, const Topology& topology) {
  if (value.is_number_integer() && value >= 0) return fmt::format("gpu{}", value.get<std::int64_t>());
  return value.is_string() ? Json(gpu_device(topology, value.get_ref<const std::string&>())) : value;
}

/// @param strict  a text must name a GPU
Json list_value(const Json& value, const Topology& topology, bool strict) {
  const Json given = value.is_string() ? Json::array({value}) : value;
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

/// "64MiB" in bytes, also in lists; what is no text stays.
Json size_value(const Json& value) {
  if (value.is_string()) {
    try {
      return parse_bytes(value.get_ref<const std::string&>()).si;
    } catch (const UnitError& error) {
      throw InputError(error.what());
    }
  }
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& one : value) list.push_back(size_value(one));
  return list;
}

Json flows_value(Json flows, const Topology& topology) {
  constexpr std::size_t kEnds = 2;  // [device, device, size]
  if (!flows.is_array()) return flows;
  for (Json& flow : flows) {
    if (!flow.is_array()) continue;
    for (std::size_t end = 0; end < std::min(kEnds, flow.size()); ++end) flow[end] = device_value(flow[end], topology);
    if (flow.size() > kEnds) flow[kEnds] = size_value(flow[kEnds]);
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

}  // namespace

Json with_numbers(const KeyTable& table, const Json& query, const Topology& topology, const std::string& file,
                  const std::string& pointer) {
  if (!query.is_object()) return query;
  Json named = query;
  for (const Key& key : table) {
    const auto found = named.find(key.name);
    if (found == named.end()) continue;
    const std::string at = pointer + "/" + key.name;
    if (key.type == ValueType::kObjects && found->is_array()) {
      std::size_t i = 0;
      for (Json& one : *found) one = with_numbers(key.fields, one, topology, file, fmt::format("{}/{}", at, i++));
    } else if (key.gpus != GpuNames::kNone || key.type == ValueType::kSize || key.name == "sizes_B") {
      try {
        *found = key.gpus != GpuNames::kNone ? numbered(key, *found, topology) : size_value(*found);
      } catch (const InputError& error) {
        throw InputError(file, at, error.what());
      }
    }
  }
  return named;
}

}  // namespace linkcast::query
