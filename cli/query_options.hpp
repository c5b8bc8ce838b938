#pragma once
// Sizes as nccl-tests takes them: -b 8 -e 1G -f 2, or a list.
// Options of a command made from the key table of a kind of query, and the query that they say.
#include <CLI/CLI.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "sim/query/key.hpp"

namespace linkcast::cli {

class SizeRange {
 public:
  /// Adds -b, -e, -f and -i, with nccl-tests' long names too. The object must live as long as the command.
  void add_to(CLI::App& command);
  [[nodiscard]] bool given() const;
  /// From --minbytes to --maxbytes, each times --stepfactor or plus --stepbytes.
  /// @throws InputError  no end, a step that gets nowhere, too many sizes
  [[nodiscard]] std::vector<double> sizes() const;

 private:
  CLI::Option *first_ = nullptr, *last_ = nullptr, *factor_ = nullptr, *step_ = nullptr;
  std::string first_text_, last_text_, step_text_;
  double factor_value_ = 0;
};

/// "8,64K,1M" in bytes. @throws InputError
std::vector<double> size_list(const std::string& option, const std::string& text);

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

}  // namespace linkcast::cli
