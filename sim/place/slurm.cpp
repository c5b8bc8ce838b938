#include "sim/place/slurm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "sim/base/hostlist.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::placement {
namespace {

constexpr int kFirstParser = 38, kLastParser = 43;  // the versions whose keys are known: see the header
constexpr int kMostGpus = 1024;                     // source: Slurm, gres.h MAX_GRES_BITMAP
constexpr const char* kFeature = "linkcast=";

/// "gpu:v100:8(S:0-1),nic:2": at commas outside of brackets.
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      entries.emplace_back();
    else
      entries.back() += c;
  }
  std::erase_if(entries, [](const std::string& entry) { return entry.empty() || entry == "(null)" || entry == "N/A"; });
  return entries;
}

/// Kinds of generic resources: GPUs, shares of GPUs, or none of ours.
enum class GresKind { kOther, kGpu, kShared };
const std::map<std::string, GresKind>& gres_kinds() {
  static const std::map<std::string, GresKind> kinds = {
      {"gpu", GresKind::kGpu}, {"shard", GresKind::kShared}, {"mps", GresKind::kShared}};
  return kinds;
}

/// One generic resource: "gpu:v100:3(IDX:0,2-3)".
struct Gres {
  std::string name, numbers{};
  int count = 0;
  GresKind kind = GresKind::kOther;
};

Gres gres_of(const ObjectReader& r, const std::string& key, const std::string& entry) {
  static const Regex form(R"(([A-Za-z_][\w.-]*)(?::\d*[A-Za-z_][\w.+-]*)?(?::(\d{1,9})[KMGT]?)?(?:\((.*)\))?)");
  const Match match = form.whole(entry);
  if (!match) r.fail(key, "'" + entry + "' is not like gpu:v100:8 or gpu:v100:3(IDX:0,2-3)");
  Gres gres{match[1], "", 1};
  if (const auto kind = gres_kinds().find(gres.name); kind != gres_kinds().end()) gres.kind = kind->second;
  if (match.has(2)) gres.count = std::stoi(match[2]);
  if (match[3].rfind("IDX:", 0) == 0) gres.numbers = match[3].substr(4);
  return gres;
}

/// "0,2-3"
std::vector<int> numbers_in(const ObjectReader& r, const std::string& text, int gpus) {
  static const Regex range(R"((\d{1,9})(?:-(\d{1,9}))?)");
  std::vector<int> numbers;
  for (const std::string& part : entries_of(text)) {
    const Match match = range.whole(part);
    if (!match) r.fail("gres_used", "'" + text + "' is not like 0,2-3");
    const int first = std::stoi(match[1]), last = match.has(2) ? std::stoi(match[2]) : first;
    if (last < first || last >= gpus)
      r.fail("gres_used", "GPU " + std::to_string(last) + " of " + std::to_string(gpus));
    for (int gpu = first; gpu <= last; ++gpu) numbers.push_back(gpu);
  }
  return numbers;
}

std::string gres_text(ObjectReader& r, const std::string& key) {
  if (!r.has(key)) r.fail(key, "is missing: not what 'scontrol show nodes --json' prints of a node");
  return r.raw(key).is_null() ? "" : r.required<std::string>(key);
}

void read_gpus(ObjectReader& r, SlurmNode& node) {
  for (const std::string& entry : entries_of(gres_text(r, "gres"))) {
    const Gres gres = gres_of(r, "gres", entry);
    if (gres.kind != GresKind::kGpu) continue;
    node.gpus += gres.count;
    if (node.gpus > kMostGpus) r.fail("gres", "has more than " + std::to_string(kMostGpus) + " GPUs");
  }
  std::set<int> busy;
  int used = 0;
  bool unnamed = false;
  for (const std::string& entry : entries_of(gres_text(r, "gres_used"))) {
    const Gres gres = gres_of(r, "gres_used", entry);
    if (gres.kind == GresKind::kShared && gres.count > 0) node.unusable = "its GPUs are shared by " + gres.name;
    if (gres.kind != GresKind::kGpu || gres.count == 0) continue;
    used += gres.count;
    const std::vector<int> numbers = numbers_in(r, gres.numbers, node.gpus);
    if (static_cast<int>(numbers.size()) != gres.count) unnamed = true;
    busy.insert(numbers.begin(), numbers.end());
  }
  if (used >= node.gpus)
    for (int gpu = 0; gpu < node.gpus; ++gpu) busy.insert(gpu);
  else if (unnamed || static_cast<int>(busy.size()) != used)
    r.fail("gres_used", "says that " + std::to_string(used) + " GPUs are in use, and not by (IDX:...) which");
  node.busy.assign(busy.begin(), busy.end());
}

/// A text, or a list of texts: versions differ. Texts with commas or pluses are lists.
std::vector<std::string> words(ObjectReader& r, const std::string& key) {
  std::vector<std::string> list;
  if (!r.has(key) || r.raw(key).is_null()) return list;
  if (r.raw(key).is_array()) return r.required<std::vector<std::string>>(key);
  list.emplace_back();
  for (const char c : r.required<std::string>(key))
    if (c == ',' || c == '+')
      list.emplace_back();
    else
      list.back() += c;
  std::erase(list, std::string());
  return list;
}

/// Jobs start there. All others, from DOWN and DRAIN to states that later versions may have, do not.
bool takes_jobs(std::string state) {
  static const std::set<std::string> good = {"idle",  "mixed",   "mix",          "alloc",     "allocated",
                                             "cloud", "planned", "dynamic_norm", "completing"};
  std::transform(state.begin(), state.end(), state.begin(), [](unsigned char c) { return std::tolower(c); });
  return good.count(state) > 0;
}

void read_state(ObjectReader& r, SlurmNode& node) {
  std::vector<std::string> states = words(r, "state");
  if (states.empty()) r.fail("state", "is missing: not what 'scontrol show nodes --json' prints of a node");
  for (const std::string& flag : words(r, "state_flags")) states.push_back(flag);
  std::string text;
  for (const std::string& state : states)
    if (!takes_jobs(state)) text += (text.empty() ? "its state is " : ", ") + state;
  if (!text.empty()) node.unusable = text;
}

SlurmNode read_node(ObjectReader& r) {
  SlurmNode node{r.required<std::string>("name")};
  read_gpus(r, node);
  read_state(r, node);
  for (const std::string& feature : words(r, "features"))
    if (feature.rfind(kFeature, 0) == 0) {
      if (!node.platform.empty()) r.fail("features", "two of them begin with linkcast=");
      node.platform = feature.substr(std::string(kFeature).size());
    }
  return node;
}

/// 40 of "data_parser/v0.0.40", or of "openapi/v0.0.38".
int parser_of(ObjectReader& r) {
  const auto text_at = [&](const char* pointer) {
    const Json::json_pointer where(pointer);
    const Json& meta = r.raw("meta");
    return meta.contains(where) && meta.at(where).is_string() ? meta.at(where).get<std::string>() : "";
  };
  static const Regex version(R"(v0\.0\.(\d{1,4}))");
  if (r.has("meta"))
    for (const char* pointer : {"/plugin/data_parser", "/plugin/type"})
      if (const Match match = version.find(text_at(pointer))) return std::stoi(match[1]);
  r.fail("meta", "says no version like data_parser/v0.0.40: not what 'scontrol show nodes --json' prints");
}

void refuse_errors(ObjectReader& r) {
  if (!r.has("errors") || !r.raw("errors").is_array() || r.raw("errors").empty()) return;
  const Json& first = r.raw("errors").front();
  std::string text = first.is_object() && first.contains("description") ? first["description"].dump() : first.dump();
  r.fail("errors", "Slurm reports an error: " + text);
}

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
  static const std::set<std::string> keys = {"job", "library", "objective"};
  std::istringstream words(comment);
  std::map<std::string, std::string> said;
  for (std::string word; words >> word;) {
    if (word.rfind(kMark, 0) != 0) continue;
    std::istringstream pairs(word.substr(std::string(kMark).size()));
    for (std::string pair; std::getline(pairs, pair, ',');) {
      const std::size_t equals = pair.find('=');
      const std::string key = pair.substr(0, equals);
      if (equals == std::string::npos || keys.count(key) == 0)
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

std::string visible(const std::vector<int>& gpus) { return fmt::format("{}", fmt::join(gpus, ",")); }

}  // namespace

SlurmNodes read_slurm_nodes(const Json& printed, const std::string& name) {
  ObjectReader r(printed, name);
  const int parser = parser_of(r);
  if (parser < kFirstParser)
    r.fail("meta", "version 0.0." + std::to_string(parser) + " is older than 0.0." + std::to_string(kFirstParser) +
                       " (Slurm 22.05), the first that is read");
  refuse_errors(r);
  if (r.has("sinfo")) r.fail("sinfo", "is of 'sinfo --json': write 'scontrol show nodes --json'");
  if (!r.has("nodes")) r.fail("nodes", "is missing: write 'scontrol show nodes --json'");
  SlurmNodes found;
  if (parser > kLastParser)
    found.warnings.push_back(name + ": version 0.0." + std::to_string(parser) + " is newer than 0.0." +
                             std::to_string(kLastParser) +
                             ", the last whose keys are known; all keys needed are there");
  std::set<std::string> seen;
  for (ObjectReader& one : r.objects("nodes")) {
    found.nodes.push_back(read_node(one));
    if (!seen.insert(found.nodes.back().name).second)
      one.fail("name", "'" + found.nodes.back().name + "' is there twice");
  }
  if (found.nodes.empty()) r.fail("nodes", "has no node");
  return found;
}

NodeCandidate candidate_of(catalogue::Catalogue& catalogue, const SlurmNode& node, const std::string& platform,
                           const catalogue::MachinePtr& machine) {
  NodeCandidate candidate{node.name};
  candidate.refused = node.unusable;
  if (candidate.refused.empty() && node.platform.empty() && platform.empty())
    candidate.refused = "no feature linkcast=PLATFORM says what it is";
  if (!candidate.refused.empty()) return candidate;
  const bool as_said = node.platform.empty() || node.platform == platform;
  if (!platform.empty() && !as_said) {
    candidate.refused = "it is a " + node.platform + ", not a " + platform;
    return candidate;
  }
  candidate.machine = as_said && machine ? machine : catalogue.machine(node.platform);
  const std::string& own = candidate.machine->name();
  const int gpus = candidate.machine->platform().gpu_count();
  if (gpus != node.gpus)
    candidate.refused = "it has " + std::to_string(node.gpus) + " GPUs, a " + own + " has " + std::to_string(gpus);
  else
    candidate.use = {{"platform", own}, {"busy", node.busy}};
  return candidate;
}

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
  const Placement& placed = best.placed.best;
  out["gpus"] = placed.gpus;
  out["CUDA_VISIBLE_DEVICES"] = visible(placed.gpus);
  out["why"] = placed.why;
  out["time_s"] = placed.time_s;
  out["nodes"] = to_json(best.tried);
  out["warnings"] = best.placed.warnings;
  return out;
}

}  // namespace linkcast::placement
