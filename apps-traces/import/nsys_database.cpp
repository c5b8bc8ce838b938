#include "apps-traces/import/nsys_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast::nsys {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

/// As an identifier of SQL.
std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// As a URI of SQLite, read as if nobody could change it: no locks, no journal beside it.
std::string uri_of(const std::string& path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    out += plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return out + "?immutable=1";
}

bool begins_as_database(std::istream& stream) {
  constexpr const char* kHead = "SQLite format 3";  // source: sqlite.org/fileformat.html
  std::string head(std::strlen(kHead), '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == kHead;
}

void check_head(const std::string& path) {
  const std::unique_ptr<std::istream> stream = open_packed(path);
  if (!*stream) throw InputError(path + ": cannot be read");
  if (!begins_as_database(*stream))
    throw InputError(path +
                     ": is no SQLite file: of a report of Nsight Systems 'nsys export --type sqlite FILE.nsys-rep' "
                     "makes one");
}

bool is_packed(const std::string& path) {
  std::ifstream raw(path, std::ios::binary);
  return !begins_as_database(raw);
}

/// A file that SQLite cannot open itself: packed by gzip, or kept in memory as what comes through a pipe is.
void read_into_memory(const std::string& path, sqlite3* database) {
  constexpr std::size_t kMost_B = std::size_t{1} << 30, kFirst_B = std::size_t{1} << 20;  // source: ours
  struct Free {
    void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
  };
  std::unique_ptr<unsigned char, Free> bytes;
  std::size_t size = 0, room = 0;
  const std::unique_ptr<std::istream> stream = open_packed(path);
  while (stream->peek() != std::istream::traits_type::eof()) {
    if (size == kMost_B) throw InputError(path + ": is longer than 1 GiB: unpack it to a file, and give that");
    if (size == room) {
      room = std::max(kFirst_B, 2 * room);
      auto* more = static_cast<unsigned char*>(sqlite3_realloc64(bytes.get(), room));
      if (more == nullptr) throw std::bad_alloc();
      static_cast<void>(bytes.release());
      bytes.reset(more);
    }
    size +=
        static_cast<std::size_t>(stream->rdbuf()->sgetn(reinterpret_cast<char*>(bytes.get()) + size,  // bytes are bytes
                                                        static_cast<std::streamsize>(room - size)));
  }
  const auto length = static_cast<sqlite3_int64>(size);
  if (sqlite3_deserialize(database, "main", bytes.release(), length, static_cast<sqlite3_int64>(room),
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    throw InputError(path + ": cannot be opened: " + sqlite3_errmsg(database));
}

}  // namespace

bool Row::has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }

std::int64_t Row::whole(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) fail(column, "must be a whole number");
  return sqlite3_column_int64(statement_, column);
}

std::string Row::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text));  // bytes of a text of SQLite
}

void Row::fail(int column, const std::string& what) const {
  throw InputError(place_ + ", column " + columns_[at(column)] + ": " + what);
}

Database::Database(std::string path) : path_(std::move(path)) {
  check_head(path_);
  const auto open = [&](const std::string& uri) {
    sqlite3_close(std::exchange(database_, nullptr));
    return sqlite3_open_v2(uri.c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) == SQLITE_OK;
  };
  try {
    if (is_packed(path_) || !open(uri_of(path_))) {
      if (!open("file::memory:")) throw std::bad_alloc();
      read_into_memory(path_, database_);
    }
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
  constexpr int kLongest_B = 1 << 24;  // no text or row of such a table is longer. source: ours
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, kLongest_B);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Database::~Database() { sqlite3_close(database_); }

std::vector<std::string> Database::columns_of(const std::string& table) const {
  std::vector<std::string> names;
  sqlite3_stmt* raw = nullptr;
  const std::string sql =
      "SELECT name FROM pragma_table_info(?1) WHERE ?1 IN (SELECT name FROM sqlite_master WHERE type = 'table')";
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    throw InputError(path_ + ": cannot be read: " + sqlite3_errmsg(database_));
  const Statement statement(raw);
  sqlite3_bind_text(raw, 1, table.c_str(), -1, SQLITE_TRANSIENT);
  int state = SQLITE_OK;
  while ((state = sqlite3_step(raw)) == SQLITE_ROW)
    if (const unsigned char* name = sqlite3_column_text(raw, 0))
      names.emplace_back(reinterpret_cast<const char*>(name));
  if (state != SQLITE_DONE) throw InputError(path_ + ": cannot be read: " + sqlite3_errmsg(database_));
  return names;
}

bool Database::has_table(const std::string& table) const { return !columns_of(table).empty(); }

void Database::read(const std::string& table, const std::vector<std::string>& columns, const std::string& order,
                    const std::function<void(const Row&)>& take) const {
  const std::vector<std::string> known = columns_of(table);
  if (known.empty()) return;
  const auto has = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  std::string sql;
  for (const std::string& column : columns)
    sql += (sql.empty() ? "SELECT " : ", ") + (has(column) ? quoted(column) : std::string("NULL"));
  sql += " FROM " + quoted(table) + (has(order) ? " ORDER BY " + quoted(order) : "");
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    throw InputError(path_ + ": table " + table + ": cannot be read: " + sqlite3_errmsg(database_));
  const Statement statement(raw);
  constexpr long kMostRows = 50'000'000;  // of a recording of minutes. source: ours
  long rows = 0;
  int state = SQLITE_OK;
  std::string place;
  while ((state = sqlite3_step(raw)) == SQLITE_ROW) {
    if (++rows > kMostRows) throw InputError(path_ + ": table " + table + ": more than 50 million rows");
    place = fmt::format("{}: table {} row {}", path_, table, rows);
    take(Row(raw, place, columns));
  }
  if (state != SQLITE_DONE)
    throw InputError(
        fmt::format("{}: table {}: is broken behind row {}: {}", path_, table, rows, sqlite3_errmsg(database_)));
}

}  // namespace linkcast::nsys
