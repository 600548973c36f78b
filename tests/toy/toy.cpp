#include "toy/toy.hpp"

#include "mechanism/candidates.hpp"

namespace gibbsite {

Candidate candidate(std::type_identity<Toy> /*kind*/, const Problem& problem, const Budget& budget,
                    const PlanOptions& /*wishes*/) {
  return paid_for_noise(problem, budget, [](const Budget& /*left*/) {
    return Candidate{.mechanism = Toy{.noise_scale = 1}, .feasible = true, .why = "says nothing"};
  });
}

Analysis analyze(const Toy& s, const Problem& problem, const Neighbors& who, std::uint64_t draws) {
  const AddedNoise noise{s.noise_scale, problem.center_norm};
  Analysis out;
  out.release_grid = release_grid(noise);
  out.noise = noise_cost_up(noise, problem.features, draws);
  out.guarantee = {0, out.noise.epsilon, 0, out.noise.tv, who};
  return out;
}

std::string assumption_of(const Toy& /*settings*/) { return "theta0 is public"; }

}  // namespace gibbsite
