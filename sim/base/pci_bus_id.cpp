#include "sim/base/pci_bus_id.hpp"

#include <cctype>

#include "sim/base/regex.hpp"

namespace linkcast {

std::string pci_bus_id(std::string_view text) {
  // source: Linux kernel, sysfs PCI: domain:bus:device.function in hexadecimal; nvidia-smi writes the domain with eight
  static const Regex form(R"((?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]))");
  constexpr std::size_t kDomain = 4;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Match match = form.whole(lower);
  if (!match) return "";
  std::string domain = match.has(1) ? match[1] : "0000";
  while (domain.size() > kDomain && domain.front() == '0') domain.erase(0, 1);
  return domain + ":" + match[2];
}

}  // namespace linkcast
