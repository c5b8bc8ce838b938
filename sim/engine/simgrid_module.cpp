// SimGrid's main loop with our model in it: what runs long is moved by it, see event_source.hpp.
#include "sim/engine/simgrid_module.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/engine/scheduler.hpp"
#include "sim/engine/simgrid_version.hpp"
#include "sim/engine/whole_weights.hpp"
#if SIMGRID_VERSION < 33500
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

namespace linkcast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Unpinned, 1 GB at 450 GB/s took 2.26 times its time, and events within 1 ns were merged.
// source: measured with SimGrid 3.32 and 4.1; tests/physics holds closed forms against them. TCP-gamma 0 drops the rate
// bound.
constexpr std::array kPinned = {
#if SIMGRID_VERSION >= 33600
    "network/model:raw",
#else
    "network/model:CM02",
#endif
#if SIMGRID_VERSION >= 33500
    "precision/timing:1e-12",     "precision/work-amount:1e-9",
#else
    "surf/precision:1e-12",       "maxmin/precision:1e-9",
#endif
    "network/optim:Lazy",         "network/TCP-gamma:1e30",     "network/crosstraffic:0", "network/weight-S:0",
    "network/bandwidth-factor:1",  // the latency factor is a callback, and SimGrid refuses both
};

/// SimGrid's engine of this process, with every default pinned that changes a time, and its notices
/// about that silenced. Call once a process: a second engine keeps the old clock.
simgrid::s4u::Engine* start_engine() {
  xbt_log_control_set("xbt_cfg.threshold:error");
  const auto on_interrupt = std::signal(SIGINT, SIG_DFL);  // SimGrid takes Ctrl-C; it belongs to the program
  auto* engine = new simgrid::s4u::Engine("linkcast");
  std::signal(SIGINT, on_interrupt);
  for (const char* option : kPinned) simgrid::s4u::Engine::set_config(option);
  return engine;
}

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

// SimGrid's penalty of a flow is its raw latency, if any of that has to be paid; otherwise 1.
// source: ours, no time against any other, but more than none: a part whose penalty counts pays it
constexpr double kPaidLatency_s = 1e-18;

/// A zone whose route, whoever asks, is that of the flow being started.
class FlatZone final : public routing::NetZoneImpl {
 public:
  explicit FlatZone(const std::string& name) : NetZoneImpl(name) {}

  void set_route(std::vector<simgrid::kernel::resource::StandardLinkImpl*> route, double raw_latency_s) {
    route_ = std::move(route);
    raw_latency_s_ = raw_latency_s;
  }

 protected:
  void get_local_route(const routing::NetPoint*, const routing::NetPoint*, routing::Route* into,
                       double* latency) override {
    into->link_list_ = route_;
    *latency = raw_latency_s_;
  }

 private:
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> route_;
  double raw_latency_s_ = 1;
};

/// Two hosts and the links between them: one a constraint, one more for each rate cap.
class Network {
 public:
  explicit Network(const Problem& problem);

  void run() const { engine_->run(); }

  /// Starts a flow of work_B > 0 bytes now: its parts, of which the first ends when it does.
  std::vector<s4u::CommPtr> start_flow(int activity);

 private:
  s4u::Host* make_host(const std::string& name);
  s4u::Link* make_link(const std::string& name, double capacity_Bps);
  void set_latency_factor();
  s4u::CommPtr start_part(const Activity& what, const std::vector<WholeWeights::Times>& times, s4u::Link* cap,
                          int part);

  const Problem& problem_;
  WholeWeights weights_;
  double units_per_byte_;
  double latency_factor_ = 0;  // of the part being started
  s4u::Engine* engine_;
  FlatZone* zone_;  // SimGrid destroys it
  s4u::Host* from_ = nullptr;
  s4u::Host* to_ = nullptr;
  std::vector<s4u::Link*> links_;             // per constraint
  std::unordered_map<int, s4u::Link*> caps_;  // per capped activity
};

Network::Network(const Problem& problem)
    : problem_(problem),
      weights_(problem),
      units_per_byte_(units_per_byte(problem)),
      engine_(start_engine()),
      zone_(new FlatZone("linkcast_flat")) {
#if SIMGRID_VERSION >= 40000
  zone_->set_parent(engine_->get_netzone_root()->get_impl());
#endif
  set_latency_factor();
  from_ = make_host("from");
  to_ = make_host("to");
  for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c) {
    links_.push_back(
        make_link("constraint" + std::to_string(c), problem.capacity_Bps[c] * weights_.scale(static_cast<int>(c))));
  }
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    const double cap_Bps = problem.activities[a].rate_cap_Bps;
    if (cap_Bps == kInfinity) continue;
    const int parts = weights_.parts(static_cast<int>(a));
    caps_[static_cast<int>(a)] = make_link("cap" + std::to_string(a), cap_Bps * WholeWeights::all_parts(parts));
  }
  zone_->get_iface()->seal();
}

s4u::Host* Network::make_host(const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return zone_->get_iface()->add_host(name, 1.0)->seal();
#else
  return zone_->get_iface()->create_host(name, 1.0)->seal();
#endif
}

s4u::Link* Network::make_link(const std::string& name, double capacity_Bps) {
#if SIMGRID_VERSION >= 40000
  s4u::Link* link = zone_->get_iface()->add_link(name, capacity_Bps * units_per_byte_);
#else
  s4u::Link* link = zone_->get_iface()->create_link(name, capacity_Bps * units_per_byte_);
#endif
  link->set_latency(0.0)->seal();
  return link;
}

/// Delays are timers of ours, so a flow that starts has none left.
void Network::set_latency_factor() {
  const auto factor = [this](double, const s4u::Host*, const s4u::Host*, const std::vector<s4u::Link*>&,
                             const std::unordered_set<s4u::NetZone*>&) { return latency_factor_; };
#if SIMGRID_VERSION >= 33500
  zone_->get_iface()->set_latency_factor_cb(factor);
#else
  zone_->get_iface()->get_network_model()->set_lat_factor_cb(factor);
#endif
}

std::vector<s4u::CommPtr> Network::start_flow(int activity) {
  const Activity& what = problem_.activities[at(activity)];
  const int parts = weights_.parts(activity);
  std::vector<WholeWeights::Times> times;
  for (const Use& use : what.uses) times.push_back(weights_.times(use, parts));
  s4u::Link* cap = what.rate_cap_Bps < kInfinity ? caps_.at(activity) : nullptr;
  std::vector<s4u::CommPtr> started;
  for (int part = 0; part < parts; ++part) started.push_back(start_part(what, times, cap, part));
  return started;
}

s4u::CommPtr Network::start_part(const Activity& what, const std::vector<WholeWeights::Times>& times, s4u::Link* cap,
                                 int part) {
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> route;
  for (std::size_t i = 0; i < what.uses.size(); ++i) {
    // A link listed w times is consumed w times
    route.insert(route.end(), static_cast<std::size_t>(times[i][at(part)]),
                 links_[at(what.uses[i].constraint)]->get_impl());
  }
  if (cap != nullptr) route.push_back(cap->get_impl());
  const double penalty = WholeWeights::slower(part);
  zone_->set_route(std::move(route), penalty);
  latency_factor_ = part == 0 ? 0 : kPaidLatency_s / penalty;
  double units = std::max(1.0, std::round(what.work_B * units_per_byte_));
  if (part > 0) units = std::ceil(2 * units / penalty) + 1;  // it moves as long as the first part does
  // The bytes come first: naming the second host starts the communication.
  s4u::CommPtr flow = s4u::Comm::sendto_init();
  flow->set_payload_size(static_cast<std::uint64_t>(units));
  return flow->set_source(from_)->set_destination(to_);
}

/// One run: who starts when, from SimGrid's callbacks.
class Run {
 public:
  explicit Run(const Problem& problem);
  Solution solve();

 private:
  void start(int activity);
  void start_flow(int activity);
  void end(int activity);
  void on_completion(const s4u::Activity& flow);
  void end_moment();
  void release_ended();

  const Problem& problem_;
  Network network_;
  Scheduler scheduler_;
  Solution solution_;
  struct Flow {
    int activity = 0;
    std::vector<s4u::CommPtr> parts{};
  };
  std::unordered_map<const s4u::Activity*, Flow> flows_;  // by their first parts
  std::vector<s4u::CommPtr> done_;                        // 3.32 needs them alive through their callback
  std::vector<s4u::CommPtr> older_;  // and what was cancelled until it has looked at what ended after that
  std::vector<int> ended_;           // in this moment
  bool moment_ends_ = false;         // a timer or release_ended() will look at ended_
};

Run::Run(const Problem& problem) : problem_(problem), network_(problem) {
  scheduler_.load(problem);
  solution_.start_s.assign(problem.activities.size(), 0);
  solution_.finish_s.assign(problem.activities.size(), 0);
  solution_.carried_B.assign(problem.capacity_Bps.size(), 0);
}

Solution Run::solve() {
  s4u::Comm::on_completion_cb([this](const s4u::Activity& flow) { on_completion(flow); });
  std::vector<int> started;
  scheduler_.begin(started);
  moment_ends_ = true;
  for (const int activity : started) start(activity);
  release_ended();
  network_.run();
  if (scheduler_.unfinished() > 0) {
    throw InvariantError(std::to_string(scheduler_.unfinished()) +
                         " activities never finish: their dependencies form a cycle");
  }
  return std::move(solution_);
}

void Run::start(int activity) {
  const double now_s = s4u::Engine::get_clock();
  solution_.start_s[at(activity)] = now_s;
  const double delay_s = problem_.activities[at(activity)].delay_s;
  if (delay_s == 0) {
    start_flow(activity);
    return;
  }
  simgrid::kernel::timer::Timer::set(now_s + delay_s, [this, activity] { start_flow(activity); });
}

void Run::start_flow(int activity) {
  const Activity& what = problem_.activities[at(activity)];
  // A communication of zero bytes does not start, so it never becomes one.
  if (what.work_B == 0 || (what.uses.empty() && what.rate_cap_Bps == kInfinity)) {
    end(activity);
    return;
  }
  std::vector<s4u::CommPtr> parts = network_.start_flow(activity);
  const s4u::Activity* first = parts.front().get();
  flows_[first] = {activity, std::move(parts)};
}

void Run::on_completion(const s4u::Activity& flow) {
  auto entry = flows_.extract(&flow);
  if (entry.empty()) return;  // another part, cancelled
  const int activity = entry.mapped().activity;
  std::vector<s4u::CommPtr>& parts = entry.mapped().parts;
  for (std::size_t part = 1; part < parts.size(); ++part) parts[part]->cancel();
  done_.insert(done_.end(), parts.begin(), parts.end());
  const Activity& what = problem_.activities[at(activity)];
  for (const Use& use : what.uses) solution_.carried_B[at(use.constraint)] += use.weight * what.work_B;
  end(activity);
}

void Run::end(int activity) {
  const double now_s = s4u::Engine::get_clock();
  solution_.finish_s[at(activity)] = now_s;
  solution_.makespan_s = now_s;
  ended_.push_back(activity);
  if (!moment_ends_) end_moment();
}

/// SimGrid reports what ends together one by one, timers first. The smallest time step later, all
/// of it is known.
void Run::end_moment() {
  moment_ends_ = true;
  const double later_s = std::nextafter(s4u::Engine::get_clock(), kInfinity);
  simgrid::kernel::timer::Timer::set(later_s, [this] { release_ended(); });
}

void Run::release_ended() {
  older_.clear();
  older_.swap(done_);
  std::vector<int> batch;
  std::vector<int> started;
  while (!ended_.empty()) {
    batch.swap(ended_);
    ended_.clear();
    scheduler_.finish(batch, started);
    for (const int activity : started) start(activity);
  }
  moment_ends_ = false;
}

Solution run_on_simgrid(const Problem& problem) {
  Run* run = new Run(problem);  // never destroyed: SimGrid keeps its callback
  return run->solve();
}

thread_local bool owns_simgrid = false;

/// What moves a source.
struct Driver {
  EventSource* source = nullptr;
  double (*next_s)(EventSource&) = nullptr;
  void (*advance)(EventSource&) = nullptr;
};

/// What SimGrid asks and tells: how long until something happens, and that this time has passed.
class Bridge final : public simgrid::kernel::resource::Model {
 public:
  Bridge() : Model("linkcast_fluid") {}

  void attach(const Driver& driver) { driver_ = driver; }
  [[nodiscard]] bool attached() const { return driver_.source != nullptr; }

  double next_occurring_event(double) override {
    if (!attached()) return kNothing;
    const double next_s = driver_.next_s(*driver_.source);
    return next_s == kNever ? kNothing : next_s - driver_.source->now_s();
  }

  // Only this model has events, so every time advance is to its next one.
  void update_actions_state(double, double) override {
    if (attached()) driver_.advance(*driver_.source);
  }

 private:
  // source: simgrid/kernel/resource/Model.hpp, next_occurring_event: negative means no event
  static constexpr double kNothing = -1;
  Driver driver_{};
};

/// SimGrid's engine with our model in it, one a process. Neither is ever destroyed: SimGrid's own
/// exit handlers run at an unknown time.
struct Host {
  std::shared_ptr<Bridge> bridge = std::make_shared<Bridge>();
  simgrid::s4u::Engine* engine = start_engine();

  Host() {
    owns_simgrid = true;
    make_root_zone();
    engine->add_model(bridge);
  }

  // Without a zone the engine crashes. 4.x brings one, but sets up its models, which it crashes without, only with
  // another.
  void make_root_zone() const {
#if SIMGRID_VERSION < 40000
    simgrid::s4u::create_full_zone("linkcast_fluid");
#else
    engine->get_netzone_root()->add_netzone_full("linkcast_fluid")->seal();
#endif
  }
};

Host& host() {
  static Host& only = *new Host;
  return only;
}

/// Lends the model a source for one run, also when the run throws.
class Attachment {
 public:
  Attachment(Bridge& bridge, const Driver& driver) : bridge_(bridge) { bridge_.attach(driver); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { bridge_.attach({}); }

 private:
  Bridge& bridge_;
};

/// A run inside another one, whose loop SimGrid is in, or of another thread than the first is not SimGrid's.
bool is_free() {
  Host& simgrid = host();
  return owns_simgrid && !simgrid.bridge->attached();
}

void run(EventSource& source, double (*next_s)(EventSource&), void (*advance)(EventSource&)) {
  Host& simgrid = host();
  const Attachment attachment(*simgrid.bridge, {&source, next_s, advance});
  simgrid.engine->run();
}

}  // namespace
}  // namespace linkcast

extern "C" [[gnu::visibility("default")]] const linkcast::SimGridModule linkcast_simgrid_module{
    linkcast::is_free, linkcast::run, linkcast::run_on_simgrid};
