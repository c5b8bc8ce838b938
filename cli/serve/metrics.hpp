#pragma once
// What a service counts, in the text format of Prometheus.
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace linkcast::serve {

/// Several threads may use it at once.
class Metrics {
 public:
  /// @param route  one of few: never what a client made up. @param taken_s  from the request to the reply
  void count(const std::string& route, int status, double taken_s);
  /// @source  Prometheus, Exposition formats: text format version 0.0.4
  [[nodiscard]] std::string text() const;

 private:
  // Upper bounds of the histogram, seconds. source: ours, around the 5 ms that a placement may take
  static constexpr std::array<double, 12> kBounds_s = {0.0005, 0.001, 0.002, 0.003, 0.005, 0.01,
                                                       0.02,   0.05,  0.1,   0.5,   1,     10};
  struct Histogram {
    std::array<std::uint64_t, kBounds_s.size() + 1> counts{};  ///< each in one; the last beyond all bounds
    double sum_s = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Histogram> histograms_;
};

}  // namespace linkcast::serve
