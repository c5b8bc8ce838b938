#pragma once
// Tables of an SQLite file that a stranger made: opened for reading alone, views and triggers passed over.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace linkcast::nsys {

/// A row of a query, its values by the place of their column in it.
class Row {
 public:
  Row(sqlite3_stmt* statement, const std::string& place, const std::vector<std::string>& columns)
      : statement_(statement), place_(place), columns_(columns) {}
  [[nodiscard]] bool has(int column) const;
  /// @throws InputError  file, table and column: it is no whole number, or not there
  [[nodiscard]] std::int64_t whole(int column) const;
  [[nodiscard]] std::int64_t whole_or(int column, std::int64_t otherwise) const {
    return has(column) ? whole(column) : otherwise;
  }
  /// Empty where it is not there.
  [[nodiscard]] std::string text(int column) const;
  [[noreturn]] void fail(int column, const std::string& what) const;

 private:
  sqlite3_stmt* statement_;
  const std::string& place_;
  const std::vector<std::string>& columns_;
};

class Database {
 public:
  /// @throws InputError  no SQLite file
  explicit Database(std::string path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] bool has_table(const std::string& table) const;
  /// Every row of a table. A column that the table has not is NULL in all of them.
  /// @param order  a column that rows are sorted by; empty: as they are stored
  void read(const std::string& table, const std::vector<std::string>& columns, const std::string& order,
            const std::function<void(const Row&)>& take) const;

 private:
  [[nodiscard]] std::vector<std::string> columns_of(const std::string& table) const;

  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace linkcast::nsys
