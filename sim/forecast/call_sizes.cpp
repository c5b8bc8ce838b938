#include "sim/forecast/call_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/index.hpp"
#include "sim/plan/request.hpp"

namespace linkcast::collective {
namespace {

/// A list of sizes, one for each rank, at a place in the query.
void read_row(const Json& list, int ranks, const std::string& file, const std::string& pointer,
              std::vector<double>& parts_B) {
  if (!list.is_array() || static_cast<int>(list.size()) != ranks)
    throw InputError(file, pointer, fmt::format("must be an array of {} sizes, one for each rank", ranks));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double part = list[i].is_number() ? list[i].get<double>() : -1;
    if (!(part >= 0) || part > kLargest_B || part != std::floor(part))
      throw InputError(file, fmt::format("{}/{}", pointer, i), "must be a whole number of bytes from 0 to 2^53");
    parts_B.push_back(part);
  }
}

std::vector<double> read_parts(PartSizes which, int ranks, ObjectReader& r) {
  const Json& list = r.raw("sizes_B");
  const std::string pointer = r.pointer("sizes_B");
  std::vector<double> parts_B;
  if (which == PartSizes::kOfRanks) {
    read_row(list, ranks, r.file(), pointer, parts_B);
    return parts_B;
  }
  if (!list.is_array() || static_cast<int>(list.size()) != ranks)
    r.fail("sizes_B", fmt::format("must be an array of {} rows, what each rank sends to each", ranks));
  for (std::size_t i = 0; i < list.size(); ++i)
    read_row(list[i], ranks, r.file(), fmt::format("{}/{}", pointer, i), parts_B);
  return parts_B;
}

/// The largest buffer of a rank.
double largest_B(PartSizes which, const std::vector<double>& parts_B, int ranks) {
  if (which == PartSizes::kOfRanks) return std::accumulate(parts_B.begin(), parts_B.end(), 0.0);
  double largest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double sends = 0, receives = 0;
    for (int other = 0; other < ranks; ++other) {
      sends += parts_B[at(rank * ranks + other)];
      receives += parts_B[at(other * ranks + rank)];
    }
    largest = std::max({largest, sends, receives});
  }
  return largest;
}

}  // namespace

SizedCall::SizedCall(const std::string& op, int ranks, ObjectReader& r) : op_(&collectives().get(op)) {
  if (!r.has("sizes_B")) {
    size_B_ = activities::read_size(r, "size_B");
    return;
  }
  const PartSizes which = op_->traits().parts;
  if (which == PartSizes::kEqual) r.fail("sizes_B", "the parts of " + op + " are equal: give size_B");
  if (r.has("size_B")) r.fail("sizes_B", "says all sizes: without size_B");
  std::vector<double> parts_B = read_parts(which, ranks, r);
  size_B_ = largest_B(which, parts_B, ranks);
  own_ = op_->with_parts(std::move(parts_B));
  op_ = own_.get();
}

}  // namespace linkcast::collective
