#include "gibbsite/mechanism/ball.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

constexpr int search_levels = 13;         // cells of side 2^-12 at last
constexpr double flat_beyond = 400;       // 2 - s(rho) < 1e-3 there
constexpr double rounding_slack = 1e-11;  // of squares, which rounding moves by less than 1e-13

// The supremum of docs/theory/ball.md, logistic loss.
// Three of the five unknowns go away. Let r = ‖θ‖, and split u into t along θ/r and w across it,
// ‖w‖ = p; likewise u'. With a = σ(−rt), b = σ(−rt') the square of the distance is (at−bt')² + ‖aw
// − bw'‖², at most, and in two dimensions or more attained with w' against w,
//   D² = (at−bt')² + (ap+bp')²
// Longest rows. a and b do not depend on p and p', and D grows with both: p = √(1−t²), p' =
// √(1−t'²). With t = cos α, t' = cos α': D² = a² + b² − 2ab cos(α+α'), α, α' ∈ [0, π]. Longest θ.
// For r < ρ take angles with ρ cos α̃ = r cos α, ρ cos α̃' = r cos α': a and b stay. With κ =
// (r/ρ)² ≤ 1, p = |cos α|, q = |cos α'|: where the cosines have one sign, cos(α̃+α̃') = κpq −
// √((1−κp²)(1−κq²)), whose terms both fall with κ. Where they have two, it is f(κ) = −κpq − √(XY),
// X = 1 − κp², Y = 1 − κq², and f' = −pq + (p²Y+q²X)/(2√(XY)) ≥ 0, because p²Y + q²X ≥ 2pq√(XY).
// So cos(α̃+α̃') ≤ cos(α+α') in both cases, and D does not fall: r = ρ.
// So s(ρ)² is the maximum of a² + b² − 2ab cos(α+α') over [0, π]², a = σ(−ρ cos α), b = σ(−ρ cos
// α'). It is attained in d ≥ 2, and is a bound in d = 1. ∎

// The search of docs/theory/ball.md. The square is over cells of (cos α, cos α'). In a cell a and
// b lie between their values at the ends (σ is monotone), and D² is convex in (a, b) for a fixed
// angle. So one of the four corners with the smallest cos(α+α') of the cell is a bound of all: −1
// where α + α' = π is in the cell, else an end's. Cells whose bound is below a value found
// elsewhere are dropped, the others halved 13 times. The largest bound left is s², above the
// supremum by less than 0.1 %. Rounding (< 10⁻¹³) is covered by 10⁻¹¹, and s is rounded up to a
// multiple of 2⁻³⁰. Beyond ρ = 400 it is 2.
// Rows at a cosine p to theta, p from -1 to 1 by its place 0 .. 2^search_levels. A gradient there
// has a length of sigma(-rho p), which falls with p. From 50 digits and operations that every
// machine rounds alike; lengths are found when asked for, most never are.
class Cosines {
 public:
  explicit Cosines(double rho) : rho_(rho) {}

  static double cosine(int i) { return std::ldexp(i, 1 - search_levels) - 1; }
  double length(int i) {
    double& out = length_[static_cast<std::size_t>(i)];
    if (out == 0) out = static_cast<double>(1 / (1 + exp(Wide(Wide(rho_) * Wide(cosine(i))))));
    return out;
  }

 private:
  double rho_;
  std::vector<double> length_ = std::vector<double>((std::size_t{1} << search_levels) + 1, 0.0);
};

// cos(alpha + alpha') of two rows on both sides of the axis.
double cosine_of_sum(double p, double q) { return p * q - std::sqrt((1 - p * p) * (1 - q * q)); }

// The square of the distance of two gradients.
double squared(double a, double b, double cosine) { return a * a + b * b - 2 * a * b * cosine; }

// Places from i to i + side of one row, from j of the other.
struct Cell {
  int i = 0, j = 0;
};

// The most of all pairs in the cell: the square is convex in the lengths, so a corner of theirs is
// worst, with the angle between the rows that is nearest to pi; it is pi where q = -p.
double squared_up(Cosines& at, const Cell& cell, int side) {
  const double p = Cosines::cosine(cell.i), p_up = Cosines::cosine(cell.i + side);
  const double q = Cosines::cosine(cell.j), q_up = Cosines::cosine(cell.j + side);
  const double cosine = p + q <= 0 && p_up + q_up >= 0
                            ? -1.0
                            : std::min(cosine_of_sum(p, q), cosine_of_sum(p_up, q_up));
  const double a = at.length(cell.i), a_up = at.length(cell.i + side);
  const double b = at.length(cell.j), b_up = at.length(cell.j + side);
  return std::max({squared(a, b, cosine), squared(a, b_up, cosine), squared(a_up, b, cosine),
                   squared(a_up, b_up, cosine)});
}

// Not its capped relative: there s(rho) R is above what holds without a ball.
bool is_logistic(const Problem& problem) {
  return problem.loss == "logistic" && problem.max_abs_derivative == 1;
}

// The difference without a ball, or for a loss whose form is not known: two gradients, each at most
// R sup |f'| long.
double unbounded_difference_up(const Problem& problem, const Neighbors& who, double ball) {
  const double L = problem.lipschitz_up(ball);  // refuses where there is no ball
  const bool one = who.adjacency == Adjacency::add_remove;
  const Wide rows = who.rows_per_person, R = problem.full_row_norm_up();
  if (one || problem.loss != "squared" || problem.curvature != 1) {
    return round_up(rows * (one ? 1 : 2) * Wide(L));
  }
  const double rho = round_up(R * Wide(ball));
  return round_up(rows * R * Wide(squared_difference_up(rho, problem.derivative_at_zero)));
}

}  // namespace

double logistic_difference_up(double rho) {
  require_finite_nonnegative(rho, "rho");
  if (rho > flat_beyond) return 2;
  Cosines at(rho);
  // Cells that may hold the maximum, halved level by level; the pair (i, j) is as good as (j, i).
  std::vector<Cell> cells{{0, 0}}, finer;
  double least = 0, most = 4;
  for (int side = 1 << search_levels; side > 1;) {
    side /= 2;
    finer.clear();
    most = 0;
    for (const Cell& cell : cells) {
      for (const int di : {0, side}) {
        for (const int dj : {0, side}) {
          const Cell part{cell.i + di, cell.j + dj};
          if (part.i > part.j) continue;
          const double up = squared_up(at, part, side);
          if (up < least) continue;
          most = std::max(most, up);
          finer.push_back(part);
          least = std::max(
              least, squared(at.length(part.i), at.length(part.j),
                             cosine_of_sum(Cosines::cosine(part.i), Cosines::cosine(part.j))));
        }
      }
    }
    cells.swap(finer);
  }
  const double quantum = 0x1p-30;
  return std::min(2.0,
                  std::ceil(std::sqrt(std::max(most, least) + rounding_slack) / quantum) * quantum);
}

// The supremum of docs/theory/ball.md, squared loss.
// Proof. The difference is Aθ − v, A = uuᵀ − u'u'ᵀ and v = yu − y'u', so it is at most ρ‖A‖ + ‖v‖.
// Let p ≥ q be the lengths of u and u' and ψ in [0, π/2] the angle of their lines. Then ‖v‖ ≤
// Y√(p² + q² + 2pq cos ψ). And A, of rank two, of trace p² − q² and determinant −p²q² sin²ψ in its
// plane, has the norm λ = (p²−q²)/2 + √((p²−q²)²/4 + p²q² sin²ψ). Both bounds grow when u and u'
// are made longer together: p = 1. Equal lengths are worst. At q < 1, λ ≤ 1 because √(((1+q²)/2)²
// − q² cos²ψ) ≤ (1+q²)/2. Take rows of length 1 at the angle ψ' with sin ψ' = λ: their A has the
// norm λ too, and their v may be as long as Y√(2+2√(1−λ²)). It is no shorter than before: λ solves
// λ² − (1−q²)λ = q² sin²ψ, that is q² cos²ψ = (1−λ)(q²+λ), so
//   (2+2√(1−λ²)) − (1 + q² + 2q cos ψ) = (1−q²) + 2√(1−λ)(√(1+λ)−√(q²+λ)) ≥ 0.
// At q = 1, λ = sin ψ and ‖v‖ ≤ 2Y cos(ψ/2). The derivative of the sum is 0 where 2ρc² + Yc − ρ =
// 0, whose root is the c above, at most 1/√2. Attained, in d ≥ 2: u = (√(1−c²), c), u' = (√(1−c²),
// −c), θ = (0, ρ), y = −Y, y' = Y. ∎
double squared_difference_up(double rho, double label_bound) {
  require_finite_nonnegative(rho, "rho");
  require_finite_positive(label_bound, "label_bound");
  const Wide r = rho, Y = label_bound;
  const Wide c = 2 * r / (Y + sqrt(Y * Y + 8 * r * r));
  return round_up(2 * sqrt((1 - c) * (1 + c)) * (r * c + Y));
}

bool ball_sharpens(const Problem& problem) { return is_logistic(problem) || !problem.bounded(); }

double gradient_difference_up(const Problem& problem, const Neighbors& who, double ball) {
  if (!problem.bounded()) return unbounded_difference_up(problem, who, ball);
  const double naive = problem.sensitivity_up(1, who.adjacency, who.rows_per_person);
  if (ball == 0 || !is_logistic(problem)) return naive;
  const double rho = round_up(Wide(problem.full_row_norm_up()) * Wide(ball));
  Wide slopes = 1;  // sup of what one row changes, in units of its norm
  if (who.adjacency == Adjacency::replace_one) {
    slopes = logistic_difference_up(rho);
  } else {
    slopes = 1 / (1 + exp(Wide(-Wide(rho))));
  }
  return std::min(naive,
                  round_up(Wide(who.rows_per_person) * slopes * Wide(problem.full_row_norm_up())));
}

}  // namespace gibbsite
