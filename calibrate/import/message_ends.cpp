#include "calibrate/import/message_ends.hpp"

#include "calibrate/import/device_names.hpp"
#include "calibrate/import/option_values.hpp"

namespace linkcast {

MessageEnds message_ends(const ImportRequest& request, bool nodes) {
  const auto src = option_text(request, "src"), dst = option_text(request, "dst");
  if (!src || !dst)
    throw InputError(
        "option src and option dst: are needed, the program does not print where it ran: src=gpu0 "
        "dst=gpu1");
  const std::string said =
      option_choice(request, "between_nodes", {"true", "false"}).value_or(nodes ? "true" : "false");
  MessageEnds ends{*src, *dst, said == "true"};
  if (!ends.between_nodes && ends.source == ends.target)
    throw InputError("option dst: is '" + ends.target +
                     "' as src: add option between_nodes=true if they are on two nodes");
  return ends;
}

void check_buffer(const std::string& option, const std::string& device, std::optional<bool> on_gpu,
                  const std::string& file) {
  const bool gpu = is_device(device, "gpu");
  if (!gpu && !is_device(device, "cpu"))
    throw InputError("option " + option + ": '" + device + "' is no device: gpu<n> or cpu<n>");
  if (on_gpu && *on_gpu != gpu)
    throw InputError("option " + option + ": '" + device + "' does not fit " + file + ", whose buffers are in " +
                     (*on_gpu ? "GPU memory: gpu<n>" : "host memory: cpu<n>"));
}

}  // namespace linkcast
