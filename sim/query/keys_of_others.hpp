#pragma once
#include <initializer_list>
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast::query {

/// Keys that the kind of query has, and that this question does not take.
/// @param why  whose they are, after the key. @throws InputError  one of them is there
inline void refuse_keys(const ObjectReader& r, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* key : keys)
    if (r.has(key)) r.fail(key, why);
}

}  // namespace linkcast::query
