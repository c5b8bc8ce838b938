#include "calibrate/import/record_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
MessageEnds message_ends(const ImportRequest& request, bool nodes) {
  const auto src = option_text(request, "src"), dst = option_text(request, "dst");
  if (!src || !dst)
    throw InputError(
        "option src and option dst: are needed, the program does not print where it ran: src=gpu0 "
        "dst=gpu1");
  const std::string said =
      option_choice(request, "between_nodes", {"true", "false"}).value_or(nodes ? "true" : "false");
  MessageEnds ends{*src, *dst, said == "true"};
  if (!ends.between_nodes && ends.source == ends.target)
    throw InputError("option dst: is '" + ends.target +
                     "' as src: add option between_nodes=true if they are on two nodes");
  return ends;
}

void check_buffer(const std::string& option, const std::string& device, std::optional<bool> on_gpu,
                  const std::string& file) {
  const bool gpu = is_device(device, "gpu");
  if (!gpu && !is_device(device, "cpu"))
    throw InputError("option " + option + ": '" + device + "' is no device: gpu<n> or cpu<n>");
  if (on_gpu && *on_gpu != gpu)
    throw InputError("option " + option + ": '" + device + "' does not fit " + file + ", whose buffers are in " +
                     (*on_gpu ? "GPU memory: gpu<n>" : "host memory: cpu<n>"));
}

bool is_device(const std::string& text, const std::string& kind) {
  if (!text.starts_with(kind)) return false;
  const auto number = whole_number(std::string_view(text).substr(kind.size()));
  return number && text == fmt::format("{}{}", kind, *number);
}

DeviceNames::DeviceNames(const ImportRequest& request)
    : gpus_(option_gpus(request, "gpus").value_or(std::vector<int>{})) {}

int DeviceNames::number(int printed) const {
  if (gpus_.empty()) return printed;
  if (printed >= static_cast<int>(gpus_.size()))
    throw InputError(fmt::format("option gpus: names {} GPUs, the files print device {}", gpus_.size(), printed));
  return gpus_[static_cast<std::size_t>(printed)];
}

std::string DeviceNames::note() const {
  if (gpus_.empty()) return "assumed: printed device n is gpu<n> of the topology; option gpus says otherwise.";
  std::string list;
  for (const int gpu : gpus_) list += fmt::format(" {}", gpu);
  return "Printed devices 0, 1, ... are gpu" + list + " of the topology: said by option gpus.";
}

ImportOption DeviceNames::option() {
  return {"gpus", "numbers of the topology's GPUs in the order of the printed devices: 0,1,3,2 (default: as printed)"};
}

void PrintedBuses::add(const std::string& host, int device, const std::string& bus, const std::string& place) {
  if (bus.empty()) return;
  const auto& [it, fresh] = seen_.emplace(std::pair(host, device), std::pair(bus, place));
  if (it->second.first != bus)
    throw InputError(
        fmt::format("{}: device {} is at {}, at {} in the run of {}: other devices were visible; import the "
                    "runs one by one, each with option gpus",
                    place, device, bus, it->second.first, it->second.second));
}

SameProcesses::SameProcesses(const ImportRequest& request)
    : said_(option_choice(request, "runs", {"same"}).has_value()) {}

ImportOption SameProcesses::option() {
  return {"runs",
          "same: all runs of a file are of the same processes and devices, where their command lines do not say so"};
}

void SameProcesses::see(const std::string& line, const std::string& programs) {
  static const Regex devices(R"(.*?\b(\w*(?:VISIBLE_DEVICES|NET_DEVICES)\s*=\s*\S+).*)");
  static const Regex sizes(R"(\s(?:-[mixWwfsnt]|--(?:size|iters))[ =]?\S*)");  // arguments that move no process
  if (const Match match = devices.whole(line)) devices_ = match[1];
  const std::size_t first = line.find_first_not_of(" \t"), name = line.find(programs);
  if (name == std::string::npos || line[first] == '#') return;
  const std::size_t prompt = std::min(line.find("$ "), name), word = line.find_last_of(" \t", name);
  const std::size_t end = std::min(line.find_first_of(" \t'\"", name), line.size());
  const std::size_t begin = prompt < name ? prompt + 2 : 0, path = word == std::string::npos ? begin : word;
  command_ = line.substr(begin, std::max(path, begin) - begin) + programs + sizes.removed_from(line.substr(end));
}

void SameProcesses::begin_run(const std::string& path, int line, const std::string& what, const std::string& printed) {
  const bool further = any_ && path == path_;
  const bool same_command = command_ == command_before_ || (!printed.empty() && command_.empty());
  const bool same =
      !(printed + command_).empty() && printed == printed_before_ && same_command && devices_ == devices_before_;
  if (further && !said_ && !same)
    throw InputError(
        fmt::format("{}:{}: a further run begins, and {} can speak of one: nothing says that it is of the same "
                    "processes and devices; import it from a file of its own, or add option runs=same",
                    path, line, what));
  any_ = true;
  path_ = path;
  printed_before_ = printed;
  if (!command_.empty()) command_before_ = command_;
  command_.clear();
  devices_before_ = devices_;
}

RecordBuilder::RecordBuilder(const ImportRequest& request, const std::string& kind, const std::string& bench,
                             const std::string& timing)
    : machine_(request.machine), topology_(request.topology), bench_(bench), timing_(timing) {
  if (machine_.empty()) throw InputError("machine: is needed: the id of the machine that was measured");
  if (topology_.empty()) throw InputError("topology: is needed: the topology whose GPUs were measured");
  if (request.files.empty()) throw InputError("file: at least one is needed");
  id_ = option_text(request, "id").value_or(machine_ + "-" + kind);
  for (const std::string& path : request.files) {
    files_.push_back({{"name", file_name(path)}, {"sha256", sha256_of_file(path)}});
    names_.push_back(file_name(path));
  }
}

void RecordBuilder::environment(const std::string& key, const Json& value, const std::string& file) {
  if (!environment_.contains(key)) {
    environment_[key] = value;
    return;
  }
  if (environment_[key] != value)
    throw InputError(file + ": prints " + key + " " + value.dump() + ", what came before it " +
                     environment_[key].dump() + ": import them one by one, a record holds one");
}

void RecordBuilder::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void RecordBuilder::add(const Json& point, const std::string& value_key, double value) {
  const auto [place, fresh] = place_.emplace(point.dump() + value_key, points_.size());
  if (fresh) {
    points_.push_back(point);
    points_.back()[value_key] = Json::array();
  }
  points_[place->second][value_key].push_back(value);
}

void RecordBuilder::add_waived(Json point, const std::string& reason) {
  point["status"] = "waived";
  point["reason"] = reason;
  if (place_.emplace(point.dump(), points_.size()).second) points_.push_back(point);
}

Json RecordBuilder::json() const {
  std::string names, notes;
  for (const std::string& name : names_) names += (names.empty() ? "" : ", ") + name;
  for (const std::string& note : notes_) notes += " " + note;
  if (points_.empty()) throw InputError(names + ": holds nothing that schema measurement/1 can say." + notes);
  Json method = method_;
  method["read_from"] = files_;
  Json record{{"schema", "measurement/1"}, {"id", id_},
              {"machine", machine_},       {"topology", topology_},
              {"bench", bench_},           {"source", source_ + "; " + names},
              {"timing", timing_},         {"environment", environment_},
              {"method", method},          {"notes", notes_},
              {"points", points_}};
  if (!library_.empty()) record["library"] = library_;
  return record;
}

ImportOption RecordBuilder::id_option() { return {"id", "id of the record (default: the machine's and the format's)"}; }

}  // namespace linkcast
