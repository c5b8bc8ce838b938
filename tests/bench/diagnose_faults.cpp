// How often `linkcast diagnose` is right: synthetic faults with measured noise, N of each class, platform and log.
// diagnose_faults [N [SEED [LOG]]] prints the tables of docs/diagnose.md.
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
const std::vector<std::string> kClasses = {
    "healthy",          "lost links",         "PCIe width or generation", "P2P off",  "NVLS off",
    "wrong NUMA",       "slow GPU",           "protocol or algorithm",    "channels", "thermal or power cap",
    "slow GPU by 10 %", "link slower by 10 %"};
const std::vector<std::string> kClusters = {"abci-a100", "dgx-a100",  "hgx-h100", "leonardo",
                                            "alps",      "abci-v100", "summit"};
const std::vector<std::string> kBetween = {"healthy",    "NIC or rail", "network between nodes",  "GPUDirect off",
                                           "lost links", "slow GPU",    "start-up between nodes", "network not used"};
struct Kind {
  const char* name;
  const std::vector<std::string>* platforms;
  const std::vector<std::string>* classes;
  Measurement (*log)(catalogue::Catalogue&, const std::string&);
};
const std::vector<Kind> kKinds = {{"nccl-tests", &kPlatforms, &kClasses, nccl_tests_log},
                                  {"nccl-tests of five operations", &kPlatforms, &kClasses, nccl_suite_log},
                                  {"nccl-tests of two nodes", &kClusters, &kBetween, two_nodes_log},
                                  {"nvbandwidth", &kPlatforms, &kClasses, nvbandwidth_log},
                                  {"p2pBandwidthLatencyTest", &kPlatforms, &kClasses, p2p_log}};

struct Score {
  int normal = 0;         ///< verdict
  int normal_beyond = 0;  ///< normal though some point is slower by more than what normal excludes
  int cases = 0, unseen = 0, found = 0, first = 0, tied = 0, allowed = 0, allowed_found = 0, allowed_tied = 0;
  std::map<std::string, int> taken_for;  ///< of those found, first where it is not recognised
  std::vector<double> missed;  ///< sizes of faults that were called normal although the noise allows to find them

  void add(const SyntheticLab::Case& one) {
    ++cases;
    const Recognised right = recognised(one.found, one.truth.name);
    found += one.found.faulty() ? 1 : 0;
    normal += one.found.normal() ? 1 : 0;
    normal_beyond += one.found.normal() && one.size > std::log(diagnosis::kNotNormal) ? 1 : 0;
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
      "median, largest | taken for | normal though 1.5 times slower |\n",
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

int run(int cases, unsigned seed, const std::string& only) {
  catalogue::Catalogue catalogue(test::data_dir());
  std::map<std::string, Score> by_class, by_size, healthy, detail;
  for (const Kind& kind : kKinds)
    for (const std::string& platform : *kind.platforms) {
      if (!only.empty() && only != kind.name) continue;
      SyntheticLab lab(catalogue, platform, kind.log(catalogue, platform));
      for (const std::string& name : *kind.classes) {
        Random random(seed);
        const bool whole = name == "healthy";
        for (int k = 0; k < (whole ? 5 * cases : cases); ++k) {
          const auto one = lab.draw(name, random);
          Score& cell = detail[name + ", " + kind.name];
          if (!one) {
            ++cell.unseen;
            ++by_class[name].unseen;
            continue;
          }
          if (whole) {
            healthy[platform + ", " + kind.name].add(*one);
            continue;
          }
          by_class[name].add(*one);
          cell.add(*one);
          by_size[size_range(one->size)].add(*one);
        }
      }
      std::cerr << platform << ' ' << kind.name << '\n';
    }
  print("class", by_class);
  print("class and log", detail);
  print("slowest point is slower by", by_size);
  std::printf(
      "\n| healthy | cases | normal | cannot tell | faulty | taken for |\n| --- | ---: | ---: | ---: | ---: | --- |\n");
  Score all;
  const auto row = [](const std::string& name, const Score& score) {
    std::printf("| %s | %d | %d | %d | %d | %s |\n", name.c_str(), score.cases, score.normal,
                score.cases - score.normal - score.found, score.found, taken_text(score.taken_for).c_str());
  };
  for (const auto& [name, score] : healthy) {
    row(name, score);
    all.cases += score.cases;
    all.normal += score.normal;
    all.found += score.found;
  }
  row("all", all);
  return 0;
}

}  // namespace
}  // namespace linkcast::test

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 20;
  return linkcast::test::run(cases, argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1, argc > 3 ? argv[3] : "");
}
