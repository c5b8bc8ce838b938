#include "sim/base/file_hash.hpp"

#define OPENSSL_SUPPRESS_DEPRECATED  // a hash alone: the digests of EVP start the whole library
#include <openssl/sha.h>

#include <array>
#include <fstream>
#include <sstream>

#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {

std::string sha256_of_text(const std::string& text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX state;
  if (SHA256_Init(&state) != 1 || SHA256_Update(&state, text.data(), text.size()) != 1 ||
      SHA256_Final(digest.data(), &state) != 1)
    throw InvariantError("SHA-256 is not available in the crypto library");
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += hex[byte >> 4U];
    out += hex[byte & 15U];
  }
  return out;
}

std::string sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": no such file, or not readable");
  return sha256_of_text(read_whole(in, path));
}

}  // namespace linkcast
