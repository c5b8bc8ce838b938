#pragma once
// Rows that several kinds have.
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/query/key.hpp"

namespace linkcast::query {

/// noise, samples, service_level: the traffic that a message or an operation between nodes meets.
const KeyTable& noise_keys();
/// allocation, allocation_seed, beside: other jobs on the same fabric.
const KeyTable& job_keys();
/// What the answer says of noise.
const KeyTable& noise_results();
/// time_s, time_low_s, time_high_s
const KeyTable& interval_results();
/// explain, and what it adds to an answer.
Key explain_key();
Key terms_result();
bool read_explain(ObjectReader& r);
/// gpus, or nodes and gpus_per_node.
const KeyTable& member_keys();
/// library
Key library_key();
/// A user's schedule of a collective. @param help  what it does to this kind of query
Key algorithm_file_key(const std::string& help);
/// Classes of path, as NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL name them, best first.
const std::vector<std::string>& path_classes();
/// The topology that the library is given in place of the machine's own: library_topology, p2p_level.
KeyTable library_topology_keys();
/// Key of an answer that depends on such a file: library_topology_sha256.
Key library_topology_result();
/// Reads library_topology_keys(); a key that is not there stays empty. @throws InputError
void read_library_topology(ObjectReader& r, std::string& library_topology, std::string& p2p_level);
/// Reads library_topology_keys(). @param machine  with the edits. @returns  the machine that libraries see so;
/// `machine` itself where the query has none of the keys. @throws InputError
catalogue::MachinePtr read_library_topology(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine,
                                            ObjectReader& r);
/// Puts library_topology_result() where the machine's libraries were given a file.
void put_library_topology(const catalogue::Machine& machine, Json& out);
/// bottleneck
const Key& bottleneck_result();

}  // namespace linkcast::query
