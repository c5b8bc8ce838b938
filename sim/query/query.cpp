#include "sim/query/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/log.hpp"
#include "sim/base/release.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/query/gpu_values.hpp"
#include "sim/query/key.hpp"
#include "sim/query/nccl_environment.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::query {
namespace {

/// What a route is told apart by, or a link or cable; empty if the item is no such thing.
std::string name_of(const Json& item) {
  if (!item.is_object()) return "";
  for (const char* key : {"id", "name"})
    if (item.contains(key) && item[key].is_string()) return item[key].get<std::string>();
  if (!item.contains("transport")) return "";
  return item["transport"].get<std::string>() + (item.contains("via") ? " via " + item["via"].get<std::string>() : "");
}

bool named(const Json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& i) { return !name_of(i).empty(); });
}

const Json* find(const Json& list, const std::string& name) {
  for (const Json& item : list)
    if (name_of(item) == name) return &item;
  return nullptr;
}

Json list_change(const Json& before, const Json& after) {
  Json gone = Json::array(), fresh = Json::array(), changed = Json::object();
  for (const Json& item : before) {
    const Json* now = find(after, name_of(item));
    if (!now)
      gone.push_back(item);
    else if (*now != item)
      changed[name_of(item)] = change_of(item, *now);
  }
  for (const Json& item : after)
    if (!find(before, name_of(item))) fresh.push_back(item);
  return {{"gone", gone}, {"new", fresh}, {"changed", changed}};
}

Json one_change(const Json& before, const Json& after) {
  if (before.is_number() && after.is_number()) {
    const auto was = before.get<double>(), is = after.get<double>();
    Json change{{"before", before}, {"after", after}, {"difference", is - was}};
    if (was != 0) change["ratio"] = is / was;
    return change;
  }
  if (before.is_object() && after.is_object()) return change_of(before, after);
  if (named(before) && named(after) && before.size() + after.size() > 0) return list_change(before, after);
  return {{"before", before}, {"after", after}};
}

}  // namespace

Json change_of(const Json& before, const Json& after) {
  Json change = Json::object();
  const auto skip = [](const std::string& key) {
    return key == "id" || key == "inputs" || key == "versions" || key == "warnings";
  };
  for (const auto& [key, was] : before.items())
    if (!skip(key) && (!after.contains(key) || after[key] != was))
      change[key] = after.contains(key) ? one_change(was, after[key]) : Json{{"before", was}, {"after", nullptr}};
  for (const auto& [key, is] : after.items())
    if (!skip(key) && !before.contains(key)) change[key] = {{"before", nullptr}, {"after", is}};
  return change;
}

namespace {

/// The query with the keys of its `after` in it, those of objects one by one.
Json with_after(Json query, const std::string& name) {
  const auto found = query.find("after");
  if (found == query.end()) return query;
  const Json settings = *found;
  query.erase("after");
  if (!settings.is_object() || settings.empty())
    throw InputError(name + ":/after: must be an object of keys of the query, e.g. {\"protocol\": \"Simple\"}");
  for (const auto& [key, value] : settings.items()) {
    if (key == "id" || key == "kind" || key == "edits" || key == "after")
      throw InputError(fmt::format("{}:/after/{}: is no setting{}", name, key,
                                   key == "edits" ? ": edits of the query are of its second answer alone" : ""));
    if (value.is_object() && query.contains(key) && query[key].is_object())
      query[key].update(value);
    else
      query[key] = value;
  }
  return query;
}

}  // namespace

Json whatif_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name, Memories* memories) {
  const bool edited = query.is_object() && query.contains("edits") && !query["edits"].empty();
  if (!edited && !(query.is_object() && query.contains("after")))
    throw InputError(name +
                     ": whatif needs at least one edit, e.g. remove gpu0-gpu4, or setting, e.g. after protocol=Simple");
  const Json changed = with_after(query, name);
  Json plain = query;
  plain.erase("edits");
  plain.erase("after");
  Json before = answer_or_throw(catalogue, plain, name, memories);
  Json after = answer_or_throw(catalogue, changed, name, memories);
  Json change = change_of(before, after);
  Json out;
  if (query.contains("id")) out["id"] = query["id"];
  out["before"] = std::move(before);
  out["after"] = std::move(after);
  out["change"] = std::move(change);
  return out;
}

namespace {

/// A key whose values are names, and the name that another one stands for; empty: none.
struct Respelled {
  const char* key;
  std::string (*meant)(std::string_view name);
  std::string (*text)(const std::string& key, std::string_view name, const std::string& meant);
};
constexpr Respelled kRespelled[] = {{"engine", &Spelled<CopyUnit>::new_name, &old_spelling_text},
                                    {"algorithm", &Spelled<ForcedAlgorithm>::new_name, &old_spelling_text},
                                    {"library", &library_meant, &library_meant_text}};

/// Writes old values in the new spelling, and names of versions as what is modelled, where the table allows that.
/// @returns  a warning for each, which names the new spelling
std::vector<std::string> respell(const KeyTable& table, GivenQuery& query) {
  std::vector<std::string> warnings;
  for (const auto& [name, meant, text] : kRespelled) {
    const auto value = query.get().find(name);
    const Key* key = value == query.get().end() || !value->is_string() ? nullptr : find_key(table, name);
    if (key == nullptr) continue;
    const auto old = value->get<std::string>();
    const std::string now = meant(old);
    if (now.empty()) continue;
    const std::vector<std::string> allowed = key->registered ? key->registered() : key->choices;
    if (std::find(allowed.begin(), allowed.end(), now) == allowed.end()) continue;
    query.change()[name] = now;
    warnings.push_back(text(name, old, now));
  }
  return warnings;
}

constexpr std::size_t kOwn = 5;  // source: id, kind, inputs, warnings and versions beside what a kind answers

/// All register themselves before main().
const std::vector<std::string>& all_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> kinds;
    for (const PluginInfo& info : query_kinds().list()) kinds.push_back(info.name);
    return kinds;
  }();
  return names;
}

/// Keys that only other kinds have, where their tables say what is wrong with that.
void refuse_elsewhere(const QueryKind& kind, const Json& query) {
  const auto own = [&](const auto& member) {
    return find_key(kind.keys(), member.first) != nullptr || find_key(common_keys(), member.first) != nullptr;
  };
  const auto& members = query.get_ref<const Json::object_t&>();
  if (std::all_of(members.begin(), members.end(), own)) return;
  for (const std::string& other : all_kinds())
    for (const Key& key : query_kinds().get(other).keys())
      if (!key.elsewhere.empty() && query.contains(key.name) && find_key(kind.keys(), key.name) == nullptr)
        throw InputError(key.name + ": " + key.elsewhere);
}

/// The answer of the query's own kind.
KindAnswer by_kind(catalogue::Catalogue& catalogue, const Json& query, Memories* memories) {
  return [&catalogue, &query, memories](const catalogue::MachinePtr& machine, ObjectReader& r) {
    const SolverChoice chosen(r.optional<std::string>("solver").value_or("fluid"));
    Solver& solver = catalogue.solver(SolverChoice::name());
    const QueryKind& kind = query_kinds().get(r.required<std::string>("kind"));
    refuse_elsewhere(kind, query);
    return kind.answer({catalogue, machine, query, solver, memories != nullptr ? memories->of(kind) : nullptr}, r);
  };
}

/// For -v: what was chosen, and what it took to say so.
class AnswerLog {
 public:
  void answered(const Json& out, const std::string& platform) const {
    if (!log_.shows(log::Level::kDebug)) return;
    std::string chosen;
    for (const char* key : {"algorithm", "protocol", "transport", "via", "engine"})
      if (out.contains(key) && out[key].is_string())
        chosen += std::string(", ") + key + " " + out[key].get<std::string>();
    if (out.contains("time_s")) chosen += ", time_s " + out["time_s"].dump();
    const double spent_s = std::chrono::duration<double>(Clock::now() - start_).count();
    log_.debug("{} on {}{}: answered in {:.6f} s", out["kind"].get<std::string>(), platform, chosen, spent_s);
  }

 private:
  using Clock = std::chrono::steady_clock;
  log::Log log_{"query"};
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Registry<QueryKind>& query_kinds() {
  static Registry<QueryKind> registry("kind of query");
  return registry;
}

KindMemory* Memories::of(const QueryKind& kind) {
  const auto [found, added] = by_kind_.try_emplace(&kind);
  if (added) found->second = kind.new_memory();
  return found->second.get();
}

namespace {

/// An answer, and where it comes from.
struct Answered {
  Json members = Json::object();  ///< but inputs and versions
  catalogue::MachinePtr machine{};
  std::string solver{};
  std::optional<Json> respelled{};  ///< the query, where it has old values
};

Answered answered(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                  const KindAnswer& kind_answer, const catalogue::MachinePtr& machine) {
  const AnswerLog log;
  ObjectReader r(query, name);
  Answered all;
  Json& out = all.members;
  if (r.has("id")) out["id"] = r.raw("id");
  const std::string kind = r.choice("kind", all_kinds());
  const auto base_id = r.required<std::string>("platform");
  auto edits = r.optional<std::vector<std::string>>("edits").value_or(std::vector<std::string>{});
  all.solver = r.optional<std::string>("solver").value_or("fluid");
  out["kind"] = kind;
  std::vector<std::string> renamed;
  try {
    static_cast<void>(catalogue.solver(all.solver));
    const KeyTable& keys = query_kinds().get(kind).keys();
    all.machine = catalogue.edited(machine ? machine : catalogue.machine(base_id), edits);
    const bool has_environment = query.contains("nccl_env") && find_key(keys, "nccl_env") != nullptr;
    NcclEdits by_environment;
    if (has_environment) by_environment = nccl_edits(query, all.machine->platform().wiring());
    std::vector<std::string> idle = by_environment.warnings;
    if (!by_environment.edits.empty()) {
      edits.insert(edits.end(), by_environment.edits.begin(), by_environment.edits.end());
      all.machine = catalogue.edited(machine ? machine : catalogue.machine(base_id), edits);
    }
    GivenQuery named(query);
    take_numbers(keys, all.machine->platform().topology(), name, "", named);
    renamed = respell(keys, named);
    if (has_environment) {
      std::vector<std::string> warnings = take_nccl_environment(named.change());
      idle.insert(idle.end(), warnings.begin(), warnings.end());
    }
    ObjectReader numbered(named.get(), name);
    for (const Key& key : common_keys())
      if (numbered.has(key.name)) static_cast<void>(numbered.raw(key.name));  // read above
    Json result = kind_answer(all.machine, numbered);
    Json::object_t& members = out.get_ref<Json::object_t&>();
    members.reserve(kOwn + result.size());
    for (auto& [key, value] : result.get_ref<Json::object_t&>()) {
      if (key == "id" || key == "kind")
        out[key] = std::move(value);
      else
        members.emplace_back(key, std::move(value));  // without a look whether it is there
    }
    release(result);
    for (std::string& warning : idle) out["warnings"].push_back(std::move(warning));
    if (!renamed.empty()) {
      for (const std::string& warning : renamed) out["warnings"].push_back(warning);
      GivenQuery respelled(query);
      respell(keys, respelled);
      all.respelled = respelled.get();
    }
  } catch (const InputError& error) {
    const std::string what = error.what();
    throw what.rfind(name, 0) == 0 ? error : InputError(name + ": " + what);
  }
  log.answered(out, base_id);
  return all;
}

}  // namespace

Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name, Memories* memories) {
  return answer_or_throw(catalogue, query, name, by_kind(catalogue, query, memories));
}

Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                     const KindAnswer& kind_answer, const catalogue::MachinePtr& machine) {
  Answered all = answered(catalogue, query, name, kind_answer, machine);
  put_provenance(*all.machine, all.respelled ? *all.respelled : query, all.solver, all.members);
  return std::move(all.members);
}

std::string written_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                           Memories* memories) {
  Answered all = answered(catalogue, query, name, by_kind(catalogue, query, memories), nullptr);
  std::string text =
      written_with_provenance(*all.machine, all.respelled ? *all.respelled : query, all.solver, all.members);
  release(all.members);
  return text;
}

Json members_of_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                       Memories* memories) {
  Answered all = answered(catalogue, query, name, by_kind(catalogue, query, memories), nullptr);
  put_notes(*all.machine, all.members);
  return std::move(all.members);
}

Json answer(catalogue::Catalogue& catalogue, const Json& query) { return answer(catalogue, query, nullptr); }

Json answer(catalogue::Catalogue& catalogue, const Json& query, const catalogue::MachinePtr& machine) {
  try {
    return answer_or_throw(catalogue, query, "query", by_kind(catalogue, query, nullptr), machine);
  } catch (const InputError& error) {
    Json out;
    if (query.is_object() && query.contains("id")) out["id"] = query["id"];
    out["error"] = error.what();
    return out;
  }
}

}  // namespace linkcast::query
