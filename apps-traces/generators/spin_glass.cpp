// The Heisenberg spin glass of paper 004: even-odd over-relaxation of a lattice of L^3 spins that is cut along one
// dimension. Each half step computes the boundary, then exchanges it with both neighbours while it computes the bulk.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps-traces/generators/rank_writer.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

constexpr double kComponent_B = 4;  // of a spin, single precision
constexpr int kComponents = 3;      // one message each: L^2 / 2 values are the 128 KB of section V-D at L = 256
constexpr int kParities = 2, kSides = 2;
// source: paper 004, table II, one GPU, L = 256: of 921 ps a spin 11 ps are the boundary, which is two planes of L^2
constexpr double kBoundary_s = 11e-12, kBoundarySide = 256;

/// Time of a spin of the bulk: it follows the lattice that one GPU holds: caches (section V-D).
struct BulkPoint {
  double spins, spin_s;
};
// source: paper 004: table II, 416 ps on two GPUs that hide all messages, and 921 ps on one; section V-D, 1471 ps at
// L = 512; each less its boundary
constexpr std::array<BulkPoint, 3> kBulk{{{8388608, 810e-12}, {16777216, 910e-12}, {134217728, 1465.5e-12}}};

/// Between two points along the logarithm of the size, beyond them the nearest. source: assumed, nothing is printed
/// there
double bulk_of_spin_s(double spins) {
  for (std::size_t i = 1; i < kBulk.size(); ++i) {
    const BulkPoint &low = kBulk[i - 1], &high = kBulk[i];
    if (spins > high.spins) continue;
    const double share = std::max(0.0, std::log(spins / low.spins) / std::log(high.spins / low.spins));
    return low.spin_s + share * (high.spin_s - low.spin_s);
  }
  return kBulk.back().spin_s;
}

struct Lattice {
  int nodes, side, steps;
  bool staged;
  double bulk_s, boundary_s;  ///< of a half step on one rank
  double message_B;
};

bool one_of(const TraceOptions& options, const std::string& name, const std::string& usual, const std::string& other) {
  const std::string text = options.text(name, usual);
  if (text != usual && text != other)
    throw InputError("option " + name + ": '" + text + "' is neither " + usual + " nor " + other);
  return text == other;
}

Lattice lattice_of(const TraceOptions& options) {
  Lattice lattice{};
  lattice.nodes = options.whole("nodes", 2);
  lattice.side = options.whole("L", 256, 2);
  lattice.steps = options.whole("steps", 3);
  if (lattice.side % (2 * lattice.nodes) != 0)
    throw InputError(fmt::format("option L: {} planes cannot be cut into {} parts of an even number each", lattice.side,
                                 lattice.nodes));
  lattice.staged = one_of(options, "staging", "none", "program");
  const double plane = static_cast<double>(lattice.side) * lattice.side, spins = plane * lattice.side;
  const double own = spins / lattice.nodes, bulk_s = options.seconds("bulk", bulk_of_spin_s(own));
  lattice.bulk_s = one_of(options, "part", "all", "boundary") ? 0 : own * bulk_s / kParities;
  const double boundary_s = options.seconds("boundary", kBoundary_s * kBoundarySide / lattice.side);
  lattice.boundary_s = spins * boundary_s / kParities;
  lattice.message_B = plane / kParities * kComponent_B;
  return lattice;
}

struct HaloMessage {
  std::string tag;
  int to, from;  ///< ranks
};

std::vector<HaloMessage> halo_of(const Lattice& lattice, int rank) {
  std::vector<HaloMessage> halo;
  for (int side = 0; side < kSides; ++side) {
    const int up = side == 0 ? 1 : lattice.nodes - 1, down = lattice.nodes - up;
    for (int component = 0; component < kComponents; ++component)
      halo.push_back(
          {fmt::format("{}{}", side, component), (rank + up) % lattice.nodes, (rank + down) % lattice.nodes});
  }
  return halo;
}

/// The program copies for itself, each copy holding it up: down and off one message after the other, then, when all
/// have come, up one after the other. @returns  what the next half step waits for
RankWriter::Ids staged_halo(const Lattice& lattice, RankWriter& rank, std::int64_t boundary) {
  RankWriter::Ids came, done;
  const std::vector<HaloMessage> halo = halo_of(lattice, rank.rank());
  for (const HaloMessage& message : halo)
    came.push_back(rank.recv("recv" + message.tag, message.from, lattice.message_B, message.tag));
  for (const HaloMessage& message : halo) {
    const std::int64_t copied = rank.copy("copy", "d2h", lattice.message_B, {boundary});
    rank.sync({copied});
    done.push_back(rank.send("send" + message.tag, message.to, lattice.message_B, message.tag, {copied}));
  }
  rank.sync(came);
  for (std::size_t i = 0; i < halo.size(); ++i) {
    done.push_back(rank.copy("copy", "h2d", lattice.message_B, came));
    rank.sync({done.back()});
  }
  return done;
}

/// Waits for what the next half step needs.
void half_step(const Lattice& lattice, RankWriter& rank, RankWriter::Ids& needed) {
  const std::int64_t boundary = rank.compute("0", "boundary", lattice.boundary_s, needed);
  const std::int64_t bulk = rank.compute("0", "bulk", lattice.bulk_s);
  needed = {boundary, bulk};
  if (lattice.nodes == 1) return;
  if (lattice.staged) {
    const RankWriter::Ids done = staged_halo(lattice, rank, boundary);
    needed.insert(needed.end(), done.begin(), done.end());
    return;
  }
  for (const HaloMessage& message : halo_of(lattice, rank.rank())) {
    needed.push_back(rank.send("send" + message.tag, message.to, lattice.message_B, message.tag, {boundary}));
    needed.push_back(rank.recv("recv" + message.tag, message.from, lattice.message_B, message.tag, {boundary}));
  }
}

class SpinGlass final : public TraceGenerator {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"nodes", "parts of the lattice, one GPU each, 2 unless said"},
            {"L", "spins along a side, 256 unless said"},
            {"steps", "updates of all spins, 3 unless said"},
            {"bulk", "time a spin of the bulk, unless said 810ps to 1466ps by the spins that a GPU holds"},
            {"boundary", "time of the boundary per spin of the lattice, unless said 11ps at L = 256, as 1 / L"},
            {"staging", "none (default), or program: it copies to host memory and back itself, messages are of hosts"},
            {"part", "all (default), or boundary: without the bulk, for T_bnd + T_net"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const Lattice lattice = lattice_of(options);
    TraceHeader header;
    header.name = "spin_glass";
    header.source = "generated: R. Ammendola et al., GPU peer-to-peer techniques on APEnet+, 2013, section V-D";
    header.device = "Tesla C2050";
    header.notes = {
        "compute: picoseconds a spin by the lattice that a GPU holds, of 256^3 on one and two GPUs and of 512^3 on "
        "one, table II and section V-D; assumed: between them along the logarithm, below as on two GPUs",
        "assumed: three messages a side and half step, one of each spin component, all posted at once"};
    std::vector<RankWriter> ranks = start_ranks(header, lattice.nodes, sink);
    std::vector<RankWriter::Ids> needed(ranks.size());
    for (int step = 0; step < lattice.steps; ++step)
      for (RankWriter& rank : ranks) {
        RankWriter::Ids& mine = needed[at(rank.rank())];
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
