#include "calibrate/import/nvidia_smi.hpp"

#include <fmt/format.h>

#include <utility>

#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

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

namespace {

/// Takes off what a launcher or a quotation puts before each line: "[0] ", "[pod/x/main] ", "node1:", "> ". Only where
/// all have the same.
void drop_common_prefix(std::vector<std::string>& lines) {
  static const Regex prefix(R"(((?:[A-Za-z0-9_.,:/<\[-][A-Za-z0-9_.,:/<>\[\]()-]*[:\]]|[>|]) ?).*)"), own(R"(GPU.*)");
  std::string common;
  for (const std::string& line : lines) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (common.empty()) {
      const Match match = prefix.whole(line);
      if (!match || own.whole(line)) return;
      common = match[1];
    }
    while (!common.empty() && common.back() == ' ' && !line.starts_with(common)) common.pop_back();
    if (!line.starts_with(common)) return;
  }
  if (common.empty() || lines.size() < 2) return;
  for (std::string& line : lines)
    if (line.starts_with(common)) line.erase(0, common.size());
}

}  // namespace

std::vector<std::string> plain_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\x1b[") == 0) {  // up to the letter that ends the escape
      i = text.find_first_not_of("0123456789;", i + 2);
      if (i == std::string::npos) break;
    } else if (text[i] == '\n') {
      lines.push_back(std::exchange(line, ""));
    } else if (text[i] != '\r') {
      line += text[i];
    }
  }
  if (!line.empty()) lines.push_back(line);
  drop_common_prefix(lines);
  return lines;
}

SmiList read_smi_list(const std::string& path) {
  SmiList list{path, "nvidia-smi -L", false, {}};
  const Patterns patterns;
  int number = 0;
  for (const std::string& raw : plain_lines(read_text(path))) {
    ++number;
    const std::string line = plain_log_line(raw);
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
