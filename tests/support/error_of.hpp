#pragma once
#include <string>

#include "sim/base/input_error.hpp"

namespace linkcast::test {

/// What the InputError of an action says; "no error" if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace linkcast::test
