// Six of Tartan's seven applications in one node (paper 000, section IV-A; the seventh is tartan_convnet2.cpp): a
// master on the CPU and GPUs that serve it. The text gives pattern and order; it gives no time and no size: those are
// options.
#include <fmt/format.h>

#include "apps-traces/generators/rank_writer.hpp"

namespace linkcast {
namespace {

struct ScaleUpRun {
  int gpus, iterations;
  bool nccl;         ///< the paper's changed version: a GPU takes the master's part where the text says so
  double compute_s;  ///< of an iteration on one of these GPUs
  double size_B;     ///< of what each GPU hands in or is given in one phase
};

/// OpenMP threads wait for each other on the CPU: a collective of no bytes takes no time on the network.
void barrier(const ScaleUpRun& run, RankWriter& rank) {
  rank.sync();
  if (run.gpus > 1) rank.sync({rank.collective("0", "all_reduce", "all", 0)});
}

/// All hand in to the CPU, which decides and gives the same to all.
void through_cpu(const ScaleUpRun& run, RankWriter& rank) {
  rank.copy("0", "d2h", run.size_B);
  barrier(run, rank);
  rank.copy("0", "h2d", run.size_B);
  rank.sync();
}

/// Cusimann: GPU 0 takes the CPU's place: the best of all is reduced to it, and it broadcasts that.
void csm(const ScaleUpRun& run, RankWriter& rank) {
  rank.compute("0", "anneal", run.compute_s);
  rank.sync();
  if (!run.nccl || run.gpus == 1) return through_cpu(run, rank);
  rank.collective("0", "reduce", "all", run.size_B);
  rank.collective("0", "broadcast", "all", run.size_B);
  rank.sync();
}

/// GMM: arrays that the CPU does not change go from GPU 0 to the others; assumed to be half of them.
void gmm(const ScaleUpRun& run, RankWriter& rank) {
  rank.compute("0", "expectation, maximization", run.compute_s);
  rank.sync();
  if (!run.nccl || run.gpus == 1) return through_cpu(run, rank);
  rank.copy("0", "d2h", run.size_B);
  barrier(run, rank);
  rank.copy("0", "h2d", run.size_B / 2);
  rank.sync();
  rank.collective("0", "broadcast", "all", run.size_B / 2);
  rank.sync();
}

/// Kmeans: the mean of all GPUs' sums, by an all_reduce instead of the CPU; and a copy within each GPU.
void kmn(const ScaleUpRun& run, RankWriter& rank) {
  rank.compute("0", "assign", run.compute_s);
  rank.copy("0", "d2d", run.size_B);
  rank.sync();
  if (!run.nccl || run.gpus == 1) return through_cpu(run, rank);
  rank.collective("0", "all_reduce", "all", run.size_B);
  rank.sync();
}

/// MonteCarlo: data go to the GPUs and results come back, asynchronously, in two streams; nothing between GPUs.
void mtc(const ScaleUpRun& run, RankWriter& rank) {
  for (const char* stream : {"0", "1"}) {
    rank.copy(stream, "h2d", run.size_B / 2);
    rank.compute(stream, "price", run.compute_s / 2);
    rank.copy(stream, "d2h", run.size_B / 2);
  }
  rank.sync();
}

/// Planar: each GPU fetches a task and returns what it found; with NCCL the tasks come from GPU 0.
void pln(const ScaleUpRun& run, RankWriter& rank) {
  if (run.nccl && run.gpus > 1)
    rank.collective("0", "broadcast", "all", run.size_B);
  else
    rank.copy("0", "h2d", run.size_B);
  rank.compute("0", "search", run.compute_s);
  rank.copy("0", "d2h", run.size_B);
  rank.sync();
}

/// Trueke: in two phases what GPU 0 has goes to the others, over a buffer of the CPU or by a broadcast.
void trk(const ScaleUpRun& run, RankWriter& rank) {
  for (int phase = 0; phase < 2; ++phase) {
    rank.compute("0", "sweep", run.compute_s / 2);
    rank.sync();
    if (run.gpus == 1) continue;
    if (run.nccl) {
      rank.collective("0", "broadcast", "all", run.size_B);
    } else {
      if (rank.rank() == 0) rank.copy("0", "d2h", run.size_B);
      barrier(run, rank);
      if (rank.rank() != 0) rank.copy("0", "h2d", run.size_B);
    }
    rank.sync();
  }
}

struct ScaleUpApplication {
  std::string name, summary;
  double compute_s, size_B;  ///< assumed
  std::string why;           ///< of the assumption
  void (*iteration)(const ScaleUpRun&, RankWriter&);
};

// Times and sizes of one iteration on one GPU. source: assumed, no text gives them; each says what it stands for
const std::vector<ScaleUpApplication> kScaleUp = {
    {"tartan_csm", "Tartan's Cusimann: simulated annealing, master and slaves", 10e-3, 64e3,
     "8000 doubles: 'relatively small data transmission volume'", csm},
    {"tartan_gmm", "Tartan's GMM: Gaussian mixtures by expectation maximization", 20e-3, 470e3,
     "100 clusters of 24 dimensions: means and two covariance matrices of 32-bit values", gmm},
    {"tartan_kmn", "Tartan's Kmeans: clustering, double precision", 10e-3, 27e3,
     "100 clusters of 34 dimensions of 64-bit values", kmn},
    {"tartan_mtc", "Tartan's MonteCarlo: option pricing", 50e-3, 1e6, "tens of thousands of options of 20 bytes", mtc},
    {"tartan_pln", "Tartan's Planar: Langford sequences by depth-first search", 50e-3, 4e3, "a page of tasks", pln},
    {"tartan_trk", "Tartan's Trueke: exchange Monte Carlo of the Ising model", 20e-3, 1e6,
     "a lattice of 64^3 spins of 32 bits", trk}};

class ScaleUp final : public TraceGenerator {
 public:
  explicit ScaleUp(const ScaleUpApplication& application) : application_(application) {}

  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"gpus", "4 unless said"},
            {"version", "baseline: as published (default); nccl: as the paper changed it"},
            {"scaling", "strong: compute is divided among the GPUs (default); weak: each has all of it"},
            {"iterations", "5 unless said"},
            {"compute",
             fmt::format("time of an iteration on one GPU, {:f} s unless said (assumed)", application_.compute_s)},
            {"size", fmt::format("bytes that a GPU hands in or is given in a phase, {} unless said (assumed: {})",
                                 static_cast<long>(application_.size_B), application_.why)}};
  }

  void run(const TraceOptions& options, TraceSink& sink) const override {
    ScaleUpRun run{};
    run.gpus = options.whole("gpus", 4);
    run.iterations = options.whole("iterations", 5);
    run.nccl = choice(options, "version", "baseline", "nccl");
    run.compute_s = options.seconds("compute", application_.compute_s);
    run.size_B = options.bytes("size", application_.size_B);
    if (!choice(options, "scaling", "strong", "weak")) run.compute_s /= run.gpus;
    TraceHeader header;
    header.name = application_.name;
    header.source = "generated: A. Li et al., Tartan: Evaluating Modern GPU Interconnect, IISWC 2018, section IV-A";
    header.notes = {"the text gives pattern, order and what is synchronous",
                    "assumed: time and size of an iteration; size: " + application_.why,
                    "the CPU's own work takes no time"};
    std::vector<RankWriter> ranks = start_ranks(header, run.gpus, sink);
    for (int iteration = 0; iteration < run.iterations; ++iteration)
      for (RankWriter& rank : ranks) {
        application_.iteration(run, rank);
        rank.step();
      }
  }

 private:
  static bool choice(const TraceOptions& options, const std::string& key, const std::string& no,
                     const std::string& yes) {
    const std::string value = options.text(key, no);
    if (value != no && value != yes)
      throw InputError("option " + key + ": '" + value + "' is neither " + no + " nor " + yes);
    return value == yes;
  }

  const ScaleUpApplication& application_;
};

bool register_scale_up() {
  for (const ScaleUpApplication& application : kScaleUp)
    trace_generators().add({application.name, application.summary,
                            "A. Li et al., Tartan: Evaluating Modern GPU Interconnect via a Multi-GPU Benchmark Suite, "
                            "IISWC 2018, section IV-A"},
                           [&application] { return std::make_unique<ScaleUp>(application); });
  return true;
}

const bool tartan_scale_up_registered = register_scale_up();

}  // namespace
}  // namespace linkcast
