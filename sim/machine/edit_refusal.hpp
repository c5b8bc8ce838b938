#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "sim/base/input_error.hpp"
#include "sim/machine/edit.hpp"

namespace linkcast {

[[noreturn]] inline void refuse(const Edit& edit, const std::string& what) {
  throw InputError("edit '" + edit.text + "': " + what);
}

/// What is known, for an error that stays readable.
template <class List>
std::string listed(const List& list) {
  constexpr std::size_t most = 60;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& item : list)
    if (shown++ < most) text += (text.empty() ? "" : ", ") + item;
  return text + (list.size() > most ? fmt::format(", and {} more", list.size() - most) : "");
}

}  // namespace linkcast
