// linkcast-bench-mpi: transfers between nodes, one MPI process a GPU.
// Measures: half a round trip between rank 0 and every other rank (MPI from host memory; MPI from GPU memory if
// --gpu-aware; NCCL), and NCCL all_reduce over all ranks.
// Excludes: several pairs at once; placement (the launcher's business).
// Method: warm-up, barrier, host clock around `round trips`, every repetition kept.
// Limits: data is not verified; never run by this project (no cluster at hand): treat its first output with suspicion.
//     mpirun -n 8 linkcast-bench-mpi --out results/two-nodes.json --machine mycluster [--gpu-aware]
#include <mpi.h>
#include <nccl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <vector>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/device.hpp"
#include "calibrate/bench/record_file.hpp"
#include "sim/base/atomic_file.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20;
constexpr int kRepetitions = 10;

void check_nccl(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) throw DeviceError(std::string(what) + ": " + ncclGetErrorString(result));
}

int round_trips(std::size_t bytes) {
  return bytes <= (std::size_t{64} << 10) ? 50 : bytes <= (std::size_t{4} << 20) ? 10 : 2;
}

class Probe {
 public:
  Probe(int rank, int ranks, int device);
  ~Probe() { ncclCommDestroy(communicator_); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void mpi_pairs(bool device_memory);
  void nccl_pairs();
  void nccl_all_reduce();
  [[nodiscard]] const Json& points() const { return points_; }  // complete on rank 0

 private:
  template <class Once>
  std::vector<double> repeat(int calls, const Once& once) const;
  void send(int peer, std::size_t bytes, bool first);
  void record(Json key, const std::vector<double>& times);

  int rank_, ranks_;
  Stream stream_;
  DeviceMemory device_;
  PinnedMemory host_;
  ncclComm_t communicator_ = nullptr;
  Json points_ = Json::array();
};

Probe::Probe(int rank, int ranks, int device)
    : rank_(rank),
      ranks_(ranks),
      stream_(device),
      device_(allocate(device, kLargest)),
      host_(allocate_pinned(device, kLargest)) {
  ncclUniqueId id{};
  if (rank == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  check_nccl(ncclCommInitRank(&communicator_, ranks, id, rank), "ncclCommInitRank");
  CUDA_CHECK(cudaMemset(device_.get(), 0, kLargest));
}

template <class Once>
std::vector<double> Probe::repeat(int calls, const Once& once) const {
  std::vector<double> times;
  for (int i = -1; i < kRepetitions; ++i) {  // -1: warm-up
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int call = 0; call < calls; ++call) once();
    CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    if (i >= 0) times.push_back((MPI_Wtime() - start) / calls);
  }
  return times;
}

void Probe::record(Json key, const std::vector<double>& times) {
  if (rank_ != 0) return;
  key["status"] = "ok";
  key["time_s"] = times;
  points_.push_back(std::move(key));
}

void Probe::mpi_pairs(bool device_memory) {
  void* buffer = device_memory ? device_.get() : host_.get();
  for (int peer = 1; peer < ranks_; ++peer)
    for (std::size_t bytes = 4; bytes <= kLargest; bytes *= 4) {
      const int count = static_cast<int>(bytes);
      const auto once = [&] {
        if (rank_ == 0) {
          MPI_Send(buffer, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
          MPI_Recv(buffer, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank_ == peer) {
          MPI_Recv(buffer, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          MPI_Send(buffer, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
      };
      auto times = repeat(round_trips(bytes), once);
      for (double& time : times) time /= 2;
      record({{"op", "pingpong"},
              {"library", "mpi"},
              {"memory", device_memory ? "device" : "host"},
              {"ranks", {0, peer}},
              {"size_B", bytes}},
             times);
    }
}

void Probe::send(int peer, std::size_t bytes, bool first) {
  auto* result = device_.get();
  check_nccl(first ? ncclSend(result, bytes, ncclChar, peer, communicator_, stream_.get())
                   : ncclRecv(result, bytes, ncclChar, peer, communicator_, stream_.get()),
             "ncclSend/ncclRecv");
}

void Probe::nccl_pairs() {
  for (int peer = 1; peer < ranks_; ++peer)
    for (std::size_t bytes = 4; bytes <= kLargest; bytes *= 4) {
      const auto once = [&] {
        if (rank_ != 0 && rank_ != peer) return;
        const int other = rank_ == 0 ? peer : 0;
        send(other, bytes, rank_ == 0);
        send(other, bytes, rank_ != 0);
      };
      auto times = repeat(round_trips(bytes), once);
      for (double& time : times) time /= 2;
      record({{"op", "pingpong"}, {"library", "nccl"}, {"memory", "device"}, {"ranks", {0, peer}}, {"size_B", bytes}},
             times);
    }
}

void Probe::nccl_all_reduce() {
  for (std::size_t bytes = 8; bytes <= kLargest; bytes *= 4) {
    const std::size_t count = bytes / sizeof(float);
    const auto once = [&] {
      check_nccl(ncclAllReduce(device_.get(), device_.get(), count, ncclFloat, ncclSum, communicator_, stream_.get()),
                 "ncclAllReduce");
    };
    auto times = repeat(round_trips(bytes), once);
    record({{"op", "all_reduce"}, {"library", "nccl"}, {"rank_count", ranks_}, {"size_B", bytes}}, times);
  }
}

struct CommandLine {
  std::string out, machine;
  bool gpu_aware = false;
};

void run(const CommandLine& line) {
  int rank = 0, ranks = 0, local = 0, gpus = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) throw InputError("mpirun: needs at least 2 processes, one a GPU");
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  if (local >= gpus) throw InputError("mpirun: more processes on this node than its " + std::to_string(gpus) + " GPUs");
  Probe probe(rank, ranks, local);
  probe.mpi_pairs(false);
  if (line.gpu_aware) probe.mpi_pairs(true);
  probe.nccl_pairs();
  probe.nccl_all_reduce();
  if (rank != 0) return;
  int nccl = 0;
  check_nccl(ncclGetVersion(&nccl), "ncclGetVersion");
  const Json file{{"schema", "measurement/1"},
                  {"id", line.machine + "-mpi"},
                  {"machine", line.machine},
                  {"topology", line.machine},
                  {"bench", "mpi_probe"},
                  {"source", "linkcast-bench-mpi"},
                  {"timing", "back_to_back"},
                  {"environment", {{"ranks", ranks}, {"nccl_version_code", nccl}}},
                  {"method", {{"clock", "host clock of rank 0 after a barrier; pingpong: half a round trip"}}},
                  {"notes", {"not checked on a cluster by the authors; data is not verified"}},
                  {"points", probe.points()}};
  write_atomically(line.out, file.dump(1) + "\n");
}

int guarded_main(int argc, char** argv) {
  CommandLine line;
  CLI::App app{"Measures transfers between nodes: one MPI process a GPU.", "linkcast-bench-mpi"};
  app.add_option("--out", line.out, "file to write")->required();
  app.add_option("--machine", line.machine, "id of the cluster")->required();
  app.add_flag("--gpu-aware", line.gpu_aware, "also give GPU memory to MPI (needs a GPU-aware MPI)");
  app.footer("Example: mpirun -n 8 linkcast-bench-mpi --out two-nodes.json --machine mycluster");
  constexpr int kBadInput = 2;
  try {
    app.parse(argc, argv);
    run(line);
    return 0;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kBadInput;
  } catch (const InputError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace linkcast::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = linkcast::bench::guarded_main(argc, argv);
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);  // the other ranks may be waiting
  MPI_Finalize();
  return code;
}
