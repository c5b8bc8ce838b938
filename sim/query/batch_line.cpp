#include "sim/query/batch_line.hpp"

#include <new>

#include "sim/base/file_error.hpp"
#include "sim/base/quick_json.hpp"
#include "sim/query/answer_row.hpp"
#include "sim/query/query.hpp"
#include "sim/query/whatif.hpp"

namespace linkcast::query {
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

LineAnswer answer_line(catalogue::Catalogue& catalogue, const std::string& line, const std::string& name,
                       const BatchOptions& options, Memories* memories) {
  Json result{{"id", nullptr}};  // of a line that is not JSON
  LineAnswer answer;
  try {
    Json query = parse_json(line, name);
    if (query.is_object() && query.contains("id")) result["id"] = query["id"];
    add_edits(options.edits, query);
    result = options.whatif ? whatif_answer(catalogue, query, name, memories)
                            : answer_or_throw(catalogue, query, name, memories);
  } catch (const InputError& error) {
    result["error"] = error.what();
    answer.failed = true;
  } catch (const std::filesystem::filesystem_error& error) {
    result["error"] = name + ": " + file_error_text(error);
    answer.failed = true;
  } catch (const std::bad_alloc&) {
    result["error"] = name + ": there is not enough memory for it";
    answer.failed = true;
  } catch (const std::exception& error) {  // a bug of ours must not cost the other answers
    result["error"] = std::string("internal: ") + error.what();
    answer.failed = answer.broken = true;
  }
  if (options.rows) result = answer.failed ? row_of_error(result["error"], name) : row_of(result);
  answer.text = write_quickly(result);  // errors quote the line
  return answer;
}

}  // namespace linkcast::query
