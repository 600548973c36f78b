#include "gibbsite/mechanism/ball.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace {

constexpr int levels = 13;           // cells of side pi 2^-13 at last
constexpr double beyond = 400;       // 2 - s(rho) < 1e-3 there
constexpr double inflation = 1e-11;  // of squares, which rounding moves by less than 1e-12

// One row at the angle alpha to theta has a gradient of length a = sigma(-rho cos alpha), which
// grows with alpha from 0 to pi.
struct Angles {
  std::vector<double> length;  // [2^levels + 1]
  std::vector<double> cosine;  // of multiples of pi 2^-levels up to 2 pi
};

Angles angles(double rho) {
  Angles out;
  const int steps = 1 << levels;
  for (int i = 0; i <= 2 * steps; ++i) out.cosine.push_back(std::cos(M_PI * i / steps));
  for (int i = 0; i <= steps; ++i) {
    out.length.push_back(1 / (1 + std::exp(rho * out.cosine[static_cast<std::size_t>(i)])));
  }
  return out;
}

// The square of the distance of two gradients across the axis.
double squared(double a, double b, double cosine) { return a * a + b * b - 2 * a * b * cosine; }

// Angles from i to i + side of one row, from j of the other, in units of pi 2^-levels.
struct Cell {
  int i = 0, j = 0;
};

// Of all pairs in the cell at most: the square is convex in the lengths, so a corner of theirs is
// worst, with the angle between the rows that is nearest to pi.
double squared_up(const Angles& at, const Cell& cell, int side) {
  const auto index = [](int k) { return static_cast<std::size_t>(k); };
  const int pi = 1 << levels, least = cell.i + cell.j, most = least + 2 * side;
  const double cosine = least <= pi && pi <= most
                            ? -1.0
                            : std::min(at.cosine[index(least)], at.cosine[index(most)]);
  const double a = at.length[index(cell.i)], a_up = at.length[index(cell.i + side)];
  const double b = at.length[index(cell.j)], b_up = at.length[index(cell.j + side)];
  return std::max({squared(a, b, cosine), squared(a, b_up, cosine), squared(a_up, b, cosine),
                   squared(a_up, b_up, cosine)});
}

// Not its capped relative: there s(rho) R is above what holds without a ball.
bool is_logistic(const Problem& problem) {
  return problem.loss == "logistic" && problem.max_abs_residual == 1;
}

}  // namespace

double logistic_difference_up(double rho) {
  require_finite_nonnegative(rho, "rho");
  if (rho > beyond) return 2;
  const Angles at = angles(rho);
  // Cells that may hold the maximum, halved level by level; the pair (i, j) is as good as (j, i).
  std::vector<Cell> cells{{0, 0}}, finer;
  double least = 0, most = 4;
  for (int side = 1 << levels; side > 1;) {
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
          const auto i = static_cast<std::size_t>(part.i), j = static_cast<std::size_t>(part.j);
          least = std::max(least, squared(at.length[i], at.length[j], at.cosine[i + j]));
        }
      }
    }
    cells.swap(finer);
  }
  const double quantum = 0x1p-30;
  return std::min(2.0, std::ceil(std::sqrt(std::max(most, least) + inflation) / quantum) * quantum);
}

bool ball_sharpens(const Problem& problem) { return is_logistic(problem); }

double gradient_difference_up(const Problem& problem, const Neighbors& who, double ball) {
  const double naive = problem.sensitivity_up(1, who.adjacency, who.rows_per_person);
  if (ball == 0 || !is_logistic(problem)) return naive;
  const double rho = round_up(Wide(problem.full_row_norm_up()) * Wide(ball));
  Wide slopes = 1;  // sup of what one row changes, in units of its norm
  if (who.adjacency == Adjacency::replace_one) {
    slopes = logistic_difference_up(rho);
  } else {
    slopes = 1 / (1 + exp(Wide(-Wide(rho))));
  }
  return std::min(naive, round_up(Wide(who.rows_per_person) * slopes *
                                  Wide(problem.full_row_norm_up())));
}

}  // namespace gibbsite
