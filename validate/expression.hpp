#pragma once
// Expressions of claims, by the library muParser: comparisons, &&, ||, abs, min, max; 1 is true, 0 is false.
#include <map>
#include <memory>
#include <set>
#include <string>

namespace linkcast::validate {

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

}  // namespace linkcast::validate
