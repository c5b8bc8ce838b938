#pragma once
// Options of a command made from the key table of a kind of query, and the query that they say.
#include <CLI/CLI.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/size_range.hpp"
#include "sim/query/key.hpp"

namespace linkcast::cli {

class QueryOptions {
 public:
  /// Adds --platform, --json, --solver, the edits and one option for each row that has one.
  /// @param kind  registered. The object must live as long as the command.
  /// @param formats  of --format besides those of every table
  QueryOptions(CLI::App& command, Context& context, const std::string& kind,
               const std::vector<std::string>& formats = {});
  QueryOptions(const QueryOptions&) = delete;
  QueryOptions& operator=(const QueryOptions&) = delete;

  /// {kind, platform, ...} in the order of the table; what was not given is left out.
  /// @throws InputError  a text that cannot be read, or none of two of which one is required
  [[nodiscard]] Json query() const;

  /// Lets --size be a list, and adds nccl-tests' options of a range of sizes.
  void take_sizes(CLI::App& command);
  /// What take_sizes() added says, or the list; empty: one size, or none.
  [[nodiscard]] std::vector<double> sizes() const;
  /// As query(), of one of sizes().
  [[nodiscard]] Json query_of_size(double size_B) const;
  [[nodiscard]] const std::string& platform() const { return platform_; }

 private:
  struct Slot {
    const query::Key* key;
    CLI::Option* option = nullptr;
    std::string text{};
    std::vector<std::string> texts{};
    int whole = 0;
    double number = 0;
    bool flag = false;
  };
  void add(CLI::App& command, Slot& slot);
  void relate();
  static Json value_of(const Slot& slot);
  [[nodiscard]] bool given(const Slot& slot) const;
  [[nodiscard]] bool needs_are_given(const Slot& slot) const;
  void check_alternatives() const;

  std::string kind_, platform_;
  std::deque<Slot> slots_;
  const Slot* size_ = nullptr;  ///< of take_sizes()
  SizeRange range_;
};

/// Help of a row: what it is, which list names the values, what holds without it.
std::string option_help(const query::Key& key);
/// "--size" of "size_B" of a kind; "--KEY" with dashes where the tables have no option.
std::string option_of_key(const std::string& kind, const std::string& key);

}  // namespace linkcast::cli
