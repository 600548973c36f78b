#pragma once
// From a loss's place in the list of compiled losses to its type: what a kernel is built for.
#include <cstddef>
#include <string_view>

#include "gibbsite/model/losses.hpp"

namespace gibbsite::kernels {

inline constexpr unsigned no_loss = ~0u;

template <class... L>
unsigned index_of_loss(std::string_view name, LossList<L...>) {
  unsigned index = 0, found = no_loss;
  ((found = name == L::name ? index : found, ++index), ...);
  return found;
}

/// Place of that loss among those of the card; no_loss when it is not.
inline unsigned index_of_loss(std::string_view name) { return index_of_loss(name, CardLosses{}); }

template <class Visit, class... L>
void with_loss(unsigned index, Visit&& visit, LossList<L...>) {
  unsigned at = 0;
  ((at++ == index ? visit.template operator()<L>() : void()), ...);
}

/// Calls visit.operator()<Loss>() for the card's loss at that place.
template <class Visit>
void with_loss(unsigned index, Visit&& visit) {
  with_loss(index, visit, CardLosses{});
}

}  // namespace gibbsite::kernels
