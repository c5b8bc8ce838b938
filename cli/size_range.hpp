#pragma once
// Sizes as nccl-tests takes them: -b 8 -e 1G -f 2, or a list.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

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

/// "64M" or, as nccl-tests takes it, "64" in bytes. @throws InputError
double nccl_size(const std::string& option, const std::string& text);

/// "8,64K,1M" in bytes. @throws InputError
std::vector<double> size_list(const std::string& option, const std::string& text);

}  // namespace linkcast::cli
