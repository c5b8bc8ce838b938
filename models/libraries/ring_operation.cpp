#include "models/libraries/ring_operation.hpp"

#include <optional>

#include "sim/machine/collective.hpp"

namespace linkcast {
namespace {

std::optional<RingOperation> kind_of(const Collective& op) {
  const CollectiveTraits traits = op.traits();
  if (traits.parts != PartSizes::kEqual) return std::nullopt;
  if (op.shape() == Shape::kRing && !traits.root) {
    if (traits.reduces && traits.gathers) return RingOperation::kAllReduce;
    if (traits.gathers) return RingOperation::kAllGather;
    if (traits.reduces) return RingOperation::kReduceScatter;
  }
  if (op.shape() == Shape::kChain && traits.root && !traits.gathers)
    return traits.reduces ? RingOperation::kReduce : RingOperation::kBroadcast;
  return std::nullopt;
}

}  // namespace

RingOperation ring_operation(const std::string& library, const std::string& operation) {
  const Collective* op = collectives().find(operation);
  const auto kind = op == nullptr ? std::nullopt : kind_of(*op);
  if (kind) return *kind;
  std::string known;
  for (const std::string& name : collectives().names())
    if (kind_of(collectives().get(name))) known += (known.empty() ? "" : ", ") + name;
  throw InputError("op: " + library + " runs no rings and trees for " + operation + ": it has " + known);
}

}  // namespace linkcast
