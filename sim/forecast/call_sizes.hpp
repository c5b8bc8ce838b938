#pragma once
// How much a call of a collective moves, as a query says it.
#include <memory>
#include <string>

#include "sim/base/object_reader.hpp"
#include "sim/machine/collective.hpp"

namespace linkcast::collective {

/// An operation with what is known about its sizes.
class SizedCall {
 public:
  /// Keys size_B, or sizes_B: bytes of each rank's part, or row by row what each rank sends each.
  /// @throws InputError  both or none, a wrong number of them, an operation whose parts are equal
  SizedCall(const std::string& op, int ranks, ObjectReader& r);
  [[nodiscard]] const Collective& op() const { return *op_; }
  /// In the nccl-tests sense: the larger of the send and the receive buffer, of the rank that has most.
  [[nodiscard]] double size_B() const { return size_B_; }

 private:
  const Collective* op_;
  std::unique_ptr<Collective> own_;  ///< with parts of its own
  double size_B_ = 0;
};

}  // namespace linkcast::collective
