#pragma once
// What a shell offers behind a half-written command line, from the same options as --help.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace linkcast::cli {

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

/// Of the program and of each command below it, outer ones first.
std::vector<CommandOffers> offers_of(const CLI::App& app);

std::string bash_completion(const std::vector<CommandOffers>& offers);
std::string zsh_completion(const std::vector<CommandOffers>& offers);

}  // namespace linkcast::cli
