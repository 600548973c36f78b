#pragma once
// Keyword arguments of functions that take more than a few: each is read by its name.
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "bind.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/plan_request.hpp"

namespace gibbsite::python {

/// The keyword arguments that one call of `function` was given.
class Arguments {
 public:
  Arguments(std::string function, const nb::kwargs& given)
      : function_(std::move(function)), left_(given) {}

  /// None where it is absent or Python's None. Raises TypeError where it is of another type.
  template <class T>
  std::optional<T> take(const char* name) {
    if (!left_.contains(name)) return {};
    const nb::object value = left_.attr("pop")(name);
    if (value.is_none()) return {};
    return cast<T>(name, value);
  }
  /// Takes the argument, but refuses None as another type.
  template <class T>
  T take(const char* name, T otherwise) {
    if (!left_.contains(name)) return otherwise;
    return cast<T>(name, left_.attr("pop")(name));
  }
  /// Raises TypeError where it is absent too.
  template <class T>
  T need(const char* name) {
    if (!left_.contains(name)) missing(name);
    return cast<T>(name, left_.attr("pop")(name));
  }
  /// The fields of a request that are given. Needs epsilon and delta.
  PlanRequest request(unsigned kinds);
  /// Those that are no budget. Needs delta.
  PlanRequest request_without_budget(unsigned kinds);
  /// Raises TypeError where an argument was given that nothing took.
  void finish() const;

 private:
  template <class T>
  static constexpr const char* kind_of_type() {
    if constexpr (std::is_same_v<T, bool>) {
      return "True or False";
    } else if constexpr (std::is_integral_v<T>) {
      return std::is_signed_v<T> ? "a whole number" : "a whole number, 0 or more";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "a number";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "text";
    } else if constexpr (std::is_same_v<T, const Ledger*>) {
      return "a gibbsite.Ledger";
    } else if constexpr (std::is_same_v<T, const Schema*>) {
      return "a gibbsite.Schema";
    } else if constexpr (requires(const T& array) { array.ndim(); }) {
      return "a contiguous numpy array of float64, such as numpy.where(y == \"yes\", 1.0, -1.0)";
    } else {
      return "of another type";
    }
  }
  template <class T>
  T cast(const char* name, const nb::object& value) {
    if constexpr (std::is_same_v<T, nb::object>) {
      return value;
    } else {
      T out{};
      if (!nb::try_cast(value, out)) wrong_type(name, kind_of_type<T>(), value);
      return out;
    }
  }
  [[noreturn]] void missing(const char* name) const;
  [[noreturn]] static void wrong_type(const char* name, const std::string& kind,
                                      const nb::object& value);

  std::string function_;
  nb::dict left_;
};

}  // namespace gibbsite::python
