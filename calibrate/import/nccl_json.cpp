// JSON of nccl-tests -J: "devices" and "results"; keys that are not needed are passed over.
#include <fmt/format.h>

#include "calibrate/import/nccl_log.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast {
namespace {

/// A number or text as text, blanks around it dropped.
std::string scalar(ObjectReader& r, const std::string& key) {
  const Json& value = r.raw(key);
  if (value.is_number()) return value.dump();
  if (!value.is_string()) r.fail(key, "must be a number or a string");
  const auto words = words_of(value.get<std::string>());
  if (words.size() != 1) r.fail(key, "must be a number or one word");
  return words.front();
}

NcclRank read_rank(ObjectReader& r, int due) {
  NcclRank rank;
  rank.rank = r.required<int>("rank");
  if (rank.rank != due) r.fail("rank", fmt::format("is {} where {} is due", rank.rank, due));
  rank.group = r.optional<int>("group").value_or(0);
  rank.host = r.required<std::string>("hostname");
  rank.device = r.required<int>("device");
  if (rank.device < 0) r.fail("device", "must be at least 0");
  if (r.has("pid")) rank.process = scalar(r, "pid");
  rank.gpu = r.optional<std::string>("device_name").value_or("");
  return rank;
}

std::optional<NcclTiming> read_timing(ObjectReader& row, const std::string& key) {
  auto r = row.optional_object(key);
  if (!r) return std::nullopt;
  NcclTiming timing;
  timing.time = scalar(*r, "time");
  if (r->has("nwrong") && !r->raw("nwrong").is_null() && r->raw("nwrong") != "N/A") timing.wrong = scalar(*r, "nwrong");
  return timing;
}

NcclRow read_row(ObjectReader& r) {
  NcclRow row;
  row.place = r.file() + ":" + r.pointer();
  row.size_B = scalar(r, "size");
  row.type = scalar(r, "type");
  if (r.has("redop")) row.redop = scalar(r, "redop");
  if (r.has("root")) row.root = scalar(r, "root");
  row.out_of_place = read_timing(r, "out_of_place");
  row.in_place = read_timing(r, "in_place");
  if (!row.out_of_place && !row.in_place) r.fail("", "holds neither out_of_place nor in_place");
  return row;
}

/// The program is the first of "args".
std::string program_of(ObjectReader& r) {
  const auto args = r.optional<std::vector<std::string>>("args");
  return args && !args->empty() ? file_name(args->front()) : "";
}

}  // namespace

NcclRun read_nccl_json(const TextFile& file) {
  const Json json = parse_json(file.text(), file.path());
  ObjectReader r(json, file.path());
  if (!r.has("results") || !r.has("devices"))
    throw InputError(file.path(), "", "is no JSON of nccl-tests: it needs devices and results");
  NcclRun run;
  run.place = file.path();
  run.program = program_of(r);
  if (r.has("nccl_version")) run.version = "NCCL " + scalar(r, "nccl_version");
  if (auto config = r.optional_object("config")) {
    run.settings = r.raw("config").dump();
    run.issue = {config->optional<int>("nthreads"), config->optional<int>("ngpus"), config->optional<int>("graph"),
                 config->optional<int>("aggregated_iterations")};
  }
  for (ObjectReader& device : r.objects("devices"))
    run.ranks.push_back(read_rank(device, static_cast<int>(run.ranks.size())));
  for (ObjectReader& row : r.objects("results")) run.rows.push_back(read_row(row));
  if (run.ranks.empty()) r.fail("devices", "holds no device");
  if (run.rows.empty()) r.fail("results", "holds no result");
  if (auto bounds = r.optional_object("out_of_bounds"))
    if (!bounds->optional<bool>("okay").value_or(true))
      bounds->fail("okay", "the program found wrong data: not a measurement");
  return run;
}

}  // namespace linkcast
