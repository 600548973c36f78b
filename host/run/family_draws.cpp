#include "run/family_draws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "core/special.hpp"

namespace gibbsite {
namespace {

// A law on the line: both tails in 50 digits, and about, for where to look first.
struct Law {
  std::function<Wide(const Wide&)> lower, upper;
  std::function<double(double)> about;
  Wide center;
};

Law beta_law(const Wide& a, const Wide& b) {
  return {[a, b](const Wide& x) { return beta_cdf(a, b, x, 1 - x); },
          [a, b](const Wide& x) { return beta_cdf(b, a, 1 - x, x); },
          [a = static_cast<double>(a), b = static_cast<double>(b)](double x) {
            return beta_cdf_about(a, b, x);
          },
          a / (a + b)};
}

Law gamma_law(const Wide& shape, const Wide& rate) {
  return {[shape, rate](const Wide& x) { return gamma_lower(shape, rate * x); },
          [shape, rate](const Wide& x) { return gamma_upper(shape, rate * x); },
          [a = static_cast<double>(shape), b = static_cast<double>(rate)](double x) {
            return gamma_lower_about(a, b * x);
          },
          shape / rate};
}

Law normal_law(const Wide& mean, const Wide& precision) {
  const Wide root = sqrt(precision);
  return {[mean, root](const Wide& x) { return normal_cdf((x - mean) * root); },
          [mean, root](const Wide& x) { return normal_cdf((mean - x) * root); },
          [m = static_cast<double>(mean), s = static_cast<double>(root)](double x) {
            return std::erfc((m - x) * s / std::sqrt(2.0)) / 2;
          },
          mean};
}

// The law of lo + (hi - lo) X for a law of X on [0, 1].
Law on_range(const Law& share, const Wide& lo, const Wide& hi) {
  const Wide width = hi - lo;
  const auto of = [lo, width](const Wide& x) {
    return std::clamp((x - lo) / width, Wide(0), Wide(1));
  };
  return {[of, lower = share.lower](const Wide& x) { return lower(of(x)); },
          [of, upper = share.upper](const Wide& x) { return upper(of(x)); },
          [about = share.about, from = static_cast<double>(lo), w = static_cast<double>(width)](
              double x) { return about(std::clamp((x - from) / w, 0.0, 1.0)); },
          lo + width * share.center};
}

struct Bounds {
  double low, high;
  bool cut;  // the law is conditioned on them; else what lies beyond goes to the outermost cells
};

// Uniform in (0, 1) of 128 bits.
Wide uniform(const StreamKey& key, std::uint32_t draw, std::uint64_t step) {
  std::array<std::uint64_t, 2> words{};
  fill_words(key, draw, step, words);
  return ldexp(ldexp(Wide(words[0]), 64) + Wide(words[1]) + Wide(0.5), -128);
}

class Inversion {
 public:
  Inversion(const Law& law, const Bounds& bounds, double grid, bool open)
      : law_(law), bounds_(bounds), grid_(grid) {
    first_ = static_cast<std::int64_t>(std::ceil(bounds.low / grid));
    last_ = static_cast<std::int64_t>(std::floor(bounds.high / grid));
    if (open) ++first_, --last_;
    // Above its center a law is known by what is above: differences of it keep their digits.
    from_above_ = bounds.cut && law.center < Wide(bounds.low);
    if (bounds.cut) start_ = (from_above_ ? law.upper : law.lower)(bounds.low);
  }

  // The cell of the u-quantile.
  [[nodiscard]] double operator()(const Wide& u) const {
    const Wide target = bounds_.cut ? u * below(Wide(bounds_.high)) : u;
    const auto above = [&](std::int64_t j) { return target < below(edge(j)); };
    std::int64_t lo = first_, hi = last_;
    if (const auto guess = look(static_cast<double>(u))) {
      for (std::int64_t width = 1; lo < hi; width *= 64) {
        const std::int64_t left = std::max(first_, *guess - width);
        const std::int64_t right = std::min(last_, *guess + width);
        const bool left_of = right < last_ && !above(right),
                   right_of = left > first_ && above(left - 1);
        if (left_of) lo = std::max(lo, right + 1);
        if (right_of) hi = std::min(hi, left - 1);
        if (left_of || right_of) continue;
        lo = std::max(lo, left), hi = std::min(hi, right);
        break;
      }
    }
    while (lo < hi) {
      const std::int64_t middle = lo + (hi - lo) / 2;
      if (above(middle)) {
        hi = middle;
      } else {
        lo = middle + 1;
      }
    }
    return static_cast<double>(lo) * grid_;
  }

 private:
  [[nodiscard]] Wide edge(std::int64_t j) const {  // between cells j and j + 1
    return (Wide(j) + Wide(0.5)) * Wide(grid_);
  }
  // The mass from the lower bound to x, of the law as it is.
  [[nodiscard]] Wide below(const Wide& x) const {
    if (!bounds_.cut) return law_.lower(x);
    const Wide at = std::min(x, Wide(bounds_.high));
    return from_above_ ? start_ - law_.upper(at) : law_.lower(at) - start_;
  }
  // By the law in double: none where that has no digits left.
  [[nodiscard]] std::optional<std::int64_t> look(double u) const {
    double target = u;
    if (bounds_.cut) {
      const double start = law_.about(bounds_.low), mass = law_.about(bounds_.high) - start;
      if (!(mass > 1e-3)) return {};
      target = start + u * mass;
    }
    std::int64_t lo = first_, hi = last_;
    while (lo < hi) {
      const std::int64_t middle = lo + (hi - lo) / 2;
      if (target < law_.about((static_cast<double>(middle) + 0.5) * grid_)) {
        hi = middle;
      } else {
        lo = middle + 1;
      }
    }
    return lo;
  }

  const Law& law_;
  Bounds bounds_;
  double grid_;
  std::int64_t first_ = 0, last_ = 0;
  bool from_above_ = false;
  Wide start_ = 0;
};

}  // namespace

std::vector<double> dirichlet_draw(const FamilyProblem& row, std::span<const Wide> counts,
                                   double grid, const StreamKey& key, std::uint32_t draw,
                                   std::uint64_t first_step) {
  // Shares of splits are independent Betas, whatever the order of the levels.
  std::vector<Wide> up_to(counts.size() + 1, Wide(0));
  for (std::size_t i = 0; i < counts.size(); ++i) up_to[i + 1] = up_to[i] + counts[i];
  const bool cut = row.trim.has_value();
  std::vector<double> out(counts.size(), 1.0);
  std::uint64_t step = first_step;
  for_each_split(
      0, counts.size(), [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
        const Law law = beta_law(up_to[middle] - up_to[first], up_to[last] - up_to[middle]);
        const auto [low, high] = split_trim(row, first, middle, last);
        const Inversion inverse(law, {low, high, cut}, grid, !cut);
        const double share = inverse(uniform(key, draw, step++));
        for (std::uint64_t i = first; i < last; ++i) out[i] *= i < middle ? share : 1 - share;
      });
  return out;
}

std::vector<double> family_draw(const FamilyMechanism& mechanism, const FamilyProblem& p,
                                const FamilyStatistic& statistic, const StreamKey& key,
                                std::uint32_t draw) {
  const double scale = prior_scale_of(mechanism), grid = family_grid(p);
  const Wide r = Wide(weight_of(mechanism)) * Wide(p.records()), n = p.rows;
  const auto prior = [numbers = p.prior_at(scale)](std::size_t i) { return Wide(numbers[i]); };
  const bool cut = p.trim.has_value();
  if (p.has_levels()) {
    std::vector<Wide> counts(p.levels);
    for (std::size_t i = 0; i < p.levels; ++i) counts[i] = prior(i) + r * Wide(statistic.sums[i]);
    return dirichlet_draw(p, counts, grid, key, draw, 0);
  }
  const auto [least, most] = p.values();
  const Wide units = Wide(statistic.sums[0]) / Wide(statistic.scale);
  const Wide sum = n * Wide(least) + (Wide(most) - Wide(least)) * units;
  const auto law = [&]() -> Law {
    if (p.family == Family::rate) return gamma_law(prior(0) + r * sum, prior(1) + r * n);
    if (p.family == Family::bounded_mean)
      return on_range(beta_law(prior(0) + r * units, prior(1) + r * (n - units)), p.lo, p.hi);
    if (p.is_waiting()) return gamma_law(prior(0) + r * n, prior(1) + r * sum);
    const Wide g = r / Wide(p.variance), precision = prior(0) + n * g;
    const Wide middle = p.prior_center(scale);
    return normal_law((prior(0) * middle + g * sum) / precision, precision);
  }();
  const auto [low, high] = p.reach();
  const bool from_zero = p.family == Family::rate && !cut;  // a mean count is above 0
  const Inversion inverse(law, {from_zero ? grid : low, high, cut}, grid, false);
  return {inverse(uniform(key, draw, 0))};
}

}  // namespace gibbsite
