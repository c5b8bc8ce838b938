#pragma once
// A shipped machine that differs from another one by a few cables: its wiring as edits, its parameters the other's.
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"

namespace linkcast {

struct Variant {
  struct Change {
    std::string edit;    ///< sim/machine/edit.hpp
    std::string source;  ///< where this cable is known from; "assumed: ..." where it is not
  };
  std::string name, title, source;
  std::string base;  ///< id of the platform that is edited
  std::vector<Change> changes;
  std::string path, sha256;
};

/// Reads schema "variant/1". @throws InputError
Variant read_variant(const std::string& path);
/// The base with the changes; each changed cable carries the change's source behind its own.
/// @throws InputError  which change, what is wrong; also a change that needs rates that the base does not have
Platform variant_platform(const Variant& variant, const Platform& base);

}  // namespace linkcast
