#pragma once
// Parsing of JSON that is watched: each part is seen once, as it is read. nlohmann's own callback looks at all elements
// of an array each time that one ends: 400,000 objects took five minutes.
#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace linkcast {

using Json = nlohmann::ordered_json;

/// As the callback of Json::parse(): depth is the number of levels around the event; parsed is a key, a value or what
/// ends here. @returns  false at the end of an object that is an element of an array: the array forgets it
using JsonWatch = std::function<bool(int depth, Json::parse_event_t event, Json& parsed)>;

/// @param name  of the file, for errors. @param watch  may be empty
/// @throws Json::exception  broken JSON. @throws InputError  nested deeper than 100 levels
Json parse_watched(std::istream& stream, const std::string& name, const JsonWatch& watch);
Json parse_watched(const std::string& text, const std::string& name, const JsonWatch& watch);

}  // namespace linkcast
