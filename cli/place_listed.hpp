#pragma once
// Options of place for nodes that a resource manager has listed: which there are, how they hang together, what is free.
#include "cli/command.hpp"

namespace linkcast::cli {

struct ListedNodes {
  std::string free;    ///< file of scontrol's JSON
  std::string groups;  ///< file: node-groups/1, topology.conf or topology.yaml
};

/// --free and --groups. The object must live as long as the command, which has --busy, --with and --nodes.
void add_listed_nodes(CLI::App& command, ListedNodes& listed);

/// With --groups the keys groups, busy and with, by the names of the nodes; takes --busy and --with from the command.
Json take_named_nodes(CLI::App& command, const ListedNodes& listed);

/// The answer on the best node of --free, with its name as `node` and all as `candidates`.
/// @param platform  as given, without edits. @param query  of one node
Json place_on_listed(Context& context, const ListedNodes& listed, const std::string& platform, Json query);
void print_candidates(const Json& result);

}  // namespace linkcast::cli
