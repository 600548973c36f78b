#pragma once
// What a Wide is made of, for the few formulas that need Boost's own functions of it. Heavy.
#include <boost/multiprecision/mpfr.hpp>
#include <new>
#include <utility>

#include "gibbsite/core/wide.hpp"

namespace gibbsite {

struct WideNumber {
  // MPFR's number with its digits inside, which has nothing to release: a Wide never destroys it.
  using Number = boost::multiprecision::number<
      boost::multiprecision::mpfr_float_backend<50, boost::multiprecision::allocate_stack>,
      boost::multiprecision::et_off>;
  static_assert(sizeof(Number) <= sizeof(Wide));
  static_assert(alignof(Number) <= alignof(Wide));

  static Number& of(Wide& x) { return *std::launder(reinterpret_cast<Number*>(x.number_)); }
  static const Number& of(const Wide& x) {
    return *std::launder(reinterpret_cast<const Number*>(x.number_));
  }
  template <class... From>
  static void make(Wide& x, From&&... from) {
    static thread_local const Constants constants;
    new (x.number_) Number(std::forward<From>(from)...);
  }
  static Wide wide(const Number& x) {
    Wide out;
    of(out) = x;
    return out;
  }

 private:
  // MPFR keeps pi and log 2 for each thread, and a thread that ends leaves them behind.
  struct Constants {
    Constants() = default;
    Constants(const Constants&) = delete;
    Constants& operator=(const Constants&) = delete;
    ~Constants() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
  };
};

}  // namespace gibbsite
