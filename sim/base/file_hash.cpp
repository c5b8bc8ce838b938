#include "sim/base/file_hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <sstream>

#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {

std::string sha256_of_text(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw InvariantError("SHA-256 is not available in the crypto library");
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < length; ++i) {
    out += hex[digest[i] >> 4U];
    out += hex[digest[i] & 15U];
  }
  return out;
}

std::string sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": no such file, or not readable");
  return sha256_of_text(read_whole(in, path));
}

}  // namespace linkcast
