#include "sim/engine/event_source.hpp"

#include <limits>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <utility>

#include "sim/engine/pinned_config.hpp"
#include "sim/engine/simgrid_version.hpp"
#include "sim/records/input_error.hpp"

namespace linkcast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr unsigned kEventsACheck = 256;  // source: ours, some 0.1 ms of events

thread_local bool owns_simgrid = false;
thread_local const std::function<void()>* event_check = nullptr;
thread_local unsigned events = 0;

/// SimGrid would take what is negative for the end of all events, and the run would end early.
double next_event_s(EventSource& source) {
  const double next_s = source.next_event_s();
  if (!(next_s >= source.now_s())) throw InvariantError("an event lies before the clock of its source");
  return next_s;
}

void advance(EventSource& source) {
  source.advance();
  if (event_check != nullptr && ++events % kEventsACheck == 0) (*event_check)();
}

/// What SimGrid asks and tells: how long until something happens, and that this time has passed.
class Bridge final : public simgrid::kernel::resource::Model {
 public:
  Bridge() : Model("linkcast_fluid") {}

  void attach(EventSource* source) { source_ = source; }
  [[nodiscard]] bool attached() const { return source_ != nullptr; }

  double next_occurring_event(double) override {
    if (source_ == nullptr) return kNothing;
    const double next_s = next_event_s(*source_);
    return next_s == kNever ? kNothing : next_s - source_->now_s();
  }

  // Only this model has events, so every time advance is to its next one.
  void update_actions_state(double, double) override {
    if (source_ != nullptr) linkcast::advance(*source_);
  }

 private:
  // source: simgrid/kernel/resource/Model.hpp, next_occurring_event: negative means no event
  static constexpr double kNothing = -1;
  EventSource* source_ = nullptr;
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

  // Without a zone the engine crashes. 4.x brings one.
  void make_root_zone() const {
#if SIMGRID_VERSION < 40000
    simgrid::s4u::create_full_zone("linkcast_fluid");
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
  Attachment(Bridge& bridge, EventSource& source) : bridge_(bridge) { bridge_.attach(&source); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { bridge_.attach(nullptr); }

 private:
  Bridge& bridge_;
};

}  // namespace

void run_events(EventSource& source) {
  Host& simgrid = host();
  if (!owns_simgrid || simgrid.bridge->attached()) {  // asked by what happens in another run, whose loop SimGrid is in
    while (next_event_s(source) != kNever) advance(source);
    return;
  }
  const Attachment attachment(*simgrid.bridge, source);
  simgrid.engine->run();
}

EventCheck::EventCheck(std::function<void()> check) : check_(std::move(check)), before_(event_check) {
  event_check = &check_;
}
EventCheck::~EventCheck() { event_check = before_; }

}  // namespace linkcast
