#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/file_kind.hpp"
#include "cli/files.hpp"
#include "sim/base/log.hpp"
#include "sim/base/text.hpp"
#include "validate/diagnosis/diagnose_logs.hpp"
#include "validate/diagnosis/found_platform.hpp"

namespace linkcast::cli {
namespace {

struct DiagnoseOptions {
  diagnosis::LogRequest request;
  std::vector<std::string> options;
};

/// A platform in the place of a file, or a file of another command.
void check_files(const diagnosis::LogRequest& request, Context& context) {
  for (const auto* paths : {&request.files, &request.baseline})
    for (const std::string& path : *paths) {
      if (!std::filesystem::exists(path) && context.catalogue().has_platform(path))
        throw InputError(path + ": is a platform, and no file: linkcast diagnose LOG --platform " + path);
      if (request.format.format.empty()) expect_file_of("diagnose", path);
    }
}

/// The commands that would do, where the log decides on no platform.
InputError undecided(const diagnosis::UndecidedPlatform& error) {
  const std::vector<std::string>& fits = error.found().fits;
  const std::string& said = error.found().said;
  const std::string path = shell_argument(error.path());
  if (said.empty())
    return InputError(error.path() +
                      ": names no GPU: add --platform, the machine that it was run on ('linkcast list "
                      "platforms'), or --baseline, another log of it");
  if (fits.empty())
    return InputError(
        fmt::format("{}: is of {}, which no shipped machine has: 'nvidia-smi topo -m > topo.txt; "
                    "nvidia-smi -L > list.txt' on it, 'linkcast init topo.txt list.txt --machine box', "
                    "'linkcast diagnose {} --platform box.json'; or --baseline, another log of it",
                    error.path(), said, path));
  std::vector<std::string> commands;
  for (const std::string& id : fits) commands.push_back(fmt::format("'linkcast diagnose {} --platform {}'", path, id));
  return InputError(fmt::format("{}: is of {}: {}", error.path(), said, joined(commands, ", or ")));
}

/// The verdict in its colour: the last words of that name in the first line that has them.
std::string with_coloured_verdict(const std::string& text, diagnosis::Verdict verdict) {
  const std::string words = diagnosis::text_of(verdict);
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::size_t at = text.substr(begin, end - begin).rfind(words);
    if (at == std::string::npos) continue;
    const Colour colour = verdict == diagnosis::Verdict::kNormal   ? Colour::kGood
                          : verdict == diagnosis::Verdict::kFaulty ? Colour::kBad
                                                                   : Colour::kDoubtful;
    return text.substr(0, begin + at) + coloured(words, colour, Stream::kOutput) +
           text.substr(begin + at + words.size());
  }
  return text;
}

void run(DiagnoseOptions& o, Context& context) {
  diagnosis::LogRequest& request = o.request;
  request.edits = context.edit_list();
  request.format.options = key_values(o.options, "import");
  check_files(request, context);
  const auto print = [&](const std::string& text, diagnosis::Verdict verdict,
                         const std::vector<std::string>& warnings) {
    if (context.json) return;
    std::cout << with_coloured_verdict(naming_stdin(text), verdict);
    for (const std::string& warning : warnings) log::Log("cli").warning("{}", warning);
  };
  try {
    diagnosis::LogAnswer answer = diagnosis::diagnose_logs(context.catalogue(), request, print);
    context.exit_code = diagnosis::exit_code_of(answer.verdict);
    for (const std::string& platform : answer.platforms)
      for (const std::string& note : context.machine(platform)->platform().calibration().notes)
        log::Log("cli").warning("{}", note);
    if (!request.platform.empty()) answer.json["platform"] = request.platform;
    print_as_data(context, answer.json);
  } catch (const diagnosis::UndecidedPlatform& error) {
    throw undecided(error);
  }
}

}  // namespace

void add_diagnose(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("diagnose", "is what a benchmark printed normal for this machine, and if not, what is wrong?");
  auto o = std::make_shared<DiagnoseOptions>();
  reads_stdin(
      command
          ->add_option("file", o->request.files,
                       "output of nccl-tests or rccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU, perftest, "
                       "ucx_perftest or DCGM's diagnosis, or measurements; '-': standard input")
          ->required());
  command->add_option("-p,--platform", o->request.platform,
                      "machine that it should be like (default: the one shipped machine that fits what the log says)");
  reads_stdin(
      command
          ->add_option("--baseline", o->request.baseline,
                       "log of the same benchmark before, or on another machine of the kind: what changed; repeatable: "
                       "every file is compared with the others, with --platform for the causes alone")
          ->allow_extra_args(false));
  command->add_option("--format", o->request.format.format,
                      "format of the files, not of the answer: as of import (default: by what they contain)");
  command->add_option("--option", o->options, "what the files do not print, see 'linkcast help import'; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--library", o->request.format.library,
                      "communication library of the collectives (default: the nearest known to what the file names, "
                      "else the platform's)");
  command->add_flag("--force", o->request.force, "compare though the file names other GPUs than the platform has");
  command->add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast diagnose --platform p100-dgx1 p2p.log\n  linkcast diagnose today.log --baseline "
      "yesterday.log\n  linkcast diagnose node1-node2.log node1-node3.log node2-node3.log\n"
      "Exit code 0: normal, 1.5 times slower than a healthy machine is excluded; 4: faulty; 5: cannot tell, and what\n"
      "would decide is said. Faults are tried out as edits and ranked; docs/diagnose.md says how.");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace linkcast::cli
