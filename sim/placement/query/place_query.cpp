// Queries of kind place: which GPUs for a job.
#include "sim/forecast/query_kind.hpp"
#include "sim/placement/place.hpp"

namespace linkcast {
namespace {

class PlaceQuery final : public QueryKind {
 public:
  [[nodiscard]] Json answer(Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) const override {
    return place(catalogue, read_place_request(catalogue, platform_id, r));
  }
};

const bool registered = query_kinds().add({"place", "which GPUs for a job", "docs/placement.md"},
                                          [] { return std::make_unique<PlaceQuery>(); });

}  // namespace
}  // namespace linkcast
