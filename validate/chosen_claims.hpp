#pragma once
#include <string>
#include <vector>

#include "validate/claim.hpp"

namespace linkcast::validate {

/// Which claims are checked: all that meet each of these.
struct ClaimChoice {
  std::vector<std::string> ids{};      ///< in this order; empty: all
  std::vector<std::string> classes{};  ///< empty: all
  std::string paper{};                 ///< start of one paper's name, e.g. 001; empty: all
};

/// @throws InputError  an unknown claim or class, no single paper of that name
std::vector<Claim> chosen_claims(const std::string& data_dir, const ClaimChoice& choice);

}  // namespace linkcast::validate
