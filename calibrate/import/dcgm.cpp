// JSON of NVIDIA DCGM's diagnosis (dcgmi diag -r 2 or higher, --json): the PCIe test, copies between GPUs and host
// memory. What its nvbandwidth test printed is read by the importer of nvbandwidth.
#include <fmt/format.h>

#include <set>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

// source: DCGM nvvs/plugin_src/pcie/PcieMain.cpp, ints_per_copy_pinned 10000000 of 4 bytes; recalled
constexpr std::int64_t kDcgmCopy_B = 40'000'000;
constexpr double kGiga = 1e9;

/// "PCIe", "pcie", "PCIe/NVLink".
bool is_pcie_test(const std::string& name) {
  static const Regex pcie(R"((?i)pcie.*)");
  return static_cast<bool>(pcie.whole(name));
}

/// The number of the GPU that a result is of; -1: of several, or it does not say.
int gpu_of_result(ObjectReader& r) {
  for (const char* key : {"gpu_id", "gpu_ids", "entity_id"}) {
    if (!r.has(key)) continue;
    const Json& value = r.raw(key);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    return whole_number(text).value_or(-1);
  }
  return -1;
}

class Dcgm {
 public:
  Dcgm(const ImportRequest& request, RecordBuilder& record, std::int64_t copy_B)
      : names_(request), record_(record), copy_B_(copy_B) {}

  void read(const TextFile& file) {
    if (file.text().find("Successfully ran diagnostic") != std::string::npos &&
        file.text().find('{') == std::string::npos)
      throw InputError(file.path() + ": is the table of dcgmi diag, which has no rates: run dcgmi diag -r 3 --json");
    const Json json = parse_json(file.text(), file.path());
    ObjectReader whole(json, file.path());
    for (auto& [name, part] : whole.named_objects())
      if (name.starts_with("DCGM")) read_diagnosis(part);
    if (!found_)
      throw InputError(file.path() +
                       ": is no JSON of dcgmi diag: no '/DCGM Diagnostic/test_categories' ('/DCGM GPU Diagnostic' of "
                       "older versions)");
  }
  [[nodiscard]] std::string device_note() const { return names_.note(); }

 private:
  void read_diagnosis(ObjectReader& part) {
    found_ = true;
    for (ObjectReader& category : part.objects("test_categories"))
      for (ObjectReader& test : category.objects("tests"))
        if (is_pcie_test(test.required<std::string>("name")))
          for (ObjectReader& result : test.objects("results")) read_result(result);
  }

  void read_result(ObjectReader& result) {
    const std::string status = result.required<std::string>("status");
    const int gpu = gpu_of_result(result);
    static const std::set<std::string> passed = {"Pass", "PASS"};
    if (passed.count(status) == 0)
      record_.note("finding: the PCIe test of " + (gpu < 0 ? "a GPU" : fmt::format("GPU {}", gpu)) + " says " + status +
                   ".");
    for (const char* key : {"info", "warnings"}) {
      if (!result.has(key)) continue;
      const Json& said = result.raw(key);
      if (said.is_string()) read_text(result, key, said.get<std::string>(), gpu);
      if (!said.is_array()) continue;
      for (const Json& line : said)
        if (line.is_string()) read_text(result, key, line.get<std::string>(), gpu);
    }
  }

  void read_text(const ObjectReader& result, const std::string& key, std::string text, int gpu) {
    static const Regex figure(
        R"((?s)(?:GPU (\d+):? )?(GPU to Host|Host to GPU|[Bb]idirectional) (?:bandwidth|(latency)):\s*(\S+) (GB/s|us)(.*))");
    for (Match match = figure.find(text); match; match = figure.find(text)) {
      text = match[6];
      if (match.has(3)) {
        record_.note("Left out: latencies of the PCIe test: its copies are queued, these are single.");
        continue;
      }
      const int printed = match.has(1) ? whole_number(match[1]).value_or(-1) : gpu;
      const auto value = decimal(match[4]);
      if (printed < 0) result.fail(key, "'" + match[2] + " bandwidth' is of no GPU that the result names");
      if (!value || !(*value > 0)) result.fail(key, "'" + match[4] + "' is not a number above 0");
      add(match[2], names_.id(printed), *value);
    }
  }

  void add(const std::string& way, const std::string& gpu, double value) {
    const bool both = way.ends_with("idirectional"), down = way == "Host to GPU" || both;
    Json point{{"transport", "host"}, {"source", down ? "host" : gpu}, {"target", down ? gpu : "host"}};
    if (both) point["bidirectional"] = true;
    point["size_B"] = copy_B_;
    if (both) point["payload_count"] = 2;
    record_.add(point, "bandwidth_Bps", value * kGiga);
    if (both) record_.note("assumed: bidirectional bandwidths are the sum of both directions.");
  }

  DeviceNames names_;
  RecordBuilder& record_;
  std::int64_t copy_B_;
  bool found_ = false;
};

class DcgmImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"copy", "size of a copy with its unit, 40MB (default: 40MB, ints_per_copy_pinned of the PCIe test)"},
            DeviceNames::option(),
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    RecordBuilder record(request, "dcgm-pcie", "dcgm_pcie", "back_to_back");
    const auto said = option_bytes(request, "copy");
    if (!said)
      record.note(
          fmt::format("assumed: copies are {} bytes, the default of the PCIe test, which it does not print. Option "
                      "copy says otherwise.",
                      kDcgmCopy_B));
    Dcgm dcgm(request, record, said.value_or(kDcgmCopy_B));
    for (const std::string& path : request.files) dcgm.read(TextFile(path));
    record.source("NVIDIA DCGM, dcgmi diag");
    record.method("host_memory", "pinned");
    record.method("statistic", "printed figures: means of a queue of copies");
    record.note(dcgm.device_note());
    record.note("What the nvbandwidth test of DCGM printed is read by 'import nvbandwidth' from the same file.");
    return record.json();
  }
};

const bool dcgm_registered =
    importers().add({"dcgm", "JSON of DCGM's diagnosis (dcgmi diag -r 3 --json): copies of its PCIe test",
                     "NVIDIA/DCGM nvvs/plugin_src/pcie, dcgmi/Diag.cpp, versions 2.4 to 4.x; recalled"},
                    [] { return std::make_unique<DcgmImporter>(); });

}  // namespace
}  // namespace linkcast
