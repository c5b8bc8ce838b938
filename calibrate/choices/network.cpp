// A network plugin of NCCL that lists the NICs of the topology file and moves nothing. Version 6 of the interface,
// which 2.13 to 2.30 read. source: NVIDIA/nccl, ext-net/README.md
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "calibrate/choices/shared.hpp"

namespace {

struct Properties {
  char* name;
  char* path;
  std::uint64_t guid;
  int pointers;
  int speed_Mbps;
  int port;
  float latency_us;
  int most_connections;
  int most_receives;
};

constexpr int kSuccess = 0, kSystemError = 2;
constexpr int kHostMemory = 1, kGpuMemory = 2;
constexpr std::size_t kHandle_B = 64;
constexpr int kMostConnections = 65536, kMostReceives = 8;  // source: NCCL's InfiniBand transport

int init(void (* /*log*/)(int, unsigned long, const char*, int, const char*, ...)) {
  return linkcast_nics() > 0 ? kSuccess : kSystemError;
}
int devices(int* count) {
  *count = linkcast_nics();
  return kSuccess;
}
int properties(int nic, Properties* out) {
  const int pointers = kHostMemory | (linkcast_nic_direct(nic) != 0 ? kGpuMemory : 0);
  *out = {strdup(linkcast_nic_name(nic)),
          strdup(linkcast_nic_path(nic)),
          static_cast<std::uint64_t>(nic) + 1,
          pointers,
          linkcast_nic_speed_Mbps(nic),
          1,
          0,
          kMostConnections,
          kMostReceives};
  return kSuccess;
}
void* something() { return std::malloc(1); }
int listen(int /*nic*/, void* handle, void** out) {
  std::memset(handle, 0, kHandle_B);
  *out = something();
  return kSuccess;
}
int connect(int /*nic*/, void* /*handle*/, void** out) { return *out = something(), kSuccess; }
int accept(void* /*listening*/, void** out) { return *out = something(), kSuccess; }
int add_memory(void* /*connection*/, void* /*data*/, int /*size*/, int /*kind*/, void** out) {
  return *out = something(), kSuccess;
}
int add_buffer(void* /*connection*/, void* /*data*/, std::size_t /*size*/, int /*kind*/, std::uint64_t /*offset*/,
               int /*fd*/, void** out) {
  return *out = something(), kSuccess;
}
int drop_memory(void* /*connection*/, void* memory) { return std::free(memory), kSuccess; }
int send(void* /*connection*/, void* /*data*/, int /*size*/, int /*tag*/, void* /*memory*/, void** request) {
  return *request = something(), kSuccess;
}
int receive(void* /*connection*/, int /*n*/, void** /*data*/, int* /*sizes*/, int* /*tags*/, void** /*memory*/,
            void** request) {
  return *request = something(), kSuccess;
}
int flush(void* /*connection*/, int /*n*/, void** /*data*/, int* /*sizes*/, void** /*memory*/, void** request) {
  return *request = nullptr, kSuccess;
}
int test(void* /*request*/, int* done, int* /*size*/) { return *done = 1, kSuccess; }
int end(void* connection) { return std::free(connection), kSuccess; }

struct Plugin {
  const char* name;
  decltype(&init) init_;
  decltype(&devices) devices_;
  decltype(&properties) properties_;
  decltype(&listen) listen_;
  decltype(&connect) connect_;
  decltype(&accept) accept_;
  decltype(&add_memory) add_memory_;
  decltype(&add_buffer) add_buffer_;
  decltype(&drop_memory) drop_memory_;
  decltype(&send) send_;
  decltype(&receive) receive_;
  decltype(&flush) flush_;
  decltype(&test) test_;
  decltype(&end) end_send, end_receive, end_listen;
};

}  // namespace

extern "C" {
extern Plugin ncclNetPlugin_v6;
Plugin ncclNetPlugin_v6{"IB",        init, devices, properties, listen, connect, accept, add_memory, add_buffer,
                        drop_memory, send, receive, flush,      test,   end,     end,    end};
}
