#pragma once
// From a list of labelled numbers to one.
#include <string>
#include <vector>

namespace linkcast::validate {

struct Labelled {
  double label = 0;  ///< value of the variable if it is a whole number, else its place in the list
  double value = 0;
};

bool is_reducer(const std::string& name);
/// min, max, mean, median, sum, count (values other than 0), spread (max / min), argmin and argmax (the label; NaN on a
/// tie, which then equals nothing), slope and r2 (straight line through the labels), rank (Spearman against the
/// labels), rising (1 if every value is above the one before), from_NN (the label from which on every value is at least
/// NN % of the largest: where a curve over sizes is saturated). NaN among the values gives NaN.
/// @throws InputError  empty list, unknown reducer
double reduce(const std::string& name, const std::vector<Labelled>& points);

}  // namespace linkcast::validate
