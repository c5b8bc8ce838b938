#pragma once
// Chakra's messages as JSON: what protobuf writes of them, one object after another or in one array.
#include <chakra_et.pb.h>

#include <istream>
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast {

/// Whether a file holds JSON.
bool is_chakra_json(const std::string& path);

class ChakraJson {
 public:
  /// @param stream  outlives this
  ChakraJson(std::istream& stream, std::string path);
  /// False at the end. The first object may be the metadata, which is passed over. @throws InputError  with its pointer
  bool take(chakra_et::Node& node);

 private:
  /// False at the end.
  bool next(Json& object);

  std::istream& stream_;
  std::string path_;
  Json all_;  ///< of one array
  bool array_ = false;
  std::size_t index_ = 0;
};

}  // namespace linkcast
