#pragma once
// A NIC that says how it moves bytes: reads of GPU memory by requests, receiving by packets, work for every message.
// Figures of a design, with a source, as the nominal rates of cables are.
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast {

struct NicEngine {
  Bytes read_request;        ///< data that one request to a GPU asks for
  Seconds read_interval;     ///< between two requests
  Bytes read_window;         ///< asked for ahead of the data; 0: one packet at a time, each started anew
  Seconds head_latency;      ///< from a request to its first byte
  Seconds transmit_start;    ///< card's own work before the first request of a message
  BytesPerSecond gpu_read;   ///< that the GPU answers with
  BytesPerSecond host_read;  ///< of host memory, by plain DMA
  Bytes packet;              ///< on the wire; a message is received in whole ones
  Seconds message_overhead;  ///< of the host for every message sent
  Seconds staged_overhead;   ///< the same where it copies the message out of a GPU first, without the bytes
  std::string source;

  /// Rate at which GPU memory is read once the first byte is there. The window is asked for in two halves, the next one
  /// when the first byte of the last one has come: a cycle of both takes no less than one latency and half the window.
  [[nodiscard]] BytesPerSecond steady_read() const;
  /// Bytes that the card must take in for a message.
  [[nodiscard]] double whole_packets_B(double bytes) const;

  /// Whatever the card does itself takes `factor` times as long; what the host does for a message does not.
  void slow_down(double factor);

  /// Every figure by its name in the topology file, SI.
  [[nodiscard]] std::vector<std::pair<std::string, double>> figures() const;
  /// Sets a figure by its name in the topology file. @returns false if there is no such figure
  bool set(const std::string& name, const std::string& text);
};

NicEngine read_nic_engine(ObjectReader r);

}  // namespace linkcast
