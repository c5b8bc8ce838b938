// "linkcast trace": the trace of an application, written to a file.
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/plugin_pages.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::cli {
namespace {

struct TraceCommand {
  std::string application, out;
  std::vector<std::string> options;
};

void run_trace(const TraceCommand& o, Context& context) {
  const TraceGenerator& generator = trace_generators().get(o.application);
  const TraceOptions options(key_values(o.options, "trace"));
  options.refuse_others(o.application, generator.options());
  TraceOut sink(o.out, context.progress());
  generator.run(options, sink);
  sink.close();
}

}  // namespace

void add_trace(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("trace", "write the trace of an application that a generator describes");
  auto o = std::make_shared<TraceCommand>();
  command->add_option("application", o->application, "one of those below")->required();
  command->add_option("--out", o->out, "trace to write (default: standard output)");
  command->add_option("--option", o->options, "the application's parameters; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag_function(
      "--json", [](std::int64_t) {}, "changes nothing: what is written is JSON");
  command->footer(application_names() +
                  "Example:\n  linkcast trace data_parallel --option ranks=8 --out training.jsonl");
  command->callback([o, &context] { run_trace(*o, context); });
}

}  // namespace linkcast::cli
