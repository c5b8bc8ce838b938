#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace linkcast {

/// Fields of a JSON object on one line as programs write it: no blanks, no escapes, ASCII, values that are texts,
/// numbers or arrays of numbers, whole ones of at most 18 digits. It accepts nothing that is no JSON; of what it does
/// not accept it does not say what is wrong, which a parser has to. Costs a few instructions a byte.
class PlainObject {
 public:
  explicit PlainObject(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  /// To the first field or the next, of which the name has to be passed, then the value to be got.
  /// @param name  begins there. @returns  false where there is no field
  bool next(const char*& name) {
    if (std::exchange(first_, false)) {
      broken_ = !take('{');
      if (broken_ || (at_ != end_ && *at_ == '}')) return false;
    } else if (!take(',')) {
      return false;
    }
    broken_ = !take('"');
    name = at_;
    return !broken_;
  }
  /// @param length  of the name. @returns  false: it is longer or shorter
  bool pass(std::size_t length) {
    if (static_cast<std::size_t>(end_ - at_) < length) return false;
    at_ += length;
    return take('"') && take(':');
  }
  /// Whether the object ended there, and the line with it.
  [[nodiscard]] bool ended() { return !broken_ && take('}') && at_ == end_; }

  // The value of the field. @returns  false if it is another one.

  bool get(std::string_view& text) {
    if (!take('"')) return false;
    const char* begin = at_;
    while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return take('"');
  }
  bool get(std::int64_t& whole) {
    const bool negative = take('-');
    Digits digits;
    if (!skip_whole(digits) || digits.count > kSure || is_of_real()) return false;
    whole = negative ? -digits.value : digits.value;
    return true;
  }
  bool get(double& real) {
    const char* begin = at_;
    const bool negative = take('-');
    Digits digits;
    if (!skip_whole(digits)) return false;
    const int before = digits.count;
    if (take('.') && !skip_digits(digits)) return false;
    int exponent = before - digits.count;
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      const bool down = take('-');
      if (!down) take('+');
      Digits power;
      if (!skip_digits(power)) return false;
      exponent += static_cast<int>(power.count > 4 ? kFar : down ? -power.value : power.value);
    }
    if (digits.count <= kSure && digits.value <= kExactMantissa && -kExactPower <= exponent &&
        exponent <= kExactPower) {
      const auto exact = static_cast<double>(digits.value);  // one rounding, of the quotient or product
      const double size = exponent < 0 ? exact / kPowers[static_cast<std::size_t>(-exponent)]
                                       : exact * kPowers[static_cast<std::size_t>(exponent)];
      real = negative ? -size : size;
      return true;
    }
    const auto [stop, error] = std::from_chars(begin, at_, real);
    return error == std::errc() && stop == at_;
  }
  /// @param act  is called with each number of an array, and says whether to go on
  template <class Number, class Do>
  bool each(const Do& act) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      Number number{};
      if (!get(number) || !act(number)) return false;
    } while (take(','));
    return take(']');
  }

 private:
  static constexpr int kSure = 18;  // digits that 64 bits hold
  static constexpr int kFar = 1'000'000;
  static constexpr std::int64_t kExactMantissa = std::int64_t{1} << 53;
  static constexpr int kExactPower = 22;
  // source: Clinger, How to read floating point numbers accurately, PLDI 1990: doubles hold these exactly
  static constexpr std::array<double, kExactPower + 1> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // source: ^
  static constexpr std::array<bool, 256> kPlain = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
  }();
  struct Digits {
    std::int64_t value = 0;  ///< as long as there are at most kSure
    int count = 0;
  };

  [[nodiscard]] bool is_of_real() const { return at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E'); }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool skip_digits(Digits& digits) {
    const char* begin = at_;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_)
      if (++digits.count <= kSure) digits.value = 10 * digits.value + (*at_ - '0');
    return at_ != begin;
  }
  /// Digits of which the first is no zero unless it is the only one.
  bool skip_whole(Digits& digits) {
    const bool zero = at_ != end_ && *at_ == '0';
    return skip_digits(digits) && !(zero && digits.count > 1);
  }

  const char* at_;
  const char* end_;
  bool first_ = true, broken_ = false;
};

}  // namespace linkcast
