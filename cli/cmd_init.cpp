#include <iostream>

#include "calibrate/pipelines/init_machine.hpp"
#include "cli/command.hpp"
#include "cli/file_kind.hpp"
#include "cli/files.hpp"

namespace linkcast::cli {
namespace {

struct InitOptions {
  pipelines::NewMachine machine;
  std::vector<std::string> options;
  bool json = false;
};

std::string next_command(const pipelines::InitialisedMachine& result) {
  const std::string platform = shell_argument(result.platform);
  if (result.gpus < 2) return "linkcast predict p2p --platform " + platform + " --src cpu0 --dst gpu0 --size 64MiB";
  return "linkcast predict collective --platform " + platform + " --gpus 0-" + std::to_string(result.gpus - 1) +
         " --op all_reduce --size 1GB";
}

void run_init(InitOptions& o, Context& context) {
  o.machine.options = key_values(o.options, "import");
  for (const std::string& file : o.machine.files) expect_file_of("init", file);
  const pipelines::InitialisedMachine result = pipelines::init_machine(context.catalogue(), o.machine);
  tell(result.import_notes);
  if (o.json) {
    const Json answer = {{"found", result.found},
                         {"topology", result.topology},
                         {"platform", result.platform},
                         {"notes", result.notes},
                         {"next", next_command(result)}};
    std::cout << answer.dump(2) << '\n';
    return;
  }
  std::cout << "found: " << result.found << "\nwrote: " << result.topology << " (what is wired to what), "
            << result.platform << " (with parameters)\n";
  for (const std::string& note : result.notes) std::cout << note << '\n';
  std::cout << "next: " << next_command(result) << '\n';
}

}  // namespace

void add_init(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("init", "this machine, or a pasted one, as a platform in one go");
  auto o = std::make_shared<InitOptions>();
  reads_stdin(command->add_option(
      "file", o->machine.files,
      "outputs of nvidia-smi topo -m, topo -p2p r, -L, nvlink -s, of rocm-smi --showtopo or amd-smi "
      "topology, XML of NCCL or hwloc, in any order; '-': standard input (default: ask nvidia-smi, "
      "rocm-smi or amd-smi here)"));
  command->add_option("--out", o->machine.out, "folder for NAME-topology.json and NAME.json (default: this one)");
  command->add_option("--machine", o->machine.machine, "its name (default: that of the host)");
  command->add_option("--option", o->options, "what the files do not say, see 'linkcast import --help'; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--force", o->machine.force, "replace files that are there");
  command->add_flag("--json", o->json, "one JSON object on stdout: what was found and written");
  command->footer("Example:\n  linkcast init --out box\n  linkcast init topo.txt list.txt nvlink.txt --machine box");
  command->callback([o, &context] { run_init(*o, context); });
}

}  // namespace linkcast::cli
