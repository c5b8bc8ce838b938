// Performance tables of AIConfigurator (nccl_perf) as CSV: collectives that nccl-tests -t N measured on one node.
// They say no hosts and no GPUs but their number.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/library.hpp"

namespace linkcast {
namespace {

const std::vector<std::string> kColumns = {"version",  "device",       "op_name", "nccl_dtype",
                                           "num_gpus", "message_size", "latency"};

const std::map<std::string, std::int64_t>& bytes_of_types() {
  static const std::map<std::string, std::int64_t> bytes = {
      {"int8", 1},  {"uint8", 1}, {"fp8", 1},    {"half", 2},  {"float16", 2}, {"bfloat16", 2},
      {"float", 4}, {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8},  {"double", 8}};
  return bytes;
}

struct PerfRow {
  std::string place;
  std::map<std::string, std::string> cells;
};

std::vector<PerfRow> rows_of(const std::string& path) {
  if (file_bytes(path).starts_with("PAR1"))
    throw InputError(path +
                     ": is Parquet, which is not read: write it as CSV first, for example with pandas: "
                     "pandas.read_parquet(NAME).to_csv(NAME + '.csv', index=False)");
  const TextFile file(path);
  const std::vector<CsvRow> table = read_csv(file);
  const std::vector<std::string>& head = table.front().cells;
  for (const std::string& column : kColumns)
    if (std::find(head.begin(), head.end(), column) == head.end())
      file.fail_at(table.front().line, "column '" + column + "' is missing: a table of NCCL has " + joined(kColumns));
  std::vector<PerfRow> rows;
  for (std::size_t i = 1; i < table.size(); ++i) {
    rows.push_back({fmt::format("{}:{}", path, table[i].line), {}});
    for (std::size_t k = 0; k < head.size(); ++k) rows.back().cells[head[k]] = table[i].cells[k];
  }
  if (rows.empty()) file.fail_at(table.front().line, "has no row below the names of its columns");
  return rows;
}

/// Keeps the rows with one value of a column. @throws InputError  there are several, and no option says which
void keep_one(const ImportRequest& request, const std::string& option, const std::string& column,
              std::vector<PerfRow>& rows, RecordBuilder& record) {
  std::set<std::string> values;
  for (const PerfRow& row : rows) values.insert(row.cells.at(column));
  const std::vector<std::string> names(values.begin(), values.end());
  const std::string one =
      names.size() == 1 && !option_text(request, option)
          ? names.front()
          : required_choice(request, option, names, "column " + column + " has several values and a record holds one");
  std::erase_if(rows, [&](const PerfRow& row) { return row.cells.at(column) != one; });
  if (names.size() > 1)
    record.note("Left out: rows of other " + column + " than " + one + ", by option " + option + ".");
}

class Aiconfigurator final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"dtype", "data type of the rows to take, half or int8; needed where the table has several"},
            {"device", "device of the rows to take; needed where the table has several"},
            {"version", "version of NCCL of the rows to take; needed where the table has several"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

void add_row(const PerfRow& row, RecordBuilder& record) {
  const auto& cells = row.cells;
  static const std::set<std::string> ops = {"all_reduce", "all_gather", "reduce_scatter",
                                            "alltoall",   "broadcast",  "reduce"};
  const std::string& op = cells.at("op_name");
  if (ops.count(op) == 0) throw InputError(row.place + ": op_name '" + op + "' is not read: one of " + joined(ops));
  const auto bytes = bytes_of_types().find(cells.at("nccl_dtype"));
  if (bytes == bytes_of_types().end())
    throw InputError(row.place + ": nccl_dtype '" + cells.at("nccl_dtype") + "' is not known");
  const auto elements = whole_size(cells.at("message_size"));
  const auto gpus = whole_number(cells.at("num_gpus"));
  const auto time = decimal(cells.at("latency"), -3);
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // elements, of schema measurement/1. source: ours
  constexpr int kMostGpus = 1024;                        // far more than a node has. source: ours
  if (!elements || *elements < 1 || *elements > kMost)
    throw InputError(row.place + ": message_size '" + cells.at("message_size") + "' is no number of elements above 0");
  if (!gpus || *gpus < 2 || *gpus > kMostGpus)
    throw InputError(row.place + ": num_gpus '" + cells.at("num_gpus") + "' is no number from 2 to 1024");
  if (!time || !(*time > 0))
    throw InputError(row.place + ": latency '" + cells.at("latency") + "' is not a number above 0");
  std::vector<int> members;
  for (int gpu = 0; gpu < *gpus; ++gpu) members.push_back(gpu);
  record.add({{"op", op}, {"gpus", members}, {"launch", "process"}, {"size_B", *elements * bytes->second}}, "time_s",
             *time);
}

Json Aiconfigurator::run(const ImportRequest& request) const {
  RecordBuilder record(request, "aiconfigurator", "nccl_tests", "back_to_back");
  record.method("statistic", "printed means of nccl-tests, out of place");
  record.note(
      "assumed: the GPUs of n are gpu0 to gpu<n-1> of one node, a thread a GPU, as AIConfigurator runs nccl-tests.");
  record.note("message_size counts elements: sizes are those of the data type; latency is in milliseconds.");
  std::vector<PerfRow> rows;
  for (const std::string& path : request.files)
    for (PerfRow& row : rows_of(path)) rows.push_back(std::move(row));
  keep_one(request, "device", "device", rows, record);
  keep_one(request, "version", "version", rows, record);
  keep_one(request, "dtype", "nccl_dtype", rows, record);
  const auto& first = rows.front().cells;
  record.source("AIConfigurator, NCCL " + first.at("version"));
  record.environment("type", first.at("nccl_dtype"), rows.front().place);
  record.environment("device", first.at("device"), rows.front().place);
  record.environment("library_version", first.at("version"), rows.front().place);
  int major = 0, minor = 0;
  const bool read = std::sscanf(first.at("version").c_str(), "%d.%d", &major, &minor) == 2;
  if (const std::string library = read ? nearest_version("nccl", major, minor) : ""; !library.empty())
    record.library(library);
  for (const PerfRow& row : rows) {
    const auto kernel = row.cells.find("kernel_source");
    if (kernel != row.cells.end() && kernel->second != "NCCL" && kernel->second != "nccl")
      throw InputError(row.place + ": kernel_source '" + kernel->second + "' is not NCCL: not read");
    add_row(row, record);
  }
  return record.json();
}

const bool aiconfigurator_registered = importers().add(
    {"aiconfigurator", "CSV of AIConfigurator's NCCL tables: collectives by number of GPUs and elements",
     "ai-dynamo/aiconfigurator, systems data, nccl_perf; columns recalled"},
    [] { return std::make_unique<Aiconfigurator>(); });

}  // namespace
}  // namespace linkcast
