#pragma once
// JSON that other tools wrote, which may have keys twice: syntax and depth alone are looked at.
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace linkcast {

using Json = nlohmann::ordered_json;

// Deeper values exhaust the stack where they are copied or written out. source: ours, records nest 6 deep
inline constexpr int kDeepestJson = 100;

/// For a parser's callback. @param depth  levels around the event. @throws InputError  beyond kDeepestJson levels
void refuse_deep_json(int depth, Json::parse_event_t event, const std::string& name);

/// @param name  of the file, for errors. @returns  discarded where it is not whole JSON
/// @throws InputError  nested deeper than kDeepestJson levels
Json parse_foreign_json(std::istream& stream, const std::string& name);
Json parse_foreign_json(const std::string& text, const std::string& name);

}  // namespace linkcast
