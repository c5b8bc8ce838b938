#pragma once
#include "validate/diagnosis/diagnose.hpp"

namespace linkcast::diagnosis {

/// Keys platform, normal (bool), verdict, why, points, judged, slow, fast, host_bound, log10_faulty_over_healthy,
/// log10_alarm, misfit, slower_at_most, levels [{part, points, times, low, high, least, chance}], next (of a log that
/// is not normal), causes [{cause, share, log10_over_healthy, parts [{part, text, times, edits}], next}], table
/// [{transport, variant, ends, size_B, measured_s, expected_s, low_s, high_s, factor, measured_Bps, expected_Bps,
/// finding}], off (its rows that are slow, fast or host-bound), unanswered.
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
/// Why it is faulty, or what is not known; empty where it is normal.
std::string why_text(const Diagnosis& diagnosis);
/// "peer copy_engine read 1.25 times (a healthy machine: to 1.13)", of a log that is slow without a known cause.
std::vector<std::string> odd_texts(const Diagnosis& diagnosis);
/// Whether causes share so much of the likelihood that the log does not separate them.
bool undecided(const std::vector<RankedKind>& kinds);
/// Measured against expected: a row a size of each curve, and each slow point of copies.
std::string table_text(const Diagnosis& diagnosis);

}  // namespace linkcast::diagnosis
