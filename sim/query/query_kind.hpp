#pragma once
// Kinds of queries: one file each in sim/<room>/query, which registers itself; and memories that last from one query to
// the next.
#include <map>
#include <memory>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/machine/registry.hpp"
#include "sim/query/key.hpp"

namespace linkcast::query {

class QueryKind;

/// Memory of one kind of query, of bounded size: it makes answers sooner, never others. Only that kind looks into it.
class KindMemory {
 public:
  KindMemory() = default;
  KindMemory(const KindMemory&) = delete;
  KindMemory& operator=(const KindMemory&) = delete;
  virtual ~KindMemory() = default;
};

/// Memories of all kinds. Belongs to whoever asks many queries, on one thread.
class Memories {
 public:
  /// @returns nullptr  the kind remembers nothing
  KindMemory* of(const QueryKind& kind);

 private:
  std::map<const QueryKind*, std::unique_ptr<KindMemory>> by_kind_;
};

/// What is asked, besides the keys that the kind reads itself.
struct Question {
  catalogue::Catalogue& catalogue;
  const catalogue::MachinePtr& machine;  ///< with the edits
  const Json& query;                     ///< as given
  Solver& solver;
  KindMemory* memory = nullptr;  ///< from the kind's new_memory(); null: nothing is remembered
};

class QueryKind {
 public:
  virtual ~QueryKind() = default;
  /// Keys of the query besides common_keys(), in the order in which the command line writes them.
  [[nodiscard]] virtual const KeyTable& keys() const = 0;
  /// Keys of the answer besides common_results().
  [[nodiscard]] virtual const KeyTable& results() const = 0;
  /// The command that asks it, e.g. "predict p2p".
  [[nodiscard]] virtual std::string command() const = 0;
  /// Queries that have answers, as JSON, less kind.
  [[nodiscard]] virtual std::vector<std::string> examples() const = 0;
  /// @param r  the query; id, kind, platform, edits and solver are read already
  /// @throws InputError  as answer_or_throw()
  [[nodiscard]] virtual Json answer(const Question& asked, ObjectReader& r) const = 0;
  /// An empty memory for Question::memory; null where the kind remembers nothing.
  [[nodiscard]] virtual std::unique_ptr<KindMemory> new_memory() const { return nullptr; }
};

Registry<QueryKind>& query_kinds();

/// Keys that every query may have: id, kind, platform, edits, solver.
const KeyTable& common_keys();
/// Keys that every answer has: id, kind, warnings, inputs, versions.
const KeyTable& common_results();

}  // namespace linkcast::query
