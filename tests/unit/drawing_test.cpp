// Drawings of platforms: every device and cable is there, nothing covers anything else.
#include "topologies/formats/drawing.hpp"

#include <cmath>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::drawing_test {

TEST_CASE("a drawing shows every device once and every cable, and no box covers another", "[unit]") {
  for (const std::string& name : catalogue().platforms()) {
    INFO(name);
    const Topology& t = catalogue().machine(name)->platform().wiring();
    const std::string text = exporters::to_svg(t);
    CHECK(text == exporters::to_svg(t));
    pugi::xml_document svg;
    REQUIRE(svg.load_string(text.c_str()));
    double left = 0, top = 0, width = 0, height = 0;
    std::istringstream(svg.child("svg").attribute("viewBox").value()) >> left >> top >> width >> height;
    std::vector<std::pair<double, double>> boxes;
    for (const auto& found : svg.select_nodes("/svg/g/rect"))
      boxes.emplace_back(found.node().attribute("x").as_double(), found.node().attribute("y").as_double());
    REQUIRE(boxes.size() == t.devices.size());
    const pugi::xml_node box = svg.select_node("/svg/g/rect").node();
    const double wide = box.attribute("width").as_double(), high = box.attribute("height").as_double();
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      CHECK(boxes[a].first >= 0);
      CHECK(boxes[a].second >= 0);
      CHECK(boxes[a].first + wide <= width);
      CHECK(boxes[a].second + high <= height);
      for (std::size_t b = 0; b < a; ++b) {
        const bool apart =
            std::abs(boxes[a].first - boxes[b].first) >= wide || std::abs(boxes[a].second - boxes[b].second) >= high;
        CHECK(apart);
      }
    }
    std::multiset<std::string> drawn, wired;
    for (const auto& found : svg.select_nodes("/svg/g/path/title")) {
      const std::string title = found.node().text().get();
      drawn.insert(title.substr(0, title.find(", ")));
    }
    const std::string dot = exporters::to_dot(t);
    for (const Cable& c : t.cables) {
      wired.insert(c.id + ": " + std::to_string(c.count) + " x " + c.kind);
      const auto id = [&](int d) { return "\"" + t.devices[static_cast<std::size_t>(d)].id + "\""; };
      CHECK(dot.find(id(c.a) + " -- " + id(c.b)) != std::string::npos);
    }
    CHECK(drawn == wired);
  }
}

}  // namespace linkcast::test::drawing_test
