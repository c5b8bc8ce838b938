#pragma once
// A statement of a paper as a check on simulation runs: what to run, what must hold, with which tolerance and why.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "validate/wiring.hpp"

namespace linkcast::validate {

// Expressions of claims, by the library muParser: comparisons, &&, ||, abs, min, max; 1 is true, 0 is false.

using Values = std::map<std::string, double>;

/// Names an expression uses. @throws InputError  it does not parse; `where` stands for file and pointer
std::set<std::string> variables_of(const std::string& expression, const std::string& where);
/// @throws InputError  syntax, or a name without a value (lists the known ones)
double number_of(const std::string& expression, const Values& values, const std::string& where);
/// @throws InputError  also when the result is neither 0 nor 1
bool truth_of(const std::string& expression, const Values& values, const std::string& where);

/// One expression that is asked many times, with other values.
class Expression {
 public:
  /// @throws InputError  syntax, or a name without a value
  Expression(const std::string& expression, Values values, const std::string& where);
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  /// @param name  one of the values given
  void set(const std::string& name, double value);
  [[nodiscard]] bool is_true() const;

 private:
  struct Parser;
  Values values_;
  std::unique_ptr<Parser> parser_;
};

/// Stands for no reducer: the quantity keeps a number per value of its first variable.
inline constexpr std::string_view kNoReducer = "none";

/// Values that one or more placeholders of a query take in turn.
struct Domain {
  enum class Kind { kValues, kPairs, kRelays, kFirstGpus };
  Kind kind = Kind::kValues;
  std::vector<std::string> variables;
  Json values;                      ///< kValues: the list; kFirstGpus: list of counts
  Spelled<PairClass> pair_class{};  ///< kPairs
  bool lowest = false;              ///< kRelays: only the common neighbour with the lowest number
  std::vector<int> among;           ///< kPairs: only these GPUs; empty: all
};

/// One named number, or one per value of the first variable: name_<value>.
struct Observable {
  std::string name;
  Json query;  ///< as in a batch line; "{x}" stands for the value of variable x
  std::vector<Domain> over;
  /// Of the result; "classes.global.cables" goes down objects by key and lists by name or id. Empty if structure is
  /// given.
  std::string key;
  Json relative_to;  ///< keys of the query to change: the quantity is divided by that of the changed query; null: not
  std::optional<std::string> equals;    ///< 1 where the key holds this text, else 0
  std::optional<std::string> contains;  ///< 1 where the key's list has this text ("{x}" as in query), else 0
  bool exists = false;                  ///< 1 where the result has the key, else 0; "error" may be asked for
  std::optional<Structure> structure;
  std::vector<std::string> reduce;  ///< one per variable of over, plus one for a structure's list; the last one first
  /// True if the first of reduce is kNoReducer.
  [[nodiscard]] bool one_per_value() const { return !reduce.empty() && reduce[0] == kNoReducer; }
};

struct Tolerance {
  std::optional<double> value;  ///< `tol` in the predicate; none: the predicate does not use it
  std::string why;
};

/// Measurements that cover the claim's quantities: the same predicate is evaluated on them.
struct ClaimData {
  std::vector<std::string> files;  ///< relative to the data folder
  std::string predicate;           ///< empty: the claim's own
  std::string why;
};

/// What a row shows when it passes. Counted apart: an input cannot be wrong, a fit was made to be right.
enum class Role {
  kModelInput,  ///< the figure is read from the paper, or true by the form of the model
  kFitted,      ///< a parameter was fitted to the figure, or to the same curve
  kPredicted    ///< neither
};
const std::string& to_text(Role role);

/// An earlier reading of a row, before it was changed.
struct EarlierReading {
  std::string date;     ///< of the change, as 2026-11-23
  Json was;             ///< what changed, as it was: role, predicate, tolerance, expected; in words: quantities
  std::string verdict;  ///< under it, just before
  std::string why;      ///< it was changed
};

struct Claim {
  std::string id, paper, section, system, kind, claim_class, statement, source;
  Role role = Role::kPredicted;
  std::string cause;         ///< of a predicted row that fails: "model", "data", "reading" or "paper"; else empty
  std::string not_modelled;  ///< what is missing; empty: the rest is given
  std::vector<Observable> quantities;
  std::string predicate;  ///< muParser expression over quantities, `tol`, `expected` (or `expected_0`, ...)
  std::vector<std::string> predicted;  ///< expressions of the numbers to show
  Json expected;
  std::string unit;
  std::string predicted_unit;  ///< where the numbers shown are not of the claim's unit
  Tolerance tolerance;
  std::optional<ClaimData> data;
  std::string note;                     ///< how the statement was read, or why it is known to fail
  std::vector<EarlierReading> history;  ///< oldest first
  /// Changes to the queries with which a predicted row is false that wiring decides, whatever the parameters: it is no
  /// matter of form. Null for other rows.
  Json counterexample;
  std::string pointer;  ///< "<file>:<json pointer>" for messages
};

/// Reads one file of schema "claims/1". @throws InputError
std::vector<Claim> read_claims(const std::string& path);
/// Every *.json of a folder, sorted by file name. @throws InputError  also when an id appears twice
std::vector<Claim> load_claims(const std::string& folder);

/// Which claims are checked: all that meet each of these.
struct ClaimChoice {
  std::vector<std::string> ids{};      ///< in this order; empty: all
  std::vector<std::string> classes{};  ///< empty: all
  std::string paper{};                 ///< start of one paper's name, e.g. 001; empty: all
};

/// @throws InputError  an unknown claim or class, no single paper of that name
std::vector<Claim> chosen_claims(const std::string& data_dir, const ClaimChoice& choice);

}  // namespace linkcast::validate
