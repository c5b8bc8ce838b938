// What a catalogue keeps of edited platforms, and that it forgets all of one at once.
#include "sim/catalogue/catalogue.hpp"

#include "sim/query/query.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

TEST_CASE("catalogue: a forgotten edited platform leaves no node behind", "[catalogue]") {
  catalogue::Catalogue catalogue(test::data_dir());
  const Json query{{"platform", "alps"}, {"kind", "collective"},  {"op", "all_reduce"},      {"gpus", {0, 1, 2, 3}},
                   {"size_B", 1 << 20},  {"library", "mpi-cray"}, {"edits", {"slow gpu0:2"}}};
  const std::string id = catalogue.edited("alps", {"slow gpu0:2"});
  CHECK(&catalogue.lone_node(id).node() == &catalogue.platform(id));
  const Json before = query::answer(catalogue, query);
  for (int i = 0; i < 600; ++i) catalogue.edited("alps", {"slow gpu1:1." + std::to_string(1000 + i)});
  CHECK(catalogue.edits_of(id) == nullptr);
  REQUIRE(catalogue.edited("alps", {"slow gpu0:2"}) == id);
  CHECK(&catalogue.lone_node(id).node() == &catalogue.platform(id));
  CHECK(catalogue.lone_node(id).node().topology().devices.size() == catalogue.platform(id).topology().devices.size());
  CHECK(query::answer(catalogue, query) == before);
}
