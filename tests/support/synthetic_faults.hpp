#pragma once
// Machines with a known fault, "measured" by the simulator with the noise of real measurements.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "sim/base/parse.hpp"
#include "sim/machine/library.hpp"
#include "sim/query/query.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/synthetic_logs.hpp"
#include "validate/diagnosis/noise.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::test {

/// A machine as it really is, drawn at random; the diagnosis is not told.
struct Truth {
  std::string name;
  std::vector<std::string> edits;
  std::function<void(Json&)> twist{};
};

using Random = std::mt19937_64;

inline int below(Random& random, std::size_t count) {
  return static_cast<int>(std::uniform_int_distribution<std::size_t>(0, count - 1)(random));
}
/// Even in ln: slight faults are as likely as bad ones.
inline double times_between(Random& random, double low, double high) {
  return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random));
}

/// Draws faults of a class on a platform; nothing where the class is not possible there.
class Faults {
 public:
  Faults(catalogue::Catalogue& catalogue, const std::string& platform)
      : catalogue_(catalogue), platform_(catalogue.machine(platform)->platform()) {}

  std::optional<Truth> draw(const std::string& name, Random& random) {
    if (name == "healthy") return Truth{name, {}, {}};
    if (name == "lost links") return links(random);
    if (name == "PCIe width or generation") return pcie(random);
    if (name == "P2P off") return peers_off(random);
    if (name == "NVLS off") return forced(name, "nvls", false);
    if (name == "wrong NUMA") return numa(random);
    if (name == "slow GPU") return Truth{name, {slow_gpu(random, times_between(random, 1.15, 4))}, {}};
    if (name == "slow GPU by 10 %") return Truth{"slow GPU", {slow_gpu(random, 1 / 0.9)}, {}};
    if (name == "link slower by 10 %") return link_slower(random);
    if (name == "protocol or algorithm") return protocol(random);
    if (name == "channels") return parameters(name, times_between(random, 1.5, 8), false);
    if (name == "thermal or power cap") return cap(random);
    if (name == "NIC or rail") return nic(random);
    if (name == "network between nodes") return network(random);
    if (name == "start-up between nodes") return startup(random);
    if (name == "network not used") return sockets(random);
    if (name == "some adapters used") return rails(random);
    if (name == "route collision") return collision(random);
    if (name == "ACS or IOMMU") return iommu();
    if (name == "GPUDirect off") return Truth{name, {"disable gpudirect"}, {}};
    throw std::runtime_error("no class of faults '" + name + "'");
  }

 private:
  [[nodiscard]] std::string gpu(Random& random) const {
    return "gpu" + std::to_string(below(random, static_cast<std::size_t>(platform_.gpu_count())));
  }
  [[nodiscard]] std::string slow_gpu(Random& random, double times) const {
    return "slow " + gpu(random) + ":" + Json(times).dump();
  }
  [[nodiscard]] const Device& device(int index) const {
    return platform_.wiring().devices[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::vector<Cable> cables(CableFamily family) const {
    std::vector<Cable> found;
    for (const Cable& cable : platform_.wiring().cables) {
      const bool gpu = device(cable.a).kind == DeviceKind::kGpu || device(cable.b).kind == DeviceKind::kGpu;
      if (gpu && is_of_family(cable.kind, family)) found.push_back(cable);
    }
    return found;
  }
  std::optional<Truth> links(Random& random) {
    const auto all = cables(CableFamily::kAccelerator);
    if (all.empty()) return std::nullopt;
    const Cable& cable = all[static_cast<std::size_t>(below(random, all.size()))];
    const int lost = 1 + below(random, static_cast<std::size_t>(cable.count));
    return Truth{"lost links", {"remove " + cable.id + (lost < cable.count ? ":" + std::to_string(lost) : "")}, {}};
  }
  std::optional<Truth> link_slower(Random& random) {
    const auto all = cables(CableFamily::kAccelerator);
    if (all.empty()) return std::nullopt;
    return Truth{"lost links", {"scale " + all[static_cast<std::size_t>(below(random, all.size()))].id + ":0.9"}, {}};
  }
  std::optional<Truth> pcie(Random& random) {
    const auto all = cables(CableFamily::kPcie);
    if (all.empty()) return std::nullopt;
    const Cable& cable = all[static_cast<std::size_t>(below(random, all.size()))];
    const int generation = cable_generation(cable.kind);
    std::vector<std::string> edits;
    for (const char* share : {"0.5", "0.25", "0.125"}) edits.push_back("scale " + cable.id + ":" + share);
    for (int older = generation - 1; older > 0; --older)
      edits.push_back("swap " + cable.id + ":pcie" + std::to_string(older));
    return Truth{"PCIe width or generation", {edits[static_cast<std::size_t>(below(random, edits.size()))]}, {}};
  }
  std::optional<Truth> peers_off(Random& random) {
    const int what = below(random, 3);
    const std::string one = gpu(random);
    const Platform& machine = platform_;
    return Truth{"P2P off", {}, [what, one, &machine](Json& query) {
                   if (query["kind"] == "collective") query["edits"].push_back("disable p2p");
                   if (query.value("transport", "") != "peer") return;
                   const auto socket = [&](const char* end) {
                     return machine.socket_of(*machine.topology().find(query[end].get<std::string>()));
                   };
                   if (what == 1 && query["src"] != one && query["dst"] != one) return;
                   if (what == 2 && socket("src") == socket("dst")) return;
                   query["transport"] = "staged";
                   query.erase("direction");
                   query.erase("engine");
                 }};
  }
  static Truth forced(const std::string& name, const std::string& key, const Json& value) {
    return {name, {}, [key, value](Json& query) {
              if (query["kind"] == "collective") query[key] = value;
            }};
  }
  std::optional<Truth> protocol(Random& random) {
    const int what = below(random, 4);
    const char* words[] = {"LL", "LL128", "Simple", "tree"};
    return forced("protocol or algorithm", what < 3 ? "protocol" : "algorithm", words[what]);
  }
  /// One adapter slower or lost.
  std::optional<Truth> nic(Random& random) {
    std::vector<std::pair<std::string, std::string>> nics;  // and their cables
    for (const Cable& cable : platform_.wiring().cables)
      for (const int end : {cable.a, cable.b})
        if (device(end).kind == DeviceKind::kNic) nics.emplace_back(device(end).id, cable.id);
    if (nics.empty()) return std::nullopt;
    const auto& [id, cable] = nics[static_cast<std::size_t>(below(random, nics.size()))];
    const double times = times_between(random, 1.15, 4);
    if (below(random, 3) == 0) return Truth{"NIC or rail", {"remove " + cable}, {}};
    return Truth{"NIC or rail", {"slow " + id + ":" + Json(times).dump()}, {}};
  }
  [[nodiscard]] std::vector<std::string> nics() const {
    std::vector<std::string> ids;
    for (const Device& one : platform_.wiring().devices)
      if (one.kind == DeviceKind::kNic) ids.push_back(one.id);
    return ids;
  }
  /// Fewer than there are, as NCCL_IB_HCA may say.
  std::optional<Truth> rails(Random& random) {
    const std::size_t all = nics().size();
    if (all < 2) return std::nullopt;
    return Truth{"NIC or rail", {"nics " + std::to_string(1 + below(random, all - 1))}, {}};
  }
  /// The flows of two rails share one link of the network: half of the rate each, start-ups as they should be.
  std::optional<Truth> collision(Random& random) {
    const std::vector<std::string> all = nics();
    if (all.size() < 2) return std::nullopt;
    const auto first = static_cast<std::size_t>(below(random, all.size() - 1));
    return Truth{"NIC or rail", {"slow " + all[first] + ":2", "slow " + all[first + 1] + ":2"}, {}};
  }
  /// NICs at switches reach GPUs through the CPU, and the library does not see it.
  std::optional<Truth> iommu() const {
    std::vector<std::string> edits;
    for (const Cable& cable : platform_.wiring().cables) {
      const bool first = device(cable.a).kind == DeviceKind::kNic;
      const Device &nic = device(first ? cable.a : cable.b), &at = device(first ? cable.b : cable.a);
      if (nic.kind != DeviceKind::kNic || at.kind == DeviceKind::kCpu || at.kind == DeviceKind::kGpu) continue;
      const int cpu = platform_.socket_of(*platform_.topology().find(nic.id));
      edits.push_back("remove " + cable.id);
      edits.push_back("add " + nic.id + "-" + platform_.topology().devices[static_cast<std::size_t>(cpu)].id + ":" +
                      cable.kind);
    }
    if (edits.empty()) return std::nullopt;
    return Truth{"ACS or IOMMU", edits, [](Json& query) { query["gdr_level"] = "SYS"; }};
  }
  /// Every port slower: one generation older or half of the lanes, or less.
  std::optional<Truth> network(Random& random) {
    if (!platform_.wiring().fabric.is_object()) return std::nullopt;
    const auto cable = platform_.wiring().fabric["links"]["host"]["cable"].get<std::string>();
    const double times = below(random, 2) == 0 ? 2 : times_between(random, 1.15, 4);
    return Truth{"network between nodes", {"scale " + cable + ":" + Json(1 / times).dump()}, {}};
  }
  /// Steps between nodes of every protocol and of every algorithm that has its own.
  template <class Step>
  [[nodiscard]] std::vector<std::string> steps(Step step_s) const {
    constexpr double kTabled_s = 19e-6;  // source: NCCL, tuning.cc, NVLSTree between nodes
    const std::string family = library_family(usual_library(platform_.topology()));
    std::vector<std::string> edits;
    const auto add = [&](const std::string& rest, double prior_s) {
      const std::string name = family + "." + rest;
      const auto found = platform_.calibration().parameters.find(name);
      const double expected_s = found == platform_.calibration().parameters.end() ? prior_s : found->second.value;
      edits.push_back("set " + name + "=" + Json(step_s(expected_s)).dump() + "s");
    };
    for (const LibraryRow& row : key::network_hop.all())
      add(std::string(row.subject) + "." + std::string(row.what), row.prior->value);
    for (const char* algorithm : {"nvls_tree", "pat", "collnet_chain", "collnet_direct"})
      add(std::string(algorithm) + ".network_hop_s", kTabled_s);
    return edits;
  }
  /// Longer by a time, as a busy proxy thread or a plug-in makes all of them.
  std::optional<Truth> startup(Random& random) {
    const double more_s = times_between(random, 10e-6, 100e-6);
    return Truth{"start-up between nodes", steps([more_s](double expected_s) { return expected_s + more_s; }), {}};
  }
  /// TCP on one port of 10 to 100 Gb/s, through host memory.
  std::optional<Truth> sockets(Random& random) {
    const Json& port = platform_.wiring().fabric["links"]["host"];
    const auto nics = std::count_if(platform_.wiring().devices.begin(), platform_.wiring().devices.end(),
                                    [](const Device& one) { return one.kind == DeviceKind::kNic; });
    const double share = times_between(random, 0.9e9, 9e9) /
                         (static_cast<double>(nics) * parse_bandwidth(port["bandwidth"].get<std::string>()).si);
    const double more_s = times_between(random, 20e-6, 60e-6);
    std::vector<std::string> edits = steps([more_s](double expected_s) { return expected_s + more_s; });
    edits.push_back("scale " + port["cable"].get<std::string>() + ":" + Json(share).dump());
    if (platform_.wiring().gpudirect_rdma) edits.emplace_back("disable gpudirect");
    return Truth{"network not used", edits, {}};
  }
  std::optional<Truth> numa(Random& random) {
    std::vector<std::string> cpus;
    for (const Device& one : platform_.topology().devices)
      if (one.kind == DeviceKind::kCpu) cpus.push_back(one.id);
    const std::string id = cpus[static_cast<std::size_t>(below(random, cpus.size()))];
    return Truth{"wrong NUMA", {}, [id](Json& query) {
                   if (query.value("transport", "") != "host") return;
                   for (const char* end : {"src", "dst"})
                     if (query[end].get<std::string>().rfind("cpu", 0) == 0) query[end] = id;
                 }};
  }
  /// Thread blocks slower, and with latencies all that multiprocessors do.
  [[nodiscard]] Truth parameters(const std::string& name, double times, bool latencies) const {
    Truth truth{name, {}, {}};
    for (const auto& [key, parameter] : platform_.calibration().parameters) {
      if (key.rfind("nccl.", 0) != 0 || key.rfind("nccl.network", 0) == 0) continue;
      const bool rate = key.find(".channel_Bps") != std::string::npos;
      const bool time = key.find(".base_s") != std::string::npos || key.find(".hop_s") != std::string::npos;
      if (!rate && !(latencies && time)) continue;
      const double value = rate ? parameter.value / times : parameter.value * times;
      truth.edits.push_back("set " + key + "=" + Json(value).dump() + (rate ? "B/s" : "s"));
    }
    return truth;
  }
  std::optional<Truth> cap(Random& random) {
    const double times = times_between(random, 1.15, 3);
    if (below(random, 2) == 0) return parameters("thermal or power cap", times, true);
    Truth truth{"thermal or power cap", {}, {}};
    for (int k = 0; k < platform_.gpu_count(); ++k)
      truth.edits.push_back("slow gpu" + std::to_string(k) + ":" + Json(times).dump());
    return truth;
  }

  catalogue::Catalogue& catalogue_;
  const Platform& platform_;
};

/// Draws what healthy machines differ by: forecast and box as their intervals say, figures as measurements scatter.
class NoiseDraw {
 public:
  explicit NoiseDraw(const std::vector<diagnosis::Judged>& points) {
    const auto n = static_cast<Eigen::Index>(points.size());
    Eigen::MatrixXd model(n, n), figures(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j) {
        const diagnosis::Covariance both =
            covariance(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)], i == j);
        model(i, j) = both.model + (i == j ? kNothing : 0);
        figures(i, j) = both.figures;
      }
    model_ = model.llt().matrixL();
    figures_ = figures.llt().matrixL();
  }
  /// ln(measured / what the machine would take).
  std::vector<double> operator()(Random& random) const {
    std::normal_distribution<> normal;
    std::chi_squared_distribution<> square(diagnosis::kNoiseFreedom);
    const double noisy = std::sqrt(diagnosis::kNoiseFreedom / square(random));  // this log, beside the others
    const auto draw = [&] {
      Eigen::VectorXd values(model_.rows());
      for (double& value : values) value = normal(random);
      return values;
    };
    const Eigen::VectorXd sum = model_ * draw() + noisy * (figures_ * draw());
    return {sum.begin(), sum.end()};
  }

 private:
  static constexpr double kNothing = 1e-10;  // the model's covariance is of low rank
  Eigen::MatrixXd model_, figures_;
};

/// One machine, one kind of log.
class SyntheticLab {
 public:
  SyntheticLab(catalogue::Catalogue& catalogue, const std::string& platform, const Measurement& log)
      : catalogue_(catalogue),
        bench_(catalogue, platform, {}, log),
        faults_(catalogue, platform),
        noise_(judged(all_places())),
        healthy_(judged(bench_.judged())) {}

  struct Case {
    Truth truth;
    double slower = 1;     ///< than without the fault, in three neighbouring sizes
    double size = 0;       ///< the largest ln(time with the fault / time without) of a point that is not host-bound
    bool allowed = false;  ///< who knew this fault and tested for nothing else would find it, with as many false alarms
    diagnosis::Diagnosis found;
  };
  /// @returns nothing where the class is not possible here, or no point shows it
  std::optional<Case> draw(const std::string& name, Random& random) {
    const auto truth = faults_.draw(name, random);
    if (!truth) return std::nullopt;
    const std::vector<validate::ComparedPoint>& points = bench_.comparison().points;
    std::vector<double> times;
    for (const validate::ComparedPoint& point : points) {
      const double time_s = truth->edits.empty() && !truth->twist ? point.predicted_s : forecast(point, *truth);
      if (!std::isfinite(time_s)) return std::nullopt;
      times.push_back(time_s);
    }
    Case one{*truth, slower(times), 0, false, {}};
    for (const std::size_t place : bench_.judged())
      one.size = std::max(one.size, std::abs(std::log(times[place] / points[place].predicted_s)));
    constexpr double kUnseen = 1e-3;  // as of the diagnosis
    if (one.size < kUnseen && name != "healthy") return std::nullopt;
    const std::vector<double> noise = noise_(random), whole = times;
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = printed(points[i], times[i] * std::exp(noise[i]));
    one.allowed = name != "healthy" && allows(whole, times, random);
    one.found = bench_.diagnose(times);
    return one;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> all_places() const {
    std::vector<std::size_t> places(bench_.comparison().points.size());
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  [[nodiscard]] std::vector<diagnosis::Judged> judged(const std::vector<std::size_t>& places) const {
    std::vector<diagnosis::Judged> all;
    for (const std::size_t place : places) all.push_back(diagnosis::judged(bench_.comparison().points[place]));
    return all;
  }
  [[nodiscard]] double slower(const std::vector<double>& times) const {
    std::vector<validate::ComparedPoint> points = bench_.comparison().points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].measured_s = times[i];
      points[i].low_s = points[i].predicted_s;
    }
    const std::vector<diagnosis::Finding> fine(points.size(), diagnosis::Finding::kFine);
    const auto classes = diagnosis::size_classes(points, bench_.judged(), fine);
    const diagnosis::SizeClass* worst = diagnosis::least_sure(classes);
    return worst == nullptr ? 1 : worst->slower;
  }
  /// Coordinates of ln of these times over the expected ones.
  [[nodiscard]] Eigen::VectorXd white(const std::vector<double>& times) const {
    const std::vector<std::size_t>& places = bench_.judged();
    Eigen::VectorXd values(static_cast<Eigen::Index>(places.size()));
    for (std::size_t k = 0; k < places.size(); ++k)
      values[static_cast<Eigen::Index>(k)] =
          std::log(times[places[k]] / bench_.comparison().points[places[k]].predicted_s);
    return healthy_.coordinates(values);
  }
  /// The most powerful test there is: likelihood with this very fault over likelihood without.
  [[nodiscard]] bool allows(const std::vector<double>& with_fault, const std::vector<double>& measured,
                            Random& random) const {
    constexpr int kDraws = 400;
    const Eigen::VectorXd fault = white(with_fault);
    const auto ratio = [&](const Eigen::VectorXd& seen) {
      return healthy_.log_likelihood(seen - fault)[0] - healthy_.log_likelihood(seen)[0];
    };
    const double here = ratio(white(measured));
    int above = 0;
    for (int k = 0; k < kDraws; ++k) above += ratio(healthy_.draw(random)) >= here ? 1 : 0;
    return above < (diagnosis::kFalseAlarm + diagnosis::kOddAlarm) * kDraws;
  }
  [[nodiscard]] double forecast(const validate::ComparedPoint& point, const Truth& truth) {
    Json query = point.query;
    query["edits"] = truth.edits;
    if (truth.twist) truth.twist(query);
    Json result = query::answer(catalogue_, query);
    if (result.contains("error") && query.value("transport", "") == "peer") {
      query["transport"] = "staged";
      query.erase("direction");
      query.erase("engine");
      result = query::answer(catalogue_, query);
    }
    return result.contains("error") ? NAN : result.at("time_s").get<double>();
  }
  /// Two decimals, of microseconds or GB/s.
  static double printed(const validate::ComparedPoint& point, double time_s) {
    const bool rate = point.query["kind"] != "collective" && point.size_B > 65536;
    const double shown = std::round((rate ? point.moved_B / time_s / 1e9 : time_s * 1e6) * 100) / 100;
    if (shown <= 0) return time_s;
    return rate ? point.moved_B / (shown * 1e9) : shown / 1e6;
  }

  catalogue::Catalogue& catalogue_;
  diagnosis::Bench bench_;
  Faults faults_;
  NoiseDraw noise_;
  diagnosis::HealthyNoise healthy_;
};

/// Whether this kind of fault is ranked first, or as likely as the first for all that the log tells.
struct Recognised {
  bool first = false, tied = false;
};
inline Recognised recognised(const diagnosis::Diagnosis& found, const std::string& name) {
  Recognised result;
  if (!found.known_cause) return result;
  const double best = found.ranking.kinds.front().log_ratio;
  for (const diagnosis::RankedKind& kind : found.ranking.kinds) {
    if (text_of(kind.kind) != name) continue;
    result.first = kind.kind == found.ranking.kinds.front().kind;
    result.tied = best - kind.log_ratio < std::log(diagnosis::kSameEvidence);
  }
  return result;
}

}  // namespace linkcast::test
