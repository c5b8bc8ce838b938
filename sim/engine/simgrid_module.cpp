// SimGrid's main loop with our model in it: what runs long is moved by it, see event_source.hpp.
#include "sim/engine/simgrid_module.hpp"

#include <limits>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "sim/engine/simgrid_config.hpp"
#include "sim/engine/simgrid_network.hpp"
#include "sim/engine/simgrid_version.hpp"

namespace linkcast {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

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
