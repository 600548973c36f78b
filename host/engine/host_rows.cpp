#include "engine/host_rows.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/format_message.hpp"
#include "core/score_coordinates.hpp"
#include "engine/class_contrasts.hpp"
#include "engine/clip.hpp"
#include "engine/eigen_index.hpp"
#include "engine/exact_loss.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/model/losses/poisson.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite {
namespace {

using Eigen::VectorXd;

double norm_squared(const Rows& x, std::size_t i, std::size_t columns) {
  double squared = 0;
  x.for_each(i, [&](std::size_t j, float v) {
    if (j < columns) squared += static_cast<double>(v) * static_cast<double>(v);
  });
  return squared;
}

// Sum of block(first_row, last_row) over blocks of rows: the halves of a binary tree over
// blocks [first, last), so ceil(log2(blocks)) additions lie above a block.
template <class Block>
VectorXd tree_sum(std::size_t rows, std::size_t first, std::size_t last, const Block& block) {
  if (last - first == 1) {
    return block(first * row_block, std::min<std::size_t>(last * row_block, rows));
  }
  const std::size_t half = std::bit_ceil(last - first) / 2;
  VectorXd sum = tree_sum(rows, first, first + half, block);
  sum += tree_sum(rows, first + half, last, block);
  return sum;
}
template <class Block>
VectorXd sum_blocks(std::size_t rows, const Block& block) {
  return tree_sum(rows, 0, (rows + row_block - 1) / row_block, block);
}

// ||P^T x|| from above, in double.
class NormsAbove {
 public:
  explicit NormsAbove(MatrixView<const double> P)
      : P_(P), sizes_(P.rows), u_(P.cols), bound_(bound_norms(P, sizes_)) {}

  [[nodiscard]] double operator()(const Rows& x, std::size_t i) {
    std::ranges::fill(u_, 0.0);
    double sizes = 0;
    bool zero = true;
    x.for_each(i, [&](std::size_t j, float v) {
      if (v == 0 || sizes_[j] == 0) return;
      zero = false;
      sizes += std::fabs(static_cast<double>(v)) * sizes_[j];
      for (std::size_t a = 0; a < u_.size(); ++a) u_[a] += static_cast<double>(v) * P_(j, a);
    });
    if (zero) return 0;
    double squares = 0;
    for (const double v : u_) squares += v * v;
    return bound_.norm(squares, sizes);
  }

 private:
  MatrixView<const double> P_;
  std::vector<double> sizes_;  // [d] ||P_j||
  std::vector<double> u_;      // [k] scratch
  NormBound bound_;
};

PairFactor weighted_row(const Rows& x, std::size_t i) {
  return {1, x.weight == nullptr ? 1 : root_weight(x.weight[i])};
}

// v times a factor <= 1, and scaled down to norm <= clip times a share <= 1 in exact arithmetic
// where that is shorter: floats. What leaves the floats is 0.
void clip_to_floats(double clip, VectorXd& v, const PairFactor& of = {1, 1}) {
  v = v.cast<float>().cast<double>();
  const double squares = v.squaredNorm();
  if (!std::isfinite(squares)) {
    v.setZero();
    return;
  }
  const auto k = static_cast<std::size_t>(v.size());
  const auto s = static_cast<double>(shared(of.factor, of.share, shrinking(squares, k, clip)));
  for (double& a : v) a = normal_or_zero(static_cast<float>(a * s));
}

// P^T x, clipped.
void clipped_row(const Rows& x, std::size_t i, MatrixView<const double> P, double clip, VectorXd& v,
                 const PairFactor& of = {1, 1}) {
  v.setZero();
  x.for_each(i, [&](std::size_t j, float value) {
    for (std::size_t a = 0; a < P.cols; ++a) v[index(a)] += static_cast<double>(value) * P(j, a);
  });
  clip_to_floats(clip, v, of);
}

// Adds the lower triangle of v v^T to moments [k x k].
void add_square(const VectorXd& v, VectorXd& moments) {
  const Eigen::Index k = v.size();
  for (Eigen::Index a = 0; a < k; ++a)
    for (Eigen::Index b = 0; b <= a; ++b) moments[a * k + b] += v[a] * v[b];
}
void unfold_moments(const VectorXd& sum, MatrixView<double> out) {
  for (std::size_t a = 0; a < out.rows; ++a)
    for (std::size_t b = 0; b <= a; ++b) out(a, b) = out(b, a) = sum[index(a * out.rows + b)];
}

// The rows of so many people, one person after another: those of person p are
// row[begin[p]], ..., row[begin[p + 1] - 1], in their own order. person_of(i) of rows [0, n) is no
// person's from `people` on.
struct RowsOfPeople {
  std::vector<std::uint32_t> begin, row;

  template <class PersonOf>
  RowsOfPeople(std::size_t n, std::size_t people, const PersonOf& person_of) : begin(people + 1) {
    for (std::size_t i = 0; i < n; ++i)
      if (const std::size_t p = person_of(i); p < people) ++begin[p + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    row.resize(begin.back());
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < n; ++i)
      if (const std::size_t p = person_of(i); p < people)
        row[next[p]++] = static_cast<std::uint32_t>(i);
  }
};

// out [k x k] = sum of v v^T of rows in the metric, times their factors and clipped to their share.
template <class Factor>
void add_up_moments(const Rows& x, MatrixView<const double> P, double clip, const Factor& factor,
                    MatrixView<double> out) {
  const std::size_t k = P.cols;
  const VectorXd sum = sum_blocks(x.rows, [&](std::size_t first, std::size_t last) {
    VectorXd moments = VectorXd::Zero(index(k * k)), v(index(k));
    for (std::size_t i = first; i < last; ++i) {
      clipped_row(x, i, P, clip, v, factor(i));
      add_square(v, moments);
    }
    return moments;
  });
  unfold_moments(sum, out);
}

class PlainCappedLoss final : public CappedLoss {
 public:
  // `only`: the rows that will be asked about; null: all.
  PlainCappedLoss(const Rows& x, std::span<const float> y, const Loss& loss,
                  MatrixView<const double> P, const ScoreLimits& limits,
                  const std::vector<std::uint32_t>* only = nullptr)
      : x_(x),
        y_(y),
        loss_(loss),
        limits_(limits),
        metric_(P.data, P.data + P.rows * P.cols),
        columns_(P.cols),
        contrasts_(loss.outputs() > 1 ? class_contrasts(index(loss.outputs())) : Eigen::MatrixXd()),
        caps_(x.rows) {
    NormsAbove norm(P);
    const float largest = float_below(loss.max_abs_derivative());
    const auto find_cap = [&](std::size_t i) {
      caps_[i] = cap_below(limits.clip, norm(x, i), largest);
    };
    if (only != nullptr) {
      for (const std::uint32_t i : *only) find_cap(i);
    } else {
      for (std::size_t i = 0; i < x.rows; ++i) find_cap(i);
    }
  }

  void information_between(std::span<const double> theta, ClassPair pair,
                           MatrixView<double> out) override {
    require_information(loss_, limits_, pair);
    class_information(theta, pair, out);
  }
  void information(std::span<const double> theta, MatrixView<double> out) override {
    require_information(loss_, limits_);
    std::vector<double> curvatures(x_.rows);
    for (std::size_t i = 0; i < x_.rows; ++i) curvatures[i] = scored_at(theta, i).curvature;
    add_up(information_factors(curvatures), information_clip(limits_), out);
  }
  void score_moments(std::span<const double> theta, MatrixView<double> out) override {
    if (loss_.outputs() > 1) {
      require_score_moments(loss_, columns_, out);
      return class_score_moments(theta, out);
    }
    std::vector<double> scores(x_.rows);
    for (std::size_t i = 0; i < x_.rows; ++i) scores[i] = scored_at(theta, i).score;
    add_up(score_factors(scores), limits_.clip, out);
  }

  // Adds the score of row i times the row to sum [d], of several outputs to sum [K d].
  void add_score(std::span<const double> theta, std::size_t i, std::span<double> sum) const {
    const std::size_t d = x_.cols, K = loss_.outputs();
    VectorXd score(index(K));
    if (K == 1) {
      score[0] = scored_at(theta, i).score;
    } else {
      VectorXd z(index(K)), p(index(K));
      const double held = held_score(theta, i, z, p, score);
      score *= factor_of(i) * held;
    }
    x_.for_each(i, [&](std::size_t j, float v) {
      for (std::size_t k = 0; k < K; ++k)
        sum[k * d + j] += score[index(k)] * static_cast<double>(v);
    });
  }
  // P^T sum [d], of several outputs (C^T (x) P^T) sum with the contrasts C of the classes, which
  // have norm 1: at most as long in Frobenius norm.
  void in_metric(std::span<const double> sum, VectorXd& out) const {
    using RowMajor = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> P(metric_.data(), index(x_.cols), index(columns_));
    const Eigen::Index K = index(loss_.outputs());
    if (K == 1) {
      out = P.transpose() * Eigen::Map<const VectorXd>(sum.data(), P.rows());
      return;
    }
    const Eigen::Map<const Eigen::MatrixXd> of_outputs(sum.data(), P.rows(), K);
    const Eigen::MatrixXd contrasts = P.transpose() * of_outputs * contrasts_;
    out = contrasts.reshaped();
  }

  double gradient(std::span<const double> theta, std::span<double> out) override {
    if (loss_.outputs() > 1) return outputs_gradient(theta, out);
    const std::size_t d = x_.cols;
    const VectorXd sum = sum_blocks(x_.rows, [&](std::size_t first, std::size_t last) {
      std::vector<double> z(last - first), r(last - first), w(last - first);
      for (std::size_t i = 0; i < z.size(); ++i) {
        z[i] = x_.dot(first + i, theta) + x_.offset_of(first + i);
      }
      loss_.unweighted().derivatives(z, y_.subspan(first, z.size()), r);
      loss_.unweighted().curvatures(z, y_.subspan(first, z.size()), w);
      VectorXd g = VectorXd::Zero(index(d + 1));
      for (std::size_t i = 0; i < z.size(); ++i) {
        const WeightedScore row = scored(r[i], w[i], first + i);
        g[index(d)] += row.curvature;
        x_.for_each(first + i, [&](std::size_t j, float v) {
          g[index(j)] += row.score * static_cast<double>(v);
        });
      }
      return g;
    });
    std::copy_n(sum.begin(), d, out.begin());
    return sum[index(d)];
  }

 private:
  [[nodiscard]] double factor_of(std::size_t i) const {
    return static_cast<double>(row_factor(loss_, y_[i], x_.weight == nullptr ? 1 : x_.weight[i]));
  }
  // The score of row i from its derivative and second derivative, its class's weight in both.
  [[nodiscard]] WeightedScore scored(double r, double second, std::size_t i) const {
    const auto cap = static_cast<double>(caps_[i]);
    WeightedScore out;
    if (logistic_) {
      out = weighted_score(r, cap, limits_.information);
      out.curvature *= factor_of(i);
    } else {
      const double w = held_weight(cap, limits_.information);
      if (counts_ > 0) {
        out = count_score(r, static_cast<double>(y_[i]), second, cap, counts_);
        out.score *= w;
        out.curvature *= w * factor_of(i);
      } else {
        out.score = std::clamp(r, -cap, cap) * w;
        if (std::fabs(r) < cap) out.curvature = std::min(second, most_) * w * factor_of(i);
      }
    }
    out.score *= factor_of(i);
    return out;
  }
  [[nodiscard]] WeightedScore scored_at(std::span<const double> theta, std::size_t i) const {
    const double z = x_.dot(i, theta) + x_.offset_of(i);
    double r = 0, second = 0;
    loss_.unweighted().derivatives({&z, 1}, y_.subspan(i, 1), {&r, 1});
    loss_.unweighted().curvatures({&z, 1}, y_.subspan(i, 1), {&second, 1});
    return scored(r, second, i);
  }
  void add_up(const std::vector<float>& factors, double clip, MatrixView<double> out) const {
    add_up_moments(
        x_, {metric_.data(), x_.cols, columns_}, clip,
        [&](std::size_t i) {
          return PairFactor{factors[i], weighted_row(x_, i).share};
        },
        out);
  }

  void class_information(std::span<const double> theta, const ClassPair& pair,
                         MatrixView<double> out) const {
    const std::size_t d = x_.cols, K = loss_.outputs();
    std::vector<double> z(K), p(K);
    add_up_moments(
        x_, {metric_.data(), d, columns_}, information_clip(limits_),
        [&](std::size_t i) {
          for (std::size_t k = 0; k < K; ++k) z[k] = x_.dot(i, theta.subspan(k * d, d));
          losses::softmax(z, p);
          const PairFactor of =
              pair_factor(p, static_cast<double>(caps_[i]), limits_.information, pair);
          const float root =
              root_weight(row_factor(loss_, y_[i], x_.weight == nullptr ? 1 : x_.weight[i]));
          return PairFactor{of.factor * root,
                            float_below(static_cast<double>(of.share) * static_cast<double>(root))};
        },
        out);
  }

  // What the slope r [K] of row i of several outputs is held by, before its weight; z [K] are its
  // scores, p [K] its probabilities.
  double held_score(std::span<const double> theta, std::size_t i, VectorXd& z, VectorXd& p,
                    VectorXd& r) const {
    const std::size_t d = x_.cols, K = loss_.outputs();
    const auto y = y_.subspan(i, 1);
    for (std::size_t k = 0; k < K; ++k) z[index(k)] = x_.dot(i, theta.subspan(k * d, d));
    loss_.unweighted().derivatives({z.data(), K}, y, {r.data(), K});
    // ||p - e_k||^2 = 1 + |p|^2 - 2 p_k is largest at the least p_k. The row's own length is
    // among them: the larger holds it exactly whatever was rounded.
    p = r;
    p[index(losses::class_of(y[0], K))] += 1;
    const double of_any = 1 + p.squaredNorm() - 2 * p.minCoeff();
    return std::min(
        holding(length_above(std::max(r.squaredNorm(), of_any), K), caps_[i]),
        limited_weight(pair_norm(p.data(), K), static_cast<double>(caps_[i]), limits_.information));
  }

  // Sums of v v^T of rows' scores in contrasts and the metric, held to clip once more as floats.
  void class_score_moments(std::span<const double> theta, MatrixView<double> out) const {
    const std::size_t numbers = out.rows;
    const VectorXd sum = sum_blocks(x_.rows, [&](std::size_t first, std::size_t last) {
      VectorXd moments = VectorXd::Zero(index(numbers * numbers)), v;
      std::vector<double> of_row(theta.size());
      for (std::size_t i = first; i < last; ++i) {
        std::ranges::fill(of_row, 0.0);
        add_score(theta, i, of_row);
        in_metric(of_row, v);
        clip_to_floats(limits_.clip, v);
        add_square(v, moments);
      }
      return moments;
    });
    unfold_moments(sum, out);
  }

  double outputs_gradient(std::span<const double> theta, std::span<double> out) const {
    const std::size_t d = x_.cols, K = loss_.outputs();
    const VectorXd sum = sum_blocks(x_.rows, [&](std::size_t first, std::size_t last) {
      VectorXd g = VectorXd::Zero(index(K * d + 1));
      VectorXd z(index(K)), r(index(K)), v(index(K));
      const auto numbers = [K](VectorXd& of) { return std::span(of.data(), K); };
      for (std::size_t i = first; i < last; ++i) {
        const auto y = y_.subspan(i, 1);
        const Loss& loss = loss_.unweighted();
        const double w = factor_of(i), held = held_score(theta, i, z, v, r);
        double trace = 0;
        for (std::size_t k = 0; k < K; ++k) {
          v = VectorXd::Unit(index(K), index(k));
          loss.curvature_products(numbers(z), y, numbers(v), numbers(v));
          trace += v[index(k)];
        }
        g[index(K * d)] += w * std::clamp(held * trace, 0.0, largest_trace_of(loss_));
        r *= held;
        r *= w;
        x_.for_each(i, [&](std::size_t j, float value) {
          for (std::size_t k = 0; k < K; ++k)
            g[index(k * d + j)] += r[index(k)] * static_cast<double>(value);
        });
      }
      return g;
    });
    std::copy_n(sum.begin(), K * d, out.begin());
    return sum[index(K * d)];
  }

  Rows x_;
  std::span<const float> y_;
  const Loss& loss_;
  ScoreLimits limits_;
  std::vector<double> metric_;  // P [d x columns]
  std::size_t columns_;
  Eigen::MatrixXd contrasts_;           // of several outputs [K x (K - 1)]
  std::vector<float> caps_;             // [n]
  bool logistic_ = is_logistic(loss_);  // weighted, and so are counts up to N; others are held
  double counts_ = counts_of(loss_, limits_);
  double most_ = loss_.curvature();  // as rounding may be above it
};

}  // namespace

float row_factor(const Loss& loss, float y, float weight) {
  const float of_class = class_weight(loss.class_weights(), y);
  if (std::isnan(of_class)) return of_class;
  return float_below(static_cast<double>(of_class) * static_cast<double>(weight));
}
const Loss& bare_loss(const Loss& loss, const Rows& x) {
  return x.weight == nullptr ? loss : loss.unweighted();
}
double weight_beside(const Loss& loss, const Rows& x, std::span<const float> y, std::size_t i) {
  return x.weight == nullptr ? 1 : static_cast<double>(row_factor(loss, y[i], x.weight[i]));
}
bool is_logistic(const Loss& loss) { return loss.unweighted().name() == losses::logistic::name; }
void require_information(const Loss& loss, const ScoreLimits& limits, const ClassPair& pair) {
  const bool softmax = dynamic_cast<const losses::Softmax*>(&loss.unweighted()) != nullptr;
  if (!softmax || !(limits.information < std::numeric_limits<double>::infinity())) {
    throw BadInput(format_message(
        "information: rows of {} {} have none of pairs of classes that is limited; ask it of "
        "softmax, with a limit",
        Field{"model"}, loss.name()));
  }
  const std::size_t classes = loss.outputs();
  if (pair.first < pair.second && pair.second < classes) return;
  throw BadInput(format_message(
      "information: classes {} and {} are no pair of {} {}; give first < second below {}",
      pair.first, pair.second, Field{"model"}, loss.name(), classes));
}
std::vector<ClassPair> class_pairs(std::size_t classes) {
  std::vector<ClassPair> out;
  for (std::size_t second = 1; second < classes; ++second)
    for (std::size_t first = 0; first < second; ++first) out.push_back({first, second});
  return out;
}
PairFactor pair_factor(std::span<const double> p, double cap, double limit, const ClassPair& pair) {
  const std::size_t K = p.size();
  const double norm = pair_norm(p.data(), K);
  // Squares of smaller ones would leave the normal doubles.
  if (!(norm > 1e-140 && std::isfinite(norm))) return {};
  double squares = 0;
  for (const double v : p) squares += v * v;
  const double any = length_above(1 + squares - 2 * *std::ranges::min_element(p), K);
  const double w =
      std::min(holding(any, static_cast<float>(cap)), limited_weight(norm, cap, limit));
  const double of_pair = p[pair.first] * p[pair.second];
  // The slack covers K^2 roundings in norm, K at most 1000.
  return {static_cast<float>(std::sqrt(w * of_pair)),
          float_below(std::sqrt(of_pair / norm) * (1 - 0x1p-30))};
}
void require_information(const Loss& loss, const ScoreLimits& limits) {
  if (loss.outputs() == 1 && limits.information < std::numeric_limits<double>::infinity()) return;
  throw BadInput(format_message(
      "information: rows of {} {} have none that is limited; ask it of a model of one output and "
      "with a limit",
      Field{"model"}, loss.name()));
}
void require_score_moments(const Loss& loss, std::size_t k, MatrixView<const double> out) {
  const std::size_t numbers = score_coordinates(loss.outputs(), k);
  if (out.rows == numbers && out.cols == numbers) return;
  throw BadInput(
      fmt::format("score_moments: out is {} x {}, and scores have {} coordinates; give "
                  "a row and a column for each",
                  out.rows, out.cols, numbers));
}
double counts_of(const Loss& loss, const ScoreLimits& limits) {
  return loss.unweighted().name() == losses::poisson::name ? limits.largest_count : 0;
}
double information_clip(const ScoreLimits& limits) {
  return std::sqrt(limits.information) * limits.clip * (1 - 0x1p-50);
}
std::vector<float> information_factors(std::span<const double> curvatures) {
  std::vector<float> out(curvatures.size());
  std::ranges::transform(curvatures, out.begin(),
                         [](double v) { return static_cast<float>(std::sqrt(v)); });
  return out;
}
std::vector<float> score_factors(std::span<const double> scores) {
  std::vector<float> out(scores.size());
  std::ranges::transform(scores, out.begin(),
                         [](double v) { return static_cast<float>(std::fabs(v)); });
  return out;
}

void SteppingRows::step(Ensemble& ensemble, MatrixView<const double> gradients) {
  std::vector<double> noise(features());
  std::size_t at = 0;
  for (std::size_t c = 0; c < ensemble.chains(); ++c) {
    if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
    langevin_update(ensemble.specs[c], ensemble.step[c], gradients.row(at++), ensemble.chain(c),
                    noise, outputs());
    ++ensemble.step[c];
  }
}

void add_terms(std::span<const double> terms, std::span<double> out) {
  std::ranges::fill(out, 0.0);
  for (std::size_t at = 0; at < terms.size(); ++at) out[at % out.size()] += terms[at];
}

double largest_trace_of(const Loss& loss) { return loss.curvature() * loss.traces().most; }

void require_metric(MatrixView<const double> P, std::size_t d, double clip) {
  require_at_least(clip, 0, "clip");
  if (P.rows != d || P.cols == 0) {
    throw BadInput(
        fmt::format("P: {} x {} for {} features; give a row for each", P.rows, P.cols, d));
  }
  const std::span all(P.data, P.rows * P.cols);
  if (!std::ranges::all_of(all, [](double v) { return std::isfinite(v); })) {
    throw BadInput("P: a number is not finite; give finite ones");
  }
}

void require_metric(MatrixView<const double> P, std::size_t d, const ScoreLimits& limits) {
  require_metric(P, d, limits.clip);
  require_at_least(limits.information, 0.25, "information");
  if (limits.largest_count != 0) require_at_least(limits.largest_count, 1, "largest_count");
}

void require_lengths(const RowLengths& lengths, std::size_t d) {
  if (lengths.weight.size() != d || lengths.center.size() != d) {
    throw BadInput(
        fmt::format("lengths: of {} features for {}; give a weight and a center for each",
                    lengths.weight.size(), d));
  }
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::ranges::all_of(lengths.weight, finite) ||
      !std::ranges::all_of(lengths.center, finite) || !finite(lengths.base) ||
      !finite(lengths.low) || !finite(lengths.high) || !(lengths.low < lengths.high)) {
    throw BadInput("lengths: a number is not finite, or low is not below high; give finite ones");
  }
}

NormBound bound_norms(MatrixView<const double> P, std::span<double> sizes) {
  constexpr double unit = 0x1p-52;  // twice the rounding of a double
  std::vector<std::size_t> entries(P.cols);
  for (std::size_t j = 0; j < P.rows; ++j) {
    sizes[j] = 0;
    for (std::size_t a = 0; a < P.cols; ++a) {
      sizes[j] = std::hypot(sizes[j], P(j, a));  // off by an ulp each
      if (P(j, a) != 0) ++entries[a];
    }
  }
  const auto d = static_cast<double>(P.rows), k = static_cast<double>(P.cols);
  const auto m = static_cast<double>(std::ranges::max(entries));
  return {.roundings = (m + 4) * unit,
          // Rounding of the norms, and of what is computed from them.
          .slack = 1 + (2 * k + d + 16) * unit,
          // Underflow of products, and of squares before the root.
          .underflow = std::sqrt(k) * (m + 1) * 0x1p-536};
}

void moments_of_people(const Loss& loss, MatrixView<const double> P, const ScoreLimits& limits,
                       const SummedPeople& people, MatrixView<double> out) {
  const PlainCappedLoss scores(Rows(nullptr, 0, P.rows), {}, loss, P, limits);
  const std::size_t d = P.rows * loss.outputs();
  std::vector<double> of_rows;
  const VectorXd sum = sum_blocks(people.count, [&](std::size_t first, std::size_t last) {
    VectorXd moments = VectorXd::Zero(index(out.rows * out.rows)), v;
    of_rows.assign((last - first) * d, 0.0);
    people.sums(first, last, of_rows);
    for (std::size_t p = 0; p < last - first; ++p) {
      scores.in_metric(std::span(of_rows).subspan(p * d, d), v);
      clip_to_floats(people.longest, v);
      add_square(v, moments);
    }
    return moments;
  });
  unfold_moments(sum, out);
}

void HostRows::people_score_moments(MatrixView<const double> P, const ScoreLimits& limits,
                                    std::span<const double> theta, const PersonOfRow& rows,
                                    MatrixView<double> out) {
  require_metric(P, columns(), limits);
  require_score_moments(*loss_, P.cols, out);
  if (rows.place.size() != table_.rows || table_.rows > std::numeric_limits<std::uint32_t>::max())
    throw BadInput("people: intervals of them take one place a row, of at most 2^32 - 1 rows");
  std::size_t count = 0;
  for (const std::uint32_t place : rows.place)
    if (place != rows.nobody) count = std::max(count, std::size_t{place} + 1);
  const PlainCappedLoss scores(table_, labels_, *loss_, P, limits);
  const RowsOfPeople people(table_.rows, count, [&](std::size_t i) { return rows.place[i]; });
  const auto add = [&](std::size_t first, std::size_t last, std::span<double> sums) {
    for (std::size_t p = first; p < last; ++p) {
      for (std::uint32_t at = people.begin[p]; at < people.begin[p + 1]; ++at)
        scores.add_score(theta, people.row[at], sums.subspan((p - first) * features(), features()));
    }
  };
  moments_of_people(*loss_, P, limits, {count, rows.longest, add}, out);
}

void HostRows::add_people_scores(MatrixView<const double> P, const ScoreLimits& limits,
                                 std::span<const double> theta, std::span<const double> place,
                                 std::array<std::size_t, 2> people, std::span<double> sums) const {
  const auto person_of = [&](std::size_t i) {
    const double behind = place[i] - static_cast<double>(people[0]);
    return behind >= 0 && behind < 0x1p32 ? static_cast<std::size_t>(behind)
                                          : std::numeric_limits<std::size_t>::max();
  };
  const RowsOfPeople rows(table_.rows, people[1] - people[0], person_of);
  if (rows.row.empty()) return;
  const PlainCappedLoss scores(table_, labels_, *loss_, P, limits, &rows.row);
  for (std::size_t p = 0; p + 1 < rows.begin.size(); ++p) {
    for (std::uint32_t at = rows.begin[p]; at < rows.begin[p + 1]; ++at)
      scores.add_score(theta, rows.row[at], sums.subspan(p * features(), features()));
  }
}

void people_score_moments(RowSums& engine, MatrixView<const double> P, const ScoreLimits& limits,
                          std::span<const double> theta, const PersonOfRow& rows,
                          MatrixView<double> out) {
  auto* const asked = dynamic_cast<PeopleScores*>(&engine);
  if (asked == nullptr) throw BadInput(people_elsewhere);
  asked->people_score_moments(P, limits, theta, rows, out);
}

std::vector<double> HostRows::logits(std::span<const double> theta, std::size_t first,
                                     std::size_t last) const {
  std::vector<double> z;
  z.reserve(outputs() * (last - first));
  for (std::size_t k = 0; k < outputs(); ++k) {
    const auto part = theta.subspan(k * columns(), columns());
    for (std::size_t i = first; i < last; ++i) {
      z.push_back(table_.dot(i, part) + table_.offset_of(i));
    }
  }
  return z;
}

double HostRows::loss_value(std::size_t first, std::size_t last, std::span<const double> z) const {
  if (table_.weight == nullptr) return loss_->value_sum(z, labels_.subspan(first, last - first));
  return weighted_value_from(0, first, last, z);
}
double HostRows::weighted_value_from(double sum, std::size_t first, std::size_t last,
                                     std::span<const double> z) const {
  std::vector<double> row(outputs());
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = z[k * (last - first) + i - first];
    const double of_row = bare_loss(*loss_, table_).value_sum(row, labels_.subspan(i, 1));
    sum += weight_beside(*loss_, table_, labels_, i) * of_row;
  }
  return sum;
}
void HostRows::find_derivatives(std::size_t first, std::size_t last, std::span<const double> z,
                                std::span<double> r) const {
  bare_loss(*loss_, table_).derivatives(z, labels_.subspan(first, last - first), r);
  if (table_.weight == nullptr) return;
  for (std::size_t at = 0; at < r.size(); ++at)
    r[at] *= weight_beside(*loss_, table_, labels_, first + at % (last - first));
}

void HostRows::weighted_loss_gradients(MatrixView<const double> theta,
                                       std::span<const double> weights, MatrixView<double> out) {
  if (weights.size() != table_.rows) {
    throw BadInput(
        fmt::format("weights: {} for {} rows; give one for each", weights.size(), table_.rows));
  }
  for (std::size_t c = 0; c < theta.rows; ++c) {
    const VectorXd sum = sum_blocks(table_.rows, [&](std::size_t first, std::size_t last) {
      const std::size_t n = last - first, d = columns();
      const std::vector<double> z = logits(theta.row(c), first, last);
      std::vector<double> r(z.size());
      find_derivatives(first, last, z, r);
      VectorXd g = VectorXd::Zero(index(features()));
      for (std::size_t k = 0; k < outputs(); ++k) {
        for (std::size_t i = 0; i < n; ++i) {
          const double scaled = weights[first + i] * r[k * n + i];
          table_.for_each(first + i, [&](std::size_t j, float v) {
            g[index(k * d + j)] += scaled * static_cast<double>(v);
          });
        }
      }
      return g;
    });
    std::ranges::copy(sum, out.row(c).begin());
  }
}

double HostRows::plain_value(std::span<const double> theta) const {
  return loss_value(0, table_.rows, logits(theta, 0, table_.rows));
}
double HostRows::plain_value_from(double sum, std::span<const double> theta) const {
  return weighted_value_from(sum, 0, table_.rows, logits(theta, 0, table_.rows));
}

void HostRows::plain_gradient(std::span<const double> theta, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  add_plain_gradient(theta, out);
}
void HostRows::add_plain_gradient(std::span<const double> theta, std::span<double> out) const {
  const auto z = logits(theta, 0, table_.rows);
  std::vector<double> r(z.size());
  find_derivatives(0, table_.rows, z, r);
  for (std::size_t k = 0; k < outputs(); ++k) {
    const std::span part = out.subspan(k * columns(), columns());
    for (std::size_t i = 0; i < table_.rows; ++i) {
      const double derivative = r[k * table_.rows + i];
      table_.for_each(
          i, [&](std::size_t j, float v) { part[j] += derivative * static_cast<double>(v); });
    }
  }
}

double HostRows::largest_logit(std::span<const double> theta) const {
  double largest = 0;
  for (std::size_t k = 0; k < outputs(); ++k) {
    for (std::size_t i = 0; i < table_.rows; ++i) {
      const double z =
          std::fabs(table_.dot(i, theta.subspan(k * columns(), columns())) + table_.offset_of(i));
      if (std::isnan(z)) return z;
      largest = std::max(largest, z);
    }
  }
  return largest;
}

void HostRows::second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) {
  require_metric(P, columns(), clip);
  add_up_moments(
      table_, P, clip, [this](std::size_t i) { return weighted_row(table_, i); }, out);
}

double HostRows::log_lengths(const RowLengths& lengths) {
  require_lengths(lengths, columns());
  const double middle = lengths.middle(), half = lengths.half();
  const VectorXd sum = sum_blocks(table_.rows, [&](std::size_t first, std::size_t last) {
    VectorXd of_block = VectorXd::Zero(1);
    std::vector<double> x(columns());  // entries that are not stored are 0
    for (std::size_t i = first; i < last; ++i) {
      std::ranges::fill(x, 0.0);
      table_.for_each(i, [&](std::size_t j, float v) { x[j] = static_cast<double>(v); });
      double squared = lengths.base;
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double away = x[j] - lengths.center[j];
        squared += lengths.weight[j] * away * away;
      }
      // The logarithm of 0, or of what left the doubles, is held as any other; NaN is none of them.
      const double far = std::log(squared) / 2 - middle;
      of_block[0] += (far >= half ? half : far > -half ? far : -half) * table_.weight_of(i);
    }
    return of_block;
  });
  return sum[0];
}

void HostRows::clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) {
  require_metric(P, columns(), clip);
  VectorXd v(index(P.cols));
  for (std::size_t i = 0; i < table_.rows; ++i) {
    clipped_row(table_, i, P, clip, v);
    std::ranges::transform(v, out.row(i).begin(), [](double a) { return static_cast<float>(a); });
  }
}

std::unique_ptr<CappedLoss> HostRows::capped_loss(MatrixView<const double> P,
                                                  const ScoreLimits& limits) {
  require_metric(P, columns(), limits);
  return std::make_unique<PlainCappedLoss>(table_, labels_, *loss_, P, limits);
}

std::array<double, 4> HostRows::exact_difference(MatrixView<const double> terms,
                                                 std::span<const double> w) const {
  return exact_difference_from({}, terms, w, 0);
}
std::array<double, 4> HostRows::exact_difference_from(const std::array<double, 4>& sum,
                                                      MatrixView<const double> terms,
                                                      std::span<const double> w,
                                                      std::size_t before) const {
  std::vector<Wide> theta(features());
  for (std::size_t t = 0; t < terms.rows; ++t) {
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += Wide(terms(t, j));
  }
  Wide left = 0;
  for (const double part : sum) left += Wide(part);
  left = exact_loss_difference(*loss_, table_, labels_, theta, w, left, before);
  std::array<double, 4> out{};  // 168 bits, 53 at a time
  for (double& part : out) {
    part = static_cast<double>(left);
    left -= Wide(part);
  }
  return out;
}

double HostRows::largest_offset() const {
  double largest = 0;
  for (std::size_t i = 0; table_.offset != nullptr && i < table_.rows; ++i) {
    largest = std::max(largest, std::fabs(table_.offset_of(i)));
  }
  return largest;
}

RowNorms HostRows::row_norms() const { return row_norms_from({}); }
RowNorms HostRows::row_norms_from(RowNorms out) const {
  for (std::size_t i = 0; i < table_.rows; ++i) {
    const double squared = norm_squared(table_, i, columns());
    out.sum_squares += squared;
    out.largest_squared = std::max(out.largest_squared, squared);
  }
  return out;
}

namespace {
bool is_label(float y, const RowLimits& limits) {
  switch (limits.label) {
    case LabelKind::two_classes:
      return std::fabs(y) == 1.0F;
    case LabelKind::amount:
      return std::fabs(static_cast<double>(y)) <= limits.label_bound;
    case LabelKind::count:
      return y >= 0 && y <= 1;
    case LabelKind::classes:
      break;
  }
  return y >= 0 && static_cast<double>(y) < limits.label_bound && y == std::floor(y);
}
}  // namespace

std::optional<RowFault> HostRows::first_fault(const RowLimits& limits) const {
  const std::size_t measured = columns() - (limits.intercept ? 1 : 0);
  for (std::size_t i = 0; i < table_.rows; ++i) {
    if (!(norm_squared(table_, i, measured) <= limits.norm_squared) ||
        (limits.intercept && table_(i, measured) != 1.0F)) {
      return RowFault{i, RowFault::What::length_or_intercept};
    }
    if (!is_label(labels_[i], limits)) return RowFault{i, RowFault::What::label};
    if (!(std::fabs(table_.offset_of(i)) <= limits.offset_bound)) {
      return RowFault{i, RowFault::What::offset};
    }
    if (const double w = table_.weight_of(i); !(w >= 0 && w <= 1)) {
      return RowFault{i, RowFault::What::weight};
    }
  }
  return {};
}

}  // namespace gibbsite
