#pragma once
// Names that answers print, explained in a paragraph each: warnings, terms, bottlenecks, what limits where no link
// does, and parameters.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::cli {

struct Explanation {
  std::string kind;     ///< warning, term, bottleneck, limit or parameter
  std::string name;     ///< as `linkcast explain` takes it
  std::string text;     ///< meaning, what it changes, how to measure or remove it
  std::string page;     ///< "docs/model.md"
  std::string pattern;  ///< of a warning, "*" stands for any text; of others empty
};

/// All but those of parameters, which are the rows of the table (sim/records/parameters.hpp).
const std::vector<Explanation>& explanations();
/// The rows of parameters, by the last part of their names.
std::vector<Explanation> parameter_explanations();
/// @param what  a name, the text of a warning, a link ("gpu0->gpu1"), a parameter's whole or last name; empty: unknown
std::vector<Explanation> explanations_of(const std::string& what);

}  // namespace linkcast::cli
