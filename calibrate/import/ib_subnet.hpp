#pragma once
// A subnet of InfiniBand: nodes, and cables with their rates.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/importer.hpp"

namespace linkcast::ib {

/// One lane of a generation, one direction. @source  InfiniBand Trade Association, roadmap: Gb/s of four lanes after
/// coding (SDR to QDR 8b/10b, FDR 64b/66b)
struct Speed {
  const char* name;
  const char* signalled;  ///< Gb/s of a lane as iblinkinfo prints it
  double lane_Gbps;
};
inline constexpr std::array kSpeeds = {
    Speed{"SDR", "2.5", 2},        Speed{"DDR", "5.0", 4},         Speed{"QDR", "10.0", 8},
    Speed{"FDR10", "10.3125", 10}, Speed{"FDR", "14.0625", 13.64}, Speed{"EDR", "25.78125", 25},
    Speed{"HDR", "53.125", 50},    Speed{"NDR", "106.25", 100},    Speed{"XDR", "212.5", 200}};

/// Lanes that a cable can have. @source  InfiniBand Architecture Specification, PortInfo:LinkWidthActive
inline constexpr std::array kWidths = {1, 2, 4, 8, 12};
inline bool is_width(int lanes) { return std::find(kWidths.begin(), kWidths.end(), lanes) != kWidths.end(); }

/// One end of a cable.
struct Port {
  std::string node;  ///< key of a node
  int number = 0;
  auto operator<=>(const Port&) const = default;
};

struct IbNode {
  bool is_switch = false;
  std::string described;  ///< as the tool prints it
  std::string guid;
};

struct IbCable {
  int lanes = 0;
  const Speed* speed = nullptr;
  [[nodiscard]] std::string name() const { return fmt::format("{}x{}", lanes, speed->name); }
  [[nodiscard]] double rate_Bps() const { return lanes * speed->lane_Gbps * 1e9 / 8; }  // source: SI
  [[nodiscard]] std::string kind() const {
    std::string text = fmt::format("ib_{}", speed->name);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    constexpr int kUsualLanes = 4;
    return lanes == kUsualLanes ? text : fmt::format("{}_x{}", text, lanes);
  }
  auto operator<=>(const IbCable&) const = default;
};

struct Subnet {
  std::string command;
  std::map<std::string, IbNode> nodes;
  std::map<std::pair<Port, Port>, IbCable> cables;  ///< the smaller end first
  std::vector<std::string> notes;
};

/// JSON of NVIDIA's UFM (ufm_subnet.cpp).
bool is_ufm(const std::string& text);
/// @param request  its files are links, and systems and ports as far as they are given; option speed where none says it
/// @throws InputError  a file that is none of these, a cable whose rate or ends are not known
Subnet read_ufm(const ImportRequest& request);

}  // namespace linkcast::ib
