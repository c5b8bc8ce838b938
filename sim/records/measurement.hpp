#pragma once
// Raw results of a micro-benchmark on one machine. Append-only; every repetition is kept.
#include <optional>
#include <string>
#include <vector>

#include "sim/records/object_reader.hpp"
#include "sim/units/quantity.hpp"

namespace linkcast {

/// One timed transfer, all its repetitions.
struct MeasuredPoint {
  std::string source;          ///< device id; "host" for pinned host memory of the device's own socket
  std::string target;          ///< device id or "host"
  std::string transport;       ///< local, peer, relay, staged, host
  std::string via;             ///< relaying device; empty unless relay
  std::string direction;       ///< read: the target's engine pulls; write: the source's pushes; empty: not known
  bool bidirectional = false;  ///< both directions at once; size_B is then the payload of one direction
  std::string engine = "ce";   ///< ce: copy engine; sm: kernel
  bool pageable = false;       ///< host copies: memory that the driver must pin piece by piece
  double size_B = 0;
  std::vector<double> time_s;  ///< per copy, one entry a repetition (or one entry: a printed mean)
};

/// Several copies that started together.
struct MeasuredFlows {
  std::string pattern;  ///< same_source, ring, all_to_all, ...
  struct Flow {
    std::string source, target;
    double size_B = 0;
  };
  std::vector<Flow> flows;
  std::string engine;                             ///< ce or sm
  std::string direction;                          ///< as in MeasuredPoint
  std::vector<double> time_s;                     ///< the slowest flow, one entry a repetition
  std::vector<std::vector<double>> flow_times_s;  ///< per flow, then per repetition
};

struct Measurement {
  std::string path;  ///< where it was read from
  std::string sha256;
  std::string id;
  std::string machine;   ///< id of the machine it was taken on, e.g. p100-dgx1
  std::string topology;  ///< topology whose device ids it uses
  std::string bench;     ///< p2p_copy, ...
  std::string source;    ///< where the figures come from
  std::string timing;    ///< back_to_back (time per copy in a queue of copies) or single (one copy)
  std::vector<std::string> notes;
  std::vector<MeasuredPoint> points;
  std::vector<MeasuredFlows> flows;
  int waived = 0;  ///< points that the machine could not run
};

/// Reads schema "measurement/1".
/// A point gives exactly one of `time_s` (seconds, an array) or `bandwidth_Bps` (an array; time = size_B x
/// payload_count / bandwidth, payload_count 1 unless given: printed local copies count read and write).
/// @throws InputError
Measurement read_measurement(const std::string& path);

}  // namespace linkcast
