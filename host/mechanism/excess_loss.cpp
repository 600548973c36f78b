#include "gibbsite/mechanism/excess_loss.hpp"

#include <algorithm>
#include <cmath>

#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

// F is the mean loss, c = θ* − θ₀, a = θ̃ − θ₀, ‖c‖ ≤ B, and θ̃ the minimum of nF + (Λ/2)‖a‖² + b·θ
// found to ‖n∇F(θ̃) + Λa + b‖ ≤ g, so n∇F(θ̃) = −b' − Λa with ‖b'−b‖ ≤ g. F is convex:
//   n(F(θ̃)−F(θ*)) ≤ n∇F(θ̃)·(a−c) = b'·c − a·(b'−Λc) − Λ‖a‖² ≤ b'·c + ‖b'−Λc‖²/(4Λ)
//                 = ‖b'‖²/(4Λ) + Λ‖c‖²/4 + b'·c/2
// E b·c = 0 for every fixed c, so on average at most E(‖b‖+g)²/(4Λ) + ΛB²/4 + gB/2, and gB/2 ≤
// g(1+B²)/4. F of classes does not depend on Σ_k θ_k: θ̃, c and b are taken without their parts
// there, of which b has D' = (K−1)d coordinates left. E‖b‖² = D'σ²; of density ∝ e^{−γ‖b‖} a
// coordinate has E b_j² = (D+1)/γ².
// Noise ξ added last, of a mean square v a coordinate, independent of θ̃ and symmetric: f(z+η) ≤
// f(z) + ∇f·η + (ϕ/2)‖η‖², η = ξx, of whose K coordinates K − 1 count: at most (ϕ/2) v R²
// max(K−1, 1) more. Or Lipschitz, sup‖∇f‖ R (v max(K−1, 1))^½. Rounding to a grid of width w moves
// θ̃ by √D w/2 at most, and F by L times that. ∎

struct Noise {
  Wide inside;  // E ||b||^2 of what counts
  Wide added;   // mean square of a coordinate of what is added last
};

Wide counted(const Problem& p) { return p.outputs > 1 ? Wide(p.outputs - 1) : Wide(1); }
Wide pure_square(const Problem& p, double rate) {
  return (Wide(p.features) + 1) / (Wide(rate) * Wide(rate));
}
template <NoiseLaw law>
Wide square_of(double noise, const Problem& p) {
  return law == NoiseLaw::pure ? pure_square(p, noise) : Wide(noise) * Wide(noise);
}

template <NoiseLaw law>
std::optional<Noise> noise_of(const PerturbedMinimizer<law>& m, const Problem& p) {
  return Noise{0, square_of<law>(m.noise, p)};
}
template <NoiseLaw law>
std::optional<Noise> noise_of(const PerturbedObjective<law>& m, const Problem& p) {
  return Noise{counted(p) * Wide(p.row_features()) * square_of<law>(m.noise, p),
               square_of<law>(m.output_noise, p)};
}
template <class M>
std::optional<Noise> noise_of(const M& /*m*/, const Problem& /*p*/) {
  return std::nullopt;
}

template <class M>
ExcessLoss excess_of(const M& m, const Noise& noise, const Problem& p, double grid) {
  const Wide n = p.rows, ridge = m.ridge, g = m.gradient_norm, R = p.full_row_norm_up();
  const Wide longest = sqrt(noise.inside) + g, added = noise.added * counted(p);
  const Wide by_curvature = Wide(p.curvature) / 2 * added * R * R;
  const Wide by_slope = Wide(p.lipschitz_up()) * sqrt(added);
  const Wide rounding = Wide(p.lipschitz_up()) * sqrt(Wide(p.features)) * Wide(grid) / 2;
  return {round_up((longest * longest / ridge + g) / (4 * n) + std::min(by_curvature, by_slope) +
                   rounding),
          round_up((ridge + g) / (4 * n))};
}

}  // namespace

std::optional<ExcessLoss> excess_loss_up(const Mechanism& mechanism, const Problem& problem,
                                         const Neighbors& who) {
  if (who.adjacency != Adjacency::replace_one || problem.weighted || problem.of_people() ||
      !problem.bounded()) {
    return std::nullopt;
  }
  return std::visit(
      [&](const auto& m) -> std::optional<ExcessLoss> {
        const auto noise = noise_of(m, problem);
        if constexpr (requires {
                        m.gradient_norm;
                        m.ridge;
                      }) {
          if (noise) return excess_of(m, *noise, problem, analyze(m, problem, who, 1).release_grid);
        }
        return std::nullopt;
      },
      mechanism);
}

}  // namespace gibbsite
