#pragma once
// Copies whose times come from a closed form and seeded noise, on the wires of a P100 DGX-1.
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"

namespace linkcast::test {

/// Multiplicative noise, the same on every machine: the standard fixes the generator, Box and Muller the shape.
class Noise {
 public:
  Noise(unsigned seed, double sigma) : generator_(seed), sigma_(sigma) {}
  double operator()() {
    const double u = uniform(), v = uniform();
    return 1 + sigma_ * std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
  }
  double uniform() { return (static_cast<double>(generator_() >> 11) + 0.5) / 9007199254740992.0; }

 private:
  std::mt19937_64 generator_;
  double sigma_;
};

inline const Topology& dgx1() {
  static const Topology topology = read_topology(test::data_dir() + "/topologies/p100-dgx1.json");
  return topology;
}

inline std::string gpu(int k) { return "gpu" + std::to_string(k); }

using Time = std::function<double(int source, int target, double size_B)>;
enum class Pairs { kSelf, kPeer, kAll };

/// Copies of 1 B to 256 MiB between all such pairs.
inline Measurement sweep(const std::string& transport, Pairs pairs, const Time& time, Noise& noise,
                         int repetitions = 1) {
  Measurement m;
  m.path = "synthetic.json";
  m.topology = "p100-dgx1";
  for (double size = 1; size <= 268435456; size *= 2)
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b) {
        const bool joined = dgx1().direct(a, b) != nullptr;
        if (pairs == Pairs::kSelf ? a != b : a == b || (pairs == Pairs::kPeer && !joined)) continue;
        MeasuredPoint point;
        point.transport = transport;
        point.source = gpu(a);
        point.target = gpu(b);
        point.size_B = size;
        for (int i = 0; i < repetitions; ++i) point.time_s.push_back(time(a, b, size) * noise());
        m.points.push_back(point);
      }
  return m;
}

inline fit::FitRequest request_for(const std::vector<Measurement>& measurements) {
  fit::FitRequest request;
  request.name = "synthetic";
  request.default_library = "nccl-2.3";
  request.data_dir = ".";
  request.topology = &dgx1();
  request.measurements = measurements;
  return request;
}

}  // namespace linkcast::test
