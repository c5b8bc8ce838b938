#include "cli/serve/service.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "cli/serve/kubernetes.hpp"
#include "cli/serve/openapi.hpp"
#include "cli/serve/page.hpp"
#include "cli/serve/process_metrics.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/log.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/query/schema.hpp"

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

RequestLog::RequestLog(const std::string& file) {
  if (file.empty()) return;
  constexpr mode_t kMode = 0640;  // source: open(2): for the owner and those who read logs
  file_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (file_ < 0) throw InputError("log: " + file + ": cannot be written");
}

RequestLog::~RequestLog() {
  if (file_ >= 0) ::close(file_);
}

void RequestLog::add(const std::string& method, const std::string& route, int status, double taken_s, std::size_t in_B,
                     std::size_t out_B) const {
  if (file_ < 0) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = write_quickly({{"at_s", now.count()},
                                          {"method", method},
                                          {"route", route},
                                          {"status", status},
                                          {"taken_s", taken_s},
                                          {"in_B", in_B},
                                          {"out_B", out_B}}) +
                           "\n";
  const ssize_t written = ::write(file_, line.data(), line.size());  // one call: lines of threads do not mix
  static_cast<void>(written);
}

namespace {

placement::SlurmNodes read_listed(const std::string& file) {
  try {
    return placement::read_slurm_nodes(read_json_file(file), file);
  } catch (const std::filesystem::filesystem_error& error) {
    throw InputError(file_error_text(error));
  }
}

}  // namespace

SlurmFile::SlurmFile(std::string file) : file_(std::move(file)) {
  if (file_.empty()) nodes_ = std::make_shared<const placement::SlurmNodes>();
  static_cast<void>(nodes());
}

std::shared_ptr<const placement::SlurmNodes> SlurmFile::nodes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (file_.empty()) return nodes_;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file_, error);
  const std::uintmax_t size_B = error ? 0 : std::filesystem::file_size(file_, error);
  if (!error && nodes_ && written == written_ && size_B == size_B_) return nodes_;
  nodes_.reset();  // what was true before the file broke is not true now
  auto read = std::make_shared<const placement::SlurmNodes>(read_listed(file_));
  for (const std::string& warning : read->warnings) log::Log("serve").warning("{}", warning);
  written_ = written;
  size_B_ = size_B;
  nodes_ = std::move(read);
  return nodes_;
}

namespace {

constexpr std::size_t kMostNodes = 20000;  // ours: twice the nodes of the largest machine that we know
constexpr std::size_t kMostName = 253;     // source: RFC 1123, length of a host name as Kubernetes limits it
constexpr const char* kNodes = "/v1/nodes";

bool names_node(const std::string& path) { return path.rfind(std::string(kNodes) + "/", 0) == 0; }

/// In a time that does not say how much of it was right.
bool same(const std::string& sent, const std::string& wanted) {
  unsigned differs = sent.size() == wanted.size() ? 0U : 1U;
  for (std::size_t i = 0; i < sent.size(); ++i)
    differs |= static_cast<unsigned char>(sent[i]) ^ static_cast<unsigned char>(wanted[i % wanted.size()]);
  return differs == 0;
}

/// Text behind the name of the scheme, in any case (RFC 7235, section 2.1); empty: another scheme.
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

struct Forbidden {
  std::string why;
};

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

namespace {

HttpReply page(Service& /*service*/, const HttpRequest& request) {
  const PageFile file = page_file(request.path == "/" ? "index.html" : std::string_view(request.path).substr(1));
  return {200, std::string(file.content), std::string(file.type)};
}

/// @param host  as a header has it: localhost:8090, [::1]:8090
bool names_this_machine(std::string host) {
  if (const auto port = host.find_last_of(":]"); port != std::string::npos && host[port] == ':') host.resize(port);
  return is_this_machine(host == "[::1]" ? "::1" : host);
}

/// A browser says which page asks: only our own may, else any site that somebody visits could.
void refuse_other_pages(const HttpRequest& request, bool local_names) {
  if (local_names && !names_this_machine(request.host))
    throw Forbidden{"header Host: " + one_line(request.host) + " is no name of this machine: localhost"};
  if (request.origin.empty()) return;
  const auto host = request.origin.find("://");
  if (host == std::string::npos || request.origin.substr(host + 3) != request.host)
    throw Forbidden{"header Origin: a page of another site asks: " + one_line(request.origin)};
}

}  // namespace

/// A path that the service answers.
struct Service::Endpoint {
  const char* path;
  const char* method;
  const char* summary;        ///< null: a part of the page
  const char *takes, *gives;  ///< names of schemas, as of ApiPath
  HttpReply (*reply)(Service& service, const HttpRequest& request);
  bool open = false;  ///< for load balancers, who have no token, and for what every service of this version says

  static std::span<const Endpoint> all();
  /// The body, as JSON, answered by a worker.
  template <Json (Placer::*kAnswer)(const Json&)>
  static HttpReply by_placer(Service& service, const HttpRequest& request) {
    return service.by_worker(
        request, [sent = parse_json(request.body, "body")](Placer& placer) { return (placer.*kAnswer)(sent); });
  }
  /// @returns  nullptr: no such path
  static const Endpoint* find(const std::string& path);
  /// The service as openapi() takes it, with the paths of nodes.
  static std::vector<ApiPath> api();
};

std::span<const Service::Endpoint> Service::Endpoint::all() {
  static constexpr Endpoint kAll[] = {
      {"/healthz", "GET", "whether the process answers", "", "status",
       [](Service&, const HttpRequest&) {
         return HttpReply{200, "{\"status\":\"ok\"}\n"};
       },
       true},
      {"/readyz", "GET", "whether it should get requests: 503 while it ends or too many wait", "", "status",
       [](Service& service, const HttpRequest&) { return service.readiness(); }, true},
      {"/", "GET", "the interactive page", "", "", page, true},
      {"/page.css", "GET", nullptr, "", "", page, true},
      {"/page.js", "GET", nullptr, "", "", page, true},
      {"/openapi.json", "GET", "this description", "", "schema",
       [](Service&, const HttpRequest&) {
         return HttpReply{200, text_of(openapi(api()))};
       },
       true},
      {"/docs", "GET", "this description as a page", "", "",
       [](Service&, const HttpRequest&) {
         return HttpReply{200, api_page(openapi(api())), "text/html; charset=utf-8"};
       },
       true},
      {"/v1/schema", "GET", "JSON Schema of queries and answers", "", "schema",
       [](Service&, const HttpRequest&) {
         return HttpReply{200, text_of(served_schemas())};
       }},
      {"/metrics", "GET", "metrics for Prometheus, text format 0.0.4", "", "",
       [](Service& service, const HttpRequest&) {
         return HttpReply{200, service.metrics_text(), "text/plain; version=0.0.4"};
       }},
      {"/v1/platforms", "GET", "platforms that are served", "", "platforms",
       [](Service& service, const HttpRequest& request) {
         return service.by_worker(request, [](Placer& placer) { return placer.platforms(); });
       }},
      {"/v1/nodes", "GET", "what all nodes run, as posted", "", "node_states",
       [](Service& service, const HttpRequest&) {
         return HttpReply{200, text_of(*service.nodes_.all())};
       }},
      {"/v1/place", "POST", "the best GPUs for a job", "place_body", "place_result", by_placer<&Placer::place>},
      {"/v1/query", "POST", "any query of a batch", "query", "result", by_placer<&Placer::query>},
      {"/v1/diagnose", "POST", "whether what a benchmark printed is normal", "diagnose_body", "diagnosis",
       by_placer<&Placer::diagnose>},
      {"/v1/slurm/nodes", "GET", "nodes as Slurm has them, with what was posted", "", "slurm_nodes",
       [](Service& service, const HttpRequest& request) { return service.slurm(request, false); }},
      {"/v1/slurm/place", "POST", "the best node for a job of Slurm", "slurm_job", "slurm_place",
       [](Service& service, const HttpRequest& request) { return service.slurm(request, true); }},
      {"/v1/kubernetes/filter", "POST", "nodes on which a pod can run", "extender_args", "extender_filter_result",
       [](Service& service, const HttpRequest& request) { return service.kubernetes(request, true); }},
      {"/v1/kubernetes/prioritize", "POST", "how well a pod would run on each node", "extender_args", "host_priorities",
       [](Service& service, const HttpRequest& request) { return service.kubernetes(request, false); }}};
  return kAll;
}

const Service::Endpoint* Service::Endpoint::find(const std::string& path) {
  for (const Endpoint& one : all())
    if (path == one.path) return &one;
  return nullptr;
}

std::vector<ApiPath> Service::Endpoint::api() {
  std::vector<ApiPath> paths;
  for (const Endpoint& one : all()) {
    if (one.summary == nullptr) continue;
    const bool is_page = one.reply == page || std::string_view(one.path) == "/docs";
    const std::string type = *one.gives != 0 ? "application/json" : is_page ? "text/html" : "text/plain";
    paths.push_back({one.path, one.method, one.summary, one.takes, one.gives, type, one.open});
  }
  const std::string node = std::string(kNodes) + "/{name}";
  paths.push_back({node, "GET", "what a node runs", "", "node_state"});
  paths.push_back({node, "POST", "say what a node runs now", "node_state", "node_state"});
  paths.push_back({node, "DELETE", "forget the node", "", "forgotten"});
  return paths;
}

/// As metrics name it: none that a client could make up.
std::string Service::route_of(const std::string& path) {
  if (names_node(path)) return std::string(kNodes) + "/NAME";
  return Endpoint::find(path) != nullptr ? path : "other";
}

HttpReply Service::answer(HttpRequest request) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string route = route_of(request.path);
  const HttpReply reply = caught(request);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  metrics_.count(route, reply.status, taken.count());
  log_.add(request.method, route, reply.status, taken.count(), request.body.size(), reply.body.size());
  return reply;
}

HttpReply Service::caught(HttpRequest& request) {
  try {
    return dispatch(request);
  } catch (const InputError& error) {
    return error_reply(400, one_line(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    return error_reply(400, one_line(file_error_text(error)));
  } catch (const Forbidden& forbidden) {
    return error_reply(403, forbidden.why);
  } catch (const Refused& refused) {
    return error_reply(refused.status, refused.why);
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

HttpReply Service::dispatch(HttpRequest& request) {
  if (request.refused) throw *request.refused;
  refuse_other_pages(request, options_.local_names);
  const Endpoint* known = Endpoint::find(request.path);
  const bool open = known != nullptr && known->open;
  if (!open && !options_.token.empty() && !same(bearer_of(request.authorization), options_.token))
    return error_reply(401, "header Authorization: Bearer TOKEN is missing or wrong");
  if (request.read_body) request.body = request.read_body();
  if (names_node(request.path)) return node(request);
  if (known == nullptr) return error_reply(404, "no such path: GET /docs lists them");
  if (request.method != known->method && !(request.method == "HEAD" && *known->method == 'G'))
    return error_reply(405, request.path + " takes " + known->method);
  return known->reply(*this, request);
}

HttpReply Service::by_worker(const HttpRequest& request, std::function<Json(Placer&)> make) {
  return {200, workers_.ask([make = std::move(make)](Placer& placer) { return text_of(make(placer)); }, request.gone)};
}

HttpReply Service::readiness() const {
  if (ending_) return error_reply(503, "ending");
  if (!workers_.ready()) return error_reply(503, "no thread is free to answer, or too many requests wait");
  return {200, "{\"status\":\"ready\"}\n"};
}

HttpReply Service::node(const HttpRequest& request) {
  using Answer = HttpReply (*)(Service & service, const HttpRequest& request, const std::string& name);
  const Answer get = [](Service& service, const HttpRequest&, const std::string& name) {
    const auto all = service.nodes_.all();
    const auto at = all->find(name);
    return at == all->end() ? error_reply(404, "no state of node " + name) : HttpReply{200, text_of(at->second)};
  };
  const Answer post = [](Service& service, const HttpRequest& request, const std::string& name) {
    const Json sent = parse_json(request.body, "body");
    HttpReply reply = service.by_worker(request, [sent](Placer& placer) { return placer.node_state(sent, "body"); });
    Json state = Json::parse(reply.body);
    if (service.nodes_.all()->size() >= kMostNodes && service.nodes_.all()->count(name) == 0)
      return error_reply(400, fmt::format("more than {} nodes", kMostNodes));
    service.nodes_.set(name, std::move(state));
    return reply;
  };
  const Answer forget = [](Service& service, const HttpRequest&, const std::string& name) {
    return service.nodes_.forget(name) ? HttpReply{200, "{}\n"} : error_reply(404, "no state of node " + name);
  };
  static const std::map<std::string, Answer> methods = {
      {"GET", get}, {"HEAD", get}, {"POST", post}, {"DELETE", forget}};
  const auto method = methods.find(request.method);
  if (method == methods.end()) return error_reply(405, "a node takes GET, POST and DELETE");
  return method->second(*this, request, node_name(request.path));
}

/// The nodes as they are known for a job, or the best one.
HttpReply Service::slurm(const HttpRequest& request, bool place) {
  const auto posted = nodes_.all();
  std::shared_ptr<const placement::SlurmNodes> listed;
  try {
    listed = slurm_nodes_.nodes();
  } catch (const InputError& error) {  // no fault of who asks
    return error_reply(503, one_line(error.what()));
  }
  if (place) {
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
  text << process_metrics() << metrics_.text()
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
