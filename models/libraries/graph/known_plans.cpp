#include "models/libraries/graph/known_plans.hpp"

#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "sim/base/index.hpp"

namespace linkcast::graph {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;  // of keys: some thousand sets of 16 GPUs. source: ours

/// All that a search reads, byte by byte. Links are numbered as paths pass them: what the machine has besides, and
/// where in it the members are, does not tell.
class Key {
 public:
  Key(const NodeModel& model, const PathTable& paths, const SearchTraits& traits)
      : model_(model), number_(model.links().size(), -1) {
    put(&traits);
    put(model.gpus());
    put(model.sm_min());
    put(model.cpu());
    put(model.has_nvswitch());
    for (int gpu = 0; gpu < model.gpus(); ++gpu) put_links(model.nodes()[at(gpu)].links);
    put_paths(paths);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <class Value>
  void put(const Value& value) {
    static_assert(std::is_scalar_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void put_all(const std::vector<int>& values) {
    put(values.size());
    for (const int value : values) put(value);
  }

  void put_links(const std::vector<int>& links) {
    put(links.size());
    for (const int link : links) put_link(link);
  }

  void put_link(int link) {
    int& number = number_[at(link)];
    const bool fresh = number < 0;
    if (fresh) number = next_++;
    put(number);
    if (!fresh) return;
    const GraphLink& what = model_.links()[at(link)];
    const NodeKind end = model_.nodes()[at(what.to)].kind;
    put(what.kind);
    put(what.bandwidth);
    put(end);
    if (what.kind == LinkKind::kPci || end == NodeKind::kCpu) put_link(model_.back(link));
  }

  void put(const Path& path) {
    put_links(path.links);
    put(path.width);
    put(path.path_class);
    put(path.peer);
    put(path.relay);
    put(path.found);
  }

  void put_paths(const PathTable& paths) {
    put(paths.nics());
    for (int from = 0; from < paths.gpus(); ++from) {
      for (int to = 0; to < paths.gpus(); ++to) put(paths.at(from, to));
      for (int nic = 0; nic < paths.nics(); ++nic) {
        put(paths.to_nic(from, nic));
        put(paths.from_nic(nic, from));
      }
      if (paths.nics() > 0) put_all(paths.local_nics(from));
    }
    for (int nic = 0; nic < paths.nics(); ++nic) put_all(paths.local_gpus(nic));
  }

  const NodeModel& model_;
  std::vector<int> number_;  ///< of each link of the model that was met
  int next_ = 0;
  std::string text_;
};

class KnownPlans {
 public:
  const ChannelPlan* find(const std::string& key) {
    const auto known = plans_.find(key);
    return known == plans_.end() ? nullptr : &known->second;
  }

  void add(std::string key, const ChannelPlan& plan) {
    if (key.size() > kMostBytes) return;
    bytes_ += key.size();
    if (bytes_ > kMostBytes) {
      plans_.clear();
      bytes_ = key.size();
    }
    plans_.try_emplace(std::move(key), plan);
  }

 private:
  std::unordered_map<std::string, ChannelPlan> plans_;
  std::size_t bytes_ = 0;
};

}  // namespace

ChannelPlan plan_of(const NodeModel& model, const PathTable& paths, const SearchTraits& traits) {
  static std::mutex guard;
  static KnownPlans known;
  std::string key = Key(model, paths, traits).take();
  {
    const std::lock_guard lock(guard);
    if (const ChannelPlan* plan = known.find(key)) return *plan;
  }
  const ChannelPlan plan = Planner(model, paths, traits).plan();
  const std::lock_guard lock(guard);
  known.add(std::move(key), plan);
  return plan;
}

}  // namespace linkcast::graph
