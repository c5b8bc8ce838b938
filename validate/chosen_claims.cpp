#include "validate/chosen_claims.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace linkcast::validate {
namespace {

std::vector<Claim> of_classes(const std::vector<Claim>& all, const std::vector<std::string>& classes) {
  for (const std::string& name : classes)
    if (std::none_of(all.begin(), all.end(), [&](const Claim& claim) { return claim.claim_class == name; }))
      throw InputError("class: no claim is of class '" + name + "'");
  std::vector<Claim> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const Claim& claim) {
    return std::find(classes.begin(), classes.end(), claim.claim_class) != classes.end();
  });
  return chosen;
}

/// @param start  of the paper's name, e.g. 001
std::vector<Claim> of_paper(const std::vector<Claim>& all, const std::string& start) {
  std::vector<Claim> chosen;
  std::set<std::string> papers;
  for (const Claim& claim : all) {
    papers.insert(claim.paper);
    if (claim.paper.starts_with(start)) chosen.push_back(claim);
  }
  const auto differs = [&](const Claim& claim) { return claim.paper != chosen.front().paper; };
  if (!start.empty() && !chosen.empty() && std::none_of(chosen.begin(), chosen.end(), differs)) return chosen;
  std::string known;
  for (const std::string& paper : papers) known += (known.empty() ? "" : ", ") + paper;
  throw InputError("paper: '" + start + "' is the start of no single paper, one of " + known);
}

}  // namespace

std::vector<Claim> chosen_claims(const std::string& data_dir, const ClaimChoice& choice) {
  std::vector<Claim> all = load_claims(data_dir + "/validate/claims");
  if (!choice.paper.empty()) all = of_paper(all, choice.paper);
  if (!choice.classes.empty()) all = of_classes(all, choice.classes);
  if (choice.ids.empty()) return all;
  std::vector<Claim> chosen;
  for (const std::string& id : choice.ids) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const Claim& claim) { return claim.id == id; });
    if (it == all.end()) throw InputError("validate: unknown claim '" + id + "', see 'linkcast list claims'");
    chosen.push_back(*it);
  }
  return chosen;
}

}  // namespace linkcast::validate
