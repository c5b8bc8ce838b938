#include "sim/forecast/query/copy_keys.hpp"

#include "sim/forecast/launching.hpp"
#include "sim/query/key.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::copy {

using query::ValueType;
namespace {

constexpr const char* kDeviceSchema = R"({"type": ["string", "integer"]})";

}  // namespace

query::Key source_key() {
  return {.name = "src",
          .help = "device the bytes come from: gpu0 or 0, a UUID, a PCI bus id, cpu0; between nodes node0/gpu0",
          .required = true,
          .gpus = query::GpuNames::kDevice,
          .schema = kDeviceSchema,
          .example = "\"gpu0\"",
          .cli = {.name = "--src"}};
}

query::Key target_key() {
  return {.name = "dst",
          .help = "device the bytes go to",
          .required = true,
          .gpus = query::GpuNames::kDevice,
          .schema = kDeviceSchema,
          .example = "\"gpu1\"",
          .cli = {.name = "--dst"}};
}

query::Key size_key(bool required) {
  return {.name = "size_B",
          .type = ValueType::kSize,
          .help = required ? "bytes of the copy, e.g. 64MiB" : "the ways are ranked for this size",
          .required = required,
          .unset = required ? "" : "64MiB",
          .example = "67108864",
          .cli = {.name = "--size", .parse = query::size_of}};
}

query::Key engine_key() {
  return {.name = "engine",
          .help = "copy_engine (copies of one engine take turns) or sm (kernels, which share)",
          .unset = "copy_engine",
          .choices = {"copy_engine", "sm"},
          .example = "\"sm\"",
          .cli = {.name = "--engine"}};
}

query::Key direction_key(const std::string& unset) {
  return {.name = "direction",
          .help = "read (the target pulls) or write (the source pushes)",
          .unset = unset,
          .choices = {"read", "write"},
          .example = "\"read\"",
          .cli = {.name = "--direction"}};
}

query::Key timing_key(const std::string& unset) {
  return {.name = "timing",
          .help = "single (from rest) or back_to_back (one of a queue)",
          .unset = unset,
          .choices = {"single", "back_to_back"},
          .example = "\"single\"",
          .cli = {.name = "--timing"}};
}

query::Key copy_launch_key() { return launch::launch_key({"graph", "process"}, "graph"); }

std::optional<CopyHost> read_host(const query::Question& asked, ObjectReader& r) {
  const bool issued = r.has("launch") && r.choice("launch", {"graph", "process"}) != "graph";
  const auto scale = launch::read_host_scale(r, issued ? launch::Kind::kProcess : launch::Kind::kGraph);
  if (!issued) return std::nullopt;
  const launch::HostCosts costs(asked.catalogue, *asked.machine, scale);
  const bool by_kernel = asked.query.value("engine", "") == "sm";
  return CopyHost{costs.of_copy(by_kernel), costs.synchronise(), costs.lender(by_kernel ? "kernel" : "copy")};
}

namespace {

/// Node 0 alone is a machine without a network too.
bool stays_in_first(const Json& query) {
  const auto first = [&](const char* key) {
    return query.contains(key) && query[key].is_string() &&
           query[key].get_ref<const std::string&>().starts_with("node0/");
  };
  return first("src") && first("dst");
}

}  // namespace

const Cluster& machine_of(const query::Question& asked, bool networked) {
  const bool lone = asked.machine->platform().wiring().fabric.is_null() && stays_in_first(asked.query);
  return networked && !lone ? asked.machine->cluster() : asked.machine->lone_node();
}

}  // namespace linkcast::copy
