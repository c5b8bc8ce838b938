#include "sim/machine/gpu_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "sim/base/input_error.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

namespace linkcast {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// "gpu12" or "12", six digits at most. @returns -1 for another text
int number_in(std::string_view text) {
  if (text.starts_with("gpu")) text.remove_prefix(3);
  int number = -1;
  if (text.empty() || text.size() > 6 || text.front() == '-') return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

const Device& gpu_at(const Topology& topology, std::size_t number) {
  return topology.devices[static_cast<std::size_t>(topology.gpus()[number])];
}

bool is_uuid(const std::string& name) { return name.starts_with("gpu-"); }

/// One end of a cable in an edit.
std::string edited_end(const Topology& topology, const std::string& end) {
  const auto read = read_gpu_text(end);
  return read && (!read->driver.empty() || read->first == read->last) ? gpu_device(topology, end) : end;
}

/// Drivers' names that the machine has, and whole UUIDs that it has not, in a longer text.
std::string without_driver_names(const Topology& topology, std::string text) {
  static const Regex names(
      R"((?i)gpu-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])");
  std::string out;
  for (Match match = names.find(text); match; match = names.find(text)) {
    const std::string name = match[0];
    const std::size_t at = text.find(name);
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const bool whole =
        (at == 0 || !word(text[at - 1])) && (at + name.size() == text.size() || !word(text[at + name.size()]));
    const auto read = read_gpu_text(name);
    const auto gpu = whole && read ? find_driver_name(topology, read->driver) : std::nullopt;
    if (whole && !gpu && is_uuid(lower_case(name))) throw InputError("edit: " + no_gpu(topology, name));
    out += text.substr(0, at) + (gpu ? fmt::format("gpu{}", *gpu) : name);  // a number may look like a bus id
    text.erase(0, at + name.size());
  }
  return out + text;
}

}  // namespace

const std::string kGpuForms =
    "names no GPU: write 0, gpu0, 0-3, 0,1,4, a UUID (GPU-...) or a PCI bus id (0000:1b:00.0)";

std::optional<GpuText> read_gpu_text(const std::string& text) {
  static const Regex uuid(R"(gpu-[0-9a-f]{8}[0-9a-f-]*)");
  const std::string name = lower_case(text);
  if (const int number = number_in(name); number >= 0) return GpuText{number, number};
  if (uuid.whole(name)) return GpuText{-1, -1, name};
  if (std::string bus_id = pci_bus_id(name); !bus_id.empty()) return GpuText{-1, -1, std::move(bus_id)};
  const auto dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const int first = number_in(name.substr(0, dash)), last = number_in(name.substr(dash + 1));
  if (first < 0 || last < first) return std::nullopt;
  return GpuText{first, last};
}

std::optional<int> find_driver_name(const Topology& topology, const std::string& name) {
  std::optional<int> found;
  for (std::size_t k = 0; k < topology.gpus().size(); ++k) {
    const Device& gpu = gpu_at(topology, k);
    const bool named = is_uuid(name) ? lower_case(gpu.uuid).starts_with(name) : gpu.bus_id == name;
    if (named && found) return std::nullopt;
    if (named) found = static_cast<int>(k);
  }
  return found;
}

std::string no_gpu(const Topology& topology, const std::string& name) {
  const std::string text = fmt::format("{} is no GPU of {}: 0 to {}", name, topology.name, topology.gpus().size() - 1);
  const auto read = read_gpu_text(name);
  if (!read || read->driver.empty()) return text;
  const bool uuid = is_uuid(read->driver);
  std::vector<std::string> known;
  for (std::size_t k = 0; k < topology.gpus().size(); ++k) {
    const std::string& own = uuid ? gpu_at(topology, k).uuid : gpu_at(topology, k).bus_id;
    if (!own.empty()) known.push_back(own);
  }
  const std::string what = uuid ? "UUIDs" : "PCI bus ids";
  return text + (known.empty() ? "; its file names no " + what : "; its " + what + " are " + joined(known));
}

std::string gpu_device(const Topology& topology, const std::string& name) {
  if (const auto slash = name.find('/'); name.starts_with("node") && slash != std::string::npos)
    return name.substr(0, slash + 1) + gpu_device(topology, name.substr(slash + 1));
  const auto read = read_gpu_text(name);
  if (!read || (read->driver.empty() && read->first != read->last)) return name;
  if (read->driver.empty()) return fmt::format("gpu{}", read->first);
  const auto gpu = find_driver_name(topology, read->driver);
  if (!gpu) throw InputError(no_gpu(topology, name));
  return fmt::format("gpu{}", *gpu);
}

std::vector<int> gpu_list(const Topology& topology, const std::string& text) {
  std::vector<int> gpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const auto read = read_gpu_text(part);
    if (!read) throw InputError("'" + text + "' " + kGpuForms);
    if (read->driver.empty()) {
      for (int gpu = read->first; gpu <= read->last; ++gpu) gpus.push_back(gpu);
    } else {
      const auto gpu = find_driver_name(topology, read->driver);
      if (!gpu) throw InputError(no_gpu(topology, part));
      gpus.push_back(*gpu);
    }
    begin = end + 1;
  }
  return gpus;
}

std::string edit_with_gpus(const Topology& topology, const std::string& text) {
  static const Regex cable(R"((?i)(\s*(?:--)?(?:remove|swap|add|scale|flaky)[ =:]\s*)([^\s:-]+)-([^\s:-]+)((?::.*)?))");
  static const Regex device(R"((?i)(\s*(?:--)?slow[ =:]\s*)([^\s:-]+)(:.*))");
  const std::string named = without_driver_names(topology, text);
  if (const Match match = cable.whole(named))
    return match[1] + edited_end(topology, match[2]) + "-" + edited_end(topology, match[3]) + match[4];
  if (const Match match = device.whole(named)) return match[1] + edited_end(topology, match[2]) + match[3];
  return named;
}

}  // namespace linkcast
