#pragma once
// One row of a key table: a key of a query, or of its answer. Options of the command line, its help, the JSON Schema
// and docs/reference.md are made from these rows. Texts of the command line as values of keys.
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::query {

enum class ValueType {
  kText,
  kFlag,
  kWhole,
  kNumber,
  kSize,     ///< bytes, a whole number from 1 to 2^53
  kTexts,    ///< list of texts
  kWholes,   ///< list of whole numbers
  kNumbers,  ///< list of numbers
  kOrders,   ///< list of lists of whole numbers
  kObject,   ///< with `fields`, or any keys if there are none
  kObjects,  ///< list of objects with `fields`
  kAny
};

/// Which names of GPUs a key takes: 0, gpu0, 0-3, UUIDs and PCI bus ids (sim/machine/gpu_names.hpp).
enum class GpuNames {
  kNone,
  kDevice,  ///< a text that names a device
  kList,    ///< a list, or a text that is one; numbers come out
  kSome,    ///< the same, and names of other things stay
  kFlows    ///< a list of [device, device, ...]
};

/// Files that a text without a list of choices can name. `serve` opens no file that a request names: it takes
/// kNone, and of kTrace the names that the program knows. A row that does not say is refused there.
enum class Files {
  kUnsaid,
  kNone,
  kFile,   ///< a file of this machine
  kTrace,  ///< a file, a shipped trace or an application: the text itself, or `trace` of an object
};

/// How the command line asks for a key.
struct CliOption {
  std::string name{};      ///< "--src"; "trace" stands without a name; empty: there is no option
  std::string opposite{};  ///< of a flag: the option that says false, "--no-nvls"
  /// Text of the option to the value, or to one element of it. Empty: by the type of the key.
  /// @param option  for errors. @throws InputError
  std::function<Json(const std::string& text, const std::string& option)> parse{};
  bool repeated = false;    ///< may be given several times; one element each, or one entry of an object each
  std::string type_name{};  ///< in the help, e.g. "TRACE[:GPUS]"
  bool several = true;      ///< of a repeated one: "--flow A B" is two of them
  bool optional = false;    ///< though the key is required: the command sees to it
};

struct Key {
  std::string name{};
  ValueType type = ValueType::kText;
  std::string help{};
  bool required = false;                                   ///< in every query; of an answer: in every one of its kind
  std::string unless{};                                    ///< required, except beside this key
  std::string unset{};                                     ///< what holds where it is not given
  std::vector<std::string> choices{};                      ///< all that are allowed
  std::function<std::vector<std::string>()> registered{};  ///< the same of plug-ins; `list LISTED` names them
  std::string listed{};
  std::optional<double> least{}, most{};
  bool null = false;  ///< may be null
  std::vector<Key> fields{};
  GpuNames gpus = GpuNames::kNone;
  Files files = Files::kUnsaid;                  ///< must be said where may_name_file()
  std::string schema{};                          ///< JSON Schema of values that no type and no list above describe
  std::string example{};                         ///< JSON
  std::vector<std::string> needs{}, excludes{};  ///< other keys that must, or must not, be there
  std::string elsewhere{};                       ///< error where a query of a kind that lacks the key has it
  CliOption cli{};
};

using KeyTable = std::vector<Key>;

/// Row of a name; null if there is none.
const Key* find_key(const KeyTable& table, const std::string& name);
/// Tables one behind the other.
KeyTable joined(std::vector<KeyTable> tables);
/// Whether the type of the key lets a request write any text.
bool may_name_file(const Key& key);
/// "s", "B", "B/s", or nothing: by the end of the name.
std::string unit_of(const Key& key);

/// "0-3,6" to {0, 1, 2, 3, 6}. @throws InputError
std::vector<int> numbers_of(const std::string& text, const std::string& option);
/// "a:b" is a and b; the colons of PCI bus ids part nothing.
std::vector<std::string> at_colons(const std::string& text);
/// "64MiB" in bytes; as nccl-tests, "67108864" and "64M" too, K, M, G and T being powers of 1024. @throws InputError
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

/// Keys that the kind of query has, and that this question does not take.
/// @param why  whose they are, after the key. @throws InputError  one of them is there
inline void refuse_keys(const ObjectReader& r, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* key : keys)
    if (r.has(key)) r.fail(key, why);
}

}  // namespace linkcast::query
