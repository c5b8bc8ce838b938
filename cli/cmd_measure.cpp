#include "cli/command.hpp"
#include "cli/python_program.hpp"

namespace linkcast::cli {
namespace {

// source: ours, less than the start of a bench, and a day
constexpr double kFewestMinutes = 0.01, kMostMinutes = 1440;

struct MeasureOptions {
  std::string out, machine, occasion, bench, include, nccl, from_records;
  double minutes = 0;
  bool records_only = false, dry_run = false, json = false;
};

std::vector<std::string> arguments_of(const MeasureOptions& o) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  add("--out", o.out);
  add("--machine", o.machine);
  add("--occasion", o.occasion);
  add("--bench", o.bench);
  add("--include", o.include);
  add("--nccl", o.nccl);
  add("--from-records", o.from_records);
  if (o.minutes > 0) add("--minutes", std::to_string(o.minutes));
  if (o.records_only) arguments.emplace_back("--records-only");
  if (o.dry_run) arguments.emplace_back("--dry-run");
  if (o.json) arguments.emplace_back("--json");
  return arguments;
}

}  // namespace

void add_measure(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("measure", "measures this box with GPUs, fits it, and says how right forecasts are");
  auto o = std::make_shared<MeasureOptions>();
  command->add_option("--out", o->out, "folder for records and platform (default: <machine>.measured)")
      ->type_name("DIR");
  command->add_option("--machine", o->machine, "its name (default: that of the host)");
  auto* minutes = command
                      ->add_option("--minutes", o->minutes,
                                   "most that measuring may take, what is most valuable first (default: 5)")
                      ->check(CLI::Range(kFewestMinutes, kMostMinutes));
  auto* occasion = command->add_option("--occasion", o->occasion,
                                       "label of the records: a new one measures all again (default: that of the "
                                       "folder's newest records, else the date)");
  auto* bench = command->add_option(
      "--bench", o->bench, "linkcast-bench (default: in the folder of linkcast, on the PATH, else built by nvcc)");
  auto* include = command->add_option("--include", o->include,
                                      "folder with nlohmann/, CLI/ or nccl.h, where the compiler does not find them");
  auto* nccl = command->add_option("--nccl", o->nccl, "path of libnccl.so.2 (default: the loader's)");
  auto* records = command->add_flag("--records-only", o->records_only,
                                    "only measure: --from-records fits and compares later, or on another machine");
  command
      ->add_option("--from-records", o->from_records,
                   "measure nothing: folder of records of linkcast-bench, to fit and to compare with")
      ->type_name("DIR")
      ->excludes(minutes)
      ->excludes(occasion)
      ->excludes(bench)
      ->excludes(include)
      ->excludes(nccl)
      ->excludes(records);
  command->add_flag("--dry-run", o->dry_run, "only say what would run, and how long it takes");
  command->add_flag("--json", o->json, "one JSON object on stdout at the end: what was measured, and how right it is");
  command->footer(
      "Example:\n  linkcast measure --out box\n"
      "The same command again measures only what is missing. Ctrl-C leaves complete records. Exit codes: 0 done, 1 a "
      "bench failed, 2 no GPU, no bench or no compiler, 4 copied data was wrong, 130 interrupted.");
  command->callback([o, &context] { become_python(context, "measure", arguments_of(*o)); });
}

}  // namespace linkcast::cli
