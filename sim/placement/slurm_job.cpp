#include "sim/placement/slurm_job.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "sim/records/hostlist.hpp"

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
InputError of_slurm(const InputError& error, const SlurmJob& job) {
  const std::string what = error.what(), &name = job.name;
  for (const NodeCandidate& node : job.candidates) {
    const std::pair<std::string, std::string> homes[] = {{node.place + "/busy", node.place + "/gpus_busy"},
                                                         {node.place + "/job", "/comment"},
                                                         {node.place + "/library", "/comment"},
                                                         {node.place + "/objective", "/comment"}};
    for (const auto& [asked, home] : homes)
      if (what.rfind(name + ":" + asked, 0) == 0)
        return InputError(name + ":" + home + what.substr(name.size() + 1 + asked.size()));
  }
  return what.rfind(name, 0) == 0 ? error : InputError(name, "/nodes", what);
}

NodeCandidate read_candidate(ObjectReader& node) {
  NodeCandidate candidate{node.required<std::string>("name"), node.pointer()};
  candidate.use["platform"] = node.required<std::string>("platform");
  if (node.has("gpus_busy")) candidate.use["busy"] = node.raw("gpus_busy");
  if (node.has("with")) candidate.use["with"] = node.raw("with");
  node.finish();
  return candidate;
}

/// "n[1-4]" or ["n1", "n2"]; nullopt: they are described.
std::optional<std::vector<std::string>> names_in(ObjectReader& r) {
  const Json& list = r.raw("nodes");
  if (list.is_array() && !list.empty() && list.front().is_string())
    return r.required<std::vector<std::string>>("nodes");
  if (!list.is_string()) return std::nullopt;
  try {
    return expand_hostlist(list.get<std::string>());
  } catch (const HostlistError& error) {
    r.fail("nodes", error.what());
  }
}

/// Those that the job lists, with what they run or by their names, else all that are known.
std::vector<NodeCandidate> candidates_of(ObjectReader& r, const std::vector<NodeCandidate>& known) {
  if (!r.has("nodes")) {
    if (known.empty()) r.fail("nodes", "is missing, and no nodes are known here");
    return known;
  }
  std::vector<NodeCandidate> candidates;
  const auto names = names_in(r);
  if (!names) {
    for (ObjectReader& node : r.objects("nodes")) candidates.push_back(read_candidate(node));
    return candidates;
  }
  for (const std::string& name : *names) {
    const auto node = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    candidates.push_back(node == known.end() ? NodeCandidate{name, "", {}, "nobody has said what it runs"} : *node);
  }
  return candidates;
}

std::string visible(const Json& gpus) {
  std::string text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.dump();
  return text;
}

}  // namespace

SlurmJob read_slurm_job(const Json& job, const std::string& name, const std::vector<NodeCandidate>& known) {
  ObjectReader r(job, name);
  SlurmJob read{name, r.has("job_id") ? r.raw("job_id") : Json(), {{"ranks", ranks_of(r)}, {"top", 1}}, {}};
  for (const auto& [key, value] : said_in(r, r.required<std::string>("comment"))) read.query[key] = value;
  read.candidates = candidates_of(r, known);
  r.finish();
  return read;
}

Json place_slurm_job(catalogue::Catalogue& catalogue, const SlurmJob& job, PlacementMemory& memory) {
  BestNode best;
  try {
    best = best_node(catalogue, job.query, job.candidates, job.name, memory);
  } catch (const NoRoom&) {
    throw;
  } catch (const InputError& error) {
    throw of_slurm(error, job);
  }
  Json out;
  if (!job.id.is_null()) out["job_id"] = job.id;
  out["node"] = best.node.name;
  out["gpus"] = best.answer["gpus"];
  out["CUDA_VISIBLE_DEVICES"] = visible(best.answer["gpus"]);
  out["why"] = best.answer["why"];
  out["time_s"] = best.answer["time_s"];
  out["nodes"] = to_json(best.tried);
  out["warnings"] = best.answer["warnings"];
  return out;
}

}  // namespace linkcast::placement
