#include "sim/base/log_line.hpp"

#include "sim/base/regex.hpp"

namespace linkcast {

std::string plain_log_line(std::string_view line) {
  static const Regex colour("\x1b\\[[0-9;?]*[A-Za-z]");
  // source: mpirun(1) --tag-output and --timestamp-output; srun(1) --label; ISO 8601; pdsh(1)
  static const Regex prefix(R"(\s*(?:\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]?:? )"
                            R"(|(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})?\[\d+,\d+\]<\w+>: ?|\d{1,6}: )(.*))");
  static const Regex host(R"([A-Za-z][\w.-]*: ?((?:\s*#|\s+\d+\s+\d+\s).*))");
  constexpr int kMostPrefixes = 4;  // a stamp, a launcher, a host and one more. source: ours
  std::string text(line);
  if (!text.empty() && text.back() == '\r') text.pop_back();
  if (text.find('\x1b') != std::string::npos) text = colour.removed_from(text);
  for (int i = 0; i < kMostPrefixes; ++i) {
    if (const Match match = prefix.whole(text))
      text = match[1];
    else if (const Match named = host.whole(text))
      text = named[1];
    else
      break;
  }
  return text;
}

}  // namespace linkcast
