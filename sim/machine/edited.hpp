#pragma once
// A machine that does not exist: a platform with edits applied, the original stays as it is; and a variant, a shipped
// machine that is another one with a few cables edited and with its parameters.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast {

/// What another platform knows of a cable kind.
struct KindOffer {
  std::string platform;
  BytesPerSecond nominal;
  std::map<std::string, Parameter> parameters;  ///< of the kind, by name
};
using KindLookup = std::function<std::optional<KindOffer>(const std::string& kind)>;

/// What a platform itself knows of a kind; nullopt if it has no such cable.
std::optional<KindOffer> offer_of(const Platform& platform, const std::string& kind);

struct EditedPlatform {
  Platform platform;
  std::vector<std::string> texts;  ///< the edits in the order in which they took effect
  std::vector<std::string> notes;  ///< what is assumed of rates that nobody measured
};

/// @param elsewhere  asked for kinds that the platform does not have
/// @throws InputError  which edit, what is wrong, what is known here; or a GPU without a way to its CPU
EditedPlatform edited_platform(const Platform& base, const std::vector<Edit>& edits, const KindLookup& elsewhere);

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
Variant read_variant(const Json& json, const std::string& path);
/// The base with the changes; each changed cable carries the change's source behind its own.
/// @throws InputError  which change, what is wrong; also a change that needs rates that the base does not have
Platform variant_platform(const Variant& variant, const Platform& base);

}  // namespace linkcast
