#include "sim/engine/s4u_program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/whole_weights.hpp"

namespace linkcast {
namespace {

// The program, but for its tables. It stays a literal of its own, so that it reads as what it becomes.
constexpr char kTypes[] = R"(#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Link {
  const char* name;
  double capacity;  // bytes per second
};

struct Hop {
  int link;   // in links
  int times;  // how often a route lists it: SimGrid takes so many times the flow's rate of it
};

struct Step {
  const char* name;
  double startup;                       // seconds before its bytes begin to move
  double bytes;                         // 0: it only takes its start-up
  double most;                          // bytes per second that it has at most; 0: what its links give
  std::vector<std::vector<Hop>> parts;  // of one flow: part j has 1/256^j of its rate, and ends with the first part
  std::vector<int> after;               // steps that end before it begins
};

)";

constexpr char kRun[] = R"(
static std::vector<sg4::Host*> from, to;      // of each part of each step, in this order
static std::vector<int> first_host;           // of each step
static std::vector<sg4::SemaphorePtr> ended;  // by step: a token for each step that waits for it
static std::vector<int> waiting;              // by step: how many these are
static std::vector<sg4::CommPtr> kept;        // parts that were cancelled: SimGrid still looks at them

static double slower(std::size_t part) { return std::pow(256.0, static_cast<double>(part)); }

static void run(int number) {
  const Step& step = steps[number];
  for (int before : step.after) ended[before]->acquire();
  if (step.startup > 0) sg4::this_actor::sleep_for(step.startup);
  std::vector<sg4::CommPtr> parts;
  for (std::size_t part = 0; part < step.parts.size() && step.bytes > 0; ++part) {
    const double whole = std::fmax(1, std::round(step.bytes * units));
    const double moved = part == 0 ? whole : std::ceil(2 * whole / slower(part)) + 1;
    const int host = first_host[number] + static_cast<int>(part);
    parts.push_back(sg4::Comm::sendto_async(from[host], to[host], static_cast<std::uint64_t>(moved)));
  }
  if (!parts.empty()) parts[0]->wait();
  for (std::size_t part = 1; part < parts.size(); ++part) parts[part]->cancel();
  kept.insert(kept.end(), parts.begin(), parts.end());
  for (int i = 0; i < waiting[number]; ++i) ended[number]->release();
}

// SimGrid 3.32 and 4 name these otherwise.
#if SIMGRID_VERSION >= 40000
static sg4::Host* add_host(sg4::NetZone* zone, const std::string& name) { return zone->add_host(name, 1.0); }
static sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double capacity) {
  return zone->add_link(name, capacity);
}
static void add_route(sg4::NetZone* zone, sg4::Host* a, sg4::Host* b, const std::vector<sg4::LinkInRoute>& links) {
  zone->add_route(a, b, links);
}
#else
static sg4::Host* add_host(sg4::NetZone* zone, const std::string& name) { return zone->create_host(name, 1.0); }
static sg4::Link* add_link(sg4::NetZone* zone, const std::string& name, double capacity) {
  return zone->create_link(name, capacity);
}
static void add_route(sg4::NetZone* zone, sg4::Host* a, sg4::Host* b, const std::vector<sg4::LinkInRoute>& links) {
  zone->add_route(a->get_netpoint(), b->get_netpoint(), nullptr, nullptr, links);
}
#endif

// A pair of hosts for each part of each step, with the links that it crosses between them.
static void add_routes(sg4::NetZone* zone) {
  std::vector<const sg4::Link*> shared;
  for (const Link& link : links) {
    shared.push_back(add_link(zone, link.name, link.capacity * units)->set_latency(0)->seal());
  }
  for (const Step& step : steps) {
    first_host.push_back(static_cast<int>(from.size()));
    const std::string name = std::to_string(first_host.size() - 1);
    double all_parts = 0;
    for (std::size_t part = 0; part < step.parts.size(); ++part) all_parts += 1 / slower(part);
    const sg4::Link* most = nullptr;  // a link of its own: set_rate() is ignored between hosts
    if (step.most > 0) {
      most = add_link(zone, "most of step " + name, step.most * all_parts * units)->set_latency(0)->seal();
    }
    for (std::size_t part = 0; part < step.parts.size(); ++part) {
      std::vector<sg4::LinkInRoute> route;
      for (const Hop& hop : step.parts[part]) route.insert(route.end(), hop.times, sg4::LinkInRoute(shared[hop.link]));
      if (most != nullptr) route.emplace_back(most);
      if (part > 0) {  // its latency is its penalty, by which SimGrid divides its rate; 1e-30 of it is waited for
        const std::string id = "penalty of step " + name + " part " + std::to_string(part);
        route.emplace_back(add_link(zone, id, 1e30)->set_latency(slower(part))->seal());
      }
      from.push_back(add_host(zone, "from " + name + "." + std::to_string(part))->seal());
      to.push_back(add_host(zone, "to " + name + "." + std::to_string(part))->seal());
      if (!route.empty()) add_route(zone, from.back(), to.back(), route);
    }
  }
  zone->seal();
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  // SimGrid as a fluid model and nothing else: no share of TCP, no traffic back, events a picosecond apart.
#if SIMGRID_VERSION >= 33600
  sg4::Engine::set_config("network/model:raw");
#else
  sg4::Engine::set_config("network/model:CM02");
#endif
#if SIMGRID_VERSION >= 33500
  sg4::Engine::set_config("precision/timing:1e-12");
  sg4::Engine::set_config("precision/work-amount:1e-9");
#else
  sg4::Engine::set_config("surf/precision:1e-12");
  sg4::Engine::set_config("maxmin/precision:1e-9");
#endif
  sg4::Engine::set_config("network/TCP-gamma:1e30");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/weight-S:0");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("network/latency-factor:1e-30");
#if SIMGRID_VERSION >= 40000
  sg4::NetZone* zone = engine.get_netzone_root()->add_netzone_full("plan");
#else
  sg4::NetZone* zone = sg4::create_full_zone("plan");
#endif
  sg4::Host* actors = add_host(zone, "actors")->seal();
  add_routes(zone);
  waiting.resize(steps.size());
  for (const Step& step : steps) {
    for (int before : step.after) ++waiting[before];
    ended.push_back(sg4::Semaphore::create(0));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
#if SIMGRID_VERSION >= 40000
    actors->add_actor(steps[i].name, run, static_cast<int>(i));
#else
    sg4::Actor::create(steps[i].name, actors, run, static_cast<int>(i));
#endif
  }
  engine.run();
  const double time = sg4::Engine::get_clock();
  std::printf("plan %.15g s, by linkcast %.15g s\n", time, planned);
  if (std::fabs(forecast - planned) > 1e-9 * forecast) {
    std::printf("left out %.15g s: what the forecast has besides the plan, such as launch, start-up before it, waiting "
                "of thread blocks\n", forecast - planned);
  }
  return 0;
}
)";

std::string digits(double value) {
  char text[32];  // source: 17 digits, sign, point and exponent need 24 characters
  std::snprintf(text, sizeof text, "%.17g", value);
  double shorter = 0;
  char brief[32];
  std::snprintf(brief, sizeof brief, "%.15g", value);
  return std::sscanf(brief, "%lf", &shorter) == 1 && shorter == value ? brief : text;
}

std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", c);
    if (c < ' ' || c == '"' || c == '\\')
      out += octal;
    else
      out += static_cast<char>(c);
  }
  return out + '"';
}

/// Steps that must have ended, those included that hold a queue first: engines serve in the order of the forecast.
std::vector<std::vector<int>> predecessors(const RecordedPlan& plan) {
  const Problem& problem = plan.problem;
  std::vector<std::vector<int>> after(problem.activities.size());
  std::vector<std::vector<int>> holders(static_cast<std::size_t>(std::max(problem.queue_count, 0)));
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    after[a] = problem.activities[a].after;
    for (const int queue : problem.activities[a].queues) holders[at(queue)].push_back(static_cast<int>(a));
  }
  for (std::vector<int>& of_one : holders) {
    std::stable_sort(of_one.begin(), of_one.end(), [&](int a, int b) {
      return std::pair(plan.solution.start_s[at(a)], plan.solution.finish_s[at(a)]) <
             std::pair(plan.solution.start_s[at(b)], plan.solution.finish_s[at(b)]);
    });
    for (std::size_t i = 1; i < of_one.size(); ++i) after[at(of_one[i])].push_back(of_one[i - 1]);
  }
  for (std::vector<int>& list : after) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return after;
}

/// How many steps of the plan one behind the other lead to each.
std::vector<int> depths(const Problem& problem) {
  std::vector<int> depth(problem.activities.size(), 0);
  for (std::size_t a = 0; a < depth.size(); ++a)
    for (const int before : problem.activities[a].after) depth[a] = std::max(depth[a], depth[at(before)] + 1);
  return depth;
}

/// "gpu0 to gpu3" of a first link "gpu0->nvswitch0" and a last one "nvswitch0->gpu3".
std::string ends_of(const RecordedPlan& plan, const Activity& activity) {
  std::vector<std::string> directed;
  for (const Use& use : activity.uses)
    if (const std::string& link = plan.links[at(use.constraint)]; link.find("->") != std::string::npos)
      directed.push_back(link);
  if (directed.empty()) return activity.uses.empty() ? "" : plan.links[at(activity.uses.front().constraint)];
  const std::string& last = directed.back();
  return directed.front().substr(0, directed.front().find("->")) + " to " + last.substr(last.rfind("->") + 2);
}

std::string name_of(const RecordedPlan& plan, const std::vector<int>& depth, std::size_t activity) {
  const std::string ends = ends_of(plan, plan.problem.activities[activity]);
  return std::to_string(activity) + ": step " + std::to_string(depth[activity]) + (ends.empty() ? "" : ", " + ends);
}

std::string hops(const Problem& problem, const WholeWeights& weights, std::size_t activity) {
  const int parts = weights.parts(static_cast<int>(activity));
  std::string out = "{";
  for (int part = 0; part < parts; ++part) {
    out += part == 0 ? "{" : ", {";
    std::string separator;
    for (const Use& use : problem.activities[activity].uses) {
      out += std::exchange(separator, ", ") + "{" + std::to_string(use.constraint) + ", " +
             std::to_string(weights.times(use, parts)[at(part)]) + "}";
    }
    out += "}";
  }
  return out + "}";
}

std::string links_table(const RecordedPlan& plan, const WholeWeights& weights) {
  std::string out = "static const std::vector<Link> links = {\n";
  std::set<std::string> names;
  for (std::size_t c = 0; c < plan.links.size(); ++c) {
    std::string name = plan.links[c];
    for (int again = 2; !names.insert(name).second; ++again) name = plan.links[c] + " " + std::to_string(again);
    const double scale = weights.scale(static_cast<int>(c));
    out += "    {" + literal(name) + ", " + digits(plan.problem.capacity_Bps[c] * scale) + "},";
    if (scale != 1)
      out += "  // times " + digits(scale) + ", as all who take it, which makes their shares whole numbers";
    out += "\n";
  }
  return out + "};\n";
}

std::string steps_table(const RecordedPlan& plan, const WholeWeights& weights) {
  const std::vector<std::vector<int>> after = predecessors(plan);
  const std::vector<int> depth = depths(plan.problem);
  std::string out = "static const std::vector<Step> steps = {\n";
  for (std::size_t a = 0; a < plan.problem.activities.size(); ++a) {
    const Activity& one = plan.problem.activities[a];
    const bool moves = one.work_B > 0 && (!one.uses.empty() || !std::isinf(one.rate_cap_Bps));
    out += "    {" + literal(name_of(plan, depth, a)) + ", " + digits(one.delay_s) + ", " +
           digits(moves ? one.work_B : 0) + ", " + digits(std::isinf(one.rate_cap_Bps) ? 0 : one.rate_cap_Bps) +
           ",\n     " + hops(plan.problem, weights, a) + ", {";
    std::string separator;
    for (const int before : after[a]) out += std::exchange(separator, ", ") + std::to_string(before);
    out += "}},\n";
  }
  return out + "};\n";
}

/// Links that no step takes are no part of the program.
RecordedPlan without_idle_links(const RecordedPlan& plan) {
  RecordedPlan used{plan.problem, plan.solution, {}};
  used.problem.capacity_Bps.clear();
  std::vector<int> number(plan.problem.capacity_Bps.size(), -1);
  for (Activity& activity : used.problem.activities)
    for (Use& use : activity.uses) {
      int& known = number[at(use.constraint)];
      if (known < 0) {
        known = static_cast<int>(used.links.size());
        used.links.push_back(plan.links[at(use.constraint)]);
        used.problem.capacity_Bps.push_back(plan.problem.capacity_Bps[at(use.constraint)]);
      }
      use.constraint = known;
    }
  return used;
}

}  // namespace

std::string s4u_program(const RecordedPlan& recorded, const ProgramNotes& notes) {
  const RecordedPlan plan = without_idle_links(recorded);
  const WholeWeights weights(plan.problem);
  std::string out;
  for (const std::string& line : notes.head) out += "// " + line + "\n";
  out += kTypes;
  out += "// Time of the forecast, and of this plan in it, seconds.\nstatic const double forecast = " +
         digits(notes.forecast_s) + ";\nstatic const double planned = " + digits(plan.solution.makespan_s) + ";\n";
  out += "// SimGrid's payloads are whole numbers: they count this part of a byte.\nstatic const double units = " +
         digits(units_per_byte(plan.problem)) + ";\n\n";
  out += "// Who uses a link shares it max-min fairly.\n" + links_table(plan, weights) + "\n";
  out += "// A copy engine's steps follow each other in the order of the forecast.\n" + steps_table(plan, weights);
  return out + kRun;
}

}  // namespace linkcast
