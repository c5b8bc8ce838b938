#include "sim/serve/service.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "sim/records/file_error.hpp"
#include "sim/serve/kubernetes.hpp"

namespace linkcast::serve {
namespace {

constexpr std::size_t kMostWaiting = 48;   // ours: fewer than connections, so that some can be told to come back
constexpr std::size_t kMostNodes = 20000;  // ours: twice the nodes of the largest machine that we know
constexpr std::size_t kMostName = 253;     // source: RFC 1123, length of a host name as Kubernetes limits it
constexpr const char* kNodes = "/v1/nodes";

struct Endpoint {
  const char* path;
  const char* method;
};
constexpr Endpoint kRoutes[] = {{"/healthz", "GET"},
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

std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

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

Service::Service(catalogue::Catalogue& catalogue, const std::vector<std::string>& platforms,
                 const std::string& state_file, const std::string& slurm_file)
    : placer_(catalogue, platforms), nodes_(state_file), slurm_nodes_(slurm_file), placer_thread_(kMostWaiting) {
  for (const auto& [name, state] : *nodes_.all())
    static_cast<void>(placer_.node_state(state, state_file + " node " + name));
}

void Service::warm(const std::string& job, log::Progress& progress) {
  log::Work work(progress, "serve: warming " + job, "placements");
  long before = 0;
  for (const std::string& platform : placer_.served()) {
    Placer::Warming warming(placer_, platform, job);
    bool more = true;
    while (more) {
      placer_thread_.run([&] { more = warming.next(); });
      work.advance(before + warming.done());
    }
    before += warming.done();
  }
}

HttpReply Service::answer(const HttpRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string route = route_of(request.path);
  HttpReply reply;
  try {
    reply = dispatch(route, request);
  } catch (const InputError& error) {
    reply = error_reply(400, one_line(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    reply = error_reply(400, one_line(file_error_text(error)));
  } catch (const std::exception& error) {
    reply = error_reply(500, one_line(error.what()));
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  metrics_.count(route, reply.status, taken.count());
  return reply;
}

HttpReply Service::dispatch(const std::string& route, const HttpRequest& request) {
  if (names_node(request.path)) return node(request);
  if (route == "other") return error_reply(404, "no such path; see docs/schedulers.md");
  for (const Endpoint& known : kRoutes)
    if (route == known.path && request.method != known.method && !(request.method == "HEAD" && *known.method == 'G'))
      return error_reply(405, request.path + " takes " + known.method);
  if (route == "/healthz") return {200, "{\"status\":\"ok\"}\n"};
  if (route == "/metrics") return {200, metrics_text(), "text/plain; version=0.0.4"};
  if (route == "/v1/nodes") return {200, text_of(*nodes_.all())};
  if (route == "/v1/platforms") return by_placer([&] { return placer_.platforms(); });
  if (route == "/v1/kubernetes/filter") return kubernetes(request, true);
  if (route == "/v1/kubernetes/prioritize") return kubernetes(request, false);
  if (route.rfind("/v1/slurm/", 0) == 0) return slurm(request);
  const Json query = parse_json(request.body, "body");
  if (route == "/v1/place") return by_placer([&] { return placer_.place(query); });
  return by_placer([&] { return placer_.query(query); });
}

HttpReply Service::by_placer(const std::function<Json()>& make) {
  std::string body;
  if (!placer_thread_.run([&] { body = text_of(make()); }))
    return error_reply(503, std::to_string(kMostWaiting) + " requests wait already");
  return {200, std::move(body)};
}

HttpReply Service::node(const HttpRequest& request) {
  const std::string name = node_name(request.path);
  if (request.method == "POST") {
    const Json sent = parse_json(request.body, "body");
    Json state;
    HttpReply reply = by_placer([&] { return state = placer_.node_state(sent, "body"); });
    if (reply.status != 200) return reply;
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
    return by_placer([&] { return placer_.place_slurm(job, placer_.candidates(*posted, *listed), "job"); });
  }
  return by_placer([&] {
    Json rows = Json::array();
    for (const placement::NodeCandidate& node : placer_.candidates(*posted, *listed)) {
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
    return by_placer([&] {
      const ExtenderArgs args =
          read_extender_args(sent, *states, [&](const GpuLabels& labels, const std::string& wanted) {
            return placer_.platform_of_labels(labels, wanted);
          });
      if (!args.pod.job.empty())
        placer_.check_job(args.pod.job, args.pod.gpus, args.pod.platform, "pod: annotation linkcast");
      const Free free = [&](const Json& state) { return placer_.free_gpus(state); };
      const TimeOn time_on = [&](const Json& state) { return placer_.time_s(state, args.pod.job, args.pod.gpus); };
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
       << "# HELP linkcast_waiting_requests Requests that wait for the thread that forecasts.\n"
          "# TYPE linkcast_waiting_requests gauge\n"
          "linkcast_waiting_requests "
       << placer_thread_.waiting()
       << "\n# HELP linkcast_nodes Nodes whose state is known.\n"
          "# TYPE linkcast_nodes gauge\n"
          "linkcast_nodes "
       << nodes_.all()->size() << '\n';
  return text.str();
}

}  // namespace linkcast::serve
