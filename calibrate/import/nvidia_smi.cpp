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

void add_gpu(std::vector<SmiList>& lists, const std::string& path, const Match& match, int line) {
  const auto number = whole_number(match[1]);
  if (lists.empty() || number == 0) lists.push_back({path, "nvidia-smi -L", false, {}});
  SmiList& list = lists.back();
  if (number != static_cast<int>(list.gpus.size()))
    fail_at(path, line, fmt::format("GPU {} is expected here, not {}", list.gpus.size(), match[1]));
  static const Regex uuid(R"(GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})");
  list.gpus.push_back({match[2], uuid.whole(match[3]) ? match[3] : "", {}});
}

}  // namespace

std::vector<SmiList> read_smi_lists(const std::string& path, bool strict) {
  std::vector<SmiList> lists;
  const Patterns patterns;
  int number = 0;
  bool before = false;  // links of nvlink -s are inactive, said before the first GPU
  for (const std::string& line : plain_log_lines(path, read_text(path))) {
    ++number;
    Match match;
    if ((match = patterns.gpu.whole(line))) {
      const auto gpu = whole_number(match[1]);
      if (!strict && gpu != 0 && (lists.empty() || gpu != static_cast<int>(lists.back().gpus.size()))) continue;
      add_gpu(lists, path, match, number);
      if (std::exchange(before, false)) lists.back().has_links = true;
      continue;
    }
    match = patterns.link.whole(line);
    const bool link{match}, none{patterns.no_links.whole(line)};
    if (strict && !link && patterns.begins.whole(line))
      fail_at(path, number, "no line of nvidia-smi -L or nvidia-smi nvlink -s: '" + line + "'");
    if (!link && !none) continue;  // a prompt, a title, another command's output
    if (strict && link && lists.empty()) fail_at(path, number, "a link before the first GPU");
    if (lists.empty()) {
      before = true;
      continue;
    }
    lists.back().has_links = true;
    lists.back().command = "nvidia-smi nvlink -s";
    if (link && match.has(1)) lists.back().gpus.back().link_GBps.push_back(std::stod(match[1]));
  }
  return lists;
}

std::vector<SmiList> some_smi_lists(const std::string& path) {
  auto lists = read_smi_lists(path);
  if (lists.empty()) throw InputError(path + ": no GPU: not the output of nvidia-smi -L or nvidia-smi nvlink -s");
  return lists;
}

}  // namespace linkcast::topology_import
