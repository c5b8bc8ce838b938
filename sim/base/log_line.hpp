#pragma once
// Lines of logs as people post them: what terminals and launchers put around a program's own text is taken off.
#include <string>
#include <string_view>

namespace linkcast {

/// Without terminal colours, a carriage return, and the prefixes of launchers: "[1,0]<stdout>:" of mpirun --tag-output,
/// "0: " of srun -l, a time stamp, "host: " of pdsh in front of a table. Indentation stays.
std::string plain_log_line(std::string_view line);

}  // namespace linkcast
