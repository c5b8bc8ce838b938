#pragma once
#include "validate/diagnosis/diagnose.hpp"

namespace linkcast::diagnosis {

/// Keys platform, normal (bool), verdict, points, slow, fast, host_bound, log10_faulty_over_healthy,
/// log10_alarm, misfit, levels [{part, points, times, low, high, least, chance}], next (of a log that is not normal),
/// causes
/// [{cause, share, log10_over_healthy, parts [{part, text, times, edits}], next}], off [{transport, variant, ends,
/// size_B, measured_s, expected_s, low_s, high_s, factor, measured_Bps, expected_Bps, finding}], unanswered.
Json to_json(const Diagnosis& diagnosis);

/// Of the kinds of faults in their order those that the log cannot rule out.
std::vector<RankedKind> likely_kinds(const Ranking& ranking);
/// The same; none of a normal log.
std::vector<RankedKind> likely_kinds(const Diagnosis& diagnosis);
Json to_json(const RankedKind& kind);
/// "gpu3" or, where the log cannot tell which, "one of 8 (gpu0, gpu1, ...)".
std::string parts_text(const RankedKind& kind);
bool names_one(const RankedKind& kind);
/// "gpu3 slower 1.37 times"
std::string fit_text(const RankedKind& kind);
/// What to run next; empty: nothing, it is normal.
std::string next_step(const Diagnosis& diagnosis);
/// "peer copy_engine read 1.25 times (a healthy machine: to 1.13)", of a log that is slow without a known cause.
std::vector<std::string> odd_texts(const Diagnosis& diagnosis);
/// What a normal log cannot tell: by how much all of it may be slower; empty where nothing was judged.
std::string blind_text(const Diagnosis& diagnosis);
/// The points that tell most: those slow or fast by themselves, then those that the likeliest fault changes most.
std::vector<std::size_t> telling_points(const Diagnosis& diagnosis, const Bench& bench, std::size_t most);

}  // namespace linkcast::diagnosis
