#include "gibbsite/privacy/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace {

using std::exp, std::expm1, std::log1p;  // of doubles; Wide has its own

// Theorem 1 of docs/theory/objective-perturbation.md.
// Proof: one dimension. ∇J is strongly monotone and Lipschitz, so θ̂ = (∇J)⁻¹(−b) is a bijection
// of ℝ^d with b. Let D lack the row (x, f) that D⁺ has, and T = (∇J_D)⁻¹(−·). T⁻¹ takes θ̂ on D to
// X = b, and on D⁺ to Y = b + f'(x·T(Y))x. A bijection changes no HS, so X and Y may be compared.
// They differ along u = x/‖x‖ only (x = 0: not at all). With y = u·Y and the rest b⊥ of Y, which
// is that of b, b·u = y − ψ(y), ψ(y) = ‖x‖f'(x·T(yu+b⊥)). (∇J_D)⁻¹ is monotone and 1/Λ-Lipschitz,
// hence u·T(yu+b⊥) falls in y with a slope of at least −1/Λ, and ψ is nonincreasing with slopes in
// [−t, 0] and values in ‖x‖·range f'. Given b⊥, in units of σ: X has the density φ(y), and Y, as y
// ↦ y − ψ(y) is increasing and Lipschitz both ways, φ(y−ψ(y))(1+a(y)) with a = −ψ' ∈ [0, t] almost
// everywhere and |ψ| ≤ s. HS of a pair with the same law of b⊥ is the mean of the conditional
// ones: a bound for every such ψ is one for the tables. One-signed: ψ ∈ [0, s], after y → −y where
// needed.
// Inserted, P‖Q. log(p_X/p_Y) = ψ²/2 − yψ − log(1+a) ≤ ψ²/2 − yψ, convex in ψ: at most max(0,
// s²/2−sy), or s|y| + s²/2, with y ~ N(0, 1). E(1−e^{ε−·})₊ of these is H(ε; s), and 2H(ε; s) for
// ε ≥ s²/2; below that 2H = 2E[(1−e^{ε−s²/2−sZ})₊] counts Z < 0 besides, and is larger.
// Deleted, first form. With z = y − ψ ~ N(0, 1) under Y, log(p_Y/p_X) = zψ + ψ²/2 + log(1+a) ≤ c +
// max(0, sz+s²/2), or c + s|z| + s²/2. F₁ and F₂ are E(1−e^{ε−c−·})₊: for e < 0, E e^{−max(0, ·)}
// = 1 − H(0; s); for e < s²/2, E e^{−s|Z|} = 2e^{s²/2}Φ(−s) = 1 − 2H(s²/2; s).
// Deleted, second form. HS_ε(Q‖P) = ∫ G_{a(y)}(y, ψ(y)) dy, G_a(y, v) = [(1+a)φ(y−v) − e^ε φ(y)]₊
// convex in a, so at most ∫ G₀ + (a/t)(G_t−G₀) at v = ψ(y). G₀(y, v) > 0 needs y > ε/v + v/2 ≥
// √(2ε) ≥ s (one-signed: v > 0), where φ(y−v) grows in v ≤ s: so ∫ G₀(y, ψ(y)) dy ≤ ∫ G₀(y, s) dy
// = H(ε; s). G_t − G₀ ≤ M(v), and a dy = −dψ turns the rest into (1/t)∫ M over the range of ψ.
// Two-signed: G₀ > 0 needs yψ(y) > 0, and so does G_t > 0 where c ≤ ε; a nonincreasing ψ has that
// on one side of y = 0 only, so each term counts once. For c > ε the range is [−s, s] and M even.
// ∎
//
// Theorem 4, of K classes.
// Proof: K dimensions. As above, but X and Y differ in ℝᴷ ⊗ u: with y = (I⊗uᵀ)Y, (I⊗uᵀ)b = y −
// ψ(y), ψ(y) = ‖x‖∇f(‖x‖τ(y)), τ(y) = (I⊗uᵀ)T(y⊗u+b⊥).
// - T(b) = ∇J*(−b), J* the conjugate, convex with a 1/Λ-Lipschitz gradient: −Dτ = G is symmetric, 0
//   ⪯ G ⪯ I/Λ. With H = diag p − ppᵀ the map y ↦ y − ψ(y) has the Jacobian I + ‖x‖²HG almost
//   everywhere, and det(I+‖x‖²HG) = det(I+‖x‖²√H G √H) =: e^a ∈ [1, det(I+(R²/Λ)H)].
// - H has rank K − 1 and trace 1 − ‖p‖² ≤ 1 − 1/K. log is concave: a ≤ (K−1) log(1+R²/(KΛ)) = c,
//   which p = (1/K, …) attains.
// - ∇f = p − e_y is in the convex hull of 0 and e_k − e_y, k ≠ y, of length √2: ψ in units of σ is
//   in that of 0 and K − 1 vectors v_k, ‖v_k‖ ≤ s.
// Inserted: log p_X/p_Y = ‖ψ‖²/2 − y·ψ − a is at most a convex function of ψ, so its largest value
// at a corner, max(0, max_k ‖v_k‖²/2 − y·v_k), and E(1−e^{ε−·})₊ of a largest one is at most the
// sum over k, (K−1)H(ε; s). Deleted: log p_Y/p_X = z·ψ + ‖ψ‖²/2 + a with z = y − ψ ~ N(0, I),
// convex as well: c + max(0, max_k z·v_k + ‖v_k‖²/2). For e = ε − c < 0, 1 − e^e E e^{−max(0,·)} =
// 1 − e^e + e^e E(1−e^{−max(0,·)}) ≤ 1 − e^e + e^e(K−1)H(0; s). ∎

// --- I(epsilon; s, t) in double ---------------------------------------------------------------
// Sums, products and exp_of, which is made of them: the same bits on every machine (no contraction,
// CMakeLists.txt). Relative errors stay below 1e-11, and 1e-10 is added.

constexpr double inflation = 1 + 1e-10;
constexpr double margin = 1e-11;

constexpr std::array<double, 14> inverses{1 / 14.0, 1 / 13.0, 1 / 12.0, 1 / 11.0, 1 / 10.0,
                                          1 / 9.0,  1 / 8.0,  1 / 7.0,  1 / 6.0,  1 / 5.0,
                                          1 / 4.0,  1 / 3.0,  1 / 2.0,  1};

// Within 1e-14 of exp(x) for x <= 700; of x below -700 larger than it.
double exp_of(double x) {
  x = std::max(x, -700.0);
  constexpr double whole = 0x1.8p52;  // what is added to it loses its fraction
  const double n = (x * 1.4426950408889634 + whole) - whole;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double sum = 1;
  for (const double inverse : inverses) sum = 1 + sum * r * inverse;
  return sum * std::bit_cast<double>((static_cast<std::uint64_t>(n + 1023)) << 52);
}

double density(double x) { return 0.3989422804014327 * exp_of(-x * x / 2); }

// The integral I(epsilon; s, t) of docs/theory/objective-perturbation.md, in its notation. The
// certificate's I is a sum that cannot fall below it. With y_ε = ε/v + v/2 ≥ v (s² ≤ 2ε), K = G_t
// − G₀ is tφ(y−v), falling, beyond y_ε, and G_t before. G_t > 0 only where r(y) =
// (1+t)e^{yv−v²/2−ε} > 1, and ∂G_t/∂y = e^ε φ(y)(y−r(y−v)) is positive for y ≤ v (y < 0: r(v−y) >
// −y); beyond, r(y)(y−v)/y is increasing. So the maximum is at the root of r(y)(y−v) = y, or at
// y_ε where that is first: for v² ≥ tε/(1+t/2). With w = y − v ("the offset")
//
//     M(v) = (1+t)φ(w)v/(v+w)  at the root      M(v) = tφ(ε/v−v/2)  beyond the turn v² = tε/(1+t/2)
//
// - M rises. For v < v' put y' = y + v' − v, y ≥ 0 the largest at v: before y_ε(v') φ(y'−v') stays
//   and e^ε φ(y') falls; beyond, K(y', v') = tφ(y−v) ≥ K(y, v) for every y.
// - A root is bounded from its left. (1+t)φ(w)v/(v+w) falls in w, so any w with r w < v + w, which
//   is tested, gives M or more; so does w = ε/v − v/2 before the turn or beyond it.
// - M is convex, then concave, on either side of the turn. Before it M' = (1+t)wφ(w), and from v w
//   + v²/2 + log w − log(v+w) = ε − c: sign dw/dv = sign(1/y−y), sign dy/dv = sign(1−w²). So the
//   sign of M'' is that of (1−w²)(1−y²): convex for w > 1 (which only w = 1 ends) and for y < 1
//   (which only y = 1 ends), concave for w < 1 < y, for good. Beyond it, with q = ε/v², M'' has
//   the sign of ε(q²−¼)² − q(3q²+¼), which changes once. At the turn M' is continuous (t(ε/v−v/2)
//   = v there).
// - So a chord bounds a convex panel, the tangent in the middle a concave one, and M's right end
//   any other: 4096 panels, in double with 10⁻¹⁰ on top. H comes from 50 digits.
// M(v) of docs/theory/objective-perturbation.md, "The integral": how large and, for the shape,
// where.
struct Excess {
  double epsilon, t, c;  // c = log(1 + t)

  // v below which the largest y is inside of (v, y_epsilon].
  [[nodiscard]] double turn() const { return std::sqrt(t * epsilon / (1 + t / 2)); }
  [[nodiscard]] double furthest(double v) const { return std::max(0.0, epsilon / v - v / 2); }
  // (1 + t) e^{y v - v^2/2 - epsilon} at y = v + w.
  [[nodiscard]] double ratio(double v, double w) const {
    return exp_of(c - epsilon + v * w + v * v / 2);
  }
  // w = y - v at the largest y. Newton's method on the convex w (ratio - 1) - v from its right:
  // from `near`, where that is on its right.
  [[nodiscard]] double offset(double v, double near) const {
    const double most = furthest(v);
    if (v >= turn()) return most;
    double w = std::min(near, most);
    for (int i = 0; i < 100; ++i) {
      const double r = ratio(v, w), at = w * (r - 1) - v;
      if (at < 0 && i == 0) {
        w = most;
        continue;
      }
      const double next = w - at / (r - 1 + v * w * r);
      if (!(next < w) || !(next > 0)) break;
      const bool close = w - next < 1e-13 * w;
      w = next;
      if (close) break;
    }
    return w;
  }
  // M(v) or more, from w = offset(v).
  [[nodiscard]] double height_up(double v, double w) const {
    if (v * v * (1 + t / 2) >= t * epsilon * (1 + 1e-12)) return t * density(furthest(v));
    // (1 + t) phi(w) v/(v + w) falls in w, so any w on the left of the largest bounds it.
    double less = 1e-9;
    do {
      w *= 1 - less;
      less = std::min(0.5, 4 * less);
    } while (w > 1e-300 && !(w * ratio(v, w) * (1 + margin) < v + w));
    // Nothing is positive for w below (epsilon - c)/v - v/2, and all is below t phi(w).
    const double left = epsilon - c - 1e-15 * (epsilon + c);
    const double least = std::max(0.0, left / v - v / 2) * (1 - margin);
    return std::min((1 + t) * density(w) * v / (v + w), t * density(least));
  }

  enum class Shape { convex, concave, unknown };
  // The shape of M on [a, b] with the offsets there: it is convex, then concave, on either side of
  // the turn, where its slope is continuous.
  [[nodiscard]] Shape shape(double a, double offset_a, double b, double offset_b) const {
    constexpr double sure = 1e-6;
    const double at = turn();
    bool convex = true, concave = true;
    if (a < at) {
      const double end = std::min(b, at), w = b <= at ? offset_b : furthest(at);
      convex = w > 1 + sure || end + w < 1 - sure;
      concave = offset_a < 1 - sure && a + offset_a > 1 + sure;
    }
    if (b > at) {
      const auto bend = [&](double v) {
        const double q = epsilon / (v * v), p = q * q - 0.25;
        return epsilon * p * p / (q * (3 * q * q + 0.25)) - 1;
      };
      convex = convex && bend(b) > sure;
      concave = concave && bend(std::max(a, at)) < -sure;
    }
    return convex ? Shape::convex : concave ? Shape::concave : Shape::unknown;
  }

  // Chords of convex parts, tangents in the middle of concave ones; else M's right end, for M
  // rises.
  [[nodiscard]] double integral_up(double s, int panels) const {
    double sum = 0, left = 0, left_height = 0, left_offset = HUGE_VAL;
    for (int i = 1; i <= panels; ++i) {
      const double right = i == panels ? s : s * i / panels, wide = right - left;
      const double w = offset(right, left_offset), height = height_up(right, w);
      const Shape now = i == 1 ? Shape::unknown : shape(left, left_offset, right, w);
      if (now == Shape::concave) {
        const double middle = left + wide / 2;
        sum += wide * height_up(middle, offset(middle, left_offset));
      } else {
        sum += now == Shape::convex ? wide / 2 * (left_height + height) : wide * height;
      }
      left = right;
      left_height = height;
      left_offset = w;
    }
    return sum / t * inflation + 1e-280;  // for what has underflowed
  }
};

// Where double arithmetic is as good as that: elsewhere nothing is said.
bool resolved(double epsilon, double s, double t) {
  return epsilon > 1e-30 && epsilon <= 1e3 && s > 1e-30 && t <= 1e30;
}

// I grows with t, and hardly depends on it where it is small.
double at_least_small(double t) { return std::max(t, 1e-12); }

// --- profiles ---------------------------------------------------------------------------------

// Phi(-x)/phi(x).
double mills(double x) {
  if (x < 4) {
    return std::sqrt(std::acos(0.0)) * std::exp(x * x / 2) * std::erfc(x / std::sqrt(2.0));
  }
  double tail = x;
  for (int k = 80; k > 0; --k) tail = x + k / tail;
  return 1 / tail;
}

// delta(epsilon; mu) of Gaussian privacy and I: as nearly as a search needs, or as a claim does.
struct Fast {
  using Number = double;
  static double up(double x) { return x; }
  static double down(double x) { return x; }
  static double gaussian(double epsilon, double mu) {
    const double x = epsilon / mu - mu / 2;
    if (x < -30) return 1;
    return std::exp(-x * x / 2) / std::sqrt(4 * std::acos(0.0)) * (mills(x) - mills(x + mu));
  }
  static double excess(double epsilon, double s, double t) {
    const double up = at_least_small(t);
    return Excess{epsilon, up, std::log1p(up)}.integral_up(s, 48);
  }
};
struct Safe {
  using Number = Wide;
  static double up(const Wide& x) { return round_up(x); }
  static double down(const Wide& x) { return round_down(x); }
  static double gaussian(double epsilon, double mu) { return gdp_delta_up(epsilon, mu); }
  static double excess(double epsilon, double s, double t) {
    return objective_excess_up(epsilon, s, t);
  }
};

// How many Gaussian losses a row's is the largest of: H(epsilon; s) counts so many times.
double corners(const ObjectivePair& p) {
  return p.one_signed ? static_cast<double>(p.directions) : 2;
}

// The losses max(0, sZ + s^2/2) (one-signed; of classes the largest of several) and s|Z| + s^2/2
// (two-signed) in front of c.
template <class How, class Number = typename How::Number>
double folded_up(double epsilon, const Number& c, double s, bool one_signed, double corners) {
  const Number half = Number(s) * Number(s) / 2, times = corners;
  const Number left = Number(epsilon) - c - (one_signed ? Number(0) : half);
  if (left >= 0) {
    const double at = std::max(0.0, How::down(Number(epsilon) - c));
    return How::up(times * Number(How::gaussian(at, s)));
  }
  const double kink = one_signed ? 0.0 : How::down(half);
  return How::up(times * exp(left) * Number(How::gaussian(kink, s)) - expm1(left));
}

template <class How, class Number = typename How::Number>
double inserted(const ObjectivePair& p, double epsilon) {
  if (p.calibration == Calibration::redberg) {
    return p.t < 1 ? folded_up<How>(epsilon, Number(-log1p(-Number(p.t))), p.s, false, 2) : 1.0;
  }
  return How::up(Number(corners(p)) * Number(How::gaussian(epsilon, p.s)));
}

template <class How, class Number = typename How::Number>
double deleted(const ObjectivePair& p, double epsilon) {
  if (p.calibration == Calibration::redberg) return inserted<How>(p, epsilon);
  const Number c = Number(static_cast<double>(p.directions)) * log1p(Number(p.t)), e = epsilon;
  const double first = folded_up<How>(epsilon, c, p.s, p.one_signed, corners(p));
  if (p.directions > 1) return first;  // the integral is of one dimension
  if (!(Number(p.s) * Number(p.s) <= 2 * e) || !resolved(epsilon, p.s, p.t)) return first;
  const Number times = p.one_signed || c <= e ? 1 : 2;
  return std::min(first, How::up(Number(How::gaussian(epsilon, p.s)) +
                                 times * Number(How::excess(epsilon, p.s, p.t))));
}

// What `steps` steps of (epsilon, delta) come to, in units of delta: 1 + e^epsilon + ...
template <class Number>
Number group(const Number& epsilon, std::uint64_t steps) {
  if (steps == 1 || epsilon == 0) return Number(static_cast<double>(steps));
  return expm1(Number(static_cast<double>(steps)) * epsilon) / expm1(epsilon);
}

template <class How, class Number = typename How::Number>
double of_person(const ObjectivePair& p, double epsilon, double deletion_epsilon,
                 const Neighbors& who) {
  const std::uint64_t rows = who.rows_per_person;
  const Number k = static_cast<double>(rows);
  const auto each = [&](const Number& all) { return std::max(0.0, How::down(all / k)); };
  Number delta;
  if (who.adjacency == Adjacency::add_remove) {
    const double one = each(Number(epsilon));
    delta =
        group(Number(one), rows) * Number(std::max(deleted<How>(p, one), inserted<How>(p, one)));
  } else {
    const double out = each(Number(deletion_epsilon));
    const double in = each(Number(epsilon) - k * Number(out));
    delta = group(Number(out), rows) * Number(deleted<How>(p, out)) +
            exp(k * Number(out)) * group(Number(in), rows) * Number(inserted<How>(p, in));
  }
  return std::min(1.0, How::up(delta));
}

void require_pair(const ObjectivePair& p) {
  require_finite_positive(p.s, "s");
  require_finite_positive(p.t, "t");
  if (p.calibration != Calibration::exact && p.calibration != Calibration::redberg) {
    throw BadInput(Field{"calibration"},
                   fmt::format("objective perturbation has exact and redberg, not {}",
                               to_string(p.calibration)));
  }
  require_at_least(static_cast<double>(p.directions), 1, "directions");
  if (p.directions > 1 && p.calibration != Calibration::exact) {
    throw BadInput(Field{"calibration"},
                   "redberg, the published form, is of losses of one output, and this one is of "
                   "several classes",
                   "give exact, or leave it out");
  }
  if (p.directions > 1 && !p.one_signed)
    throw BadInput("directions", "several are those of classes, whose slopes are one-signed",
                   "give 1, or one_signed");
}

}  // namespace

double objective_excess_up(double epsilon, double s, double t, int panels) {
  require_finite_positive(epsilon, "epsilon");
  require_finite_positive(s, "s");
  require_finite_positive(t, "t");
  if (!(Wide(s) * Wide(s) <= 2 * Wide(epsilon))) {
    throw BadInput("s: the integral bounds nothing beyond sqrt(2 epsilon); take a smaller s");
  }
  if (!resolved(epsilon, s, t)) {
    throw BadInput(
        "epsilon, s, t: the integral is not resolved there; take epsilon in [1e-30, 1e3], s "
        "from 1e-30 and t to 1e30");
  }
  require_at_least(panels, 1, "panels");
  const double up = at_least_small(t);
  return Excess{epsilon, up, static_cast<double>(gibbsite::log1p(Wide(up)))}.integral_up(s, panels);
}

double objective_insert_delta_up(const ObjectivePair& pair, double epsilon) {
  require_pair(pair);
  require_finite_nonnegative(epsilon, "epsilon");
  return std::min(1.0, inserted<Safe>(pair, epsilon));
}

double objective_delete_delta_up(const ObjectivePair& pair, double epsilon) {
  require_pair(pair);
  require_finite_nonnegative(epsilon, "epsilon");
  return std::min(1.0, deleted<Safe>(pair, epsilon));
}

double objective_delta_up(const ObjectivePair& pair, double epsilon, double deletion_epsilon,
                          const Neighbors& who) {
  require_pair(pair);
  require_finite_positive(epsilon, "epsilon");
  require_finite_positive(deletion_epsilon, "deletion_epsilon");
  require_at_least(static_cast<double>(who.rows_per_person), 1, "rows_per_person");
  if (!(deletion_epsilon <= epsilon)) {
    throw BadInput("deletion_epsilon: must not exceed epsilon; give a part of it");
  }
  return of_person<Safe>(pair, epsilon, deletion_epsilon, who);
}

ObjectiveScale objective_scale_down(const ObjectivePair& pair, double epsilon, double delta,
                                    const Neighbors& who) {
  require_finite_positive(epsilon, "epsilon");
  require_between(delta, 0, 1, "delta");
  ObjectivePair p = pair;
  p.s = 1;
  require_pair(p);
  ObjectiveScale out{0, epsilon};
  const auto fast = [&](double log_s, double part) {
    p.s = std::exp(log_s);
    return of_person<Fast>(p, epsilon, part * epsilon, who);
  };
  double lo = -34, hi = 5;
  // Deletions need what the determinant takes.
  const double taken = static_cast<double>(who.rows_per_person) *
                       (static_cast<double>(p.directions) * std::log1p(p.t)) / epsilon;
  double part = who.adjacency == Adjacency::replace_one ? 0.5 + std::min(taken, 0.98) / 2 : 1;
  double log_s = lo;
  for (int round = 0; round < 4; ++round) {  // s for that part of epsilon, the part for that s
    for (int i = 0; i < 32; ++i) {
      const double middle = (lo + hi) / 2;
      (fast(middle, part) <= delta ? lo : hi) = middle;
    }
    log_s = lo;
    if (part == 1) break;
    hi = 5;
    double a = 0, b = 1;
    for (int i = 0; i < 24; ++i) {
      const double x = a + 0.381966 * (b - a), y = a + 0.618034 * (b - a);
      fast(log_s, x) <= fast(log_s, y) ? b = y : a = x;
    }
    part = (a + b) / 2;
  }
  out.deletion_epsilon = part * epsilon;
  const auto safe = [&](double s) {
    p.s = s;
    return of_person<Safe>(p, epsilon, out.deletion_epsilon, who);
  };
  // The search's errors away, then down until the claim itself agrees.
  const double slope = std::max(0.1, std::log(fast(log_s, part) / fast(log_s - 1e-3, part)) / 1e-3);
  double s = std::exp(log_s);
  for (int i = 0; i < 2; ++i) {
    const double change = std::log(delta / safe(s)) / slope;
    if (std::abs(change) < 0.1) s *= std::exp(change);
  }
  for (double less = 1e-10; !(safe(s) <= delta); less = std::min(0.5, 2 * less)) {
    s *= 1 - less;
    if (!(s > 1e-14)) return out;
  }
  out.s = s;
  return out;
}

}  // namespace gibbsite
