// Which parameter of a library a forecast takes.
#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::learned_test {

namespace {

Calibration with(const std::map<std::string, double>& values) {
  Calibration calibration;
  for (const auto& [name, value] : values) calibration.parameters[name] = {value, 0.1 * value, "s", "fitted"};
  return calibration;
}

const Prior kPrior = {3e-6, 0.7};

Learned base(const Calibration& calibration, const std::string& library, ParametersUsed* used = nullptr) {
  return learned(LibraryParameters(calibration, used), library, key::ring_base["LL"], kPrior);
}

}  // namespace

TEST_CASE("this version comes before all versions, these before the nearest one, that before the prior") {
  CHECK(key::ring_base["LL"]("nccl-2.8").name == "nccl.ring.LL@2.8.base_s");
  CHECK(key::ring_base["LL"].of_all("nccl").name == "nccl.ring.LL.base_s");
  CHECK(key::staging_copy("mpi-openmpi").name == "mpi.staging@openmpi.copy_s");
  const Calibration all =
      with({{"nccl.ring.LL@2.8.base_s", 8}, {"nccl.ring.LL.base_s", 1}, {"nccl.ring.LL@2.12.base_s", 12}});
  CHECK(base(all, "nccl-2.8").value == 8);
  CHECK(base(all, "nccl-2.12").value == 12);
  CHECK(base(all, "nccl-2.27").value == 1);
  const Calibration two = with({{"nccl.ring.LL@2.8.base_s", 8}, {"nccl.ring.LL@2.27.base_s", 27}});
  CHECK(base(two, "nccl-2.12").value == 8);
  CHECK(base(two, "nccl-2.30").value == 27);
  CHECK(base(with({}), "nccl-2.8").value == kPrior.value);
}

TEST_CASE("a calibration may name versions that are no numbers") {
  const Calibration odd = with({{"nccl.ring.LL@99999999999.9.base_s", 1},
                                {"nccl.ring.LL@2.x.base_s", 2},
                                {"nccl.ring.LL@2.99999999999.base_s", 3}});
  CHECK(base(odd, "nccl-2.8").value == 2);
  CHECK(base(odd, "nccl-2.99999999999").value == 3);
}

TEST_CASE("a parameter of another version is less sure, and NCCL 1 stands for no NCCL 2") {
  const Calibration calibration = with({{"nccl.ring.LL@2.8.base_s", 8}});
  CHECK_THAT(base(calibration, "nccl-2.8").spread, WithinRel(0.1, 1e-9));
  CHECK_THAT(base(calibration, "nccl-2.12").spread, WithinRel(std::hypot(0.1, 0.2), 1e-9));
  CHECK(base(calibration, "nccl-2.12").measured);
  const Learned other = base(calibration, "nccl-1");
  CHECK_FALSE(other.measured);
  CHECK(other.spread == kPrior.spread);
  const Calibration mpi = with({{"mpi.staging@openmpi.copy_s", 1}});
  CHECK_FALSE(learned(LibraryParameters(mpi), "mpi-mpich", key::staging_copy, kPrior).measured);
}

TEST_CASE("a view of a calibration records the parameters that were looked up, and their values") {
  const Calibration calibration = with({{"nccl.ring.LL@2.8.base_s", 8}});
  ParametersUsed used;
  base(calibration, "nccl-2.12", &used);
  learned(LibraryParameters(calibration, &used), "nccl-2.12", key::ring_hop["LL"], kPrior);
  base(calibration, "nccl-2.8");  // nobody records this one
  REQUIRE(used.size() == 2);
  CHECK(used.at("nccl.ring.LL@2.12.base_s").value == 8);
  CHECK(used.at("nccl.ring.LL@2.12.hop_s").value == kPrior.value);
}

TEST_CASE("parts of errors that hang together add up, or cancel") {
  Calibration calibration = with({{"nccl.ring.LL@2.8.base_s", 8}, {"nccl.ring.LL@2.8.hop_s", 2}});
  calibration.correlation = {{"nccl.ring.LL@2.8.base_s", "nccl.ring.LL@2.8.hop_s"}, {{}, {-0.8}}};
  const Learned first = base(calibration, "nccl-2.8");
  const Learned second = learned(LibraryParameters(calibration), "nccl-2.8", key::ring_hop["LL"], kPrior);
  CHECK(first.correlated == 0);
  CHECK(second.correlated == 1);
  CHECK(learned(LibraryParameters(calibration), "nccl-2.12", key::ring_hop["LL"], kPrior).correlated ==
        -1);  // another version's
  const auto variance = [&](double a, double b) {
    return variance_of(calibration, {ErrorPart(first).times(a), ErrorPart(second).times(b), ErrorPart(0.03)});
  };
  CHECK_THAT(variance(1, 1), WithinRel(0.01 + 0.01 - 2 * 0.8 * 0.01 + 0.0009, 1e-9));
  CHECK_THAT(variance(1, -1), WithinRel(0.01 + 0.01 + 2 * 0.8 * 0.01 + 0.0009, 1e-9));
  CHECK_THAT(variance_of(calibration, {ErrorPart(first), ErrorPart(first)}), WithinRel(0.04, 1e-9));
}

}  // namespace linkcast::test::learned_test
