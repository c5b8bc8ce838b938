#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/explanations.hpp"
#include "cli/texts.hpp"
#include "sim/base/text.hpp"

namespace linkcast::cli {
namespace {

Json row_of(const Explanation& one) {
  Json row{{"kind", one.kind}, {"name", one.name}, {"text", one.text}, {"page", one.page}};
  if (!one.pattern.empty()) row["pattern"] = one.pattern;
  return row;
}

/// All names, with parameters behind the others.
std::vector<Explanation> everything() {
  std::vector<Explanation> list = explanations();
  for (Explanation& one : parameter_explanations()) list.push_back(std::move(one));
  return list;
}

std::vector<Explanation> named(const std::vector<std::string>& names) {
  std::vector<Explanation> list;
  for (const std::string& name : names) {
    std::vector<Explanation> found = explanations_of(name);
    if (found.empty()) {
      std::vector<std::string> known;
      for (const Explanation& one : everything())
        if (std::find(known.begin(), known.end(), one.name) == known.end()) known.push_back(one.name);
      throw InputError("explain: '" + name + "' is no warning, term, bottleneck or parameter" +
                       did_you_mean(name, known) + ": 'linkcast explain' lists them");
    }
    for (Explanation& one : found) list.push_back(std::move(one));
  }
  return list;
}

void print_list(const std::vector<Explanation>& list) {
  std::vector<std::vector<std::string>> rows;
  for (const Explanation& one : list) {
    std::vector<std::string> row{one.kind, one.name};
    if (!one.pattern.empty()) row.push_back(one.pattern);
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
  print_table(rows);
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("explain", "what a warning, term, bottleneck or parameter of an answer means");
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("name", *names, "as an answer prints it, the text of a warning too (default: list all)");
  add_format(*command, context);
  command->footer(
      "Example:\n  linkcast explain hops\n  linkcast explain 'the rate of gpu0->cpu0 is nominal, not calibrated'");
  command->callback([names, &context] {
    const std::vector<Explanation> list = names->empty() ? everything() : named(*names);
    Json rows = Json::array();
    for (const Explanation& one : list) rows.push_back(row_of(one));
    if (print_as_data(context, {{"explanations", rows}}, "explanations")) return;
    if (names->empty()) return print_list(list);
    for (std::size_t i = 0; i < list.size(); ++i)
      std::cout << (i == 0 ? "" : "\n") << list[i].kind << ' ' << list[i].name << '\n'
                << wrapped_text(list[i].text) << "See " << list[i].page << '\n';
  });
}

}  // namespace linkcast::cli
