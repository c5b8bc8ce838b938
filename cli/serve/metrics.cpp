#include "cli/serve/metrics.hpp"

#include <algorithm>
#include <sstream>

namespace linkcast::serve {

void Metrics::count(const std::string& route, int status, double taken_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++requests_[{route, status}];
  Histogram& histogram = histograms_[route];
  const auto bound = std::lower_bound(kBounds_s.begin(), kBounds_s.end(), taken_s);
  ++histogram.counts[static_cast<std::size_t>(bound - kBounds_s.begin())];
  histogram.sum_s += taken_s;
}

std::string Metrics::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ostringstream out;
  out << "# HELP linkcast_requests_total Requests by route and HTTP status.\n"
         "# TYPE linkcast_requests_total counter\n";
  for (const auto& [key, number] : requests_)
    out << "linkcast_requests_total{route=\"" << key.first << "\",status=\"" << key.second << "\"} " << number << '\n';
  out << "# HELP linkcast_request_seconds Time from a whole request to its reply.\n"
         "# TYPE linkcast_request_seconds histogram\n";
  for (const auto& [route, histogram] : histograms_) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < kBounds_s.size(); ++i) {
      so_far += histogram.counts[i];
      out << "linkcast_request_seconds_bucket{route=\"" << route << "\",le=\"" << kBounds_s[i] << "\"} " << so_far
          << '\n';
    }
    so_far += histogram.counts.back();
    out << "linkcast_request_seconds_bucket{route=\"" << route << "\",le=\"+Inf\"} " << so_far << '\n'
        << "linkcast_request_seconds_sum{route=\"" << route << "\"} " << histogram.sum_s << '\n'
        << "linkcast_request_seconds_count{route=\"" << route << "\"} " << so_far << '\n';
  }
  return out.str();
}

}  // namespace linkcast::serve
