#pragma once
// All questions to rows that lie in several places. To add one, declare it here and put it into
// `all_questions`; DistributedSums asks it, and ranks and workers answer it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "core/score_coordinates.hpp"
#include "engine/distributed/question.hpp"
#include "engine/distributed/share_rows.hpp"
#include "engine/symmetric.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::distributed {

// Arguments and shapes that several of them have.

inline bool is_matrix(std::span<const double> numbers, std::uint64_t rows, std::uint64_t columns) {
  return rows > 0 && columns > 0 && numbers.size() % columns == 0 &&
         numbers.size() / columns == rows;
}
/// first: theta [rows x d].
inline bool has_thetas(const RowSums& of, const Question& q) {
  return is_matrix(q.first, q.rows, of.features());
}
inline MatrixView<const double> thetas(const RowSums& of, const Question& q) {
  return {q.first.data(), q.rows, of.features()};
}
/// first: theta [d].
inline bool has_theta(const RowSums& of, const Question& q) {
  return q.first.size() == of.features();
}
/// second: the metric [columns x rows] and the other limits; number: the clip.
inline bool has_metric(const RowSums& of, const Question& q) {
  return q.second.size() >= numbers_of_limits &&
         is_matrix(std::span(q.second).first(q.second.size() - numbers_of_limits), q.rows,
                   columns_of(of));
}
inline bool has_theta_and_metric(const RowSums& of, const Question& q) {
  return has_theta(of, q) && has_metric(of, q);
}
inline bool has_nothing(const RowSums& /*of*/, const Question& q) {
  return q.first.empty() && q.second.empty();
}

template <std::size_t n>
std::size_t numbers(const RowSums& /*of*/, const Question& /*q*/) {
  return n;
}
inline std::size_t gradient_size(const RowSums& of, const Question& /*q*/) { return of.features(); }
inline std::size_t gradients_size(const RowSums& of, const Question& q) {
  return q.rows * of.features();
}
inline std::size_t metric_triangle(const RowSums& /*of*/, const Question& q) {
  return triangle_size(q.rows);
}
/// out = the lower triangle of the matrix [k x k] that find(matrix) gives.
template <class Find>
void write_triangle(std::size_t k, std::span<double> out, const Find& find) {
  std::vector<double> whole(k * k);
  find(MatrixView<double>{whole.data(), k, k});
  pack_triangle({whole.data(), k, k}, out);
}

// Sums of nodes.

inline constexpr Declared gradients{
    .name = "gradients",
    .added = Added::by_tree,
    .fits = has_thetas,
    .size = gradients_size,
    .of_rows = [](const NodeRows& of, const Question& q, std::span<double> out) {
      of.rows.loss_gradients(thetas(of.rows, q), {out.data(), q.rows, of.rows.features()});
    }};

/// Losses [rows] and gradients [rows x d].
inline constexpr Declared values_and_gradients{
    .name = "values_and_gradients",
    .added = Added::by_tree,
    .fits = has_thetas,
    .size = [](const RowSums& of, const Question& q) { return q.rows + gradients_size(of, q); },
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          of.rows.loss_values_and_gradients(thetas(of.rows, q), out.first(q.rows),
                                            {&out[q.rows], q.rows, of.rows.features()});
        }};

/// own: a weight for each row of this process.
inline constexpr Declared weighted_gradients{
    .name = "weighted_gradients",
    .added = Added::by_tree,
    .fits = [](const RowSums& of,
               const Question& q) { return has_thetas(of, q) && q.own.size() == of.local_rows(); },
    .size = gradients_size,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          of.rows.weighted_loss_gradients(thetas(of.rows, q),
                                          q.own.subspan(of.first, of.rows.rows()),
                                          {out.data(), q.rows, of.rows.features()});
        }};

/// first: P [columns x rows], number: the clip.
inline constexpr Declared moments{
    .name = "moments",
    .added = Added::by_tree,
    .fits = [](const RowSums& of,
               const Question& q) { return is_matrix(q.first, q.rows, columns_of(of)); },
    .size = metric_triangle,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          write_triangle(q.rows, out, [&](MatrixView<double> whole) {
            of.rows.second_moments({q.first.data(), columns_of(of.rows), q.rows}, q.number, whole);
          });
        }};

/// first: weights [columns], second: centers [columns], base, low, high.
inline constexpr Declared lengths{
    .name = "lengths",
    .added = Added::by_tree,
    .fits =
        [](const RowSums& of, const Question& q) {
          return q.first.size() == columns_of(of) && q.second.size() == columns_of(of) + 3;
        },
    .size = numbers<1>,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          const double* const limits = &q.second[q.first.size()];
          out[0] = of.rows.log_lengths({limits[0],
                                        q.first,
                                        {q.second.begin(), q.second.end() - 3},
                                        limits[1],
                                        limits[2],
                                        false});
        }};

/// The gradient [d] and the sum of curvatures.
inline constexpr Declared capped_gradient{
    .name = "capped_gradient",
    .added = Added::by_tree,
    .fits = has_theta_and_metric,
    .size = [](const RowSums& of, const Question& /*q*/) { return of.features() + 1; },
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          out.back() = of.capped->gradient(q.first, out.first(out.size() - 1));
        },
    .capped = true};

inline constexpr Declared information{
    .name = "information",
    .added = Added::by_tree,
    .fits = has_theta_and_metric,
    .size = metric_triangle,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          write_triangle(q.rows, out,
                         [&](MatrixView<double> whole) { of.capped->information(q.first, whole); });
        },
    .capped = true};

/// first: theta [d] and the two classes.
inline constexpr Declared information_between{
    .name = "information_between",
    .added = Added::by_tree,
    .fits =
        [](const RowSums& of, const Question& q) {
          if (q.first.size() != of.features() + 2 || !has_metric(of, q)) return false;
          const double a = q.first[of.features()], b = q.first[of.features() + 1];
          return a >= 0 && a < b && b < static_cast<double>(of.loss().outputs());
        },
    .size = metric_triangle,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          const std::size_t d = of.rows.features();
          const ClassPair pair{static_cast<std::size_t>(q.first[d]),
                               static_cast<std::size_t>(q.first[d + 1])};
          write_triangle(q.rows, out, [&](MatrixView<double> whole) {
            of.capped->information_between(std::span(q.first).first(d), pair, whole);
          });
        },
    .capped = true};

inline constexpr Declared score_moments{
    .name = "score_moments",
    .added = Added::by_tree,
    .fits = has_theta_and_metric,
    .size =
        [](const RowSums& of, const Question& q) {
          return triangle_size(score_coordinates(of.loss().outputs(), q.rows));
        },
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          write_triangle(
              score_coordinates(of.rows.loss().outputs(), q.rows), out,
              [&](MatrixView<double> whole) { of.capped->score_moments(q.first, whole); });
        },
    .capped = true};

// Rows one after another. What can be found before the state comes is found first, as all shares do
// so at one time.

/// Sums and what they lost (OrderedSums) [rows x d x 2].
inline constexpr Declared ordered_gradients{
    .name = "ordered_gradients",
    .added = Added::in_turn,
    .fits = has_thetas,
    .size = [](const RowSums& of, const Question& q) { return 2 * gradients_size(of, q); },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, q](std::span<double> state) {
        const std::size_t size = 2 * rows.features();
        for (const ShareRows::Node& node : rows.nodes()) {
          for (std::size_t c = 0; c < q.rows; ++c) {
            ShareRows::ordered(*node.engine)
                .add_gradient(thetas(rows, q).row(c), state.subspan(c * size, size));
          }
        }
      };
    },
    .by_row = true};

/// Likewise [rows x (d + 1) x 2], the last of each of its loss.
inline constexpr Declared ordered_values_and_gradients{
    .name = "ordered_values_and_gradients",
    .added = Added::in_turn,
    .fits = has_thetas,
    .size = [](const RowSums& of,
               const Question& q) { return 2 * (gradients_size(of, q) + q.rows); },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, q](std::span<double> state) {
        const std::size_t size = 2 * (rows.features() + 1);
        for (const ShareRows::Node& node : rows.nodes()) {
          for (std::size_t c = 0; c < q.rows; ++c) {
            ShareRows::ordered(*node.engine)
                .add_value_and_gradient(thetas(rows, q).row(c), state.subspan(c * size, size));
          }
        }
      };
    },
    .by_row = true};

/// Likewise for the capped gradient and the sum of curvatures [(d + 1) x 2].
inline constexpr Declared ordered_capped{
    .name = "ordered_capped",
    .added = Added::in_turn,
    .fits = has_theta_and_metric,
    .size = [](const RowSums& of, const Question& /*q*/) { return 2 * (of.features() + 1); },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, &q](std::span<double> state) {
        const auto capped = rows.capped_of(q);
        for (std::size_t k = 0; k < capped.size(); ++k) {
          ShareRows::ordered(*rows.nodes()[k].engine).add_capped(*capped[k], q.first, state);
        }
      };
    },
    .capped = true};

inline constexpr Declared values{
    .name = "values",
    .added = Added::in_turn,
    .fits = has_thetas,
    .size = [](const RowSums& /*of*/,
               const Question& q) { return static_cast<std::size_t>(q.rows); },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [terms = rows.loss_terms(thetas(rows, q))](std::span<double> state) {
        for (std::size_t k = 0; k < terms.size(); ++k) state[k % state.size()] += terms[k];
      };
    }};

inline constexpr Declared plain_value{.name = "plain_value",
                                      .added = Added::in_turn,
                                      .fits = has_theta,
                                      .size = numbers<1>,
                                      .in_turn = [](ShareRows& rows, const Question& q) -> Change {
                                        return [&rows, &q](std::span<double> state) {
                                          state[0] = rows.plain_value_from(state[0], q.first);
                                        };
                                      }};

inline constexpr Declared plain_gradient{
    .name = "plain_gradient",
    .added = Added::in_turn,
    .fits = has_theta,
    .size = gradient_size,
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, &q](std::span<double> state) { rows.add_plain_gradient(q.first, state); };
    }};

/// number: the scale. The Hessian [d x d] as HostHessian::add has it.
inline constexpr Declared hessian_matrix{
    .name = "hessian_matrix",
    .added = Added::in_turn,
    .fits = has_theta,
    .size = [](const RowSums& of, const Question& /*q*/) { return of.features() * of.features(); },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&of = rows.hessian_of(q)](std::span<double> state) { of.add(state); };
    }};

inline constexpr Declared hessian_diagonal{
    .name = "hessian_diagonal",
    .added = Added::in_turn,
    .fits = has_theta,
    .size = gradient_size,
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&of = rows.hessian_of(q)](std::span<double> state) { of.add_diagonal(state); };
    }};

/// second: v [d].
inline constexpr Declared hessian_product{
    .name = "hessian_product",
    .added = Added::in_turn,
    .fits = [](const RowSums& of,
               const Question& q) { return has_theta(of, q) && q.second.size() == of.features(); },
    .size = gradient_size,
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&of = rows.hessian_of(q), &q](std::span<double> state) {
        of.add_product(q.second, state);
      };
    }};

/// first: terms [rows x d], second: w [d].
inline constexpr Declared difference{
    .name = "difference",
    .added = Added::in_turn,
    .fits = [](const RowSums& of,
               const Question& q) { return has_thetas(of, q) && q.second.size() == of.features(); },
    .size = numbers<4>,
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, &q](std::span<double> state) {
        std::array<double, 4> sum{state[0], state[1], state[2], state[3]};
        sum = rows.exact_difference_from(sum, thetas(rows, q), q.second, rows.before());
        std::ranges::copy(sum, state.begin());
      };
    }};

/// The largest squared norm, and the sum of all.
inline constexpr Declared norms{.name = "norms",
                                .added = Added::in_turn,
                                .fits = has_nothing,
                                .size = numbers<2>,
                                .in_turn = [](ShareRows& rows, const Question& /*q*/) -> Change {
                                  return [&rows](std::span<double> state) {
                                    const RowNorms of = rows.row_norms_from({state[0], state[1]});
                                    state[0] = of.largest_squared;
                                    state[1] = of.sum_squares;
                                  };
                                }};

/// Numbers of people's sums that ranks are asked for at once, of one block of people at least.
inline constexpr std::size_t most_people_sums = std::size_t{1} << 22;

/// first: theta [d], the first person and the one behind the last; own: the person of each row of
/// this process, or -1. For each person the sum of their rows' scores times the rows [people x d].
inline constexpr Declared people_scores{
    .name = "people_scores",
    .added = Added::in_turn,
    .fits =
        [](const RowSums& of, const Question& q) {
          const std::size_t d = of.features();
          if (q.first.size() != d + 2 || !has_metric(of, q)) return false;
          if (q.own.size() != of.local_rows()) return false;
          const double first = q.first[d], end = q.first[d + 1];
          const std::size_t most = std::max(most_people_sums / d, row_block);
          return first >= 0 && first < end && end < 0x1p32 && std::floor(first) == first &&
                 std::floor(end) == end && end - first <= static_cast<double>(most);
        },
    .size =
        [](const RowSums& of, const Question& q) {
          const std::size_t d = of.features();
          return static_cast<std::size_t>(q.first[d + 1] - q.first[d]) * d;
        },
    .in_turn = [](ShareRows& rows, const Question& q) -> Change {
      return [&rows, &q](std::span<double> state) {
        const std::size_t d = rows.features();
        rows.add_people_scores(
            metric_of(rows, q), limits_of(q), std::span(q.first).first(d), q.own,
            {static_cast<std::size_t>(q.first[d]), static_cast<std::size_t>(q.first[d + 1])},
            state);
      };
    }};

// What rows answer in any order.

/// own: as of people_scores. One more than the largest, 0 if there is none.
inline constexpr Declared people_end{
    .name = "people_end",
    .added = Added::largest,
    .fits = [](const RowSums& of,
               const Question& q) { return has_nothing(of, q) && q.own.size() == of.local_rows(); },
    .size = numbers<1>,
    .of_rows =
        [](const NodeRows& /*of*/, const Question& q, std::span<double> out) {
          for (const double person : q.own) out[0] = std::max(out[0], person + 1);
        }};

inline constexpr Declared largest_logit{
    .name = "largest_logit",
    .added = Added::largest,
    .fits = has_theta,
    .size = numbers<1>,
    .of_rows = [](const NodeRows& of, const Question& q, std::span<double> out) {
      out[0] = of.rows.largest_logit(q.first);
    }};

inline constexpr Declared largest_offset{
    .name = "largest_offset",
    .added = Added::largest,
    .fits = has_nothing,
    .size = numbers<1>,
    .of_rows = [](const NodeRows& of, const Question& /*q*/, std::span<double> out) {
      out[0] = of.rows.largest_offset();
    }};

/// first: limits of norm_squared, label and offset; rows: 2 (kind of label) + intercept. The row
/// and what is wrong with it.
inline constexpr Declared first_fault{
    .name = "first_fault",
    .added = Added::first,
    .fits = [](const RowSums& /*of*/, const Question& q) { return q.first.size() == 3; },
    .size = numbers<2>,
    .of_rows =
        [](const NodeRows& of, const Question& q, std::span<double> out) {
          const auto fault =
              of.rows.first_fault({q.first[0], (q.rows & 1) != 0,
                                   static_cast<LabelKind>(q.rows >> 1), q.first[1], q.first[2]});
          if (!fault) return;
          out[0] = static_cast<double>(of.before + fault->row + 1);
          out[1] = static_cast<double>(static_cast<int>(fault->what));
        }};

inline constexpr std::array all_questions{&gradients,
                                          &weighted_gradients,
                                          &moments,
                                          &lengths,
                                          &capped_gradient,
                                          &information,
                                          &information_between,
                                          &score_moments,
                                          &ordered_gradients,
                                          &ordered_capped,
                                          &values,
                                          &plain_value,
                                          &plain_gradient,
                                          &hessian_matrix,
                                          &hessian_diagonal,
                                          &hessian_product,
                                          &difference,
                                          &norms,
                                          &largest_logit,
                                          &largest_offset,
                                          &first_fault,
                                          &people_scores,
                                          &people_end,
                                          &values_and_gradients,
                                          &ordered_values_and_gradients};

}  // namespace gibbsite::distributed
