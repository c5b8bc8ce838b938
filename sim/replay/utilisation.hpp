#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/replay/network.hpp"
#include "sim/replay/summary.hpp"

namespace linkcast::replay {

/// How busy ranks and links were over time, in at most kMostBins bins of equal width: when they are full, two become
/// one.
class Utilisation final : public ReplayObserver {
 public:
  static constexpr std::size_t kMostBins = 200;

  /// @param summary  of the same replay
  Utilisation(const ReplaySummary& summary, std::size_t ranks, ReplayNetwork& network);

  [[nodiscard]] double looks_at_s() const override;
  void looks(double now_s) override;
  /// Of the last, partly filled bin. @param end_s  when the last event ended
  void close(double end_s);

  [[nodiscard]] double bin_s() const { return bin_s_; }
  [[nodiscard]] std::size_t bins() const { return bins_; }
  struct Link {
    std::vector<double> carried_B{};  ///< by bin
    double capacity_Bps = 0, until_now_B = 0;
  };
  [[nodiscard]] const std::map<std::string, Link>& links() const { return links_; }
  /// {bin_s, ranks: [{compute, communication, exposed}], links: {id: []}}: shares of each bin.
  [[nodiscard]] Json to_json() const;

 private:
  struct Rank {
    RankTimes until_now{};
    std::vector<double> compute_s{}, communication_s{}, exposed_s{};  ///< by bin
  };
  void fill(double now_s);
  void merge();

  const ReplaySummary& summary_;
  ReplayNetwork& network_;
  double bin_s_;
  std::size_t bins_ = 0;
  std::vector<Rank> ranks_;
  std::map<std::string, Link> links_;
};

}  // namespace linkcast::replay
