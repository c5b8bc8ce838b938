#pragma once
// What kinds of queries remember from one query to the next.
#include <map>
#include <memory>

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

}  // namespace linkcast::query
