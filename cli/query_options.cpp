#include "cli/query_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/files.hpp"
#include "cli/option_names.hpp"
#include "sim/base/input_error.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::cli {
namespace {

constexpr double kUsualStep_B = 1048576;   // source: nccl-tests, doc of -i,--stepbytes: default 1M
constexpr std::size_t kMostSizes = 10000;  // ours: a curve, not a study

}  // namespace

void SizeRange::add_to(CLI::App& command) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* help) {
    return command.add_option(names, value, help)->type_name(type);
  };
  first_ = add("-b,--minbytes", first_text_, "SIZE", "first of a curve of sizes, as of nccl-tests");
  last_ = add("-e,--maxbytes", last_text_, "SIZE", "last one (default: the first)");
  factor_ = add("-f,--stepfactor", factor_value_, "FLOAT", "each size times this, e.g. 2");
  step_ = add("-i,--stepbytes", step_text_, "SIZE", "or each size plus this (default: 1M)");
  for (CLI::Option* option : {last_, factor_, step_}) option->needs(first_);
  factor_->excludes(step_);
}

bool SizeRange::given() const { return first_ != nullptr && first_->count() > 0; }

std::vector<double> SizeRange::sizes() const {
  const double first = query::parse_size("--minbytes", first_text_);
  const double last = last_->count() > 0 ? query::parse_size("--maxbytes", last_text_) : first;
  const double step = step_->count() > 0 ? query::parse_size("--stepbytes", step_text_) : kUsualStep_B;
  const bool times = factor_->count() > 0;
  if (times && !(factor_value_ > 1)) throw InputError("--stepfactor: must be above 1");
  if (step < 1) throw InputError("--stepbytes: must be at least 1 B");
  if (first < 1) throw InputError("--minbytes: must be at least 1 B");
  if (last < first) throw InputError("--maxbytes: is below --minbytes");
  std::vector<double> sizes;
  for (double size = first; size <= last; size = times ? std::floor(size * factor_value_) : size + step) {
    if (sizes.size() == kMostSizes || (!sizes.empty() && size <= sizes.back()))
      throw InputError(fmt::format("--maxbytes: more than {} sizes: use a larger step", kMostSizes));
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<double> size_list(const std::string& option, const std::string& text) {
  std::vector<double> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(query::parse_size(option, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return sizes;
}

namespace {

/// "key=value" texts as one object; the keys in order, as a record has them.
Json merged(const std::vector<std::string>& texts, const query::CliOption& cli) {
  std::map<std::string, Json> values;
  for (const std::string& text : texts) {
    const Json entry = cli.parse(text, cli.name);
    for (const auto& [key, value] : entry.items())
      if (!values.emplace(key, value).second) throw InputError(cli.name + " " + key + ": is given twice");
  }
  Json object = Json::object();
  for (const auto& [key, value] : values) object[key] = value;
  return object;
}

Json elements(const std::vector<std::string>& texts, const query::CliOption& cli) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(cli.parse(text, cli.name));
  return list;
}

}  // namespace

namespace {

bool below_whatif(const CLI::App& command) {
  for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent())
    if (above->get_name() == "whatif") return true;
  return false;
}

}  // namespace

QueryOptions::QueryOptions(CLI::App& command, Context& context, const std::string& kind,
                           const std::vector<std::string>& formats)
    : kind_(kind) {
  add_common(command, context, platform_, formats);
  for (const query::Key& key : query::query_kinds().get(kind).keys())
    if (!key.cli.name.empty()) add(command, slots_.emplace_back(Slot{&key}));
  relate();
  if (below_whatif(command) && kind != "replay")
    command
        .add_option("--after", context.after,
                    "a setting of the second answer alone: protocol=Simple, NCCL_BUFFSIZE=8388608, library=nccl-2.30")
        ->type_name("KEY=VALUE")
        ->take_all()
        ->allow_extra_args(false)
        ->group(kEditGroup);
}

void QueryOptions::add(CLI::App& command, Slot& slot) {
  const query::Key& key = *slot.key;
  const query::CliOption& cli = key.cli;
  const std::string help = option_help(key);
  if (cli.repeated)
    slot.option = command.add_option(cli.name, slot.texts, help);
  else if (key.type == query::ValueType::kFlag)
    slot.option = command.add_flag(cli.opposite.empty() ? cli.name : cli.name + ",!" + cli.opposite, slot.flag, help);
  else if (key.type == query::ValueType::kWhole && !cli.parse)
    slot.option = command.add_option(cli.name, slot.whole, help);
  else if (key.type == query::ValueType::kNumber)
    slot.option = command.add_option(cli.name, slot.number, help);
  else
    slot.option = command.add_option(cli.name, slot.text, help);
  if (key.required && !cli.optional) slot.option->required();
  if (!cli.type_name.empty()) slot.option->type_name(cli.type_name);
  if (cli.type_name == "FILE") reads_stdin(slot.option);
  if (cli.repeated) slot.option->allow_extra_args(cli.several);
}

/// Which options need or exclude which.
void QueryOptions::relate() {
  for (const Slot& slot : slots_)
    for (const Slot& other : slots_) {
      const auto named = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), other.key->name) != names.end();
      };
      if (named(slot.key->needs)) slot.option->needs(other.option);
      if (named(slot.key->excludes)) slot.option->excludes(other.option);
    }
}

void QueryOptions::take_sizes(CLI::App& command) {
  for (Slot& slot : slots_) {
    if (slot.key->name != "size_B") continue;
    slot.option->required(false)->description(slot.option->get_description() + "; several: 8,64K,1M");
    size_ = &slot;
  }
  range_.add_to(command);
}

std::vector<double> QueryOptions::sizes() const {
  if (range_.given()) {
    if (size_->option->count() > 0) throw InputError("--size: excludes --minbytes");
    return range_.sizes();
  }
  return size_->text.find(',') == std::string::npos ? std::vector<double>{} : size_list("--size", size_->text);
}

Json QueryOptions::query_of_size(double size_B) const {
  check_alternatives();
  Json query{{"kind", kind_}, {"platform", platform_}};
  for (const Slot& slot : slots_)
    if (given(slot)) query[slot.key->name] = &slot == size_ ? Json(size_B) : value_of(slot);
  return query;
}

bool QueryOptions::given(const Slot& slot) const {
  if (&slot == size_ && range_.given()) return true;
  if (slot.option->count() == 0) return false;
  const bool is_text = !slot.key->cli.repeated && (slot.key->type != query::ValueType::kFlag) &&
                       (slot.key->cli.parse || slot.key->type == query::ValueType::kText);
  const bool is_file = slot.key->files == query::Files::kFile;  // "" is a name of one, and a wrong one
  return slot.key->required || is_file || !is_text || !slot.text.empty();
}

Json QueryOptions::value_of(const Slot& slot) {
  const query::CliOption& cli = slot.key->cli;
  if (cli.repeated)
    return slot.key->type == query::ValueType::kObject ? merged(slot.texts, cli) : elements(slot.texts, cli);
  if (cli.parse) return cli.parse(slot.text, long_name(cli.name));
  switch (slot.key->type) {
    case query::ValueType::kFlag:
      return slot.flag;
    case query::ValueType::kWhole:
      return slot.whole;
    case query::ValueType::kNumber:
      return slot.number;
    default:
      return slot.text;
  }
}

bool QueryOptions::needs_are_given(const Slot& slot) const {
  return std::all_of(slot.key->needs.begin(), slot.key->needs.end(), [&](const std::string& needed) {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& other) { return other.key->name == needed && given(other); });
  });
}

/// Of keys that stand in for each other one must be given.
void QueryOptions::check_alternatives() const {
  for (const Slot& slot : slots_) {
    if (slot.key->unless.empty() || given(slot) || !needs_are_given(slot)) continue;
    std::string others;
    bool other_given = false;
    for (const Slot& other : slots_) {
      const auto& needs = other.key->needs;
      const bool stands_in = other.key->name == slot.key->unless;
      if (!stands_in && std::find(needs.begin(), needs.end(), slot.key->unless) == needs.end()) continue;
      const auto& excludes = slot.key->excludes;
      if (!stands_in && std::find(excludes.begin(), excludes.end(), other.key->name) == excludes.end()) continue;
      others += (others.empty() ? "" : " and ") + other.key->cli.name;
      other_given = other_given || (stands_in && given(other));
    }
    if (!other_given) throw InputError(slot.key->cli.name + ", or " + others + ": one is required");
  }
}

Json QueryOptions::query() const {
  check_alternatives();
  if (size_ != nullptr && size_->key->required && !given(*size_)) throw CLI::RequiredError("--size");
  Json query{{"kind", kind_}, {"platform", platform_}};
  for (const Slot& slot : slots_)
    if (given(slot))
      query[slot.key->name] = &slot == size_ ? Json(query::parse_size("--size", slot.text)) : value_of(slot);
  return query;
}

}  // namespace linkcast::cli
