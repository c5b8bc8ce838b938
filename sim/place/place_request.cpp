#include "sim/place/place_request.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/text.hpp"
#include "sim/forecast/call_sizes.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/plan/request.hpp"
#include "sim/query/key_text.hpp"
#include "sim/replay/replay_request.hpp"

namespace linkcast::placement {
namespace {

const std::map<std::string, PlaceObjective> kObjectives{
    {"time", PlaceObjective::kTime}, {"neighbours", PlaceObjective::kNeighbours}, {"both", PlaceObjective::kBoth}};

std::string listed_collectives() { return "one of " + linkcast::joined(collectives().names()); }

bool is_collective(const std::string& name) { return collectives().find(name) != nullptr; }

/// {op, size_B or sizes_B}
JobSpec read_call(ObjectReader& job) {
  JobSpec spec;
  spec.op = job.required<std::string>("op");
  if (job.has("sizes_B")) {
    if (!job.raw("sizes_B").is_array()) job.fail("sizes_B", "must be an array of sizes, one for each rank");
    spec.sized_ranks = static_cast<int>(job.raw("sizes_B").size());
    const collective::SizedCall call(spec.op, spec.sized_ranks, job);
    spec.size_B = call.size_B();
    spec.parts_B = call.op().parts_B();
  } else {
    spec.size_B = activities::read_size(job, "size_B");
  }
  if (!is_collective(spec.op)) static_cast<void>(collectives().get(spec.op));  // says which there are
  return spec;
}

/// "all_reduce:64MiB", "allgatherv:1MiB,2MiB", else the name of a trace.
JobSpec parse_job(const std::string& text, const ObjectReader& r) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos && is_collective(text))
    r.fail("job", "'" + text + "' needs a size: write " + text + ":64MiB");
  if (colon == std::string::npos || std::filesystem::exists(text)) return {"", 0, text};
  if (!is_collective(text.substr(0, colon)))
    r.fail("job", "'" + text.substr(0, colon) + "' is no collective: " + listed_collectives());
  Json call = query::size_keys_of(text.substr(colon + 1), r.file() + ":" + r.pointer("job"));
  call["op"] = text.substr(0, colon);
  if (call.contains("size_B")) static_cast<void>(activities::checked_size(r, "job", call["size_B"].get<double>()));
  ObjectReader job(call, r.file(), r.pointer("job"));
  return read_call(job);
}

/// 3 or "gpu3".
int read_gpu(const Json& value, const Platform& platform, const std::string& place, const std::string& file) {
  int gpu = -1;
  if (value.is_number_integer()) gpu = value.get<int>();
  if (value.is_string())
    for (int k = 0; k < platform.gpu_count(); ++k)
      if (platform.topology().devices[static_cast<std::size_t>(platform.gpu(k))].id == value.get<std::string>())
        gpu = k;
  if (gpu < 0 || gpu >= platform.gpu_count())
    throw InputError(file, place,
                     no_gpu(platform.topology(), value.is_string() ? value.get<std::string>() : value.dump()));
  return gpu;
}

std::set<int> read_busy(ObjectReader& r, const Platform& platform) {
  std::set<int> busy;
  if (!r.has("busy")) return busy;
  const Json& list = r.raw("busy");
  if (!list.is_array()) r.fail("busy", "must be an array of GPU numbers or ids");
  for (std::size_t i = 0; i < list.size(); ++i)
    busy.insert(read_gpu(list[i], platform, r.pointer("busy") + "/" + std::to_string(i), r.file()));
  return busy;
}

std::vector<Neighbour> read_neighbours(ObjectReader& r, const Platform& platform) {
  std::vector<Neighbour> neighbours;
  if (!r.has("with")) return neighbours;
  std::set<int> taken;
  for (ObjectReader& one : r.objects("with")) {
    Neighbour neighbour{read_job(one), activities::read_gpus(one, platform, 1)};
    check_sizes(neighbour.job, static_cast<int>(neighbour.gpus.size()), one);
    if (!neighbour.job.is_trace() && neighbour.gpus.size() < 2) one.fail("gpus", "a collective needs at least 2 GPUs");
    one.finish();
    for (const int gpu : neighbour.gpus)
      if (!taken.insert(gpu).second) one.fail("gpus", "GPU " + std::to_string(gpu) + " has another job already");
    neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}

}  // namespace

JobSpec read_job(ObjectReader& r) {
  if (!r.has("job")) r.fail("job", "is missing: \"all_reduce:64MiB\", a trace, {op, size_B} or {trace, options}");
  if (r.raw("job").is_string()) return parse_job(r.required<std::string>("job"), r);
  ObjectReader job = r.object("job");
  JobSpec spec;
  if (job.has("trace")) {
    spec.trace = job.required<std::string>("trace");
    spec.options = replay::read_part_options(job);
  } else {
    spec = read_call(job);
  }
  job.finish();
  return spec;
}

void check_sizes(const JobSpec& job, int ranks, const ObjectReader& r) {
  if (job.sized_ranks > 0 && job.sized_ranks != ranks)
    r.fail("job", "has sizes of " + std::to_string(job.sized_ranks) + " ranks, and there are " + std::to_string(ranks));
}

std::shared_ptr<const Algorithm> read_own(const JobSpec& job, int ranks, ObjectReader& r) {
  if (!r.has("algorithm_file")) return nullptr;
  std::shared_ptr<const Algorithm> own = read_algorithm(r.required<std::string>("algorithm_file"));
  if (!job.is_trace() && !own->runs(job.op, ranks)) r.fail("algorithm_file", "is for " + own->only_call()->text());
  if (job.is_trace() && r.has("with")) r.fail("algorithm_file", "would run the neighbours' collectives too");
  return own;
}

std::string JobSpec::text() const { return is_trace() ? trace : op + ":" + to_text(Bytes{size_B}); }

const std::string& to_text(PlaceObjective objective) {
  for (const auto& [text, value] : kObjectives)
    if (value == objective) return text;
  throw InvariantError("placement: an objective without a name");
}

PlaceObjective read_objective(ObjectReader& r) {
  return r.has("objective") ? kObjectives.at(r.choice("objective", {"time", "neighbours", "both"}))
                            : PlaceObjective::kTime;
}

NodeUse read_node_use(const Platform& platform, ObjectReader& r) {
  std::set<int> busy = read_busy(r, platform);
  NodeUse use{{}, read_neighbours(r, platform)};
  for (const Neighbour& neighbour : use.neighbours) busy.insert(neighbour.gpus.begin(), neighbour.gpus.end());
  use.busy.assign(busy.begin(), busy.end());
  return use;
}

PlaceRequest read_place_request(const catalogue::MachinePtr& machine, ObjectReader& r) {
  const Platform& platform = machine->platform();
  PlaceRequest request;
  request.machine = machine;
  request.library = r.optional<std::string>("library").value_or(platform.calibration().default_library);
  request.job = read_job(r);
  request.ranks = r.required<int>("ranks");
  check_sizes(request.job, request.ranks, r);
  request.own = read_own(request.job, request.ranks, r);
  NodeUse use = read_node_use(platform, r);
  request.busy = std::move(use.busy);
  request.neighbours = std::move(use.neighbours);
  request.objective = read_objective(r);
  request.top = r.optional<int>("top").value_or(kUsualTop);
  r.finish();
  for (const Neighbour& neighbour : request.neighbours)
    if (neighbour.job.is_trace() != request.job.is_trace())
      r.fail("with", "a trace is placed beside traces, and a collective beside collectives");
  const int free = platform.gpu_count() - static_cast<int>(request.busy.size());
  if (request.ranks < 1) r.fail("ranks", "must be at least 1");
  if (request.ranks > free)
    r.fail("ranks", std::to_string(request.ranks) + " GPUs are asked for, and " + std::to_string(free) + " of the " +
                        std::to_string(platform.gpu_count()) + " of " + platform.topology().name + " are free");
  if (request.objective != PlaceObjective::kTime && request.neighbours.empty())
    r.fail("objective", "'" + to_text(request.objective) + "' needs neighbours: say what runs beside");
  if (request.top < 1) r.fail("top", "must be at least 1");
  return request;
}

}  // namespace linkcast::placement
