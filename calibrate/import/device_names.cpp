#include "calibrate/import/device_names.hpp"

#include <fmt/format.h>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/option_values.hpp"

namespace linkcast {

bool is_device(const std::string& text, const std::string& kind) {
  if (!text.starts_with(kind)) return false;
  const auto number = whole_number(std::string_view(text).substr(kind.size()));
  return number && text == fmt::format("{}{}", kind, *number);
}

DeviceNames::DeviceNames(const ImportRequest& request)
    : gpus_(option_gpus(request, "gpus").value_or(std::vector<int>{})) {}

int DeviceNames::number(int printed) const {
  if (gpus_.empty()) return printed;
  if (printed >= static_cast<int>(gpus_.size()))
    throw InputError(fmt::format("option gpus: names {} GPUs, the files print device {}", gpus_.size(), printed));
  return gpus_[static_cast<std::size_t>(printed)];
}

std::string DeviceNames::note() const {
  if (gpus_.empty()) return "assumed: printed device n is gpu<n> of the topology; option gpus says otherwise.";
  std::string list;
  for (const int gpu : gpus_) list += fmt::format(" {}", gpu);
  return "Printed devices 0, 1, ... are gpu" + list + " of the topology: said by option gpus.";
}

ImportOption DeviceNames::option() {
  return {"gpus", "numbers of the topology's GPUs in the order of the printed devices: 0,1,3,2 (default: as printed)"};
}

}  // namespace linkcast
