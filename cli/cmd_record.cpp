#include <fmt/format.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/python_program.hpp"
#include "sim/base/log.hpp"

namespace linkcast::cli {
namespace {
namespace fs = std::filesystem;

struct RecordOptions {
  std::string out;
  int warm_up = 5, untraced = 20, recorded = 5;
  std::vector<std::string> command;
};

/// What sitecustomize.py and linkcast_record.py read, in every Python that the command starts.
std::map<std::string, std::string> told(const RecordOptions& o) {
  return {{"LINKCAST_RECORD_OUT", fs::absolute(o.out).string()},
          {"LINKCAST_RECORD_WARM_UP", std::to_string(o.warm_up)},
          {"LINKCAST_RECORD_UNTRACED", std::to_string(o.untraced)},
          {"LINKCAST_RECORD_RECORDED", std::to_string(o.recorded)}};
}

int bundles_in(const fs::path& folder) {
  int found = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path().stem().string().starts_with("rank")) ++found;
  return found;
}

void run_record(Context& context, const RecordOptions& o) {
  std::error_code why;
  fs::create_directories(o.out, why);
  if (!fs::is_directory(o.out)) throw InputError("--out: " + o.out + ": no folder can be made there");
  if (bundles_in(o.out) > 0)
    throw InputError("--out: " + o.out + " holds bundles already: name another folder, or remove them");
  const std::string hook = find_script(context, "apps-traces/record/inject/sitecustomize.py");
  context.exit_code = run_hooked(o.command, fs::absolute(hook).parent_path().string(), told(o));
  if (context.exit_code != 0) return;  // the command says why
  const int found = bundles_in(o.out);
  const int needed = o.warm_up + o.untraced + o.recorded + 3;  // two warm a profiler up, one is with operators
  if (found == 0)
    throw InputError(
        fmt::format("record: nothing was recorded: no process took {} steps of an optimizer of PyTorch; loops without "
                    "one use linkcast_record.Recorder",
                    needed));
  log::Log("cli").note("{} bundles: linkcast import kineto {}/rank*.json --out trace.jsonl", found, o.out);
}

}  // namespace

void add_record(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("record", "record training steps of PyTorch, for 'import kineto'");
  auto o = std::make_shared<RecordOptions>();
  command->add_option("--out", o->out, "folder for one bundle a rank: rank0.json, ...")->required()->type_name("DIR");
  const auto steps = [&](const char* name, int& count, const char* help) {
    command->add_option(name, count, help)->check(CLI::Range(1, 1000000))->capture_default_str();
  };
  steps("--warm-up", o->warm_up, "steps before anything is measured");
  steps("--untraced", o->untraced, "steps timed without a profiler");
  steps("--recorded", o->recorded, "steps recorded with CUDA activities alone, after one with CPU activities");
  command->add_option("command", o->command, "what to run, after --: it counts the steps of its optimizer")->required();
  command->footer(
      "Example:\n  linkcast record --out steps -- torchrun --nproc-per-node 8 train.py\n"
      "Loops without an optimizer: apps-traces/record/linkcast_record.py, Recorder.");
  command->callback([o, &context] { run_record(context, *o); });
}

}  // namespace linkcast::cli
