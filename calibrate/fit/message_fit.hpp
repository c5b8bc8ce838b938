#pragma once
// Messages between processes: time against size as a curve of its own, one for each class of message.
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {
// Costs of messages and copies for processes of an MPI library, where a measurement shows it directly.

/// From points of several messages or copies (MeasuredPoint::pairs, in_a_row):
/// mpi.host@LIB.post_s, mpi.gpu@LIB.post_s  one process sends n messages one after the other
/// mpi.host@LIB.nics                        many pairs of processes of one socket against one
/// mpi.staging.copy_s                       all GPUs of a node copy to or from host memory at once
/// and of any measurement of an MPI library that names its version, mpi.library@LIB.version.
/// @source  Gropp, Olson, Samfass: Modeling MPI Communication Performance on SMP Nodes, EuroMPI 2016
void fit_processes(FitContext& context, const std::vector<Measurement>& measurements);

/// A message between processes, not a copy: MPI, or a transport between nodes.
bool is_message(const Sample& sample);

/// Every repetition of every message, its transport the class:
/// mpi_socket, mpi_node or mpi_network by where the processes are, with _host for buffers of CPUs;
/// transports between nodes keep their name.
std::vector<Sample> message_samples(const Platform& wires, const std::vector<Measurement>& measurements);

/// Classes inside a node of which ping-pongs were measured for eager messages alone, by their last eager size and its
/// time as windows of messages show them.
std::map<std::string, SizePoint> eager_ends(const Platform& wires, const std::vector<Measurement>& measurements);

/// Messages and eager ends of a context.
void find_messages(FitContext& context, const std::vector<Measurement>& measurements);

/// Start-up and rate in as many ranges of size as the data ask for. Times never fall with the size: where measured ones
/// do, the curve is the closest one that does not.
/// @source  pool-adjacent-violators: Barlow et al., Statistical Inference under Order Restrictions, 1972
void fit_messages(FitContext& context);

/// Classes of messages that nothing measured here, where others were and another calibration has them; with them what
/// its libraries' processes pay, but for which version they are of.
void inherit_messages(FitContext& context);

/// Rates of accelerator cables that nothing measured here, where another calibration has one of that kind.
void inherit_cables(FitContext& context);

/// Time of one message by the fitted curve, as the simulator reads it: never below the end of an earlier range.
double message_time(const Calibration& calibration, const std::string& transport, double size_B);

}  // namespace linkcast::fit
