#include <iostream>

#include "cli/command.hpp"
#include "cli/completion.hpp"

namespace linkcast::cli {

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
