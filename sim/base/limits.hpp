#pragma once
// What one request may take of memory and time.
#include <string>

namespace linkcast::work {

inline constexpr const char* kMemoryVariable = "LINKCAST_MAX_MEMORY";
inline constexpr const char* kTimeVariable = "LINKCAST_MAX_TIME";

/// What one request may take. Of the process: options --max-memory and --max-time, else LINKCAST_MAX_MEMORY and
/// LINKCAST_MAX_TIME, else these.
struct Limits {
  double memory_B = 4294967296.0;  // source: ours, 4 GiB, what a laptop has to spare
  double time_s = 600;             // source: ours, ten minutes; who waits longer says so
};

/// Limits of this process: those of set_limits(), else of the environment.
/// @throws InputError  the environment holds no size or no time
const Limits& limits();
/// For the door of the program, before threads start.
void set_limits(const Limits& limits);
/// Of an option or of the environment, e.g. "16GiB", "2 h", "90 min", "30 s"; "none": no limit.
/// @throws InputError  neither; begins with `name`
double parse_memory_limit(const std::string& text, const std::string& name);
double parse_time_limit(const std::string& text, const std::string& name);

/// @throws InputError  so many bytes are more than Limits allow
void refuse_memory_in_use(double memory_B);

/// For messages, with the two digits that are known: "60 GiB", "31 min".
std::string memory_text(double bytes);
std::string duration_text(double seconds);
/// "4 GiB and 10 min"
std::string limit_text(const Limits& limits);

}  // namespace linkcast::work
