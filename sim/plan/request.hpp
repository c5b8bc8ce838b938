#pragma once
// What a query asks, read strictly from JSON.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::activities {

/// GPU or CPU by id; none: it is no such device.
std::optional<int> usable_device(const Platform& platform, const std::string& id);
/// GPU or CPU by id. @throws InputError  with the known ids
int device_by_id(const Platform& platform, const std::string& id, const ObjectReader& r, const std::string& key);

/// Optional keys of the query that become part of a transfer: engine (copy_engine, sm), direction (read, write).
MoveBy read_engine(ObjectReader& r);
std::optional<bool> read_direction(ObjectReader& r);

/// A size in bytes: a whole number from 1 to 2^53.
bool is_size(double bytes);
/// @throws InputError  it is none
double read_size(ObjectReader& r, const std::string& key);
double checked_size(const ObjectReader& r, const std::string& key, double size);

/// GPU numbers, at least `least`, all different, all on the platform.
std::vector<int> read_gpus(ObjectReader& r, const Platform& platform, int least);

}  // namespace linkcast::activities
