#include "cli/serve/service.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <new>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/serve/kubernetes.hpp"
#include "sim/base/file_error.hpp"
#include "sim/base/quick_json.hpp"

namespace linkcast::serve {
namespace {

constexpr std::size_t kMostNodes = 20000;  // ours: twice the nodes of the largest machine that we know
constexpr std::size_t kMostName = 253;     // source: RFC 1123, length of a host name as Kubernetes limits it
constexpr const char* kNodes = "/v1/nodes";

struct Endpoint {
  const char* path;
  const char* method;
};
constexpr Endpoint kRoutes[] = {{"/healthz", "GET"},
                                {"/readyz", "GET"},
                                {"/metrics", "GET"},
                                {"/v1/platforms", "GET"},
                                {"/v1/nodes", "GET"},
                                {"/v1/place", "POST"},
                                {"/v1/query", "POST"},
                                {"/v1/slurm/nodes", "GET"},
                                {"/v1/slurm/place", "POST"},
                                {"/v1/kubernetes/filter", "POST"},
                                {"/v1/kubernetes/prioritize", "POST"}};

bool names_node(const std::string& path) { return path.rfind(std::string(kNodes) + "/", 0) == 0; }

/// As metrics name it: none that a client could make up.
std::string route_of(const std::string& path) {
  if (names_node(path)) return std::string(kNodes) + "/NAME";
  for (const Endpoint& route : kRoutes)
    if (path == route.path) return path;
  return "other";
}

/// What a load balancer asks, who has no token.
bool is_open(const std::string& route) { return route == "/healthz" || route == "/readyz"; }

/// In a time that does not say how much of it was right.
bool same(const std::string& sent, const std::string& wanted) {
  unsigned differs = sent.size() == wanted.size() ? 0U : 1U;
  for (std::size_t i = 0; i < sent.size(); ++i)
    differs |= static_cast<unsigned char>(sent[i]) ^ static_cast<unsigned char>(wanted[i % wanted.size()]);
  return differs == 0;
}

/// What follows the name of the scheme, in any case (RFC 7235, section 2.1); empty: another scheme.
std::string bearer_of(const std::string& authorization) {
  static const std::string kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return "";
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return "";
  return authorization.substr(kScheme.size());
}

std::string text_of(const Json& value) { return write_quickly(value) + "\n"; }

/// Control characters of what a client sent made harmless.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string node_name(const std::string& path) {
  const std::string name = path.substr(std::string(kNodes).size() + 1);
  const bool good = !name.empty() && name.size() <= kMostName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
  if (!good)
    throw InputError(std::string(kNodes) + ": a node's name has letters, digits, '-', '.' and '_', 253 at most");
  return name;
}

}  // namespace

Service::Service(const std::string& data_dir, const ServiceOptions& options)
    : options_(options),
      nodes_(options.state),
      slurm_nodes_(options.slurm),
      log_(options.log),
      workers_(data_dir, options.platforms, options.workers) {
  workers_.each([&, first = true](Placer& placer) mutable {
    if (std::exchange(first, false))
      for (const auto& [name, state] : *nodes_.all())
        static_cast<void>(placer.node_state(state, options.state + " node " + name));
  });
}

void Service::warm(const std::string& job, log::Progress& progress) {
  log::Work work(progress, "serve: warming " + job, "placements");
  long before = 0;
  workers_.each([&](Placer& placer) {
    for (const std::string& platform : placer.served()) {
      Placer::Warming warming(placer, platform, job);
      while (warming.next()) work.advance(before + warming.done());
      before += warming.done();
    }
  });
}

void Service::warm_while_idle(const std::string& job) {
  workers_.while_idle(
      [job, number = std::size_t{0}, warming = std::optional<Placer::Warming>()](Placer& placer) mutable {
        if (number >= placer.served().size()) return false;
        if (!warming) warming.emplace(placer, placer.served()[number], job);
        bool more = false;
        try {
          more = warming->next();
        } catch (const InputError&) {  // one GPU, or no library for it
        }
        if (more) return true;
        warming.reset();
        return ++number < placer.served().size();
      });
}

HttpReply Service::answer(HttpRequest request) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string route = route_of(request.path);
  const HttpReply reply = caught(route, request);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  metrics_.count(route, reply.status, taken.count());
  log_.add(request.method, route, reply.status, taken.count(), request.body.size(), reply.body.size());
  return reply;
}

HttpReply Service::caught(const std::string& route, HttpRequest& request) {
  try {
    return dispatch(route, request);
  } catch (const InputError& error) {
    return error_reply(400, one_line(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    return error_reply(400, one_line(file_error_text(error)));
  } catch (const RefusedBody& body) {
    return error_reply(body.status, body.why);
  } catch (const Unanswered why) {
    if (why == Unanswered::kTooMany)
      return error_reply(503, std::to_string(options_.workers.most_waiting) + " requests wait already");
    constexpr int kGoneStatus = 499;  // source: nginx, "client closed request"; nobody reads it but the log
    if (why == Unanswered::kGone) return error_reply(kGoneStatus, "the client has closed the connection");
    return error_reply(504, "not answered within " + std::to_string(options_.workers.deadline.count()) +
                                " ms: ask for less, or serve with a longer deadline");
  } catch (const std::bad_alloc&) {
    return error_reply(400, "there is not enough memory for it");
  } catch (const std::exception& error) {
    return error_reply(500, one_line(error.what()));
  }
}

HttpReply Service::dispatch(const std::string& route, HttpRequest& request) {
  if (!is_open(route) && !options_.token.empty() && !same(bearer_of(request.authorization), options_.token))
    return error_reply(401, "header Authorization: Bearer TOKEN is missing or wrong");
  if (request.read_body) request.body = request.read_body();
  if (names_node(request.path)) return node(request);
  if (route == "other") return error_reply(404, "no such path; see docs/schedulers.md");
  for (const Endpoint& known : kRoutes)
    if (route == known.path && request.method != known.method && !(request.method == "HEAD" && *known.method == 'G'))
      return error_reply(405, request.path + " takes " + known.method);
  if (route == "/healthz") return {200, "{\"status\":\"ok\"}\n"};
  if (route == "/readyz") return readiness();
  if (route == "/metrics") return {200, metrics_text(), "text/plain; version=0.0.4"};
  if (route == "/v1/nodes") return {200, text_of(*nodes_.all())};
  if (route == "/v1/platforms") return by_worker(request, [](Placer& placer) { return placer.platforms(); });
  if (route == "/v1/kubernetes/filter") return kubernetes(request, true);
  if (route == "/v1/kubernetes/prioritize") return kubernetes(request, false);
  if (route.rfind("/v1/slurm/", 0) == 0) return slurm(request);
  const Json query = parse_json(request.body, "body");
  if (route == "/v1/place") return by_worker(request, [query](Placer& placer) { return placer.place(query); });
  return by_worker(request, [query](Placer& placer) { return placer.query(query); });
}

HttpReply Service::by_worker(const HttpRequest& request, std::function<Json(Placer&)> make) {
  return {200, workers_.ask([make = std::move(make)](Placer& placer) { return text_of(make(placer)); }, request.gone)};
}

HttpReply Service::readiness() const {
  if (ending_) return error_reply(503, "ending");
  if (!workers_.ready()) return error_reply(503, "too many requests wait");
  return {200, "{\"status\":\"ready\"}\n"};
}

HttpReply Service::node(const HttpRequest& request) {
  const std::string name = node_name(request.path);
  if (request.method == "POST") {
    const Json sent = parse_json(request.body, "body");
    HttpReply reply = by_worker(request, [sent](Placer& placer) { return placer.node_state(sent, "body"); });
    Json state = Json::parse(reply.body);
    if (nodes_.all()->size() >= kMostNodes && nodes_.all()->count(name) == 0)
      return error_reply(400, "more than " + std::to_string(kMostNodes) + " nodes");
    nodes_.set(name, std::move(state));
    return reply;
  }
  if (request.method == "DELETE")
    return nodes_.forget(name) ? HttpReply{200, "{}\n"} : error_reply(404, "no state of node " + name);
  if (request.method != "GET" && request.method != "HEAD") return error_reply(405, "a node takes GET, POST and DELETE");
  const auto all = nodes_.all();
  const auto at = all->find(name);
  return at == all->end() ? error_reply(404, "no state of node " + name) : HttpReply{200, text_of(at->second)};
}

/// The nodes as they are known for a job, or the best one.
HttpReply Service::slurm(const HttpRequest& request) {
  const auto posted = nodes_.all();
  std::shared_ptr<const placement::SlurmNodes> listed;
  try {
    listed = slurm_nodes_.nodes();
  } catch (const InputError& error) {  // no fault of who asks
    return error_reply(503, one_line(error.what()));
  }
  if (request.path == "/v1/slurm/place") {
    const Json job = parse_json(request.body, "job");
    return by_worker(request, [job, posted, listed](Placer& placer) {
      return placer.place_slurm(job, placer.candidates(*posted, *listed), "job");
    });
  }
  return by_worker(request, [posted, listed](Placer& placer) {
    Json rows = Json::array();
    for (const placement::NodeCandidate& node : placer.candidates(*posted, *listed)) {
      rows.push_back({{"node", node.name}});
      if (node.refused.empty())
        rows.back().update(node.use);
      else
        rows.back()["refused"] = node.refused;
    }
    return rows;
  });
}

/// A filter says in its result what is wrong: the scheduler shows that to whoever waits for the pod.
HttpReply Service::kubernetes(const HttpRequest& request, bool filter) {
  const auto states = nodes_.all();
  try {
    const Json sent = parse_json(request.body, "body");
    return by_worker(request, [sent, states, filter](Placer& placer) {
      const ExtenderArgs args =
          read_extender_args(sent, *states, [&](const GpuLabels& labels, const std::string& wanted) {
            return placer.platform_of_labels(labels, wanted);
          });
      if (!args.pod.job.empty())
        placer.check_job(args.pod.job, args.pod.gpus, args.pod.platform, "pod: annotation linkcast");
      const Free free = [&](const Json& state) { return placer.free_gpus(state); };
      const TimeOn time_on = [&](const Json& state) { return placer.time_s(state, args.pod.job, args.pod.gpus); };
      return filter ? filter_result(args, free, time_on) : host_priorities(args, free, time_on);
    });
  } catch (const InputError& error) {
    if (!filter) throw;
    return {200, text_of({{"Nodes", Json()},
                          {"NodeNames", Json()},
                          {"FailedNodes", Json::object()},
                          {"FailedAndUnresolvableNodes", Json::object()},
                          {"Error", one_line(error.what())}})};
  }
}

std::string Service::metrics_text() const {
  std::ostringstream text;
  text << metrics_.text()
       << "# HELP linkcast_waiting_requests Requests that wait for a thread that forecasts.\n"
          "# TYPE linkcast_waiting_requests gauge\n"
          "linkcast_waiting_requests "
       << workers_.waiting()
       << "\n# HELP linkcast_nodes Nodes whose state is known.\n"
          "# TYPE linkcast_nodes gauge\n"
          "linkcast_nodes "
       << nodes_.all()->size() << '\n';
  return text.str();
}

}  // namespace linkcast::serve
