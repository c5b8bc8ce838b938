#include "calibrate/bench/nccl_library.hpp"

#ifdef LINKCAST_HAS_NCCL

namespace linkcast::bench {
namespace {

/// Operations that are groups of sends and receives of one share each, as nccl-tests writes them.
void issue_messages(const Nccl& nccl, const std::string& op, std::size_t share, const NcclRank& own) {
  if (op != "alltoall" && op != "gather" && op != "scatter") throw Waived("no op '" + op + "'");
  const auto send = [&](const float* from, int peer) {
    nccl.check(nccl.send(from, share, ncclFloat, peer, own.communicator, own.stream), "ncclSend");
  };
  const auto receive = [&](float* to, int peer) {
    nccl.check(nccl.recv(to, share, ncclFloat, peer, own.communicator, own.stream), "ncclRecv");
  };
  if (op == "gather") send(own.send, 0);
  if (op == "scatter") receive(own.receive, 0);
  for (int peer = 0; peer < own.ranks; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * share;
    if (op == "alltoall" || (op == "scatter" && own.rank == 0)) send(own.send + at, peer);
    if (op == "alltoall" || (op == "gather" && own.rank == 0)) receive(own.receive + at, peer);
  }
}

}  // namespace

void issue(const Nccl& nccl, const std::string& op, std::size_t count, const NcclRank& own) {
  const std::size_t share = count / static_cast<std::size_t>(own.ranks);
  ncclComm_t comm = own.communicator;
  if (op == "all_reduce")
    nccl.check(nccl.all_reduce(own.send, own.receive, count, ncclFloat, ncclSum, comm, own.stream), "ncclAllReduce");
  else if (op == "all_gather")
    nccl.check(nccl.all_gather(own.send, own.receive, share, ncclFloat, comm, own.stream), "ncclAllGather");
  else if (op == "reduce_scatter")
    nccl.check(nccl.reduce_scatter(own.send, own.receive, share, ncclFloat, ncclSum, comm, own.stream),
               "ncclReduceScatter");
  else if (op == "broadcast")
    nccl.check(nccl.broadcast(own.send, own.receive, count, ncclFloat, 0, comm, own.stream), "ncclBroadcast");
  else if (op == "reduce")
    nccl.check(nccl.reduce(own.send, own.receive, count, ncclFloat, ncclSum, 0, comm, own.stream), "ncclReduce");
  else if (op == "sendrecv") {
    const int next = (own.rank + 1) % own.ranks, previous = (own.rank + own.ranks - 1) % own.ranks;
    nccl.check(nccl.send(own.send, count, ncclFloat, next, comm, own.stream), "ncclSend");
    nccl.check(nccl.recv(own.receive, count, ncclFloat, previous, comm, own.stream), "ncclRecv");
  } else {
    issue_messages(nccl, op, share, own);
  }
}

}  // namespace linkcast::bench

#endif
