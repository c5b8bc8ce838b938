#pragma once
// Texts of the command line as values of keys. Errors name the option.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::query {

/// "0-3,6" to {0, 1, 2, 3, 6}. @throws InputError
std::vector<int> numbers_of(const std::string& text, const std::string& option);
/// "a:b" is a and b; the colons of PCI bus ids part nothing.
std::vector<std::string> at_colons(const std::string& text);
/// "64MiB" in bytes; as nccl-tests, "64M" too, K, M, G and T being powers of 1024. @throws InputError
double parse_size(const std::string& option, const std::string& text);

/// The names of GPUs in a list (sim/machine/gpu_names.hpp): numbers, but UUIDs and bus ids as they are.
Json gpus_of(const std::string& text, const std::string& option);
/// A size as a key table takes it.
Json size_of(const std::string& text, const std::string& option);
/// "1MiB,0" as a list, "0,1MiB;2MiB,0" as a list of rows.
Json sizes_of(const std::string& text, const std::string& option);
/// {size_B} of "1MiB", {sizes_B} of what sizes_of() reads: the SIZE of OP:SIZE.
Json size_keys_of(const std::string& text, const std::string& option);
/// {"KEY": "VALUE"} of "KEY=VALUE".
Json option_of(const std::string& text, const std::string& option);
/// A seed: 0 to 2^63 - 1.
Json seed_of(const std::string& text, const std::string& option);

}  // namespace linkcast::query
