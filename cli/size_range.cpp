#include "cli/size_range.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/input_error.hpp"
#include "sim/query/key_text.hpp"

namespace linkcast::cli {
namespace {

constexpr double kUsualStep_B = 1048576;   // source: nccl-tests, doc of -i,--stepbytes: default 1M
constexpr std::size_t kMostSizes = 10000;  // ours: a curve, not a study

}  // namespace

void SizeRange::add_to(CLI::App& command) {
  const auto add = [&](const char* names, auto& value, const char* type, const char* help) {
    return command.add_option(names, value, help)->type_name(type);
  };
  first_ = add("-b,--minbytes", first_text_, "SIZE", "first of a curve of sizes, as of nccl-tests");
  last_ = add("-e,--maxbytes", last_text_, "SIZE", "last one (default: the first)");
  factor_ = add("-f,--stepfactor", factor_value_, "FLOAT", "each size times this, e.g. 2");
  step_ = add("-i,--stepbytes", step_text_, "SIZE", "or each size plus this (default: 1M)");
  for (CLI::Option* option : {last_, factor_, step_}) option->needs(first_);
  factor_->excludes(step_);
}

bool SizeRange::given() const { return first_ != nullptr && first_->count() > 0; }

std::vector<double> SizeRange::sizes() const {
  const double first = nccl_size("--minbytes", first_text_);
  const double last = last_->count() > 0 ? nccl_size("--maxbytes", last_text_) : first;
  const double step = step_->count() > 0 ? nccl_size("--stepbytes", step_text_) : kUsualStep_B;
  const bool times = factor_->count() > 0;
  if (times && !(factor_value_ > 1)) throw InputError("--stepfactor: must be above 1");
  if (step < 1) throw InputError("--stepbytes: must be at least 1 B");
  if (first < 1) throw InputError("--minbytes: must be at least 1 B");
  if (last < first) throw InputError("--maxbytes: is below --minbytes");
  std::vector<double> sizes;
  for (double size = first; size <= last; size = times ? std::floor(size * factor_value_) : size + step) {
    if (sizes.size() == kMostSizes || (!sizes.empty() && size <= sizes.back()))
      throw InputError(fmt::format("--maxbytes: more than {} sizes: use a larger step", kMostSizes));
    sizes.push_back(size);
  }
  return sizes;
}

double nccl_size(const std::string& option, const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return query::parse_size(option, number ? text + "B" : text);
}

std::vector<double> size_list(const std::string& option, const std::string& text) {
  std::vector<double> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(nccl_size(option, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return sizes;
}

}  // namespace linkcast::cli
