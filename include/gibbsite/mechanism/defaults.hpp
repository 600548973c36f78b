#pragma once
// What a mechanism need not say. A default is here only if it promises nothing: what privacy rests
// on has none (`Described` in mechanism/mechanism.hpp).
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// The settings of one mechanism; a variant of them has no name.
template <class M>
concept MechanismSettings = requires {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::takes } -> std::convertible_to<SupportedOptions>;
};

/// No interval is drawn from its noise.
template <MechanismSettings M>
std::optional<double> coefficient_noise_up(const M& /*settings*/, const Problem& /*problem*/) {
  return {};
}
/// Its time is private.
template <MechanismSettings M>
std::string_view run_time_tells(const M& /*settings*/) {
  return "nothing says that it does not";
}
template <MechanismSettings M>
std::string basis_of(const M& /*settings*/) {
  return "It rests on the theorem that the certificate names";
}
std::string passes_words(const Cost& cost);
template <MechanismSettings M>
std::string procedure_of(const M& /*settings*/, const Cost& cost) {
  return passes_words(cost);
}

}  // namespace gibbsite
