#pragma once
// How --help looks: 80 columns, at most 60 lines a command, what-if edits on a page of their own.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace linkcast::cli {

/// Group of the options that `linkcast help edits` explains.
inline constexpr const char* kEditGroup = "What-if edits";

class HelpFormatter final : public CLI::Formatter {
 public:
  /// Of mode All (--help-all) every option of the command; else as many as 60 lines hold, the others by name.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;
};

/// The options of a group that are not positional.
std::vector<const CLI::Option*> options_of_group(const CLI::App& command, const std::string& group);
/// "linkcast predict p2p"
std::string full_name(const CLI::App& command);
/// As --help prints it.
std::string help_of(const CLI::App& command, bool all = false);
/// Page on the edits, which `command` takes.
std::string edits_page(const CLI::App& command);

}  // namespace linkcast::cli
