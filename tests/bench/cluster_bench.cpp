// Collectives of 64, 512 and 4096 GPUs on one core: CPU seconds and peak memory, one JSON line a case, and how the
// seconds grow with the GPUs. Each case is a process of its own, so that none finds anything ready from the one before.
//   cluster_bench [how platform/operation begins, or noise/operation]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "sim/machine/catalogue.hpp"
#include "sim/query/query.hpp"
#include "tests/bench/cpu_time.hpp"

using namespace linkcast;

namespace {

constexpr int kGpusPerNode = 4;
const std::pair<std::string, double> kOperations[] = {{"alltoall", 2097152}, {"all_reduce", 1073741824}};

struct Figures {
  double seconds = -1;  ///< of the forecast, platform and fabric read included
  double forecast_s = 0;
  double classes = 0;  ///< activities of the messages; 0 of a ring or tree
  double peak_MiB = 0;
};

Json query(const std::string& platform, const std::string& op, double size_B, int gpus) {
  return {{"kind", "collective"}, {"platform", platform},         {"op", op},
          {"size_B", size_B},     {"nodes", gpus / kGpusPerNode}, {"gpus_per_node", kGpusPerNode}};
}

Figures in_this_process(const Json& asked) {
  const double start_s = bench::cpu_s();
  catalogue::Catalogue catalogue(LINKCAST_DATA_DIR);
  const Json result = query::answer(catalogue, asked);
  Figures figures;
  if (result.contains("error")) {
    std::fprintf(stderr, "%s\n", result["error"].get<std::string>().c_str());
    return figures;
  }
  figures.seconds = bench::cpu_s() - start_s;
  figures.forecast_s = result["time_s"].get<double>();
  figures.classes = result.value("classes", 0.0);
  return figures;
}

/// @returns  negative seconds if it failed
Figures measure(const Json& asked) {
  Figures figures;
  int ends[2];
  if (pipe(ends) != 0) return figures;
  std::fflush(stdout);  // else the child prints it again
  const pid_t child = fork();
  if (child == 0) {
    const Figures made = in_this_process(asked);
    const bool written = write(ends[1], &made, sizeof made) == static_cast<ssize_t>(sizeof made);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &figures, sizeof figures) != static_cast<ssize_t>(sizeof figures)) figures.seconds = -1;
  close(ends[0]);
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  figures.peak_MiB = static_cast<double>(usage.ru_maxrss) / 1024;
  return figures;
}

/// Exponent e of seconds ~ GPUs^e between two cases.
double growth(const Figures& less, int fewer, const Figures& more, int gpus) {
  return std::log(more.seconds / less.seconds) / std::log(static_cast<double>(gpus) / fewer);
}

bool measure_all(const std::string& platform, const std::string& op, double size_B) {
  Figures before;
  int fewer = 0;
  for (const int gpus : {64, 512, 4096}) {
    const Figures now = measure(query(platform, op, size_B, gpus));
    if (now.seconds < 0) return false;
    std::printf(
        "{\"case\": \"%s\", \"platform\": \"%s\", \"gpus\": %d, \"size_B\": %.0f, \"seconds\": %.3g, \"peak_MiB\": "
        "%.4g, \"classes\": %.0f, \"forecast_s\": %.6g",
        op.c_str(), platform.c_str(), gpus, size_B, now.seconds, now.peak_MiB, now.classes, now.forecast_s);
    if (fewer > 0) std::printf(", \"growth_exponent\": %.2f", growth(before, fewer, now, gpus));
    std::printf("}\n");
    std::fflush(stdout);
    before = now;
    fewer = gpus;
  }
  return true;
}

/// 200 forecasts in network noise: a sample routes nothing again, so that all of them cost a few times the first.
/// @returns  whether it worked
bool measure_noise(const std::string& op, double size_B) {
  constexpr int kGpus = 1024, kSamples = 200;
  Json noisy = query("leonardo", op, size_B, kGpus);
  const Figures quiet = measure(noisy);
  noisy["noise"] = 1;
  noisy["samples"] = kSamples;
  const Figures now = measure(noisy);
  if (quiet.seconds < 0 || now.seconds < 0) return false;
  std::printf(
      "{\"case\": \"%s, noise\", \"platform\": \"leonardo\", \"gpus\": %d, \"samples\": %d, \"seconds\": %.3g, "
      "\"quiet_seconds\": %.3g, \"of_quiet_per_sample\": %.3g, \"peak_MiB\": %.4g}\n",
      op.c_str(), kGpus, kSamples, now.seconds, quiet.seconds, (now.seconds - quiet.seconds) / kSamples / quiet.seconds,
      now.peak_MiB);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bool good = true;
  for (const std::string platform : {"alps", "leonardo", "lumi"})
    for (const auto& [op, size_B] : kOperations)
      if (bench::wanted(argc, argv, 1, platform + "/" + op)) good = measure_all(platform, op, size_B) && good;
  for (const auto& [op, size_B] : kOperations)
    if (bench::wanted(argc, argv, 1, "noise/" + op)) good = measure_noise(op, size_B) && good;
  return good ? 0 : 1;
}
