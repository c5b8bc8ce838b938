// Plain tables of copies: one line a copy, the first line names the columns.
#include <algorithm>
#include <map>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/text.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast {
namespace {

const std::string kYes = "true";  // of the column bidirectional
const std::vector<std::string> kNeeded = {"source", "target", "size_B", "time_s"};
const std::vector<std::string> kOptional = {"transport", "via", "direction", "bidirectional", "engine"};
const std::map<std::string, std::vector<std::string>> kChoices = {
    {"transport", {"local", "peer", "relay", "staged", "host"}},
    {"direction", {"read", "write"}},
    {"bidirectional", {kYes, "false"}}};

/// Cells of one line by the names of their columns; empty cells are absent.
using Cells = std::map<std::string, std::string>;

void check_columns(const TextFile& file, const CsvRow& head) {
  for (const std::string& name : head.cells) {
    if (std::count(head.cells.begin(), head.cells.end(), name) > 1)
      file.fail_at(head.line, "column '" + name + "' twice");
    if (std::find(kNeeded.begin(), kNeeded.end(), name) == kNeeded.end() &&
        std::find(kOptional.begin(), kOptional.end(), name) == kOptional.end())
      file.fail_at(head.line, "column '" + name + "' is not known: " + joined(kNeeded) + " are needed, " +
                                  joined(kOptional) + " allowed");
  }
  for (const std::string& name : kNeeded)
    if (std::find(head.cells.begin(), head.cells.end(), name) == head.cells.end())
      file.fail_at(head.line, "column '" + name + "' is missing");
}

Cells cells_of(const TextFile& file, const CsvRow& head, const CsvRow& row) {
  Cells cells;
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    if (!row.cells[i].empty()) cells[head.cells[i]] = row.cells[i];
  for (const std::string& name : kNeeded)
    if (cells.count(name) == 0) file.fail_at(row.line, name + " is empty");
  for (const auto& [name, allowed] : kChoices)
    if (cells.count(name) > 0 && std::find(allowed.begin(), allowed.end(), cells[name]) == allowed.end())
      file.fail_at(row.line, name + " '" + cells[name] + "' is not allowed: one of " + joined(allowed));
  return cells;
}

/// Transport by the ends where they leave no doubt, else by the table or the option.
std::string transport_of(const TextFile& file, int line, const Cells& cells, const std::optional<std::string>& said) {
  const bool local = cells.at("source") == cells.at("target");
  const bool host = cells.at("source") == kHostMemory || cells.at("target") == kHostMemory;
  const auto it = cells.find("transport");
  const std::string name = it != cells.end() ? it->second : local ? "local" : host ? "host" : said.value_or("");
  if (name.empty())
    file.fail_at(line, "no transport: add a column transport, or option transport=peer or staged for all pairs");
  const Spelled<Carrier> transport(name);
  if ((transport == Carrier::kLocal) != local || (transport == Carrier::kHost) != host)
    file.fail_at(line, "transport '" + name + "' does not fit " + cells.at("source") + " to " + cells.at("target"));
  if ((transport == Carrier::kRelay) != (cells.count("via") > 0))
    file.fail_at(line, "a relay needs its column via, no other transport has one");
  return name;
}

Spelled<CopyUnit> engine_of(const TextFile& file, int line, const std::string& name) {
  const auto engine = value_of<CopyUnit>("engine", name);
  if (!engine) file.fail_at(line, "engine '" + name + "' is not allowed: one of " + joined(Spelled<CopyUnit>::names()));
  return *engine;
}

void add_row(const TextFile& file, int line, const Cells& cells, const std::optional<std::string>& transport,
             RecordBuilder& record) {
  for (const char* end : {"source", "target"})
    if (!is_device(cells.at(end), "gpu") && cells.at(end) != kHostMemory)
      file.fail_at(line, std::string(end) + " '" + cells.at(end) + "' is no device: gpu<n> or host");
  const auto size = whole_size(cells.at("size_B"));
  if (!size || *size < 1)
    file.fail_at(line, "size_B '" + cells.at("size_B") + "' is not a whole number of bytes of at least 1");
  const auto time = decimal(cells.at("time_s"));
  if (!time || !(*time > 0)) file.fail_at(line, "time_s '" + cells.at("time_s") + "' is not a number above 0");
  Json point{{"transport", transport_of(file, line, cells, transport)},
             {"source", cells.at("source")},
             {"target", cells.at("target")}};
  for (const char* key : {"via", "direction"})
    if (cells.count(key) > 0) point[key] = cells.at(key);
  if (cells.count("engine") > 0) point["engine"] = engine_of(file, line, cells.at("engine")).name();
  if (cells.count("bidirectional") > 0 && cells.at("bidirectional") == kYes) point["bidirectional"] = true;
  point["size_B"] = *size;
  record.add(point, "time_s", *time);
}

class Csv final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"timing", "single (one copy) or back_to_back (time per copy in a queue); needed"},
            {"transport", "peer or staged, for pairs of GPUs where no column transport says it"},
            {"program", "what measured, with its version, for the record's source"},
            RecordBuilder::id_option()};
  }

  [[nodiscard]] Json run(const ImportRequest& request) const override {
    const std::string timing =
        required_choice(request, "timing", {"single", "back_to_back"}, "the table does not say what a time is");
    const auto transport = option_choice(request, "transport", {"peer", "staged"});
    RecordBuilder record(request, "csv", "csv", timing);
    record.source(option_text(request, "program").value_or("a table, program not said"));
    for (const std::string& path : request.files) {
      const TextFile file(path);
      const auto rows = read_csv(file);
      check_columns(file, rows.front());
      if (rows.size() < 2) file.fail_at(rows.front().line, "no line below the names of the columns");
      for (std::size_t i = 1; i < rows.size(); ++i)
        add_row(file, rows[i].line, cells_of(file, rows.front(), rows[i]), transport, record);
    }
    return record.json();
  }
};

const bool csv_registered =
    importers().add({"csv",
                     "a line a copy below "
                     "'source,target,size_B,time_s[,transport,via,direction,bidirectional,engine]'; equal lines are "
                     "repetitions",
                     "RFC 4180 for the cells; the columns are those of schema measurement/1"},
                    [] { return std::make_unique<Csv>(); });

}  // namespace
}  // namespace linkcast
