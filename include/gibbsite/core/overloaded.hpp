#pragma once
// One function of several, for std::visit.

namespace gibbsite {

/// Calls the function that fits the argument.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace gibbsite
