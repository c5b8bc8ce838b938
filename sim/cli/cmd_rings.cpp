#include <iostream>

#include "sim/cli/command.hpp"

namespace linkcast::cli {
namespace {

void print_rings(const Json& result) {
  std::cout << result["library"].get<std::string>() << ": " << result["channels"].size() << " distinct rings, "
            << result["blocks"] << " thread blocks, class " << result["path_class"].get<std::string>() << ", worth "
            << result["link_equivalents"] << " links" << (result["fallback"].get<bool>() ? ", FALLBACK" : "") << '\n'
            << result["why"].get<std::string>() << '\n';
  for (std::size_t i = 0; i < result["channels"].size(); ++i) {
    const Json& order = result["channels"][i];
    std::cout << "  ring " << i << ":";
    for (std::size_t k = 0; k < order.size(); ++k)
      std::cout << ' ' << order[k] << (result["hops"][i][k] == "peer" ? " ->" : " ~host~>");
    std::cout << ' ' << order[0] << '\n';
  }
}

}  // namespace

void add_rings(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("rings", "the rings a communication library builds, and why");
  struct Options {
    std::string platform, gpus, library;
  };
  auto o = std::make_shared<Options>();
  add_common(*command, context, o->platform);
  command->add_option("--gpus", o->gpus, "members in rank order, e.g. 0-7")->required();
  command->add_option("--library", o->library, "see 'linkcast list libraries'; default: that of the machine's time");
  command->footer("Example:\n  linkcast rings --platform p100-dgx1 --gpus 0-4");
  command->callback([o, &context] {
    Json query{{"kind", "rings"}, {"platform", o->platform}, {"gpus", parse_gpus(o->gpus)}};
    if (!o->library.empty()) query["library"] = o->library;
    const Json result = run_query(context, query);
    if (context.json)
      std::cout << result.dump(2) << '\n';
    else
      print_rings(result);
  });
}

}  // namespace linkcast::cli
