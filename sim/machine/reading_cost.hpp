#pragma once

namespace linkcast {

/// What an importer takes for a byte of its files, unpacked: CPU seconds, and memory.
struct ReadingCost {
  double byte_s, byte_B;
};

}  // namespace linkcast
