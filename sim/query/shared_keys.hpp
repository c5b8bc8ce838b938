#pragma once
// Rows that several kinds have.
#include "sim/catalogue/catalogue.hpp"
#include "sim/query/key.hpp"
#include "sim/records/object_reader.hpp"

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
/// What the library is told of the machine: library_topology, p2p_level.
KeyTable told_keys();
/// Of an answer that such a file entered.
Key told_result();
/// Reads these keys; what is not there stays empty. @throws InputError
void read_told(ObjectReader& r, std::string& library_topology, std::string& p2p_level);
/// The same. @param platform  with the edits. @returns  its id where libraries are told so. @throws InputError
std::string told_platform(catalogue::Catalogue& catalogue, const std::string& platform, ObjectReader& r);
/// Of told_platform(): puts told_result() where a file was given.
void put_told(catalogue::Catalogue& catalogue, const std::string& platform, Json& out);
/// bottleneck
const Key& bottleneck_result();

}  // namespace linkcast::query
