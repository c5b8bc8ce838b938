// Queries of kind place: which GPUs for a job.
#include "sim/placement/cluster_place.hpp"
#include "sim/placement/place.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::placement {
namespace {

class PlaceQuery final : public query::QueryKind {
 public:
  [[nodiscard]] Json answer(catalogue::Catalogue& catalogue, const std::string& platform_id,
                            ObjectReader& r) const override {
    if (r.has("nodes")) return place_on_nodes(catalogue, platform_id, r);
    return place(catalogue, read_place_request(catalogue, platform_id, r));
  }
};

const bool place_query_registered = query::query_kinds().add({"place", "which GPUs for a job", "docs/placement.md"},
                                                             [] { return std::make_unique<PlaceQuery>(); });

}  // namespace
}  // namespace linkcast::placement
