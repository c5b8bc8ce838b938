#pragma once
// Bus ids of PCI devices, however a tool writes them.
#include <string>
#include <string_view>

namespace linkcast {

/// "0000:1b:00.0" of "00000000:1B:00.0", "0000:1b:00.0" or "1b:00.0"; empty where the text is no bus id.
std::string pci_bus_id(std::string_view text);

}  // namespace linkcast
