#pragma once
// What the host pays to issue a collective: how many calls, GPUs and sends it sees.
#include "sim/forecast/collective_job.hpp"
#include "sim/forecast/launching.hpp"

namespace linkcast::collective {

/// The call of a library of rings as its host sees it.
launch::Call call_of(const CollectiveJob& job);

/// Issued so. @param job  its own calls are made one behind the other
launch::Launching launching_of(const CollectiveJob& job, const launch::HostCosts& costs, launch::Kind kind);

}  // namespace linkcast::collective
