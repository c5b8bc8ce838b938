#pragma once
// The points of logs that people have of a machine, without times.
#include <string>
#include <vector>

#include "sim/machine/catalogue.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::test {

inline MeasuredPoint copy_point(const std::string& source, const std::string& target, const std::string& transport,
                                double size_B, bool both_ways = false) {
  MeasuredPoint point;
  point.source = source;
  point.target = target;
  point.transport = transport;
  point.bidirectional = both_ways;
  if (transport == "peer" && !both_ways) point.direction = "read";
  point.size_B = size_B;
  point.time_s = {1};
  return point;
}

inline Measurement empty_log(const std::string& platform, const std::string& bench) {
  Measurement log;
  log.path = bench;
  log.topology = platform;
  log.bench = bench;
  log.timing = "back_to_back";
  return log;
}

inline int gpus_of(catalogue::Catalogue& catalogue, const std::string& platform) {
  return catalogue.machine(platform)->platform().gpu_count();
}

/// all_reduce_perf -b 8 -e 1G -f 2, one process a GPU. source: README of nccl-tests
inline Measurement nccl_tests_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  Measurement log = empty_log(platform, "nccl_tests");
  for (double size_B = 8; size_B <= 1073741824; size_B *= 2)
    for (const bool in_place : {false, true}) {
      MeasuredCollective collective;
      collective.op = "all_reduce";
      for (int gpu = 0; gpu < gpus_of(catalogue, platform); ++gpu) collective.gpus.push_back(gpu);
      collective.size_B = size_B;
      collective.in_place = in_place;
      collective.launch = "process";
      collective.time_s = {1};
      log.collectives.push_back(collective);
    }
  return log;
}

/// The five programs of nccl-tests that name a collective of NCCL, one after the other, out of place.
inline Measurement nccl_suite_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  const Measurement one = nccl_tests_log(catalogue, platform);
  Measurement log = empty_log(platform, "nccl_tests");
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})
    for (MeasuredCollective collective : one.collectives) {
      if (collective.in_place) continue;
      collective.op = op;
      log.collectives.push_back(collective);
    }
  return log;
}

/// nccl_tests_log on two nodes.
inline Measurement two_nodes_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  Measurement log = nccl_tests_log(catalogue, platform);
  for (MeasuredCollective& collective : log.collectives) collective.nodes = 2;
  return log;
}

/// The same on eight, out of place.
inline Measurement eight_nodes_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  Measurement log = nccl_tests_log(catalogue, platform);
  std::erase_if(log.collectives, [](const MeasuredCollective& collective) { return collective.in_place; });
  for (MeasuredCollective& collective : log.collectives) collective.nodes = 8;
  return log;
}

/// Whether the runtime lets these two access each other.
inline bool peers(catalogue::Catalogue& catalogue, const std::string& platform, int from, int to) {
  const Platform& machine = catalogue.machine(platform)->platform();
  return machine.peer_route(machine.gpu(from), machine.gpu(to)).has_value();
}

/// host_to_device, device_to_host and device_to_device_memcpy_read of nvbandwidth, 512 MiB.
inline Measurement nvbandwidth_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  constexpr double kBuffer_B = 536870912;
  Measurement log = empty_log(platform, "nvbandwidth");
  const int gpus = gpus_of(catalogue, platform);
  for (int from = 0; from < gpus; ++from) {
    const std::string id = "gpu" + std::to_string(from);
    log.points.push_back(copy_point("host", id, "host", kBuffer_B));
    log.points.push_back(copy_point(id, "host", "host", kBuffer_B));
    for (int to = 0; to < gpus; ++to)
      if (from != to && peers(catalogue, platform, from, to))
        log.points.push_back(copy_point(id, "gpu" + std::to_string(to), "peer", kBuffer_B));
  }
  return log;
}

/// Bandwidths and latencies with P2P off and on, 160 MB and 16 B, of p2pBandwidthLatencyTest.
inline Measurement p2p_log(catalogue::Catalogue& catalogue, const std::string& platform) {
  constexpr double kLarge_B = 1.6e8, kSmall_B = 16;
  Measurement log = empty_log(platform, "p2p_copy");
  const int gpus = gpus_of(catalogue, platform);
  for (const bool on : {false, true})
    for (int from = 0; from < gpus; ++from)
      for (int to = 0; to < gpus; ++to) {
        const bool peer = on && from != to && peers(catalogue, platform, from, to);
        const std::string transport = from == to ? "local" : peer ? "peer" : "staged";
        const std::string source = "gpu" + std::to_string(from), target = "gpu" + std::to_string(to);
        log.points.push_back(copy_point(source, target, transport, kLarge_B));
        log.points.push_back(copy_point(source, target, transport, kSmall_B));
        if (from != to) log.points.push_back(copy_point(source, target, transport, kLarge_B, true));
      }
  return log;
}

}  // namespace linkcast::test
