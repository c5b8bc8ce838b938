#include "cli/command.hpp"
#include "cli/python_program.hpp"

namespace linkcast::cli {
namespace {

constexpr int kMostSteps = 10000000;

struct WiringOptions {
  std::string platform, job, library;
  std::vector<std::string> mixes;
  int steps = 0, top = 0;
  unsigned seed = 0;
};

std::vector<std::string> arguments_of(const WiringOptions& o, const Context& context) {
  std::vector<std::string> arguments = {"--platform", o.platform, "--seed", std::to_string(o.seed)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  add("--job", o.job);
  add("--library", o.library);
  for (const std::string& mix : o.mixes) add("--mix", mix);
  if (o.steps > 0) add("--steps", std::to_string(o.steps));
  if (o.top > 0) add("--top", std::to_string(o.top));
  if (context.json || context.format == OutputFormat::kCsv)
    arguments.insert(arguments.end(), {"--format", context.json ? "json" : "csv"});
  return arguments;
}

}  // namespace

void add_wiring(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("wiring", "wirings of a machine's GPUs that would serve job mixes better than its own");
  auto o = std::make_shared<WiringOptions>();
  command
      ->add_option("-p,--platform", o->platform, "machine whose GPUs have direct cables of one kind, equally many each")
      ->required();
  command->add_option("--job", o->job, "what each job calls, OP:SIZE (default: all_reduce:64MiB)");
  command
      ->add_option("--mix", o->mixes,
                   "GPUs of jobs that run at once, e.g. 5+3; repeatable (default: 8, 5+3, 4+4, 6+2, 2+2+2+2)")
      ->allow_extra_args(false);
  command->add_option("--library", o->library, "communication library (default: the platform's)");
  command->add_option("--steps", o->steps, "so many wirings are looked at (default: 500)")
      ->check(CLI::Range(1, kMostSteps));
  command->add_option("--seed", o->seed, "of the random wirings that the search starts from, default 0");
  command->add_option("--top", o->top, "so many are listed (default: 5)")->check(CLI::PositiveNumber);
  add_format(*command, context);
  command->footer("Example:\n  linkcast wiring --platform v100-dgx1 --steps 200\nCtrl-C prints the best until then.");
  command->callback([o, &context] { become_python(context, "wiring", arguments_of(*o, context)); });
}

}  // namespace linkcast::cli
