#include "sim/query/whatif.hpp"

#include <algorithm>

#include "sim/query/query.hpp"

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

Json whatif_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& name, Memories* memories) {
  if (!query.is_object() || !query.contains("edits") || query["edits"].empty())
    throw InputError(name + ": whatif needs at least one edit, e.g. remove gpu0-gpu4");
  Json plain = query;
  plain.erase("edits");
  Json before = answer_or_throw(catalogue, plain, name, memories);
  Json after = answer_or_throw(catalogue, query, name, memories);
  Json change = change_of(before, after);
  Json out;
  if (query.contains("id")) out["id"] = query["id"];
  out["before"] = std::move(before);
  out["after"] = std::move(after);
  out["change"] = std::move(change);
  return out;
}

}  // namespace linkcast::query
