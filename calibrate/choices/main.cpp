// linkcast-nccl-choices: starts a NCCL on the GPUs of a topology file, without having any, and calls its collectives.
// What it finds and takes goes where NCCL's own variables say: NCCL_GRAPH_DUMP_FILE, NCCL_DEBUG_FILE.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/choices/cuda.hpp"
#include "calibrate/choices/entry_points.hpp"
#include "calibrate/choices/machine.hpp"

namespace linkcast::choices {
namespace {

// source of this block: nccl.h
struct UniqueId {
  std::array<char, 128> bytes;
};
constexpr int kFloat = 7, kSum = 0, kRoot = 0;
constexpr std::size_t kElement_B = 4;

struct Asked {
  std::string library, topology;
  int nodes = 1, gpus = 0;
  std::size_t from_B = 8, to_B = std::size_t{1} << 30U;
};

/// Between the processes, one a node.
struct Meeting {
  std::atomic<bool> ready{false};
  UniqueId id{};
};

template <typename Function>
Function* function(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("NCCL has no ") + name);
  return reinterpret_cast<Function*>(found);
}

/// Every operation at sizes in powers of two. No byte is touched: the addresses are none.
void call_all(void* library, void* communicator, int ranks, const Asked& asked) {
  auto* const reduced =
      function<int(const void*, void*, std::size_t, int, int, void*, void*)>(library, "ncclAllReduce");
  auto* const scattered =
      function<int(const void*, void*, std::size_t, int, int, void*, void*)>(library, "ncclReduceScatter");
  auto* const gathered = function<int(const void*, void*, std::size_t, int, void*, void*)>(library, "ncclAllGather");
  auto* const sent = function<int(const void*, void*, std::size_t, int, int, void*, void*)>(library, "ncclBroadcast");
  auto* const collected =
      function<int(const void*, void*, std::size_t, int, int, int, void*, void*)>(library, "ncclReduce");
  const auto from = reinterpret_cast<void*>(std::uintptr_t{1} << 40U),
             to = reinterpret_cast<void*>(std::uintptr_t{3} << 40U);
  for (std::size_t size_B = asked.from_B; size_B <= asked.to_B; size_B *= 2) {
    const std::size_t count = size_B / kElement_B, part = count / static_cast<std::size_t>(ranks);
    int failed = reduced(from, to, count, kFloat, kSum, communicator, nullptr) |
                 sent(from, to, count, kFloat, kRoot, communicator, nullptr) |
                 collected(from, to, count, kFloat, kSum, kRoot, communicator, nullptr);
    if (part > 0)
      failed |= gathered(from, to, part, kFloat, communicator, nullptr) |
                scattered(from, to, part, kFloat, kSum, communicator, nullptr);
    if (failed != 0) throw std::runtime_error("a call of " + std::to_string(size_B) + " B failed");
  }
}

void run_rank(void* library, const UniqueId& id, int rank, int gpu, const Asked& asked) {
  select_gpu(gpu);
  void* communicator = nullptr;
  auto* const start = function<int(void**, int, UniqueId, int)>(library, "ncclCommInitRank");
  const int ranks = asked.nodes * asked.gpus;
  if (const int failed = start(&communicator, ranks, id, rank); failed != 0)
    throw std::runtime_error("rank " + std::to_string(rank) + ": NCCL fails with " + std::to_string(failed));
  call_all(library, communicator, ranks, asked);
}

/// One node: a thread a GPU. @returns  the exit code of the process
int run_node(int node, const Asked& asked, Meeting& meeting) {
  setenv("NCCL_HOSTID", ("node" + std::to_string(node)).c_str(), 1);
  if (node > 0) unsetenv("NCCL_GRAPH_DUMP_FILE");
  void* const library = load_nccl(asked.library.c_str());
  if (node == 0) {
    if (function<int(UniqueId*)>(library, "ncclGetUniqueId")(&meeting.id) != 0)
      throw std::runtime_error("no unique id");
    meeting.ready = true;
  }
  while (!meeting.ready) std::this_thread::yield();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int gpu = 0; gpu < asked.gpus; ++gpu)
    threads.emplace_back([&, gpu] {
      try {
        run_rank(library, meeting.id, node * asked.gpus + gpu, gpu, asked);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        failed = 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::fflush(nullptr);
  return failed;
}

int run(Asked asked) {
  machine() = read_machine(asked.topology);
  const int all = static_cast<int>(machine().gpus.size());
  if (asked.gpus == 0) asked.gpus = all;
  if (asked.gpus > all) throw std::runtime_error(asked.topology + " has " + std::to_string(all) + " GPUs");
  setenv("NCCL_TOPO_FILE", asked.topology.c_str(), 1);
  void* const shared = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const meeting = new (shared) Meeting;
  for (int node = 0; node < asked.nodes; ++node)
    if (fork() == 0) {
      int code = 1;
      try {
        code = run_node(node, asked, *meeting);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
      }
      _exit(code);
    }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed |= status;
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace linkcast::choices

int main(int argc, char** argv) {
  linkcast::choices::Asked asked;
  CLI::App app("What a NCCL finds and takes on a machine of a topology file; no GPU is needed, nothing is sent.",
               "linkcast-nccl-choices");
  app.add_option("--library", asked.library, "libnccl.so.2 of a wheel (nvidia-nccl-cu12)")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--topology", asked.topology, "what NCCL_TOPO_FILE would name")->required()->check(CLI::ExistingFile);
  app.add_option("--nodes", asked.nodes, "hosts of this kind")->check(CLI::Range(1, 64));
  app.add_option("--gpus", asked.gpus, "of each host; default all")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return linkcast::choices::run(asked);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
