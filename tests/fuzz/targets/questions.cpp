// Lines of a batch, and the words that options and keys take.
#include "sim/base/hostlist.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/parse.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/place/slurm.hpp"
#include "sim/query/batch_line.hpp"
#include "sim/query/query.hpp"
#include "sim/records/gpu_models.hpp"
#include "tests/fuzz/targets/target.hpp"

namespace linkcast::fuzz {
namespace {

catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue one(data_dir());
  return one;
}

void ask(const Input& input, bool whatif) {
  const std::string line(input.bytes);
  if (line.find('\n') != std::string::npos) return;
  const query::LineAnswer answer = query::answer_line(catalogue(), line, "line", {{}, whatif, false});
  if (answer.broken) found(answer.text.substr(0, 2000));
}

/// An answer has its JSON in one line, and times that are numbers: a NaN would be written as null.
void ask_and_look(const Input& input) {
  const std::string line(input.bytes);
  if (line.find('\n') != std::string::npos) return;
  const query::LineAnswer answer = query::answer_line(catalogue(), line, "line");
  if (answer.broken) found(answer.text.substr(0, 2000));
  if (answer.failed) return;
  const Json result = Json::parse(answer.text);
  for (const char* key : {"time_s", "time_low_s", "time_high_s", "makespan_s", "algbw_Bps", "bandwidth_Bps"})
    if (result.contains(key) && !result[key].is_number())
      found(std::string(key) + " is no number: " + answer.text.substr(0, 2000));
  if (result.contains("time_s") && result.contains("time_low_s") &&
      !(result["time_low_s"] <= result["time_s"] && result["time_s"] <= result["time_high_s"]))
    found("time outside its interval: " + answer.text.substr(0, 2000));
}

template <class Read>
void word(const std::string& text, Read read) {
  try {
    static_cast<void>(read(text));
  } catch (const UnitError&) {
  } catch (const HostlistError&) {
  } catch (const InputError&) {
  }
}

void words(const Input& input) {
  static const Topology topology = catalogue().machine("v100-dgx1")->platform().topology();
  const std::string text(input.bytes);
  word(text, [](const std::string& t) { return parse_bytes(t); });
  word(text, [](const std::string& t) { return parse_seconds(t); });
  word(text, [](const std::string& t) { return parse_bandwidth(t); });
  word(text, [](const std::string& t) { return expand_hostlist(t); });
  word(text, [](const std::string& t) { return parse_edit(t); });
  word(text, [](const std::string& t) { return gpu_list(topology, t); });
  word(text, [](const std::string& t) { return edit_with_gpus(topology, t); });
  word(text, [](const std::string& t) { return work::parse_time_limit(t, "--max-time"); });
  word(text, [](const std::string& t) { return work::parse_memory_limit(t, "--max-memory"); });
  word(text, [](const std::string& t) { return find_gpu_model(t).has_value(); });
}

void edited(const Input& input) {
  static_cast<void>(catalogue().edited(catalogue().machine("alps"), {std::string(input.bytes)}));
}

}  // namespace

std::vector<Target> question_targets() {
  return {
      {"query", "", ask_and_look},
      {"whatif", "", [](const Input& input) { ask(input, true); }},
      {"words", "", words},
      {"edit", "", edited},
      {"slurm-nodes", "",
       [](const Input& input) { placement::read_slurm_nodes(parse_json(std::string(input.bytes), "nodes"), "nodes"); }},
      {"slurm-job", "",
       [](const Input& input) { placement::read_slurm_job(parse_json(std::string(input.bytes), "job"), "job"); }}};
}

}  // namespace linkcast::fuzz
