#include "sim/machine/schedule.hpp"

#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast {

Schedule with_parts(Schedule schedule, const std::vector<double>& parts_B, double size_B) {
  if (static_cast<int>(parts_B.size()) != schedule.blocks) throw InvariantError("a schedule of other parts");
  for (Phase& phase : schedule.phases) {
    phase.alike = false;
    phase.add = [equal = std::move(phase.add), parts_B, size_B](int round, bool /*blocks*/,
                                                                std::vector<ScheduledMessage>& out) {
      std::size_t place = out.size();
      equal(round, true, out);
      for (; place < out.size(); ++place) {
        out[place].share = 0;
        for (const int block : out[place].blocks)
          if (size_B > 0) out[place].share += parts_B[static_cast<std::size_t>(block)] / size_B;
      }
    };
  }
  return schedule;
}

}  // namespace linkcast
