// The tables of cable kinds and GPU models: each row is found by its own name, and what importers ask follows from it.
#include <set>

#include "calibrate/import/gpu_facts.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/gpu_models.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

TEST_CASE("every row of the cable kinds is found by its own name, and has one family", "[unit]") {
  std::set<std::string_view> names;
  for (const CableKind& row : kCableKinds) {
    const std::string written = std::string(row.prefix()) + (row.open() ? "_any" : "");
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_cable_kind(written) == &row);
    CHECK((row.rate_Bps > 0) == !row.source.empty());
    CHECK(row.rate_Bps >= 0);
    CHECK(is_accelerator_cable(written) + is_pcie_cable(written) + is_socket_cable(written) +
              is_fabric_cable(written) ==
          1);
  }
  CHECK(find_cable_kind("string") == nullptr);
  CHECK(find_cable_kind("") == nullptr);
}

TEST_CASE("generations follow from the name of a kind", "[unit]") {
  CHECK(cable_generation("nvlink3") == 3);
  CHECK(cable_generation("nvlink17") == 17);
  CHECK(cable_generation("pcie3_root") == 3);
  CHECK(cable_generation("pcie4_x8") == 4);
  CHECK(cable_generation("nvlink_cpu") == 0);
  CHECK(cable_generation("xbus") == 0);
  CHECK(cable_generation("string") == 0);
  for (const CableFamily family : {CableFamily::kAccelerator, CableFamily::kPcie})
    for (int generation = 1; cable_kind_of(family, generation); ++generation)
      CHECK(cable_generation(cable_kind_of(family, generation)->name) == generation);
  CHECK(cable_kind_of(CableFamily::kAccelerator, 0) == nullptr);
}

TEST_CASE("nominal rates are those of the data sheets", "[unit]") {
  // PCI Express Base Specification: 3.0 x16 is 15.754 GB/s, 5.0 x16 63.015 GB/s
  CHECK_THAT(16 * pcie_lane(3)->si, WithinRel(15.7538e9, 1e-5));
  CHECK_THAT(16 * pcie_lane(5)->si, WithinRel(63.0154e9, 1e-5));
  CHECK_FALSE(pcie_lane(0));
  // Both directions of all links: P100 160, V100 300, A100 600, A6000 112.5, H100 900, B200 1800 GB/s
  const std::vector<std::pair<int, double>> totals = {{60, 160e9},   {70, 300e9}, {80, 600e9},
                                                      {86, 112.5e9}, {90, 900e9}, {100, 1800e9}};
  for (const auto& [sm, total] : totals) {
    INFO(sm);
    const auto type = nvlink_of(sm);
    REQUIRE(type);
    CHECK_THAT(2 * type->links * type->rate.si, WithinRel(total, 1e-12));
    CHECK(find_cable_kind(type->kind())->generation == type->generation);
  }
  CHECK_FALSE(nvlink_of(61));
  CHECK_FALSE(nvlink_of_generation(99));
  CHECK(newest_nvlink().links > 0);
}

TEST_CASE("a maker not known joins its CPUs as Intel does", "[unit]") {
  CHECK(socket_link("intel").kind == "upi");
  CHECK(socket_link("amd").kind == "infinity_fabric_cpu");
  CHECK(socket_link("ibm").kind == "xbus");
  CHECK(socket_link("arm").kind == "upi");
  CHECK(socket_link("").kind == "upi");
}

TEST_CASE("every row of the GPU models can be reached by its own words", "[unit]") {
  for (const GpuModel& row : kGpuModels) {
    INFO(row.words);
    const auto found = find_gpu_model("NVIDIA " + std::string(row.words) + " 80GB");
    REQUIRE(found);
    CHECK(found->sm == row.sm);
    CHECK(found->nvlinks == row.nvlinks);
    CHECK(found->pcie_generation == row.pcie_generation);
    CHECK((row.nvlinks > 0) == (cable_kind_of(CableFamily::kAccelerator, row.nvlink_generation) != nullptr));
  }
  CHECK_FALSE(find_gpu_model("Voodoo 2"));
}
