#include "sim/placement/slurm_job.hpp"

#include <charconv>
#include <optional>
#include <sstream>

#include "sim/placement/place.hpp"
#include "sim/placement/ranking.hpp"

namespace linkcast::placement {
namespace {

constexpr const char* kMark = "linkcast:";

std::optional<int> whole(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

/// "gpu:4", "gpu:a100:4", "gres/gpu:4", "gres:gpu=4"; other resources among them are no concern of ours.
int gpus_in(const ObjectReader& r, const std::string& key, const std::string& list) {
  int gpus = 0;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    for (const char* prefix : {"gres/", "gres:"})
      if (item.rfind(prefix, 0) == 0) item.erase(0, std::string(prefix).size());
    if (item.rfind("gpu", 0) != 0) continue;
    const std::string rest = item.substr(3);
    if (rest.empty()) {
      ++gpus;  // as Slurm counts a resource without a number
      continue;
    }
    const auto number = whole(rest.substr(rest.find_last_of(":=") + 1));
    if ((rest[0] != ':' && rest[0] != '=') || !number)
      r.fail(key, "'" + item + "' is not like gres/gpu:4 or gpu:a100:4");
    gpus += *number;
  }
  if (gpus == 0) r.fail(key, "'" + list + "' asks for no GPU");
  return gpus;
}

/// "linkcast:job=all_reduce:64MiB,library=nccl-2.18", a word of its own.
std::map<std::string, std::string> said_in(const ObjectReader& r, const std::string& comment) {
  std::istringstream words(comment);
  std::map<std::string, std::string> said;
  for (std::string word; words >> word;) {
    if (word.rfind(kMark, 0) != 0) continue;
    std::istringstream pairs(word.substr(std::string(kMark).size()));
    for (std::string pair; std::getline(pairs, pair, ',');) {
      const std::size_t equals = pair.find('=');
      const std::string key = pair.substr(0, equals);
      if (equals == std::string::npos || (key != "job" && key != "library" && key != "objective"))
        r.fail("comment", "'" + pair + "' is not job=, library= or objective=");
      if (!said.emplace(key, pair.substr(equals + 1)).second) r.fail("comment", key + "= is said twice");
    }
  }
  if (said.count("job") == 0) r.fail("comment", "has no word like linkcast:job=all_reduce:64MiB");
  return said;
}

constexpr std::int64_t kNotSaid = 0xfffffffe;  // source: NO_VAL of Slurm's slurm.h, what job_submit has without -n
constexpr int kMostTasks = 1000000;

int ranks_of(ObjectReader& r) {
  std::optional<int> tasks, gpus;
  for (const char* key : {"num_tasks", "ntasks"})
    if (const auto value = r.optional<std::int64_t>(key); value && *value != kNotSaid) {
      if (tasks) r.fail(key, "is said twice, as num_tasks and ntasks");
      if (*value < 1 || *value > kMostTasks) r.fail(key, "must be 1 to " + std::to_string(kMostTasks));
      tasks = static_cast<int>(*value);
    }
  for (const char* key : {"tres_per_node", "gres"})
    if (const auto value = r.optional<std::string>(key)) {
      if (gpus) r.fail(key, "is said twice, as tres_per_node and gres");
      gpus = gpus_in(r, key, *value);
    }
  if (!gpus && !tasks) r.fail("tres_per_node", "is missing: \"gres/gpu:4\", or num_tasks with one GPU each");
  return gpus ? *gpus : *tasks;
}

/// Errors of a placement name the keys that it was asked by; the job has them elsewhere.
InputError of_slurm(const InputError& error, const std::string& name, const std::string& node) {
  const std::string what = error.what();
  const std::pair<std::string, std::string> homes[] = {{node + "/busy", node + "/gpus_busy"},
                                                       {node + "/job", "/comment"},
                                                       {node + "/library", "/comment"},
                                                       {node + "/objective", "/comment"}};
  for (const auto& [asked, home] : homes)
    if (what.rfind(name + ":" + asked, 0) == 0)
      return InputError(name + ":" + home + what.substr(name.size() + 1 + asked.size()));
  return what.rfind(name, 0) == 0 ? error : InputError(name, node, what);
}

/// What is to be placed on one of the nodes.
struct Asked {
  std::string node;
  PlaceRequest request;
  int free = 0;  ///< GPUs; below the ranks there is no request
};

Asked read_node(catalogue::Catalogue& catalogue, ObjectReader& node, Json query, const std::string& name) {
  const std::string place = node.pointer();
  Asked asked{node.required<std::string>("name"), {}, 0};
  const auto platform_id = node.required<std::string>("platform");
  if (node.has("gpus_busy")) query["busy"] = node.raw("gpus_busy");
  if (node.has("with")) query["with"] = node.raw("with");
  node.finish();
  try {
    const Platform& platform = catalogue.platform(platform_id);
    ObjectReader use(query, name, place);
    asked.free = platform.gpu_count() - static_cast<int>(read_node_use(platform, use).busy.size());
    if (asked.free < query["ranks"].get<int>()) return asked;
    ObjectReader whole(query, name, place);
    asked.request = read_place_request(catalogue, platform_id, whole);
  } catch (const InputError& error) {
    throw of_slurm(error, name, place);
  }
  return asked;
}

struct Best {
  std::string node;
  Json answer;
  int free = 0;
};

bool better(double time_s, int free, const Best& best) {
  const double now_s = best.answer["time_s"];
  if (time_s < now_s * (1 - kSame)) return true;
  return time_s <= now_s * (1 + kSame) && free < best.free;
}

std::string visible(const Json& gpus) {
  std::string text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.dump();
  return text;
}

}  // namespace

Json place_slurm_job(catalogue::Catalogue& catalogue, const Json& job, const std::string& name,
                     PlacementMemory& memory) {
  ObjectReader r(job, name);
  const Json id = r.has("job_id") ? r.raw("job_id") : Json();
  const int ranks = ranks_of(r);
  const auto said = said_in(r, r.required<std::string>("comment"));
  std::optional<Best> best;
  Json rows = Json::array();
  Json query{{"ranks", ranks}, {"top", 1}};
  for (const auto& [key, value] : said) query[key] = value;
  for (ObjectReader& node : r.objects("nodes")) {
    const Asked asked = read_node(catalogue, node, query, name);
    if (asked.free < ranks) {
      rows.push_back({{"node", asked.node}, {"refused", std::to_string(asked.free) + " GPUs are free"}});
      continue;
    }
    Json answer = place(catalogue, asked.request, memory);
    const double time_s = answer["time_s"];
    rows.push_back({{"node", asked.node}, {"time_s", time_s}});
    if (!best || better(time_s, asked.free, *best)) best = Best{asked.node, std::move(answer), asked.free};
  }
  r.finish();
  if (!best) {
    std::string each;
    for (const Json& row : rows)
      each += (each.empty() ? "" : ", ") + row["node"].get<std::string>() + ": " + row["refused"].get<std::string>();
    r.fail("nodes", "none has " + std::to_string(ranks) + " GPUs free" + (each.empty() ? "" : ": " + each));
  }
  Json out;
  if (!id.is_null()) out["job_id"] = id;
  out["node"] = best->node;
  out["gpus"] = best->answer["gpus"];
  out["CUDA_VISIBLE_DEVICES"] = visible(best->answer["gpus"]);
  out["why"] = best->answer["why"];
  out["time_s"] = best->answer["time_s"];
  out["nodes"] = std::move(rows);
  out["warnings"] = best->answer["warnings"];
  return out;
}

}  // namespace linkcast::placement
