#include <iostream>

#include "cli/command.hpp"
#include "sim/query/schema.hpp"

namespace linkcast::cli {

void add_schema(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("schema", "JSON Schema of queries and of their answers");
  auto kind = std::make_shared<std::string>();
  command->add_option("kind", *kind, "of this kind alone, see 'linkcast list kinds' (default: all)");
  command->footer("Example:\n  linkcast schema p2p");
  command->callback(
      [kind] { std::cout << (kind->empty() ? query::all_schemas() : query::kind_schema(*kind)).dump(2) << '\n'; });
}

}  // namespace linkcast::cli
