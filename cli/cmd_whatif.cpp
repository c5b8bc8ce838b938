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
  constexpr Command kCommands[] = {{"show", add_show},   {"predict", add_predict}, {"routes", add_routes},
                                   {"rings", add_rings}, {"replay", add_replay},   {"place", add_place}};
  context.add_reached(*command, kCommands);
}

}  // namespace linkcast::cli
