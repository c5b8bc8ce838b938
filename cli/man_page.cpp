#include "cli/man_page.hpp"

#include <sstream>

#include "cli/help_format.hpp"
#include "cli/version.hpp"
#include "sim/query/build_version.hpp"

namespace linkcast::cli {
namespace {

/// Backslashes, dashes that are typed, and lines that would begin a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == '\n';
    if (starts && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

void add_options(const CLI::App& command, const std::string& group, std::ostream& out) {
  for (const CLI::Option* option : command.get_options(
           [&](const CLI::Option* one) { return one->get_group() == group || one->get_positional(); })) {
    if (option->get_positional() && group != "Options") continue;
    const bool help = option->check_lname("help") || option->check_lname("help-all");
    if (help && command.get_parent() != nullptr) continue;  // said of the program
    const std::string name = option->get_name(option->get_positional(), !option->get_positional());
    out << ".TP\n\\fB" << escaped(name) << "\\fR\n" << escaped(option->get_description()) << '\n';
  }
}

void add_command(const CLI::App& command, std::ostream& out) {
  out << ".SH " << escaped(full_name(command)) << '\n' << escaped(command.get_description()) << ".\n";
  add_options(command, "Options", out);
  if (!options_of_group(command, kEditGroup).empty()) out << ".PP\nTakes what\\-if edits, see EDITS.\n";
  if (!command.get_footer().empty()) out << ".PP\n.nf\n" << escaped(command.get_footer()) << "\n.fi\n";
  if (command.get_name() == "whatif") return;  // its commands stand alone too
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) add_command(*below, out);
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::ostringstream out;
  out << ".TH LINKCAST 1 \"\" \"linkcast " << query::build_version() << "\" \"User Commands\"\n"
      << ".SH NAME\nlinkcast \\- forecasts what a GPU interconnect will do\n"
      << ".SH SYNOPSIS\n.B linkcast\nCOMMAND [OPTIONS]\n"
      << ".SH DESCRIPTION\n"
      << escaped(app.get_description()) << '\n';
  add_options(app, "Options", out);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) add_command(*command, out);
  out << ".SH EDITS\n";
  add_options(*app.get_subcommand("rings"), kEditGroup, out);
  out << ".SH EXIT STATUS\n0 done; 1 a batch or a study holds errors, or what the other codes do not say; 2 bad "
         "input,\n"
         "one line says what; 3 an invariant is broken; 4 a claim or a comparison failed.\n";
  return out.str();
}

}  // namespace linkcast::cli
