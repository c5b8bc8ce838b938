#include "topologies/formats/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <sstream>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::exporters {
namespace {

// In pixels. source: ours, chosen by eye
constexpr double kStep = 92, kRow = 96, kWidth = 66, kHeight = 30, kMargin = 24, kKeyLine = 20, kArc = 0.16;

struct Look {
  const char *shape, *fill;  ///< of Graphviz
};

Look look_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return {"box, style=\"rounded,filled\"", "#d7ead0"};
    case DeviceKind::kCpu:
      return {"box, style=filled", "#d3e2f2"};
    case DeviceKind::kNvswitch:
      return {"hexagon, style=filled", "#e6e6e6"};
    case DeviceKind::kNic:
      return {"ellipse, style=filled", "#f7e3c6"};
    case DeviceKind::kPcieSwitch:
      return {"diamond, style=filled", "#ffffff"};
    case DeviceKind::kSwitch:
      return {"octagon, style=filled", "#ffffff"};
  }
  return {"box, style=filled", "#ffffff"};
}

const char* colour_of(const std::string& kind) {
  if (is_accelerator_cable(kind)) return "#3c8a1f";
  return is_socket_cable(kind) ? "#2b6cb0" : "#8a8a8a";
}

double width_of(const Cable& cable) { return 1 + std::min(cable.count, 8); }

std::string text_of(const Cable& cable) {
  return fmt::format("{} x {}, {}{}", cable.count, cable.kind, to_text(cable.bandwidth),
                     cable.count > 1 ? " each" : "");
}

/// Where each device stands.
class Layout {
 public:
  explicit Layout(const Topology& t) : t_(t), x_(t.devices.size()), row_(t.devices.size()) {
    for (std::size_t k = 0; k < t.gpus().size(); ++k) x_[at(t.gpus()[k])] = static_cast<double>(k) * kStep;
    for (int d = 0; d < count(); ++d) row_[at(d)] = row_of(d);
    for (int row = 0; row <= kBelow; ++row)
      if (row != kGpus) spread(row);
    double least = x_.front();
    for (const double x : x_) least = std::min(least, x);
    for (double& x : x_) x += kMargin + kWidth / 2 - least;
    close_rows();
  }
  [[nodiscard]] double x(int device) const { return x_[at(device)]; }
  [[nodiscard]] double y(int device) const { return top_ + row_[at(device)] * kRow; }
  [[nodiscard]] double right() const { return *std::max_element(x_.begin(), x_.end()) + kWidth / 2 + kMargin; }
  [[nodiscard]] double bottom() const { return top_ + *std::max_element(row_.begin(), row_.end()) * kRow + kHeight; }
  void lower_by(double height) { top_ += height; }
  /// Nothing stands between two devices of one row.
  [[nodiscard]] bool side_by_side(int a, int b) const {
    for (int d = 0; d < count(); ++d)
      if (row_[at(d)] == row_[at(a)] && d != a && d != b && (x(d) > x(a)) != (x(d) > x(b))) return false;
    return true;
  }

 private:
  enum Row { kNvswitches, kGpus, kNear, kFar, kCpus, kBelow };

  [[nodiscard]] int count() const { return static_cast<int>(t_.devices.size()); }
  [[nodiscard]] DeviceKind kind(int d) const { return t_.devices[at(d)].kind; }
  [[nodiscard]] std::vector<int> neighbours(int device) const {
    std::vector<int> list;
    for (const Cable& c : t_.cables)
      if (c.a == device || c.b == device) list.push_back(c.a == device ? c.b : c.a);
    return list;
  }

  /// GPUs at the fewest hops, the device itself if it is one.
  [[nodiscard]] std::pair<int, std::vector<int>> nearest_gpus(int from) const {
    std::vector<int> hops(t_.devices.size(), -1), gpus;
    std::deque<int> open = {from};
    hops[at(from)] = 0;
    int found = -1;
    while (!open.empty()) {
      const int d = open.front();
      open.pop_front();
      if (found >= 0 && hops[at(d)] > found) break;
      if (kind(d) == DeviceKind::kGpu) {
        found = hops[at(d)];
        gpus.push_back(d);
      }
      for (const int other : neighbours(d))
        if (hops[at(other)] < 0) {
          hops[at(other)] = hops[at(d)] + 1;
          open.push_back(other);
        }
    }
    return {found, gpus};
  }

  [[nodiscard]] int row_of(int d) const {
    if (kind(d) == DeviceKind::kNvswitch) return kNvswitches;
    if (kind(d) == DeviceKind::kGpu) return kGpus;
    if (kind(d) == DeviceKind::kCpu) return kCpus;
    const auto around = neighbours(d);
    if (kind(d) == DeviceKind::kNic && !around.empty() && kind(around.front()) == DeviceKind::kCpu) return kBelow;
    return kind(d) == DeviceKind::kPcieSwitch && nearest_gpus(d).first > 1 ? kFar : kNear;
  }

  /// Below or above the middle of its GPUs; an adapter right of what it hangs on.
  [[nodiscard]] double preferred_x(int d) const {
    const auto around = neighbours(d);
    if (kind(d) == DeviceKind::kNic && !around.empty() && kind(around.front()) != DeviceKind::kNic)
      return kind(around.front()) == DeviceKind::kCpu ? x_[at(around.front())]
                                                      : preferred_x(around.front()) + kStep / 4;
    const auto gpus = nearest_gpus(d).second;
    if (gpus.empty()) return 0;
    return std::accumulate(gpus.begin(), gpus.end(), 0.0, [&](double sum, int g) { return sum + x_[at(g)]; }) /
           static_cast<double>(gpus.size());
  }

  void spread(int row) {
    std::vector<std::pair<double, int>> order;
    for (int d = 0; d < count(); ++d)
      if (row_[at(d)] == row) order.emplace_back(kind(d) == DeviceKind::kGpu ? x_[at(d)] : preferred_x(d), d);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    // runs of devices that would overlap stand side by side around the mean of their preferred_x
    std::vector<std::pair<double, std::vector<int>>> runs;
    for (const auto& [x, d] : order) {
      runs.push_back({x, {d}});
      while (runs.size() > 1) {
        auto &last = runs.back(), &before = runs[runs.size() - 2];
        const double n = static_cast<double>(last.second.size()), m = static_cast<double>(before.second.size());
        if (last.first - before.first >= (n + m) / 2 * kStep) break;
        before.first = (before.first * m + last.first * n) / (n + m);
        before.second.insert(before.second.end(), last.second.begin(), last.second.end());
        runs.pop_back();
      }
    }
    for (const auto& [middle, devices] : runs)
      for (std::size_t i = 0; i < devices.size(); ++i)
        x_[at(devices[i])] = middle + (static_cast<double>(i) - (static_cast<double>(devices.size()) - 1) / 2) * kStep;
  }

  /// Rows without a device take no room.
  void close_rows() {
    std::array<int, kBelow + 1> place{};
    for (int row = 0, next = 0; row <= kBelow; ++row) {
      place[at(row)] = next;
      if (std::count(row_.begin(), row_.end(), row) > 0) ++next;
    }
    for (int& row : row_) row = place[at(row)];
  }

  const Topology& t_;
  std::vector<double> x_;
  std::vector<int> row_;
  double top_ = kMargin + kHeight / 2;
};

std::string number(double value) {
  std::ostringstream out;
  out << std::lround(value);
  return out.str();
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

/// Between devices of one row an arc, upwards above GPUs and NVSwitches, downwards elsewhere; else a line.
std::string path_of(const Topology& t, const Layout& at, const Cable& cable) {
  const double x1 = at.x(cable.a), y1 = at.y(cable.a), x2 = at.x(cable.b), y2 = at.y(cable.b);
  std::string path = "M" + number(x1) + " " + number(y1);
  if (y1 != y2 || at.side_by_side(cable.a, cable.b)) return path + "L" + number(x2) + " " + number(y2);
  const DeviceKind kind = t.devices[static_cast<std::size_t>(cable.a)].kind;
  const bool up = kind == DeviceKind::kGpu || kind == DeviceKind::kNvswitch;
  const double height = (up ? -1 : 1) * (kHeight + kArc * std::abs(x1 - x2));
  return path + "C" + number(x1) + " " + number(y1 + height) + " " + number(x2) + " " + number(y2 + height) + " " +
         number(x2) + " " + number(y2);
}

/// Room that arcs between devices of a kind need.
double arcs_of(const Topology& t, const Layout& at, DeviceKind kind) {
  double height = 0;
  for (const Cable& c : t.cables)
    if (t.devices[static_cast<std::size_t>(c.a)].kind == kind && at.y(c.a) == at.y(c.b) && !at.side_by_side(c.a, c.b))
      height = std::max(height, kArc * std::abs(at.x(c.a) - at.x(c.b)));
  return height;
}

std::map<std::string, const Cable*> key_of(const Topology& wiring) {
  std::map<std::string, const Cable*> key;
  for (const Cable& cable : wiring.cables) key.emplace(text_of(cable), &cable);
  return key;
}

struct Drawn {
  ScheduledMessage message;
  int round = 0;
};

std::vector<Drawn> messages_of(const Schedule& schedule) {
  constexpr std::size_t kMostDrawn = 20000;  // source: ours, a picture of about 3 MB
  std::vector<Drawn> drawn;
  int round = 0;
  for (const Phase& phase : schedule.phases)
    for (int i = 0; i < phase.rounds; ++i, ++round) {
      std::vector<ScheduledMessage> messages;
      phase.add(i, false, messages);
      for (ScheduledMessage& message : messages) drawn.push_back({std::move(message), round});
      if (drawn.size() > kMostDrawn) throw InputError("a schedule of so many messages cannot be drawn");
    }
  return drawn;
}

struct MediumLook {
  Medium medium;
  const char *colour, *name;
};
constexpr MediumLook kMedia[] = {{Medium::kPeerLink, "#3c8a1f", "direct links between GPUs"},
                                 {Medium::kHostMemory, "#8a8a8a", "through host memory"},
                                 {Medium::kNetwork, "#b4541a", "between nodes"}};

const MediumLook& look_of(Medium medium) { return kMedia[static_cast<std::size_t>(medium)]; }

/// Pixels of an arrow for a share of the collective's bytes.
double width_of_share(double share) { return 1 + 5 * std::min(1.0, share); }  // source: ours, chosen by eye

constexpr double kRound = 64, kColumn = 84;  // source: ours, chosen by eye, in pixels

double column_x(int rank) { return kMargin + kWidth + rank * kColumn; }

std::string arrow(const Drawn& one, const ScheduleRanks& ranks, double top) {
  const ScheduledMessage& m = one.message;
  const double x1 = column_x(m.from), x2 = column_x(m.to), y1 = top + one.round * kRound + 8,  // source: ours, by eye
      y2 = y1 + kRound - 24;                                                                   // source: ours, by eye
  const char* colour = look_of(ranks.medium(m.from, m.to)).colour;
  const double length = std::hypot(x2 - x1, y2 - y1), head = 9;  // source: ours, pixels
  const double ux = (x2 - x1) / length, uy = (y2 - y1) / length;
  const std::string head_svg = m.combines ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"", x2, y2)
                                          : fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\"", x2,
                                                        y2, x2 - head * ux + 4 * uy, y2 - head * uy - 4 * ux,
                                                        x2 - head * ux - 4 * uy, y2 - head * uy + 4 * ux);
  return fmt::format(
      "<g stroke=\"{0}\" fill=\"{0}\"><title>round {1}: {2} to {3}, {4:.4g} of the bytes{5}</title><path "
      "d=\"M{6:.1f} {7:.1f}L{8:.1f} {9:.1f}\" stroke-width=\"{10:.1f}\"/>{11} stroke-width=\"1\"/></g>\n",
      colour, one.round + 1, escaped(ranks.names[at(m.from)]), escaped(ranks.names[at(m.to)]), m.share,
      m.combines ? ", reduced there" : "", x1, y1, x2 - ux * head / 2, y2 - uy * head / 2, width_of_share(m.share),
      head_svg);
}

std::string key_line(const std::string& symbol, const std::string& text, double y) {
  return fmt::format(
      "<g transform=\"translate({:.0f} {:.0f})\">{}<text x=\"50\" y=\"5\" fill=\"#111111\">{}</text></g>\n", kMargin, y,
      symbol, text);
}

}  // namespace

std::string to_dot(const Topology& wiring) {
  const Layout at(wiring);
  std::ostringstream out;
  out << "graph \"" << wiring.name << "\" {\n  layout=neato; inputscale=72; splines=true; labeljust=l;\n  label=\"";
  for (const auto& [text, cable] : key_of(wiring)) out << text << "\\l";
  out << "\";\n  node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (std::size_t d = 0; d < wiring.devices.size(); ++d) {
    const Device& device = wiring.devices[d];
    const int index = static_cast<int>(d);
    out << "  \"" << device.id << "\" [shape=" << look_of(device.kind).shape << ", fillcolor=\""
        << look_of(device.kind).fill << "\", pos=\"" << number(1.4 * at.x(index)) << ','  // source: ours, Graphviz's
        << number(-1.4 * at.y(index)) << "!\"];\n";                                       // nodes are larger
  }
  for (const Cable& cable : wiring.cables) {
    const Device &a = wiring.devices[static_cast<std::size_t>(cable.a)],
                 &b = wiring.devices[static_cast<std::size_t>(cable.b)];
    out << "  \"" << a.id << "\" -- \"" << b.id << "\" [color=\"" << colour_of(cable.kind)
        << "\", penwidth=" << width_of(cable);
    if (a.kind != DeviceKind::kNvswitch && b.kind != DeviceKind::kNvswitch)  // there are too many of those
      out << ", label=\"" << cable.count << " x " << cable.kind << "\\n" << to_text(cable.bandwidth) << '"';
    out << "];\n";
  }
  out << "}\n";
  return out.str();
}

std::string to_svg(const Topology& wiring) {
  Layout at(wiring);
  at.lower_by(std::max(arcs_of(wiring, at, DeviceKind::kGpu), arcs_of(wiring, at, DeviceKind::kNvswitch)));
  const auto key = key_of(wiring);
  const double top = at.bottom() + kMargin + arcs_of(wiring, at, DeviceKind::kCpu),
               width = std::max(at.right(), 340.0);  // source: ours, room for the key
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << number(width) << ' '
      << number(top + static_cast<double>(key.size()) * kKeyLine + kMargin / 2)
      << "\" font-family=\"sans-serif\" font-size=\"13\">\n<title>" << escaped(wiring.title)
      << "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<g fill=\"none\" "
         "stroke-opacity=\"0.75\">\n";
  for (const Cable& cable : wiring.cables)
    out << "<path d=\"" << path_of(wiring, at, cable) << "\" stroke=\"" << colour_of(cable.kind) << "\" stroke-width=\""
        << width_of(cable) << "\"><title>" << cable.id << ": " << escaped(text_of(cable)) << "</title></path>\n";
  out << "</g>\n<g stroke=\"#444444\">\n";
  for (std::size_t d = 0; d < wiring.devices.size(); ++d) {
    const Device& device = wiring.devices[d];
    const int index = static_cast<int>(d);
    out << "<rect x=\"" << number(at.x(index) - kWidth / 2) << "\" y=\"" << number(at.y(index) - kHeight / 2)
        << "\" width=\"" << number(kWidth) << "\" height=\"" << number(kHeight) << "\" rx=\""
        << (device.kind == DeviceKind::kGpu   ? 8
            : device.kind == DeviceKind::kNic ? 15
                                              : 2)
        << "\" fill=\"" << look_of(device.kind).fill << "\"><title>" << escaped(device.model) << "</title></rect>\n";
  }
  out << "</g>\n<g text-anchor=\"middle\" fill=\"#111111\">\n";
  for (std::size_t d = 0; d < wiring.devices.size(); ++d)
    out << "<text x=\"" << number(at.x(static_cast<int>(d))) << "\" y=\"" << number(at.y(static_cast<int>(d)) + 5)
        << "\">" << escaped(wiring.devices[d].id) << "</text>\n";
  out << "</g>\n";
  double y = top;
  for (const auto& [text, cable] : key) {
    out << "<path d=\"M" << number(kMargin) << ' ' << number(y) << "h40\" stroke=\"" << colour_of(cable->kind)
        << "\" stroke-width=\"" << width_of(*cable) << "\"/><text x=\"" << number(kMargin + 50) << "\" y=\""
        << number(y + 5) << "\">" << escaped(text) << "</text>\n";
    y += kKeyLine;
  }
  out << "</svg>\n";
  return out.str();
}

std::string to_svg(const Schedule& schedule, const ScheduleRanks& ranks) {
  const std::vector<Drawn> drawn = messages_of(schedule);
  const int rounds = drawn.empty() ? 0 : drawn.back().round + 1, count = static_cast<int>(ranks.names.size());
  const double head_y = kMargin + kKeyLine + kHeight, top = head_y + kHeight / 2, bottom = top + rounds * kRound,
               width = std::max(column_x(count - 1) + kWidth / 2 + kMargin, 420.0);  // source: ours, room for the key
  std::string lines, heads, arrows, key;
  for (int rank = 0; rank < count; ++rank) {
    const double x = column_x(rank);
    lines += fmt::format("<path d=\"M{0:.0f} {1:.0f}V{2:.0f}\"/>\n", x, top, bottom);
    heads += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"8\" fill=\"{}\" stroke=\"#444444\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x - kWidth / 2, head_y - kHeight / 2, kWidth, kHeight, look_of(DeviceKind::kGpu).fill, x, head_y + 5,
        escaped(ranks.names[at(rank)]));
  }
  for (int round = 0; round < rounds; ++round)
    heads += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#666666\">round {}</text>\n", kMargin + kWidth / 4,
                         top + round * kRound + kRound / 2, round + 1);
  bool used[std::size(kMedia)] = {}, reduces = false;
  for (const Drawn& one : drawn) {
    arrows += arrow(one, ranks, top);
    used[static_cast<std::size_t>(ranks.medium(one.message.from, one.message.to))] = true;
    reduces = reduces || one.message.combines;
  }
  double y = bottom + kMargin;
  for (const MediumLook& look : kMedia) {
    if (!used[static_cast<std::size_t>(look.medium)]) continue;
    key += key_line(fmt::format("<path d=\"M0 0h40\" stroke=\"{}\" stroke-width=\"3\"/>", look.colour), look.name, y);
    y += kKeyLine;
  }
  if (reduces) key += key_line("<circle cx=\"36\" r=\"4\" fill=\"#444444\"/>", "the receiver reduces", y);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3:.0f}\" y=\"{4:.0f}\" fill=\"#111111\">{2}</text>\n<g stroke=\"#cccccc\">\n{5}</g>\n{6}"
      "<g text-anchor=\"middle\" fill=\"#111111\">\n{7}</g>\n{8}</svg>\n",
      width, y + kKeyLine, escaped(ranks.title), kMargin, kMargin + 5, lines, arrows, heads, key);
}

std::string to_dot(const Schedule& schedule, const ScheduleRanks& ranks) {
  std::map<std::pair<int, int>, std::pair<std::string, double>> edges;  // rounds and share
  for (const Drawn& one : messages_of(schedule)) {
    auto& [rounds, share] = edges[{one.message.from, one.message.to}];
    rounds += fmt::format("{}{}", rounds.empty() ? "" : ",", one.round + 1);
    share += one.message.share;
  }
  std::string out = fmt::format(
      "digraph \"{0}\" {{\n  layout=circo; labeljust=l; label=\"{0}\\lnumbers: rounds\\l\";\n"
      "  node [fontname=\"sans-serif\", shape={1}, fillcolor=\"{2}\"]; edge [fontname=\"sans-serif\", fontsize=9];\n",
      ranks.title, look_of(DeviceKind::kGpu).shape, look_of(DeviceKind::kGpu).fill);
  for (const std::string& name : ranks.names) out += fmt::format("  \"{}\";\n", name);
  for (const auto& [ends, edge] : edges)
    out += fmt::format("  \"{}\" -> \"{}\" [color=\"{}\", penwidth={:.2f}, label=\"{}\"];\n",
                       ranks.names[at(ends.first)], ranks.names[at(ends.second)],
                       look_of(ranks.medium(ends.first, ends.second)).colour, width_of_share(edge.second), edge.first);
  return out + "}\n";
}

}  // namespace linkcast::exporters
