#pragma once
// What a Wide is made of, for the few formulas that need Boost's own functions of it. Heavy.
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <new>
#include <type_traits>
#include <utility>

#include "gibbsite/core/wide.hpp"

namespace gibbsite {

struct WideNumber {
  using Number =
      boost::multiprecision::number<boost::multiprecision::cpp_bin_float_50::backend_type,
                                    boost::multiprecision::et_off>;
  static_assert(sizeof(Number) <= sizeof(Wide));
  static_assert(alignof(Number) <= alignof(Wide));
  static_assert(std::is_trivially_destructible_v<Number>);

  static Number& of(Wide& x) { return *std::launder(reinterpret_cast<Number*>(x.number_)); }
  static const Number& of(const Wide& x) {
    return *std::launder(reinterpret_cast<const Number*>(x.number_));
  }
  template <class... From>
  static void make(Wide& x, From&&... from) {
    new (x.number_) Number(std::forward<From>(from)...);
  }
  static Wide wide(const Number& x) {
    Wide out;
    of(out) = x;
    return out;
  }
};

}  // namespace gibbsite
