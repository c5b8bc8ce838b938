#include "validate/expression.hpp"

#include <muParser.h>

#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast::validate {
namespace {

std::string one_line(const mu::Parser::exception_type& error, const std::string& expression) {
  return error.GetMsg() + " in \"" + expression + "\"";
}

}  // namespace

std::set<std::string> variables_of(const std::string& expression, const std::string& where) {
  try {
    mu::Parser parser;
    parser.SetExpr(expression);
    std::set<std::string> names;
    for (const auto& [name, address] : parser.GetUsedVar()) names.insert(name);
    return names;
  } catch (const mu::Parser::exception_type& error) {
    throw InputError(where + ": " + one_line(error, expression));
  }
}

double number_of(const std::string& expression, const Values& values, const std::string& where) {
  std::string known;
  for (const auto& [name, value] : values) known += (known.empty() ? "" : ", ") + name;
  for (const std::string& name : variables_of(expression, where))
    if (!values.count(name)) throw InputError(where + ": '" + name + "' is no quantity: one of " + known);
  try {
    mu::Parser parser;
    for (const auto& [name, value] : values) parser.DefineConst(name, value);
    parser.SetExpr(expression);
    return parser.Eval();
  } catch (const mu::Parser::exception_type& error) {
    throw InputError(where + ": " + one_line(error, expression));
  }
}

bool truth_of(const std::string& expression, const Values& values, const std::string& where) {
  const double value = number_of(expression, values, where);
  if (value != 0 && value != 1) throw InputError(where + ": \"" + expression + "\" is neither true nor false");
  return value == 1;
}

struct Expression::Parser {
  mu::Parser parser;
};

Expression::Expression(const std::string& expression, Values values, const std::string& where)
    : values_(std::move(values)), parser_(std::make_unique<Parser>()) {
  truth_of(expression, values_, where);
  for (auto& [name, value] : values_) parser_->parser.DefineVar(name, &value);
  parser_->parser.SetExpr(expression);
}

Expression::~Expression() = default;

void Expression::set(const std::string& name, double value) { values_.at(name) = value; }

bool Expression::is_true() const { return parser_->parser.Eval() == 1; }

}  // namespace linkcast::validate
