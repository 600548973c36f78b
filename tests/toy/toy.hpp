#pragma once
// A mechanism of this test alone: the whole of what one has to say in public.
#include <type_traits>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// theta0 + N(0, noise_scale^2 I): it asks the rows nothing.
struct Toy {
  static constexpr std::string_view name = "toy";
  static constexpr std::string_view theorem = "docs/dummy.md";
  static constexpr SupportedOptions takes{};

  double noise_scale = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("noise_scale", self.noise_scale, Legal::positive);
  }
};

Candidate candidate(std::type_identity<Toy>, const Problem& problem, const Budget& budget,
                    const PlanOptions& plan_options);
Analysis analyze(const Toy& settings, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws);
std::string assumption_of(const Toy& settings);

}  // namespace gibbsite
