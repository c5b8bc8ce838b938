#include "cli/option_lists.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/base/text.hpp"
#include "sim/machine/edit.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/query/key.hpp"

namespace linkcast::cli {
namespace {

bool begins_edit(const std::string& piece) {
  return std::any_of(edit_verbs().begin(), edit_verbs().end(),
                     [&](const std::string& verb) { return piece.starts_with(verb + " "); });
}

/// Not a GPU, a size or a number, which are more of the element before.
bool begins_job(const std::string& piece) {
  if (piece.empty() || std::isdigit(static_cast<unsigned char>(piece.front())) != 0) return false;
  return !read_gpu_text(query::at_colons(piece).front());
}

/// Whether a piece behind a comma is an element by itself.
bool begins_element(const std::string& type, const std::string& piece) {
  if (type == "EDIT") return begins_edit(piece);
  if (type == "KEY=VALUE") return piece.find('=') != std::string::npos;
  if (type.find("JOB") != std::string::npos || type.find("GPUS") != std::string::npos) return begins_job(piece);
  return true;
}

bool is_file(const std::string& name) {
  std::error_code no_name;  // too long for one
  return std::filesystem::exists(name, no_name);
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

bool has_words_of_its_own(const CLI::App& command) {
  const auto positional = [](const CLI::Option* option) { return option->get_positional(); };
  return !command.get_options(positional).empty() ||
         !command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

}  // namespace

std::vector<std::string> list_elements(const std::string& type, const std::string& text) {
  if (type.find(',') != std::string::npos || is_file(text)) return {text};
  std::vector<std::string> elements;
  for (const std::string& piece : split(text + ",", ','))
    if (elements.empty() || begins_element(type, piece))
      elements.push_back(piece);
    else
      elements.back() += "," + piece;
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
        for (const std::string& element : list_elements(option->get_type_name(), value)) {
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
