#include "sim/query/batch_line.hpp"

#include <new>

#include "sim/query/query.hpp"
#include "sim/query/whatif.hpp"
#include "sim/records/file_error.hpp"

namespace linkcast::query {
namespace {

void add_edits(const std::vector<std::string>& edits, Json& query) {
  if (edits.empty() || !query.is_object()) return;
  if (!query.contains("edits")) query["edits"] = Json::array();
  if (query["edits"].is_array())
    for (const std::string& edit : edits) query["edits"].push_back(edit);
}

}  // namespace

LineAnswer answer_line(catalogue::Catalogue& catalogue, const std::string& line, const std::string& name,
                       const BatchOptions& options) {
  Json result{{"id", nullptr}};  // of a line that is not JSON
  LineAnswer answer;
  try {
    Json query = parse_json(line, name);
    if (query.is_object() && query.contains("id")) result["id"] = query["id"];
    add_edits(options.edits, query);
    result = options.whatif ? whatif_answer(catalogue, query, name) : answer_or_throw(catalogue, query, name);
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
  answer.text = result.dump(-1, ' ', false, Json::error_handler_t::replace);  // errors quote the line
  return answer;
}

}  // namespace linkcast::query
