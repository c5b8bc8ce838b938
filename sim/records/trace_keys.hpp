#pragma once
// Names of what an event of a trace says, and which of them a text begins with.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace linkcast::trace_keys {

/// By first letter.
enum Key : unsigned {
  kAfter,
  kCopy,
  kGroup,
  kHost,
  kId,
  kKind,
  kName,
  kOp,
  kPart,
  kPeer,
  kRank,
  kRecorded,
  kRecording,
  kSize,
  kSlowdown,
  kStream,
  kTag,
  kTime,
  kKeys
};
inline constexpr std::array<std::string_view, kKeys> kNames{
    "after", "copy", "group",         "host_s",      "id",     "kind",     "name",   "op",  "part",
    "peer",  "rank", "recorded_at_s", "recording_s", "size_B", "slowdown", "stream", "tag", "time_s"};

inline constexpr std::size_t kLetters = 26;
/// Of the first name that begins with a letter, or a later one.
inline constexpr std::array<unsigned char, kLetters> kFirst = [] {
  std::array<unsigned char, kLetters> first{};
  for (std::size_t letter = 0; letter < kLetters; ++letter)
    while (first[letter] < kKeys && kNames[first[letter]].front() < static_cast<char>('a' + letter)) ++first[letter];
  return first;
}();

/// The beginning of a name as one word.
inline constexpr std::size_t kHead = sizeof(std::uint64_t);
struct Head {
  std::uint64_t text = 0, mask = 0;
};
inline const std::array<Head, kKeys> kHeads = [] {
  std::array<Head, kKeys> heads{};
  for (std::size_t key = 0; key < kKeys; ++key) {
    constexpr std::array<unsigned char, kHead> all{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const std::size_t length = std::min(kNames[key].size(), kHead);
    std::memcpy(&heads[key].text, kNames[key].data(), length);
    std::memcpy(&heads[key].mask, all.data(), length);
  }
  return heads;
}();

/// @param text  behind the opening quote of a key, with more behind it than a name has. @returns  kKeys: none of them,
/// or written with escapes
inline Key key_at(const char* text) {
  const auto letter = static_cast<std::size_t>(*text - 'a');
  if (letter >= kLetters) return kKeys;
  for (unsigned key = kFirst[letter]; key < kKeys && kNames[key].front() == *text; ++key) {
    std::uint64_t head = 0;
    std::memcpy(&head, text, kHead);
    if ((head & kHeads[key].mask) != kHeads[key].text) continue;
    const std::string_view rest = kNames[key].substr(std::min(kNames[key].size(), kHead));
    if ((rest.empty() || std::memcmp(text + (kNames[key].size() - rest.size()), rest.data(), rest.size()) == 0) &&
        text[kNames[key].size()] == '"')
      return static_cast<Key>(key);
  }
  return kKeys;
}

}  // namespace linkcast::trace_keys
