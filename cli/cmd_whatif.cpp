#include <array>

#include "cli/command.hpp"

namespace linkcast::cli {

/// The other commands below a word of their own: they ask for answers, which then come without and with the edits.
void add_whatif(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("whatif", "a command without and with edits: before, after, change");
  command->require_subcommand(1);
  command->preparse_callback([&context](std::size_t) { context.whatif = true; });
  command->footer(
      "Example:\n  linkcast whatif predict collective --platform p100-dgx1 --gpus 0-7 --op all_reduce --size 64MiB "
      "--remove gpu0-gpu4");
  const std::vector<std::string> names{"show", "predict", "routes", "rings", "replay", "place"};
  constexpr std::array kAdd = {add_show, add_predict, add_routes, add_rings, add_replay, add_place};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (context.reaches(*command, names[i], names)) kAdd[i](*command, context);
}

}  // namespace linkcast::cli
