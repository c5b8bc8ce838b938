#pragma once
// Which shipped machines a log may be of, by what it says itself.
#include <string>
#include <vector>

#include "sim/machine/catalogue.hpp"
#include "validate/diagnosis/log.hpp"

namespace linkcast::diagnosis {

struct FoundPlatforms {
  std::vector<std::string> fits;        ///< ids of shipped machines, those with as many GPUs first
  std::string said;                     ///< "8 x NVIDIA H100 80GB HBM3 on 2 nodes"; empty: the log names no GPU
  std::vector<std::string> variants{};  ///< of these, as clouds have them: another network
  bool alike = false;                   ///< none has this very model: these have it with another memory
  bool alike_links = false;             ///< those that fit differ only in what the log does not show
};

FoundPlatforms platforms_of(catalogue::Catalogue& catalogue, const DiagnosedLog& log);

/// The network between nodes that a platform has, which no log shows; empty: it has none.
std::string network_text(const Platform& platform);

/// The log fits none of the shipped machines, or several.
class UndecidedPlatform : public InputError {
 public:
  UndecidedPlatform(std::string path, FoundPlatforms found);
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FoundPlatforms& found() const { return found_; }

 private:
  std::string path_;
  FoundPlatforms found_;
};

}  // namespace linkcast::diagnosis
