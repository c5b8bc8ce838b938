#pragma once
// Where the two processes of a benchmark of messages ran, which none of them prints: options src, dst.
#include <optional>

#include "calibrate/import/importer.hpp"

namespace linkcast {

struct MessageEnds {
  std::string source, target;
  bool between_nodes = false;
};

/// @param nodes  whether they ran on two nodes, where option between_nodes does not say it
/// @throws InputError  src or dst is missing, no device, or both are one device of one node
MessageEnds message_ends(const ImportRequest& request, bool nodes);
/// @param on_gpu  what the file prints of the buffer; nothing: it does not. @throws InputError  names option and file
void check_buffer(const std::string& option, const std::string& device, std::optional<bool> on_gpu,
                  const std::string& file);

}  // namespace linkcast
