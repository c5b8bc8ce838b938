// The Heisenberg spin glass of paper 004: even-odd over-relaxation of a lattice of L^3 spins that is cut along one
// dimension. Each half step computes the boundary, then exchanges it with both neighbours while it computes the bulk.
#include "apps-traces/generators/rank_writer.hpp"

namespace linkcast {
namespace {

constexpr double kComponent_B = 4;  // of a spin, single precision
constexpr int kComponents = 3;      // one message each: L^2 / 2 values are the 128 KB of section V-D at L = 256
constexpr int kParities = 2, kSides = 2;
// source: paper 004, table II, one GPU, L = 256: 921 ps a spin, of which 11 ps are the boundary
constexpr double kBulk_s = 910e-12, kBoundary_s = 11e-12;
// source: paper 004, section V-D: 1471 ps a spin at L = 512 on one GPU, taken to have the same 11 ps
constexpr double kBulk512_s = 1460e-12;
constexpr int kLarge = 512;

struct Lattice {
  int nodes, side, steps;
  double bulk_s, boundary_s;  ///< of a half step on one rank
  double message_B;
};

Lattice lattice_of(const TraceOptions& options) {
  Lattice lattice{};
  lattice.nodes = options.whole("nodes", 2);
  lattice.side = options.whole("L", 256, 2);
  lattice.steps = options.whole("steps", 3);
  if (lattice.side % (2 * lattice.nodes) != 0)
    throw InputError("option L: " + std::to_string(lattice.side) + " planes cannot be cut into " +
                     std::to_string(lattice.nodes) + " parts of an even number each");
  const std::string part = options.text("part", "all");
  if (part != "all" && part != "boundary") throw InputError("option part: '" + part + "' is neither all nor boundary");
  const double plane = static_cast<double>(lattice.side) * lattice.side, spins = plane * lattice.side;
  const double bulk_s = options.seconds("bulk", lattice.side < kLarge ? kBulk_s : kBulk512_s);
  lattice.bulk_s = part == "boundary" ? 0 : spins * bulk_s / lattice.nodes / kParities;
  lattice.boundary_s = spins * options.seconds("boundary", kBoundary_s) / kParities;
  lattice.message_B = plane / kParities * kComponent_B;
  return lattice;
}

/// Waits for what the next half step needs.
void half_step(const Lattice& lattice, RankWriter& rank, RankWriter::Ids& needed) {
  const std::int64_t boundary = rank.compute("0", "boundary", lattice.boundary_s, needed);
  const std::int64_t bulk = rank.compute("0", "bulk", lattice.bulk_s);
  needed = {boundary, bulk};
  if (lattice.nodes == 1) return;
  for (int side = 0; side < kSides; ++side) {
    const int up = side == 0 ? 1 : lattice.nodes - 1, down = lattice.nodes - up;
    for (int component = 0; component < kComponents; ++component) {
      const std::string tag = std::to_string(side) + std::to_string(component);
      const int to = (rank.rank() + up) % lattice.nodes, from = (rank.rank() + down) % lattice.nodes;
      needed.push_back(rank.send("send" + tag, to, lattice.message_B, tag, {boundary}));
      needed.push_back(rank.recv("recv" + tag, from, lattice.message_B, tag, {boundary}));
    }
  }
}

class SpinGlass final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"nodes", "parts of the lattice, one GPU each, 2 unless said"},
            {"L", "spins along a side, 256 unless said"},
            {"steps", "updates of all spins, 3 unless said"},
            {"bulk", "time a spin of the bulk, 910ps unless said, 1460ps from L = 512 on"},
            {"boundary", "time of the boundary per spin of the lattice, 11ps unless said"},
            {"part", "all (default), or boundary: without the bulk, for T_bnd + T_net"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const Lattice lattice = lattice_of(options);
    TraceHeader header;
    header.name = "spin_glass";
    header.source = "generated: R. Ammendola et al., GPU peer-to-peer techniques on APEnet+, 2013, section V-D";
    header.device = "Tesla C2050";
    header.notes = {
        "compute: one GPU's picoseconds a spin, table II and section V-D, divided by the nodes: no gain "
        "from caches where a part is smaller",
        "assumed: three messages a side and half step, one of each spin component, all posted at once"};
    std::vector<RankWriter> ranks = start_ranks(header, lattice.nodes, sink);
    std::vector<RankWriter::Ids> needed(ranks.size());
    for (int step = 0; step < lattice.steps; ++step)
      for (RankWriter& rank : ranks) {
        RankWriter::Ids& mine = needed[static_cast<std::size_t>(rank.rank())];
        for (int parity = 0; parity < kParities; ++parity) half_step(lattice, rank, mine);
        rank.sync(mine);
        rank.step();
      }
  }
};

const bool spin_glass_registered = trace_generators().add(
    {"spin_glass", "over-relaxation of a Heisenberg spin glass, halo exchange along one dimension",
     "R. Ammendola et al., GPU peer-to-peer techniques applied to a cluster interconnect (APEnet+), 2013, section V-D"},
    [] { return std::make_unique<SpinGlass>(); });

}  // namespace
}  // namespace linkcast
