// How often `linkcast diagnose` is right: synthetic faults with measured noise, N of each class, platform and log.
// diagnose_faults [N [SEED [LOG [PLATFORM]]]] prints the tables of docs/diagnose-accuracy.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/support/paths.hpp"
#include "tests/support/synthetic_faults.hpp"

namespace linkcast::test {
namespace {

const std::vector<std::string> kPlatforms = {"hgx-h100",  "dgx-a100",         "hgx-h200", "v100-dgx1", "p100-dgx1",
                                             "a100-pcie", "a100-pcie-nvlink", "rtx-4090", "lassen"};
const std::vector<std::string> kClasses = {"lost links",
                                           "PCIe width or generation",
                                           "P2P off",
                                           "NVLS off",
                                           "wrong NUMA",
                                           "slow GPU",
                                           "protocol or algorithm",
                                           "channels",
                                           "thermal or power cap",
                                           "slow GPU by 10 %",
                                           "link slower by 10 %"};
const std::vector<std::string> kClusters = {"abci-a100", "dgx-a100",  "hgx-h100", "leonardo",
                                            "alps",      "abci-v100", "summit"};
const std::vector<std::string> kBetween = {
    "NIC or rail",        "network between nodes",  "GPUDirect off",    "lost links",
    "slow GPU",           "start-up between nodes", "network not used", "protocol or algorithm",
    "some adapters used", "route collision",        "ACS or IOMMU"};
/// Healthy ones: of every generation and maker, measured by us, by others, or not at all.
const std::vector<std::string> kSystems = {
    "a100-pcie", "a100-pcie-nvlink", "a3-mega",   "abci-a100", "abci-v100", "alps",     "dgx-a100", "dgx-b200", "dgx2",
    "h100-pcie", "hgx-b300",         "hgx-h100",  "hgx-h20",   "hgx-h200",  "l40s",     "lassen",   "leonardo", "lumi",
    "mi300x",    "nd-h100-v5",       "p100-dgx1", "p4d",       "p5en",      "rtx-4090", "summit",   "v100-dgx1"};
const std::vector<std::string> kSystemsBetween = {"a3-mega",  "abci-a100", "abci-v100", "alps",     "dgx-a100",
                                                  "dgx-b200", "dgx2",      "h100-pcie", "hgx-b300", "hgx-h100",
                                                  "hgx-h200", "leonardo",  "lumi",      "mi300x",   "nd-h100-v5",
                                                  "p4d",      "p5en",      "p6-b200",   "summit",   "v100-dgx1"};
struct Kind {
  const char* name;
  Measurement (*log)(catalogue::Catalogue&, const std::string&);
  const std::vector<std::string>*platforms, *classes;  ///< of faults; none: healthy machines alone
  const std::vector<std::string>* healthy;
};
const std::vector<Kind> kKinds = {
    {"nccl-tests", nccl_tests_log, &kPlatforms, &kClasses, &kSystems},
    {"nccl-tests of five operations", nccl_suite_log, &kPlatforms, &kClasses, &kPlatforms},
    {"nccl-tests of two nodes", two_nodes_log, &kClusters, &kBetween, &kSystemsBetween},
    {"nccl-tests of eight nodes", eight_nodes_log, nullptr, nullptr, &kSystemsBetween},
    {"nvbandwidth", nvbandwidth_log, &kPlatforms, &kClasses, &kPlatforms},
    {"p2pBandwidthLatencyTest", p2p_log, &kPlatforms, &kClasses, &kPlatforms}};

struct Score {
  int normal = 0;         ///< verdict
  int normal_beyond = 0;  ///< normal though three neighbouring sizes are slower than what normal excludes
  int cases = 0, found = 0, first = 0, tied = 0, allowed = 0, allowed_found = 0, allowed_tied = 0;
  std::map<std::string, int> taken_for;  ///< of those found, first where it is not recognised
  std::vector<double> missed;  ///< sizes of faults that were called normal although the noise allows to find them

  void add(const SyntheticLab::Case& one) {
    ++cases;
    const Recognised right = recognised(one.found, one.truth.name);
    found += one.found.faulty() ? 1 : 0;
    normal += one.found.normal() ? 1 : 0;
    normal_beyond += one.found.normal() && one.slower > diagnosis::kNotNormal ? 1 : 0;
    first += right.first ? 1 : 0;
    tied += right.tied ? 1 : 0;
    allowed += one.allowed ? 1 : 0;
    allowed_found += one.allowed && one.found.faulty() ? 1 : 0;
    allowed_tied += one.allowed && right.tied ? 1 : 0;
    if (one.found.faulty() && !right.tied)
      ++taken_for[one.found.known_cause ? std::string(diagnosis::text_of(one.found.ranking.kinds.front().kind))
                                        : "no known cause"];
    if (one.allowed && !one.found.faulty()) missed.push_back(std::exp(one.size) - 1);
  }
};

std::string share(int part, int whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100.0 * part / std::max(whole, 1));
  return whole > 0 ? text : "-";
}

std::string missed_text(std::vector<double> missed) {
  if (missed.empty()) return "-";
  std::sort(missed.begin(), missed.end());
  char text[64];
  std::snprintf(text, sizeof text, "%.0f %%, %.0f %%", 100 * missed[missed.size() / 2], 100 * missed.back());
  return text;
}

/// What it is taken for most often.
std::string taken_text(const std::map<std::string, int>& taken_for) {
  const auto most = std::max_element(taken_for.begin(), taken_for.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == taken_for.end() ? "-" : most->first + " " + std::to_string(most->second);
}

const char* size_range(double size) {
  const double slower = std::exp(size) - 1;
  return slower < 0.06   ? "1 below 6 %"
         : slower < 0.15 ? "2 6 to 15 %"
         : slower < 0.3  ? "3 15 to 30 %"
         : slower < 1    ? "4 30 to 100 %"
                         : "5 twice and more";
}

void print(const std::string& title, const std::map<std::string, Score>& rows) {
  std::printf(
      "\n| %s | cases | found | recognised | alone first | noise allows | of those found | recognised | missed: "
      "median, largest | named instead | normal though 1.5 times slower |\n",
      title.c_str());
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |\n");
  for (const auto& [name, score] : rows) {
    if (score.cases == 0) continue;
    std::printf("| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n", name.c_str(), score.cases,
                share(score.found, score.cases).c_str(), share(score.tied, score.cases).c_str(),
                share(score.first, score.cases).c_str(), share(score.allowed, score.cases).c_str(),
                share(score.allowed_found, score.allowed).c_str(), share(score.allowed_tied, score.allowed).c_str(),
                missed_text(score.missed).c_str(), taken_text(score.taken_for).c_str(), score.normal_beyond);
  }
}

bool among(const std::vector<std::string>* some, const std::string& one) {
  return some != nullptr && std::find(some->begin(), some->end(), one) != some->end();
}

/// Verdicts on healthy machines: a row a system, a column a log.
void print_healthy(const std::map<std::string, std::map<std::string, Score>>& systems) {
  std::printf("\n| healthy: normal, cannot tell, faulty |");
  for (const Kind& kind : kKinds) std::printf(" %s |", kind.name);
  std::printf("\n| --- |");
  for (std::size_t k = 0; k < kKinds.size(); ++k) std::printf(" ---: |");
  std::map<std::string, Score> all;
  const auto row = [](const std::string& name, const std::map<std::string, Score>& logs) {
    std::printf("\n| %s |", name.c_str());
    for (const Kind& kind : kKinds) {
      const auto found = logs.find(kind.name);
      if (found == logs.end()) {
        std::printf(" - |");
        continue;
      }
      const Score& score = found->second;
      std::printf(" %d, %d, %d |", score.normal, score.cases - score.normal - score.found, score.found);
    }
  };
  for (const auto& [system, logs] : systems) {
    row(system, logs);
    for (const auto& [name, score] : logs) {
      all[name].cases += score.cases;
      all[name].normal += score.normal;
      all[name].found += score.found;
    }
  }
  row("all", all);
  std::printf("\n");
}

int run(int cases, unsigned seed, const std::string& only, const std::string& only_platform) {
  catalogue::Catalogue catalogue(test::data_dir());
  std::map<std::string, Score> by_class, by_size, detail;
  std::map<std::string, std::map<std::string, Score>> healthy;
  for (const Kind& kind : kKinds) {
    if (!only.empty() && only != kind.name) continue;
    std::vector<std::string> platforms = *kind.healthy;
    if (kind.platforms != nullptr)
      for (const std::string& platform : *kind.platforms)
        if (!among(&platforms, platform)) platforms.push_back(platform);
    for (const std::string& platform : platforms) {
      if (!only_platform.empty() && only_platform != platform) continue;
      SyntheticLab lab(catalogue, platform, kind.log(catalogue, platform));
      Random of_healthy(seed);
      for (int k = 0; among(kind.healthy, platform) && k < 5 * cases; ++k)
        healthy[platform][kind.name].add(*lab.draw("healthy", of_healthy));
      for (const std::string& name : among(kind.platforms, platform) ? *kind.classes : std::vector<std::string>()) {
        Random random(seed);
        for (int k = 0; k < cases; ++k) {
          const auto one = lab.draw(name, random);
          if (!one) continue;
          by_class[name].add(*one);
          detail[name + ", " + kind.name].add(*one);
          by_size[size_range(one->size)].add(*one);
        }
      }
      std::cerr << platform << ' ' << kind.name << '\n';
    }
  }
  print("class", by_class);
  print("class and log", detail);
  print("slowest point is slower by", by_size);
  print_healthy(healthy);
  return 0;
}

}  // namespace
}  // namespace linkcast::test

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 20;
  return linkcast::test::run(cases, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1, argc > 3 ? argv[3] : "",
                             argc > 4 ? argv[4] : "");
}
