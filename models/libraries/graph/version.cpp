#include "models/libraries/graph/version.hpp"

namespace linkcast::graph {

double by_sm(const BySm& figures, int sm) {
  auto above = figures.upper_bound(sm);
  return above == figures.begin() ? above->second : std::prev(above)->second;
}

const std::vector<Version>& versions() {
  static const std::vector<Version> kVersions = [] {
    struct Name {
      std::string version, tag, stands_for;
    };
    const std::vector<Name> names = {{"2.7", "v2.7.8", "2.7"},
                                     {"2.8", "v2.8.4", "2.8 and 2.9"},
                                     {"2.12", "v2.12.12", "2.12 and 2.13"},
                                     {"2.14", "v2.14.3", "2.14 to 2.17"},
                                     {"2.18", "v2.18.5", "2.18 and 2.19"},
                                     {"2.20", "v2.20.5", "2.20 and 2.21"},
                                     {"2.22", "v2.22.3", "2.22"},
                                     {"2.23", "v2.23.4", "2.23 to 2.26"},
                                     {"2.27", "v2.27.7", "2.27 and 2.28"},
                                     {"2.30", "v2.30.7", "2.30"}};
    std::vector<Version> made;
    for (const auto& [version, tag, stands_for] : names)
      made.push_back({"nccl-" + version, tag, stands_for, search_traits(version), tuner_traits(version)});
    return made;
  }();
  return kVersions;
}

}  // namespace linkcast::graph
