#include "gibbsite/privacy/objective_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"

namespace gibbsite {
namespace {

constexpr double most_epsilon_of_step = 600;

// P(A) <= delta + e^epsilon Q(A), for the laws before and after a step of one row.
struct Line {
  double epsilon = 0, delta = 0;
  double slope = 1;  // e^epsilon
  Wide exact_slope = 1;
};
Line line_at(double epsilon, double delta) {
  const Wide slope = exp(Wide(epsilon));
  return {epsilon, delta, static_cast<double>(slope), slope};
}

// Lines of a step from epsilon = 0 to where delta is at most `least`: of the falls of log delta
// between two the one that costs most is halved until there are `count`. Empty where it stays
// above.
std::vector<Line> lines_of(const Profile& delta_up, double least, std::size_t count) {
  double last = 1;
  while (last <= most_epsilon_of_step && !(delta_up(last) <= least)) last *= 2;
  if (last > most_epsilon_of_step) return {};
  for (int i = 0; i < 200 && delta_up(last / 2) <= least; ++i) last /= 2;
  std::vector<Line> out{line_at(0, delta_up(0)), line_at(last, delta_up(last))};
  const double spread = 4 / last;
  while (out.size() < count) {
    std::size_t widest = 0;
    double fall = 0;
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      // log delta of a Gaussian mu changes by 1 + (epsilon/mu)^2 times what log mu does.
      const double here = std::log(out[i].delta / out[i + 1].delta) /
                          std::hypot(1, spread * (out[i].epsilon + out[i + 1].epsilon));
      if (here > fall) fall = here, widest = i;
    }
    const double middle = (out[widest].epsilon + out[widest + 1].epsilon) / 2;
    if (!(fall > 0.01 && middle > out[widest].epsilon && middle < out[widest + 1].epsilon)) break;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(widest) + 1,
               line_at(middle, delta_up(middle)));
  }
  return out;
}

// A chain of steps: P(A) <= delta + e^epsilon R(A) over all of them.
struct Chain {
  double probability = 0;  // what R(A) has become
  Wide epsilon = 0, delta = 0;

  // By the line that says most.
  void step(const std::vector<Line>& lines) {
    const auto after = [&](const Line& line) { return line.delta + line.slope * probability; };
    const Line& best = *std::ranges::min_element(lines, {}, after);
    probability = after(best);
    epsilon += best.epsilon;
    delta = Wide(best.delta) + best.exact_slope * delta;
  }
};

}  // namespace

std::vector<ProfilePoint> objective_profile_up(const ObjectivePair& pair, const Neighbors& who,
                                               double delta0) {
  require_between(delta0, 0, 1, "reveal");
  require_at_least(static_cast<double>(who.rows_per_person), 1, "rows_per_person");
  const auto rows = who.rows_per_person;
  if (rows > most_fitted_rows) return {};
  ObjectivePair exact = pair;
  exact.calibration = Calibration::exact;
  const bool both = who.adjacency == Adjacency::add_remove;
  // Neither direction is further in total variation than an insertion.
  const double variation = objective_insert_delta_up(exact, 0);
  const auto inserted = [&](double e) { return objective_insert_delta_up(exact, e); };
  const auto deleted = [&](double e) {
    const double one = std::min(variation, objective_delete_delta_up(exact, e));
    return both ? std::max(one, inserted(e)) : one;
  };
  // delta of a step that the others' slopes may multiply and the chain still reach the reveal.
  constexpr std::size_t count = 96;
  const double least = delta0 / static_cast<double>(rows) * 1e-5;
  const std::vector<Line> out = lines_of(deleted, least, count);
  const std::vector<Line> in = both ? out : lines_of(inserted, least, count);
  std::vector<ProfilePoint> points;
  if (out.empty() || in.empty()) return points;
  for (double z = 0; z < 38; z += 1.0 / 16) {
    Chain chain{std::erfc(z / std::sqrt(2.0)) / 2};
    for (std::uint64_t i = 0; i < rows; ++i) chain.step(in);
    for (std::uint64_t i = 0; i < rows && !both; ++i) chain.step(out);
    points.push_back({round_up(chain.epsilon), std::min(1.0, round_up(chain.delta))});
    if (points.back().delta <= delta0 * 0.5) break;
  }
  return points;
}

double objective_fit_up(const ObjectivePair& pair, const Neighbors& who, double delta0) {
  return gdp_fit_up(objective_profile_up(pair, who, delta0), delta0);
}

}  // namespace gibbsite
