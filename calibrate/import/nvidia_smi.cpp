#include "calibrate/import/nvidia_smi.hpp"

#include <fmt/format.h>

#include <utility>

#include "calibrate/import/log_text.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::topology_import {
namespace {

/// The lines that both commands print.
struct Patterns {
  Regex gpu{R"(GPU (\d+): (.+) \(UUID: ([^)]*)\)\s*)"};
  Regex link{R"(\s*Link \d+: (?:([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s|<inactive>)\s*)"};
  Regex begins{R"(\s*(?:GPU|Link) \d+:.*)"};
  Regex no_links{R"(\s*(?:NVML: )?Unable to retrieve NVLink information as all links are inActive\.?\s*)"};
};

void add_gpu(SmiList& list, const Match& match, int line) {
  const auto number = whole_number(match[1]);
  if (number != static_cast<int>(list.gpus.size()))
    fail_at(list.file, line, fmt::format("GPU {} is expected here, not {}", list.gpus.size(), match[1]));
  static const Regex uuid(R"(GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})");
  list.gpus.push_back({match[2], uuid.whole(match[3]) ? match[3] : "", {}});
}

}  // namespace

SmiList read_smi_list(const std::string& path) {
  SmiList list{path, "nvidia-smi -L", false, {}};
  const Patterns patterns;
  int number = 0;
  for (const std::string& line : plain_log_lines(path, read_text(path))) {
    ++number;
    Match match;
    if ((match = patterns.gpu.whole(line))) {
      add_gpu(list, match, number);
      continue;
    }
    match = patterns.link.whole(line);
    const bool link{match}, none{patterns.no_links.whole(line)};
    if (!link && patterns.begins.whole(line))
      fail_at(path, number, "no line of nvidia-smi -L or nvidia-smi nvlink -s: '" + line + "'");
    if (!link && !none) continue;  // a prompt, a title, another command's output
    if (link && list.gpus.empty()) fail_at(path, number, "a link before the first GPU");
    list.has_links = true;
    if (link && match.has(1)) list.gpus.back().link_GBps.push_back(std::stod(match[1]));
  }
  if (list.gpus.empty()) throw InputError(path + ": no GPU: not the output of nvidia-smi -L or nvidia-smi nvlink -s");
  if (list.has_links) list.command = "nvidia-smi nvlink -s";
  return list;
}

}  // namespace linkcast::topology_import
