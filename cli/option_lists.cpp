#include "cli/option_lists.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "sim/base/input_error.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/edit.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/query/key.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostCommas = 8;  // source: ours, in the name of a file within a list

/// Behind blanks and "--".
std::string_view verb_and_rest(const std::string& edit) {
  return std::string_view(edit).substr(std::min(edit.find_first_not_of(" -"), edit.size()));
}

bool begins_edit(const std::string& piece) {
  return std::any_of(edit_verbs().begin(), edit_verbs().end(),
                     [&](const std::string& verb) { return verb_and_rest(piece).starts_with(verb + " "); });
}

/// Keys of a network follow each other behind commas; no other edit has some.
bool may_have_commas(const std::string& edit) {
  return verb_and_rest(edit).starts_with("fabric") || verb_and_rest(edit).starts_with("network");
}

/// Not a GPU, a size or a number, which are more of the element before.
bool begins_job(const std::string& piece) {
  if (std::isdigit(static_cast<unsigned char>(piece.front())) != 0) return false;
  return !read_gpu_text(query::at_colons(piece).front());
}

/// Whether a piece behind a comma is an element by itself.
bool begins_element(const std::string& type, const std::string& piece) {
  if (type == "KEY=VALUE") return piece.find('=') != std::string::npos;
  if (piece.empty()) return true;
  if (type == "EDIT") return begins_edit(piece);
  if (type.find("JOB") != std::string::npos || type.find("GPUS") != std::string::npos) return begins_job(piece);
  return true;
}

bool is_file(const std::string& name) {
  std::error_code no_name;  // too long for one
  return std::filesystem::exists(name, no_name);
}

/// @param last  where the last piece of the text begins: the GPUs that may stand behind a name are behind a colon of it
bool begins_with_file(const std::string& text, std::size_t last) {
  if (is_file(text)) return true;
  for (std::size_t colon = text.find(':', last); colon != std::string::npos; colon = text.find(':', colon + 1))
    if (is_file(text.substr(0, colon))) return true;
  return false;
}

/// Pieces at the commas of a list. Commas in the name of a file that exists part nothing, and the longest name counts.
std::vector<std::string> pieces_of(const std::string& list) {
  const std::vector<std::string> parts = split(list + ",", ',');
  std::vector<std::string> pieces;
  for (std::size_t at = 0, next = 0; at < parts.size(); at = next) {
    next = at + 1;
    std::string text = pieces.emplace_back(parts[at]);
    for (std::size_t end = at + 1; end < std::min(parts.size(), at + 1 + kMostCommas); ++end) {
      const std::size_t last = text.size() + 1;
      text += "," + parts[end];
      if (!begins_with_file(text, last)) continue;
      pieces.back() = text;
      next = end + 1;
    }
  }
  return pieces;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

bool has_words_of_its_own(const CLI::App& command) {
  const auto positional = [](const CLI::Option* option) { return option->get_positional(); };
  return !command.get_options(positional).empty() ||
         !command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

}  // namespace

std::vector<std::string> list_elements(const std::string& option, const std::string& type, const std::string& text) {
  if (text.empty() || type.find(',') != std::string::npos || is_file(text)) return {text};
  std::vector<std::string> elements;
  for (const std::string& piece : pieces_of(text)) {
    if (elements.empty() || begins_element(type, piece)) {
      if (piece.empty()) throw InputError(option + ": '" + text + "' has a comma too many");
      elements.push_back(piece);
    } else {
      if (type == "EDIT" && !may_have_commas(elements.back()))
        throw InputError(option + ": '" + piece + "' has no verb: each edit of a list begins with one, e.g. " +
                         "remove gpu0-gpu4,remove gpu1-gpu5");
      elements.back() += "," + piece;
    }
  }
  return elements;
}

std::vector<std::string> without_lists(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const CLI::App* command = &app;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
      return out;
    }
    out.push_back(word);
    if (!is_option(word)) {
      const auto below = command->get_subcommands([&](const CLI::App* one) { return one->check_name(word); });
      if (!below.empty()) command = below.front();
      continue;
    }
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const CLI::Option* option = command->get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_min() == 0) continue;
    if (equals == std::string::npos && (at + 1 == words.size() || is_option(words[at + 1]))) continue;
    std::vector<std::string> values = {equals == std::string::npos ? words[++at] : word.substr(equals + 1)};
    const bool list = option->get_items_expected_max() > 1;
    while (list && !has_words_of_its_own(*command) && at + 1 < words.size() && !is_option(words[at + 1]))
      values.push_back(words[++at]);
    if (list) {
      out.pop_back();
      for (const std::string& value : values)
        for (const std::string& element : list_elements(name, option->get_type_name(), value)) {
          out.push_back(equals == std::string::npos ? name : name + "=" + element);
          if (equals == std::string::npos) out.push_back(element);
        }
    } else if (equals == std::string::npos) {
      out.push_back(values.front());
    }
  }
  return out;
}

}  // namespace linkcast::cli
