#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "calibrate/pipelines/import_files.hpp"
#include "cli/command.hpp"
#include "cli/help_format.hpp"
#include "cli/plugin_pages.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::cli {
namespace {

// Words that a shell offers behind a half-written command line, from the same options as --help.

/// A word that may come next.
struct OfferedWord {
  std::string word, help;
};

/// Values of an option or of an argument: words, or the names of `linkcast list LISTED`; neither: files.
struct OfferedValues {
  std::string options;  ///< "-p|--platform"; empty: an argument
  std::vector<std::string> words;
  std::string listed;
};

struct CommandOffers {
  std::string path;  ///< "predict p2p"; empty: the program
  std::vector<OfferedWord> commands, options;
  std::vector<OfferedValues> values;
};

std::vector<std::string> split_words(const std::string& text, char between) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(between, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// CLI::IsMember writes the allowed words into the name of the type: "TEXT:{table,json,csv}".
std::vector<std::string> checked_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split_words(type.substr(begin + 2, end - begin - 2), ',');
}

/// Words that the table of a query's key allows.
std::vector<std::string> key_words(const std::string& path, const std::string& option) {
  for (const PluginInfo& info : query::query_kinds().list()) {
    const query::QueryKind& kind = query::query_kinds().get(info.name);
    if (kind.command() != path) continue;
    for (const query::KeyTable* table : {&kind.keys(), &query::common_keys()})
      for (const query::Key& key : *table)
        if (key.cli.name == option) return key.choices;
  }
  return {};
}

/// "'linkcast list platforms'" in a help names where the values are.
std::string listed_in(const std::string& help) {
  const std::string mark = "'linkcast list ";
  const std::size_t at = help.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return help.substr(begin, help.find('\'', begin) - begin);
}

std::vector<std::string> argument_words(const std::string& path, const CLI::Option& argument) {
  if (path == "import" && argument.get_name(true, false) == "format") return pipelines::import_formats();
  if (path == "trace" && argument.get_name(true, false) == "application") return trace_generators().names();
  return checked_words(argument);
}

OfferedValues values_of_option(const std::string& path, const CLI::Option& option) {
  OfferedValues values;
  for (const std::string& name : option.get_snames()) values.options += (values.options.empty() ? "-" : "|-") + name;
  for (const std::string& name : option.get_lnames()) values.options += (values.options.empty() ? "--" : "|--") + name;
  values.words = option.get_positional() ? argument_words(path, option) : checked_words(option);
  if (values.words.empty() && !option.get_lnames().empty())
    values.words = key_words(path, "--" + option.get_lnames().front());
  values.listed = values.words.empty() ? listed_in(option.get_description()) : "";
  return values;
}

CommandOffers offers_of_command(const CLI::App& command, const std::string& path) {
  CommandOffers offers{path, {}, {}, {}};
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    offers.commands.push_back({below->get_name(), below->get_description()});
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      offers.options.push_back({"--" + name, option->get_description()});
    const OfferedValues values = values_of_option(path, *option);
    if (!values.words.empty() || !values.listed.empty()) offers.values.push_back(values);
  }
  return offers;
}

void collect(const CLI::App& command, const std::string& path, std::vector<CommandOffers>& all) {
  all.push_back(offers_of_command(command, path));
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    collect(*below, (path.empty() ? "" : path + " ") + below->get_name(), all);
}

std::string all_words(const std::vector<OfferedWord>& words) {
  std::string text;
  for (const OfferedWord& one : words) text += (text.empty() ? "" : " ") + one.word;
  return text;
}

std::string all_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Patterns of `case` for all commands.
std::string path_patterns(const std::vector<CommandOffers>& offers) {
  std::string text;
  for (const CommandOffers& one : offers)
    if (!one.path.empty()) text += (text.empty() ? "'" : " | '") + one.path + "'";
  return text;
}

/// Sets `command` to the longest command that has been written; the same in both shells.
std::string walk(const std::vector<CommandOffers>& offers, const std::string& word, const std::string& loop) {
  return "  local command='' i\n  for (( " + loop + " )); do\n    case \"${command:+$command }" + word +
         "\" in\n      " + path_patterns(offers) + ")\n        command=\"${command:+$command }" + word +
         "\" ;;\n    esac\n  done\n";
}

std::string values_case(const OfferedValues& values, const std::string& list) {
  return values.listed.empty() ? "'" + all_words(values.words) + "'" : "\"$(" + list + " " + values.listed + ")\"";
}

/// In single quotes of a shell; zsh splits at colons.
std::string quoted(const OfferedWord& one) {
  std::string text = one.word + ":";
  for (const char c : one.help)
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  return "'" + text + "'";
}

/// Offers of the program and of each command below it, outer ones first.
std::vector<CommandOffers> offers_of(const CLI::App& app) {
  std::vector<CommandOffers> all;
  collect(app, "", all);
  return all;
}

std::string bash_completion(const std::vector<CommandOffers>& offers) {
  std::string text =
      "# bash completion of linkcast, made by `linkcast completion bash`\n"
      "_linkcast_names() {\n  \"${COMP_WORDS[0]}\" list \"$1\" --format csv 2>/dev/null | tail -n +2 | cut -d, -f1\n}\n"
      "_linkcast() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' values=''\n" +
      walk(offers, "${COMP_WORDS[i]}", "i = 1; i < COMP_CWORD; i++") + "  case \"$command\" in\n";
  for (const CommandOffers& one : offers) {
    text += "    '" + one.path + "')\n      words='" + all_words(one.options) + "'\n";
    std::string cases, arguments = all_words(one.commands);
    for (const OfferedValues& values : one.values) {
      const std::string shown = values_case(values, "_linkcast_names");
      if (values.options.empty())
        text += "      [[ $cur == -* ]] || values=" + shown + "\n";
      else
        cases += "        " + values.options + ") values=" + shown + " ;;\n";
    }
    if (!arguments.empty()) text += "      [[ $cur == -* ]] || values='" + arguments + "'\n";
    if (!cases.empty()) text += "      case \"$prev\" in\n" + cases + "      esac\n";
    text += "      ;;\n";
  }
  return text +
         "  esac\n  if [[ -n $values ]]; then words=$values; elif [[ $cur != -* ]]; then words=''; fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
         "complete -o default -F _linkcast linkcast\n";
}

std::string zsh_completion(const std::vector<CommandOffers>& offers) {
  std::string text =
      "#compdef linkcast\n# zsh completion of linkcast, made by `linkcast completion zsh`\n"
      "_linkcast_names() {\n  \"${words[1]}\" list \"$1\" --format csv 2>/dev/null | tail -n +2 | cut -d, -f1\n}\n"
      "_linkcast() {\n  local -a offered\n  local values='' prev=${words[CURRENT-1]} cur=${words[CURRENT]}\n" +
      walk(offers, "${words[i]}", "i = 2; i < CURRENT; i++") + "  case \"$command\" in\n";
  for (const CommandOffers& one : offers) {
    text += "    '" + one.path + "')\n      if [[ $cur == -* ]]; then offered=(\n";
    for (const OfferedWord& option : one.options) text += "        " + quoted(option) + "\n";
    text += "      ); else offered=(\n";
    for (const OfferedWord& command : one.commands) text += "        " + quoted(command) + "\n";
    text += "      ); fi\n";
    std::string cases;
    for (const OfferedValues& values : one.values) {
      const std::string shown = values_case(values, "_linkcast_names");
      if (values.options.empty())
        text += "      [[ $cur == -* ]] || values=" + shown + "\n";
      else
        cases += "        " + values.options + ") values=" + shown + " ;;\n";
    }
    if (!cases.empty()) text += "      case \"$prev\" in\n" + cases + "      esac\n";
    text += "      ;;\n";
  }
  return text +
         "  esac\n  if [[ -n $values ]]; then compadd -- ${(f)${values// /$'\\n'}}\n"
         "  elif (( $#offered )); then _describe linkcast offered\n  else _files; fi\n}\n_linkcast \"$@\"\n";
}

}  // namespace

void add_completion(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("completion", "what a shell completes command lines with");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->footer(
      "Example:\n  linkcast completion bash > ~/.local/share/bash-completion/completions/linkcast\n"
      "cmake --install puts both in place.");
  command->callback([shell, &app] {
    const auto offers = offers_of(app);
    std::cout << (*shell == "bash" ? bash_completion(offers) : zsh_completion(offers));
  });
}

}  // namespace linkcast::cli
