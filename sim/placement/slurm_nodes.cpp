#include "sim/placement/slurm_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/units/regex.hpp"

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

/// One generic resource: "gpu:v100:3(IDX:0,2-3)".
struct Gres {
  std::string name, numbers{};
  int count = 0;
};

Gres gres_of(const ObjectReader& r, const std::string& key, const std::string& entry) {
  static const Regex form(R"(([A-Za-z_][\w.-]*)(?::\d*[A-Za-z_][\w.+-]*)?(?::(\d{1,9})[KMGT]?)?(?:\((.*)\))?)");
  const Match match = form.whole(entry);
  if (!match) r.fail(key, "'" + entry + "' is not like gpu:v100:8 or gpu:v100:3(IDX:0,2-3)");
  Gres gres{match[1], "", 1};
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
    if (gres.name != "gpu") continue;
    node.gpus += gres.count;
    if (node.gpus > kMostGpus) r.fail("gres", "has more than " + std::to_string(kMostGpus) + " GPUs");
  }
  std::set<int> busy;
  int used = 0;
  bool unnamed = false;
  for (const std::string& entry : entries_of(gres_text(r, "gres_used"))) {
    const Gres gres = gres_of(r, "gres_used", entry);
    if ((gres.name == "shard" || gres.name == "mps") && gres.count > 0)
      node.unusable = "its GPUs are shared by " + gres.name;
    if (gres.name != "gpu" || gres.count == 0) continue;
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

}  // namespace linkcast::placement
