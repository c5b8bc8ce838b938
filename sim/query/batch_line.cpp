#include "sim/query/batch_line.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/release.hpp"
#include "sim/query/query.hpp"

namespace linkcast::query {
namespace {

constexpr std::array<std::string_view, 4> kLeftOut{"id", "kind", "inputs", "versions"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kJoined{
    {{"bottleneck", "  "}, {"route", "  "}, {"warnings", " | "}}};
// Lists of answers, best first, and what the GPUs of the first are called.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kFirstOf{
    {{"routes", "route"}, {"placements", "placement"}}};

template <class List>
const char* of(const List& list, const std::string& key) {
  for (const auto& [name, value] : list)
    if (name == key) return value.data();
  return nullptr;
}

bool is_left_out(const std::string& key) {
  for (const std::string_view name : kLeftOut)
    if (name == key) return true;
  return of(kFirstOf, key) != nullptr;
}

bool is_plain(const Json& value) { return value.is_primitive() && !value.is_null(); }

std::string joined(const Json& list, const std::string& between) {
  std::string text;
  for (const Json& item : list)
    text += (text.empty() ? "" : between) + (item.is_string() ? item.get_ref<const std::string&>() : item.dump());
  return text;
}

Json flat(const Json& answer) {
  Json row = Json::object();
  for (const auto& [key, value] : answer.items()) {
    if (is_left_out(key)) continue;
    if (is_plain(value))
      row[key] = value;
    else if (const char* between = of(kJoined, key); between != nullptr && value.is_array())
      row[key] = joined(value, between);
    else if (key == "channels" && value.is_array())
      row[key] = value.size();
    else if (key == "ranks" && value.is_array())  // of a replay: those of its own job
      row[key] = std::count_if(value.begin(), value.end(), [](const Json& rank) { return rank.value("job", 0) == 0; });
    else if (value.is_object())
      for (const auto& [inner, item] : value.items())
        if (is_plain(item)) row[key + "." + inner] = item;
  }
  return row;
}

}  // namespace

Json row_of(const Json& answer) {
  Json row = flat(answer);
  for (const auto& [key, name] : kFirstOf) {
    const auto list = answer.find(key);
    if (list == answer.end() || !list->is_array() || list->empty()) continue;
    Json best = flat(list->front());
    if (const auto gpus = list->front().find("gpus"); gpus != list->front().end())
      best[std::string(name)] = joined(*gpus, " ");
    best.update(row);
    best[std::string(key)] = list->size();
    row = std::move(best);
  }
  return row;
}

namespace {

void add_edits(const std::vector<std::string>& edits, Json& query) {
  if (edits.empty() || !query.is_object()) return;
  if (!query.contains("edits")) query["edits"] = Json::array();
  if (query["edits"].is_array())
    for (const std::string& edit : edits) query["edits"].push_back(edit);
}

/// Only the error, which does not say where in the batch it is.
Json row_of_error(const std::string& error, const std::string& name) {
  if (error.rfind(name, 0) != 0) return {{"error", error}};
  const std::size_t at = error.find_first_not_of(": ", name.size());
  return {{"error", at == std::string::npos ? error : error.substr(at)}};
}

}  // namespace

namespace {

std::string written_row(Json answer) {
  Json row = row_of(answer);
  std::string text = write_quickly(row);
  release(row);
  release(answer);
  return text;
}

}  // namespace

LineAnswer answer_line(catalogue::Catalogue& catalogue, const std::string& line, const std::string& name,
                       const BatchOptions& options, Memories* memories) {
  Json id = nullptr;  // of a line that is not JSON
  LineAnswer answer;
  std::string wrong;
  try {
    Json query = parse_json(line, name);
    if (query.is_object() && query.contains("id")) id = query["id"];
    add_edits(options.edits, query);
    if (options.rows)
      answer.text = written_row(options.whatif ? whatif_answer(catalogue, query, name, memories)
                                               : members_of_answer(catalogue, query, name, memories));
    else if (options.whatif)
      answer.text = write_quickly(whatif_answer(catalogue, query, name, memories));
    else
      answer.text = written_answer(catalogue, query, name, memories);
    release(query);
    return answer;
  } catch (const InputError& error) {
    wrong = error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    wrong = name + ": " + file_error_text(error);
  } catch (const std::bad_alloc&) {
    wrong = name + ": there is not enough memory for it";
  } catch (const std::exception& error) {  // a bug of ours must not cost the other answers
    wrong = std::string("internal: ") + error.what();
    answer.broken = true;
  }
  answer.failed = true;
  answer.text = write_quickly(options.rows ? row_of_error(wrong, name) : Json{{"id", id}, {"error", wrong}});
  return answer;  // errors quote the line
}

}  // namespace linkcast::query
