#include "gibbsite/privacy/gdp_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/special.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_mu = 60, most_pure = 650, most_fitted_mu = 40, most_fitted_epsilon = 600;

double cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
// z with Phi(-z) = tail; tails that a double cannot hold are near enough.
double upper_quantile(double tail) {
  return -boost::math::quantile(boost::math::normal{}, std::clamp(tail, 1e-300, 1 - 1e-16));
}

// About the first double from `start` > 0 on that `holds`, which then holds for all that follow.
// Infinite beyond `most`.
template <class Holds>
double up_until(double start, double most, const Holds& holds) {
  double found = start, below = start;
  for (double step = 0x1p-52; !holds(found); step *= 2) {
    below = found;
    found = std::max(std::nextafter(found, infinity), found * (1 + step));
    if (!(found <= most)) return infinity;
  }
  while (found - below > 1e-15 * found) {
    const double middle = below + (found - below) / 2;
    if (!(below < middle && middle < found)) break;
    (holds(middle) ? found : below) = middle;
  }
  return found;
}

// Theorem 1 of docs/theory/gdp-fit.md.
// Proof. f(a) ≥ sup 1 − H(ε−p; μ) − e^{ε−p} e^p a = G_μ(e^p a) =: f₀(a), 0 beyond e^{−p}, and f =
// f⁻¹, so f ≥ f₀⁻¹ too. Put a = Φ(−u) and e^p a = Φ(−w): f₀(a) = Φ(w−μ), and G_{2z}(a) = Φ(u−2z).
// At u = z the equation says −w = z − μ, so w − μ = −z = u − 2z: f₀ and G_{2z} meet at a = Φ(−z),
// on the diagonal, where f₀ meets f₀⁻¹. With the hazard h = φ/(1−Φ), which rises, dw/du =
// h(u)/h(w) ≥ 1, for w ≤ u. So w − μ ≥ u − 2z for u ≥ z: f₀ ≥ G_{2z} for a ≤ Φ(−z), and by the
// mirror f₀⁻¹ ≥ G_{2z} beyond. The pair whose f is the larger of the two (convex, for f₀' ≤
// G'_{2z} = −1 where they meet) has that guarantee, and is on the diagonal where they meet: no
// smaller μ' lies below it. ∎

// e^pure Phi(-z) <= Phi(z - mu) at 2z = found, with room for the errors of both.
bool covers_shift(double found, double mu, double epsilon0) {
  const Wide z = Wide(found) / 2;
  return exp(Wide(epsilon0)) * normal_cdf(-z) * (1 + Wide("1e-30")) <= normal_cdf(z - Wide(mu));
}

// Theorem 2 of docs/theory/gdp-fit.md.
// Proof. μ = 0 is (p, δ)-privacy: f ≥ 1 − δ − e^p a, which is (1−δ) times the chord 1 − e^p a' at
// a' = a/(1−δ). The convex G_{2z} is 1 at 0 and Φ(−z) = 1/(1+e^p) there, where the chord agrees,
// so it lies below the chord between; beyond, the mirror. Else H(ε; μ) = P(L − E > ε) with L ~
// N(μ²/2, μ²) and E exponential. L − E has a log-concave density, so log H(ε) falls ever faster,
// and H(ε−p') / H(ε−p), at least 1/(1−δ) at ε = 0, is so for all ε ≥ 0. There δ*(ε) ≤ δ +
// (1−δ)H(ε−p'; μ), so f(a) ≥ (1−δ)f₀(a/(1−δ)), f₀ of (μ, p'), wherever that is at a slope of −1 or
// steeper, which it is up to the diagonal. There Theorem 1 goes through with everything scaled by
// 1 − δ, because (1−δ)f₀⁻¹(a/(1−δ)) is the mirror image. ∎

// H(-pure; mu) to 40 digits after the point.
Wide profile_before(double epsilon0, double mu) {
  const Wide p = epsilon0, m = mu;
  return normal_cdf(m / 2 + p / m) - exp(-p) * normal_cdf(p / m - m / 2);
}

// pure' >= pure with H(epsilon - pure; mu) <= (1 - reveal) H(epsilon - pure'; mu) for epsilon >= 0:
// its logarithm falls ever faster, so epsilon = 0 is the worst.
double shifted_up(double mu, double epsilon0, double delta0) {
  const Wide off("1e-40"), least = profile_before(epsilon0, mu) + off;
  return up_until(std::max(epsilon0, delta0 * 1e-3), most_pure, [&](double more) {
    return least <= (1 - Wide(delta0)) * (profile_before(more, mu) - off);
  });
}

}  // namespace

double gdp_cover_up(double mu, double epsilon0) {
  require_finite_nonnegative(epsilon0, "pure");
  if (mu == infinity) return mu;
  require_finite_nonnegative(mu, "mu");
  if (epsilon0 == 0) return mu;
  if (!(mu <= most_mu && epsilon0 <= most_pure)) return infinity;
  // log Phi(z - mu) - log Phi(-z) rises in z.
  double lo = mu / 2, hi = mu / 2 + 40;
  for (int i = 0; i < 60; ++i) {
    const double z = lo + (hi - lo) / 2;
    (std::log(cdf(z - mu)) - std::log(cdf(-z)) < epsilon0 ? lo : hi) = z;
  }
  const double start = std::max({mu, 2 * lo - 1e-14 * (1 + lo), std::min(epsilon0, 0.1)});
  return up_until(start, infinity, [&](double found) { return covers_shift(found, mu, epsilon0); });
}

Guarantee gdp_cover_up(const Guarantee& guarantee) {
  const Guarantee& g = guarantee;
  if (!(g.delta0 >= 0)) throw BadInput("reveal: must be at least 0; give a probability");
  Guarantee out = g;
  out.epsilon0 = 0;
  if (!(g.delta0 < 1)) {
    out.mu = infinity;
  } else if (g.delta0 == 0 || g.mu == 0 || g.mu == infinity) {
    out.mu = gdp_cover_up(g.mu, g.epsilon0);
  } else {
    const double epsilon0 = g.mu <= most_mu && g.epsilon0 <= most_pure
                                ? shifted_up(g.mu, g.epsilon0, g.delta0)
                                : infinity;
    out.mu = epsilon0 <= most_pure ? gdp_cover_up(g.mu, epsilon0) : infinity;
  }
  return out;
}

// --- the fit ------------------------------------------------------------------------------------

// A whole profile (docs/theory/gdp-fit.md). Given are bounds B_i ≥ δ*(ε_i), 0 ≤ ε_1 < … < ε_N, of
// both directions. The claim δ* ≤ T for all ε has three parts, each tested in 50 digits
// (gdp_covers):
//
// 1. The end. δ*(ε) ≤ B_N ≤ δ₀ ≤ T(ε) for ε ≥ ε_N.
// 2. Cells. Between x_i and x_{i+1} the convex δ* lies below the chord of (x_i, B_i) and (x_{i+1},
//    B_{i+1}). T is convex: it lies above its tangents, δ₀ + (1−δ₀)(Φ(μ'−y)−xΦ(−y)) for any y. A
//    tangent that is not below the chord's two ends is not below it in between.
// 3. The start. From the mirror image of the first point, (1/x_1, 1−1/x_1+B_1/x_1), to itself δ*
//    lies below the chord, which is c − (1−c)x with 1 − c = (1−B_1)/(1+x_1), its own mirror image.
//    T is at least it for x ≥ 1 once T(1) is: T(x) ≥ T(1) + (x−1)T'(1) and T'(1) = (T(1)−1)/2 by
//    the mirror. T(1) ≥ 2c − 1 is (1−δ₀)(1+x_1)Φ(−μ'/2) ≤ 1 − B_1.

namespace {

// Every chord of points above the profile lies above it in x = e^epsilon, where it is convex, and
// so does that from the first point to its mirror image, (1/x, 1 - 1/x + delta/x). The covering
// law's profile is convex too: a chord lies below it if one of its tangents lies above both ends.

// y of the tangent of slope -(1 - reveal) Phi(-y) at epsilon.
double tangent_at(double epsilon, double mu) { return epsilon / mu + mu / 2; }

// The best tangent for a chord: its slope's, or that at the nearer end.
double tangent_for(const ProfilePoint& a, const ProfilePoint& b, double mu, double delta0) {
  const double fall = (a.delta - b.delta) / (1 - delta0);
  const double tail = fall / std::exp(a.epsilon) / std::expm1(b.epsilon - a.epsilon);
  const double least = tangent_at(a.epsilon, mu), most = tangent_at(b.epsilon, mu);
  return tail < 1 ? std::clamp(upper_quantile(tail), least, most) : least;
}

// reveal + (1 - reveal)(Phi(mu - y) - e^epsilon Phi(-y)) >= delta.
bool above_about(double mu, double delta0, double y, const ProfilePoint& p) {
  return (1 - delta0) * (cdf(mu - y) - std::exp(p.epsilon) * cdf(-y)) >= p.delta - delta0;
}
bool chord_about(const ProfilePoint& a, const ProfilePoint& b, double mu, double delta0) {
  const double y = tangent_for(a, b, mu, delta0);
  return above_about(mu, delta0, y, a) && above_about(mu, delta0, y, b);
}
bool chord_covered(const ProfilePoint& a, const ProfilePoint& b, double mu, double delta0) {
  const Wide y = tangent_for(a, b, mu, delta0), kept = 1 - Wide(delta0);
  const Wide high = normal_cdf(Wide(mu) - y), low = normal_cdf(-y);
  const auto above = [&](const ProfilePoint& p) {
    const Wide fall = exp(Wide(p.epsilon)) * low;
    return kept * (high - fall) - (high + fall) * Wide("1e-40") >= Wide(p.delta) - Wide(delta0);
  };
  return above(a) && above(b);
}

// The chord between a point and its mirror image, at x = 1: the law's profile and it are their own
// mirror images, so there they are nearest.
bool mirror_about(const ProfilePoint& p, double mu, double delta0) {
  return (1 - delta0) * (1 + std::exp(p.epsilon)) * cdf(-mu / 2) <= 1 - p.delta;
}
bool mirror_covered(const ProfilePoint& p, double mu, double delta0) {
  return (1 - Wide(delta0)) * (1 + exp(Wide(p.epsilon))) * normal_cdf(-Wide(mu) / 2) *
             (1 + Wide("1e-40")) <=
         1 - Wide(p.delta);
}

// The least mu that `holds`, to 1e-12; above most_fitted_mu where none does.
template <class Holds>
double least_mu(const Holds& holds) {
  double lo = 0, hi = 1;
  while (hi <= most_fitted_mu && !holds(hi)) lo = hi, hi *= 2;
  if (hi > most_fitted_mu) return hi;
  for (int i = 0; i < 60 && hi - lo > 1e-12 * hi; ++i) {
    const double middle = lo + (hi - lo) / 2;
    (holds(middle) ? hi : lo) = middle;
  }
  return hi;
}

// The corners of the convex hull below the points and their mirror images, from x = 1 on.
std::vector<ProfilePoint> hull_of(const std::vector<ProfilePoint>& points) {
  const auto height = [](const ProfilePoint& p) {
    return (1 - p.delta) / (1 + std::exp(p.epsilon));
  };
  auto at = std::ranges::max_element(points, {}, height);
  std::vector<ProfilePoint> out{*at};
  while (at + 1 != points.end()) {
    const ProfilePoint from = *at;
    const auto slope = [&](const ProfilePoint& p) {
      return (p.delta - from.delta) / std::expm1(p.epsilon - from.epsilon);
    };
    at = std::ranges::min_element(at + 1, points.end(), {}, slope);
    out.push_back(*at);
  }
  return out;
}

// What hull chords need, and which needs most: 0 is the one from the mirror image.
struct Need {
  double mu = 0;
  std::size_t chord = 0;
};
Need need_of(const std::vector<ProfilePoint>& hull, double delta0) {
  Need out{least_mu([&](double mu) { return mirror_about(hull[0], mu, delta0); }), 0};
  for (std::size_t i = 1; i < hull.size(); ++i) {
    if (chord_about(hull[i - 1], hull[i], out.mu, delta0)) continue;
    out = {least_mu([&](double mu) { return chord_about(hull[i - 1], hull[i], mu, delta0); }), i};
  }
  return out;
}

// The fewest corners whose chords are covered by mu.
std::vector<ProfilePoint> fewest(const std::vector<ProfilePoint>& hull, double mu, double delta0) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < hull.size(); ++i) {
    if (mirror_about(hull[i], mu, delta0)) at = i;
  }
  std::vector<ProfilePoint> out{hull[at]};
  while (at + 1 < hull.size()) {
    std::size_t next = at + 1;
    for (std::size_t i = next + 1; i < hull.size(); ++i) {
      if (chord_about(hull[at], hull[i], mu, delta0)) next = i;
    }
    at = next;
    out.push_back(hull[at]);
  }
  return out;
}

// How near the search comes to the least mu there is.
constexpr double close = 1e-3;

double claimed_up(const std::vector<ProfilePoint>& points, double delta0, double mu) {
  return up_until(mu, most_fitted_mu,
                  [&](double more) { return gdp_covers(more, delta0, points); });
}

struct Fitter {
  const Profile& about;
  double delta0;
  std::vector<ProfilePoint> points{};

  // Where the profile has fallen to the reveal, or a little below.
  [[nodiscard]] ProfilePoint find_last() const {
    const double wanted = 0.98 * delta0;
    const auto at = [&](double epsilon) { return ProfilePoint{epsilon, about(epsilon)}; };
    ProfilePoint hi = at(1);
    double lo = 0;
    if (hi.delta <= wanted) {
      while (hi.epsilon > 1e-300) {
        const ProfilePoint less = at(hi.epsilon / 8);
        if (!(less.delta <= wanted)) {
          lo = less.epsilon;
          break;
        }
        hi = less;
      }
    } else {
      while (!(hi.delta <= wanted)) {
        if (!(hi.epsilon < most_fitted_epsilon)) return {infinity, 1};
        lo = hi.epsilon;
        hi = at(std::min(most_fitted_epsilon, 4 * hi.epsilon));
      }
    }
    for (int i = 0; i < 12 && hi.delta < 0.9 * delta0 && hi.epsilon - lo > 1e-3 * lo; ++i) {
      const ProfilePoint middle = at(lo + (hi.epsilon - lo) / 2);
      if (middle.delta <= wanted) {
        hi = middle;
      } else {
        lo = middle.epsilon;
      }
    }
    return hi;
  }

  void add(double epsilon) {
    const auto place = std::ranges::lower_bound(points, epsilon, {}, &ProfilePoint::epsilon);
    points.insert(place, {epsilon, about(epsilon)});
  }

  // What the hull's chords need: refined where most is needed until the corners themselves need
  // nearly as much.
  double refine(std::size_t most_points) {
    for (;;) {
      const std::vector<ProfilePoint> hull = hull_of(points);
      const Need need = need_of(hull, delta0);
      if (!(need.mu <= most_fitted_mu) || points.size() >= most_points) return need.mu;
      double known = 0;
      for (const ProfilePoint& p : hull) {
        known = std::max(known, least_mu([&](double mu) {
                           return above_about(mu, delta0, tangent_at(p.epsilon, mu), p);
                         }));
      }
      if (need.mu <= known * (1 + close)) return need.mu;
      const ProfilePoint from = need.chord == 0 ? ProfilePoint{} : hull[need.chord - 1];
      const ProfilePoint to = hull[need.chord];
      double next = from.epsilon + (to.epsilon - from.epsilon) / 2;
      if (need.chord > 0) {
        const double y = tangent_for(from, to, need.mu, delta0);
        const double inside = (to.epsilon - from.epsilon) / 8;
        next = std::clamp(need.mu * (y - need.mu / 2), from.epsilon + inside, to.epsilon - inside);
      }
      if (!(next > from.epsilon && next < to.epsilon)) return need.mu;
      add(next);
    }
  }
};

}  // namespace

bool gdp_covers(double mu, double delta0, std::span<const ProfilePoint> points) {
  require_finite_positive(mu, "mu");
  require_between(delta0, 0, 1, "reveal");
  if (points.empty() || !(points.back().delta <= delta0)) return false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ProfilePoint& p = points[i];
    if (!(p.epsilon >= 0 && p.epsilon <= most_fitted_epsilon && p.delta >= 0 && p.delta < 1)) {
      return false;
    }
    if (i == 0 ? !mirror_covered(p, mu, delta0)
               : !(points[i - 1].epsilon < p.epsilon) ||
                     !chord_covered(points[i - 1], p, mu, delta0)) {
      return false;
    }
  }
  return true;
}

double gdp_fit_up(std::span<const ProfilePoint> points, double delta0) {
  require_between(delta0, 0, 1, "reveal");
  std::vector<ProfilePoint> kept;
  for (const ProfilePoint& p : points) {
    if (p.delta < 1 && p.epsilon <= most_fitted_epsilon) kept.push_back(p);
  }
  // Two at one epsilon: the lower one. All beyond the first to reach the reveal: not needed.
  std::ranges::sort(kept, {}, [](const ProfilePoint& p) { return std::pair(p.epsilon, p.delta); });
  const auto same = std::unique(  // clang 14 cannot read what std::ranges returns
      kept.begin(), kept.end(),
      [](const ProfilePoint& a, const ProfilePoint& b) { return a.epsilon == b.epsilon; });
  kept.erase(same, kept.end());
  const auto last =
      std::ranges::find_if(kept, [&](const ProfilePoint& p) { return p.delta <= delta0; });
  if (last == kept.end()) return infinity;
  kept.erase(last + 1, kept.end());
  const std::vector<ProfilePoint> hull = hull_of(kept);
  const double found = need_of(hull, delta0).mu * (1 + close / 4);
  if (!(found <= most_fitted_mu)) return infinity;
  return claimed_up(fewest(hull, found, delta0), delta0, found);
}

double gdp_fit_up(const Profile& delta_up, double delta0, const Profile& about,
                  std::size_t points) {
  require_between(delta0, 0, 1, "reveal");
  Fitter fitter{about ? about : delta_up, delta0};
  const ProfilePoint last = fitter.find_last();
  if (!(last.epsilon <= most_fitted_epsilon)) return infinity;
  fitter.points = {last};
  constexpr int first_points = 8;
  for (int i = 0; i < first_points; ++i) fitter.add(last.epsilon * i / first_points);
  std::erase_if(fitter.points, [](const ProfilePoint& p) { return !(p.delta < 1); });
  const double found = fitter.refine(points) * (1 + close / 4);
  if (!(found <= most_fitted_mu)) return infinity;
  // The claim: of those corners alone, and of bounds.
  std::vector<ProfilePoint> corners = fewest(hull_of(fitter.points), found, delta0);
  for (ProfilePoint& p : corners) p.delta = delta_up(p.epsilon);
  ProfilePoint& end = corners.back();
  for (double further = 0.02; !(end.delta <= delta0) && further < 1; further *= 2) {
    end.epsilon = std::min(most_fitted_epsilon, end.epsilon * (1 + further));
    end.delta = delta_up(end.epsilon);
  }
  return claimed_up(corners, delta0, found);
}

}  // namespace gibbsite
