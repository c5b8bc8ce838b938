#pragma once
// Physical quantities as distinct types over SI doubles. Conversion happens once, at the edge (parse.hpp).
#include <compare>

namespace linkcast {

/// A value in SI units of dimension Dim: bytes, seconds or bytes per second. No conversion from a bare double.
template <class Dim>
struct Quantity {
  double si = 0;
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    si += other.si;
    return *this;
  }
};

template <class Dim>
constexpr Quantity<Dim> operator+(Quantity<Dim> a, Quantity<Dim> b) {
  return {a.si + b.si};
}
template <class Dim>
constexpr Quantity<Dim> operator-(Quantity<Dim> a, Quantity<Dim> b) {
  return {a.si - b.si};
}
template <class Dim>
constexpr Quantity<Dim> operator*(double k, Quantity<Dim> a) {
  return {k * a.si};
}
template <class Dim>
constexpr double operator/(Quantity<Dim> a, Quantity<Dim> b) {
  return a.si / b.si;
}

/// No size may be larger. source: 2^53, every whole number up to it is a double
inline constexpr double kLargest_B = 9007199254740992.0;

using Bytes = Quantity<struct BytesDim>;
using Seconds = Quantity<struct SecondsDim>;
using BytesPerSecond = Quantity<struct BytesPerSecondDim>;

constexpr Seconds operator/(Bytes size, BytesPerSecond bandwidth) { return {size.si / bandwidth.si}; }
constexpr BytesPerSecond operator/(Bytes size, Seconds time) { return {size.si / time.si}; }

// Factors of units that other programs print in. source: SI
inline constexpr double kGiga = 1e9, kMicro = 1e-6;

}  // namespace linkcast
