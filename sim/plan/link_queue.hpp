#pragma once

namespace linkcast::activities {

/// Bytes/s that all of `channels` get through one link that serves their chunks one after the other. Each channel has
/// one chunk on its way at a time and gets `channel_Bps` if the link is otherwise idle; chunks find others waiting, so
/// that the link fills gradually instead of at channels x channel_Bps = link_Bps.
/// @source  mean value analysis of a closed queueing network of one server and a delay: M. Reiser and S. Lavenberg,
///          Journal of the ACM 27(2), 1980
double queued_Bps(int channels, double channel_Bps, double link_Bps);

}  // namespace linkcast::activities
