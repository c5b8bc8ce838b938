// Tartan's seven applications over nodes, one GPU each (paper 000, section IV-B). The text gives decomposition and kind
// of communication; it gives no time and no size: those are options, with the published codes' structure as default.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "apps-traces/generators/rank_writer.hpp"

namespace linkcast {
namespace {

using Triple = std::array<int, 3>;

struct ScaleOutRun {
  int nodes;
  Triple parts{};                 ///< of the domain, along x, y, z
  std::array<double, 3> local{};  ///< cells of a part
  double memory_Bps;

  [[nodiscard]] double cells() const { return local[0] * local[1] * local[2]; }
  /// A part whose cells each move so many bytes of the GPU's memory.
  [[nodiscard]] double pass_s(double cell_B) const { return cells() * cell_B / memory_Bps; }
};

/// The parts nearest to cubes.
Triple blocks(int nodes) {
  Triple best{nodes, 1, 1};
  const auto sum = [](const Triple& t) { return t[0] + t[1] + t[2]; };
  for (int x = 1; x <= nodes; ++x)
    for (int y = 1; y <= nodes / x; ++y)
      if (nodes % (x * y) == 0 && sum({x, y, nodes / x / y}) < sum(best)) best = {x, y, nodes / x / y};
  return best;
}

/// Both faces of one dimension with the neighbours; the domain is not periodic.
RankWriter::Ids faces(const ScaleOutRun& run, RankWriter& rank, std::size_t dimension, double cell_B,
                      const std::string& what, RankWriter::Ids after) {
  int stride = 1;
  for (std::size_t d = 0; d < dimension; ++d) stride *= run.parts[d];
  const int at = rank.rank() / stride % run.parts[dimension];
  const double size_B = run.cells() / run.local[dimension] * cell_B;
  RankWriter::Ids done;
  for (const int step : {-1, 1}) {
    if (at + step < 0 || at + step >= run.parts[dimension]) continue;
    const int peer = rank.rank() + step * stride;
    const std::string side = fmt::format("{}{}", dimension, step < 0 ? "-" : "+");
    const std::string from = fmt::format("{}{}", dimension, step < 0 ? "+" : "-");
    done.push_back(rank.send("send " + side, peer, size_B, what + side, after));
    done.push_back(rank.recv("receive " + side, peer, size_B, what + from, after));
  }
  return done;
}

/// Faces of all dimensions at once. @param cell_B  of a cell of the face
void halo(const ScaleOutRun& run, RankWriter& rank, double cell_B, const std::string& what, std::int64_t after) {
  RankWriter::Ids all;
  for (std::size_t d = 0; d < run.parts.size(); ++d) {
    const RankWriter::Ids some = faces(run, rank, d, cell_B, what, {after});
    all.insert(all.end(), some.begin(), some.end());
  }
  rank.sync(all);
}

// Bytes below are of 32- or 64-bit values: 4 and 8. source of what is exchanged: named with each application.

/// Fourth order: two planes of three velocities and six stresses. Reads and writes each.
void brq(const ScaleOutRun& run, RankWriter& rank) {
  for (const int fields : {3, 6})
    halo(run, rank, 2 * fields * 4, "wave", rank.compute("0", "wave", run.pass_s(9 * 2 * 4)));
}

/// One value a cell; a plane to each neighbour along z.
void dff(const ScaleOutRun& run, RankWriter& rank) {
  halo(run, rank, 8, "heat", rank.compute("0", "heat", run.pass_s(2 * 8)));
}

/// Three exchanges a step: forces (3 fields), positions and velocities (6), gradients of viscosity (3).
/// source: LULESH 2.0, lulesh-comm.cc: CommSBN, CommSyncPosVel, CommMonoQ
void llh(const ScaleOutRun& run, RankWriter& rank) {
  // Values that a third of the step moves for each element. source: 8.387 ms an iteration of 256^3 elements on 8 nodes
  // of SummitDev, pinned (uuudown/Tartan, scale-out-pinned)
  constexpr double kFields = 113;
  for (const int fields : {3, 6, 3})
    halo(run, rank, fields * 8, "hydro", rank.compute("0", "hydro", run.pass_s(kFields * 8)));
}

/// Atoms near the faces, one dimension after the other so that corners arrive; four atoms a cell of 56 bytes each.
/// source: CoMD 1.1, haloExchange.c: AtomMsg, stages x, y, z
void cmd(const ScaleOutRun& run, RankWriter& rank) {
  constexpr double kAtoms_B = 4 * 56, kNeighbours = 27;
  RankWriter::Ids last = {rank.compute("0", "forces", run.pass_s(kAtoms_B * kNeighbours))};
  for (std::size_t d = 0; d < run.parts.size(); ++d) {
    const RankWriter::Ids next = faces(run, rank, d, kAtoms_B, "atoms", last);
    if (!next.empty()) last = next;
  }
  rank.sync(last);
  if (run.nodes > 1) rank.sync({rank.collective("0", "all_reduce", "all", 2 * 8)});  // potential and kinetic energy
}

/// Each part of the vector goes round in a pipeline, one multiplication with it at each stop.
void prb(const ScaleOutRun& run, RankWriter& rank) {
  constexpr double kEntries = 16;  // assumed, of a row of the matrix: 12 bytes each with its column
  const int n = run.nodes, next = (rank.rank() + 1) % n, before = (rank.rank() + n - 1) % n;
  RankWriter::Ids here;
  for (int stop = 0; stop < n; ++stop) {
    const std::int64_t done = rank.compute("0", "multiply", run.pass_s(kEntries * 12) / n, here);
    if (stop == n - 1) continue;
    const double size_B = run.cells() * 8;
    const std::string tag = fmt::format("part {}", stop);
    here = {rank.send("send", next, size_B, tag, {done}), rank.recv("receive", before, size_B, tag, {done})};
  }
  if (n > 1) rank.collective("0", "all_reduce", "all", 8);
  rank.sync();
}

/// Spectral: three velocities are transposed before and after their transforms, in two stages of a step.
void hit(const ScaleOutRun& run, RankWriter& rank) {
  constexpr int kTransposes = 2 * 2 * 3;
  for (int i = 0; i < kTransposes; ++i) {
    rank.compute("0", "transform", run.pass_s(3 * 2 * 8));  // three dimensions, read and written, complex
    if (run.nodes > 1) rank.collective("0", "alltoall", "all", run.cells() * 8);
  }
  rank.sync();
}

/// Scatter the rows of one matrix, broadcast the other, gather the product. The cells are those of all products.
void mam(const ScaleOutRun& run, RankWriter& rank) {
  constexpr double kFlops_per_B = 7.25;  // source: P100, 5.3e12 operations (64 bit) over 732e9 bytes a second
  const double side = std::round(std::cbrt(run.cells() * run.nodes)), matrix_B = side * side * 8;
  if (run.nodes > 1) {
    rank.collective("0", "scatter", "all", matrix_B);
    rank.collective("0", "broadcast", "all", matrix_B);
  }
  rank.compute("0", "multiply", 2 * side * side * side / run.nodes / (kFlops_per_B * run.memory_Bps));
  if (run.nodes > 1) rank.collective("0", "gather", "all", matrix_B);
  rank.sync();
}

enum class Cut { kX, kZ, kBlocks };

struct ScaleOutApplication {
  std::string name, summary;
  int side;
  Cut cut;
  void (*step)(const ScaleOutRun&, RankWriter&);
};

// Sides source: the authors' run_{1,2,4,8}g_{strong,weak}.sh in uuudown/Tartan; of B2rEqwp assumed. Prbench's 2^21
// pages are the cells of a cube of 128.
const std::vector<ScaleOutApplication> kScaleOut = {
    {"tartan_brq", "Tartan's B2rEqwp: seismic waves, fourth order, halo exchange", 256, Cut::kBlocks, brq},
    {"tartan_dff", "Tartan's Diffusion: 3D heat equation, halo exchange along z", 400, Cut::kZ, dff},
    {"tartan_llh", "Tartan's Lulesh: shock hydrodynamics, halo exchange along x", 128, Cut::kX, llh},
    {"tartan_cmd", "Tartan's CoMD: molecular dynamics, halo exchange and sums", 40, Cut::kBlocks, cmd},
    {"tartan_prb", "Tartan's Prbench: page rank in a pipeline", 128, Cut::kX, prb},
    {"tartan_hit", "Tartan's HIT: turbulence, transposes by alltoall", 128, Cut::kX, hit},
    {"tartan_mam", "Tartan's Matvec: matrix product by scatter, broadcast and gather", 256, Cut::kX, mam}};

ScaleOutRun run_of(const ScaleOutApplication& application, const TraceOptions& options) {
  ScaleOutRun run{};
  run.nodes = options.whole("nodes", 4);
  const int n = run.nodes;
  run.parts = application.cut == Cut::kBlocks ? blocks(n)
              : application.cut == Cut::kX    ? Triple{n, 1, 1}
                                              : Triple{1, 1, n};
  run.memory_Bps = options.number("memory", 732e9);  // source: paper 003, section 2.1: 4096 bits at 715 MHz, twice
  if (run.memory_Bps <= 0) throw InputError("option memory: must be positive");
  const int side = options.whole("side", application.side);
  const bool weak = options.picks("scaling", "strong", "weak");
  for (std::size_t d = 0; d < run.parts.size(); ++d) {
    if (!weak && side % run.parts[d] != 0)
      throw InputError(fmt::format("option side: {} cells cannot be cut into {} parts", side, run.parts[d]));
    run.local[d] = static_cast<double>(side) / (weak ? 1 : run.parts[d]);
  }
  return run;
}

class ScaleOut final : public TraceGenerator {
 public:
  explicit ScaleOut(const ScaleOutApplication& application) : application_(application) {}

  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"nodes", "one GPU each, 4 unless said"},
            {"side", fmt::format("cells along a side, {} unless said", application_.side)},
            {"scaling", "strong: the domain is divided (default); weak: each node has side^3 cells"},
            {"steps", "3 unless said"},
            {"memory", "bytes a second of the GPU's memory, which bounds computation, 732e9 unless said (P100)"}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    const ScaleOutRun run = run_of(application_, options);
    TraceHeader header;
    header.name = application_.name;
    header.source = "generated: A. Li et al., Tartan: Evaluating Modern GPU Interconnect, IISWC 2018, section IV-B";
    header.notes = {"the text gives decomposition and kind of communication",
                    "assumed: computation is bound by the GPU's memory at its nominal rate; what a "
                    "cell moves and what is exchanged are those of the published code, see the generator"};
    std::vector<RankWriter> ranks = start_ranks(header, run.nodes, sink);
    const int steps = options.whole("steps", 3);
    for (int step = 0; step < steps; ++step)
      for (RankWriter& rank : ranks) {
        application_.step(run, rank);
        rank.step();
      }
  }

 private:
  const ScaleOutApplication& application_;
};

bool register_scale_out() {
  for (const ScaleOutApplication& application : kScaleOut)
    trace_generators().add({application.name, application.summary,
                            "A. Li et al., Tartan: Evaluating Modern GPU Interconnect via a Multi-GPU Benchmark Suite, "
                            "IISWC 2018, section IV-B"},
                           [&application] { return std::make_unique<ScaleOut>(application); });
  return true;
}

const bool tartan_scale_out_registered = register_scale_out();

}  // namespace
}  // namespace linkcast
