// Rows in a metric, as chains are given them: what privacy rests on is held exactly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string_view>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace clipped_rows_backend_test {

using support::OddRows;

class ClippedRows : public support::TestOn {
 protected:
  ClippedRows() : TestOn(GIBBSITE_TEST_BACKEND) {}

  static std::vector<float> clipped(const Rows& x, MatrixView<const double> P, double clip,
                                    std::size_t threads = 2) {
    const std::vector<float> y(x.rows, 1.0F);
    const auto engine = support::make_test_backend(GIBBSITE_TEST_BACKEND, {.threads = threads})
                            ->load(x, y, loss_named("logistic"));
    std::vector<float> out(x.rows * P.cols, NAN);
    engine->clipped_rows(P, clip, {out.data(), x.rows, P.cols});
    return out;
  }
  static std::vector<double> metric(std::size_t d, std::size_t k, double scale) {
    std::mt19937 bits(static_cast<unsigned>(d + k));
    std::normal_distribution<double> normal(0, scale);
    std::vector<double> out(d * k);
    for (double& v : out) v = normal(bits);
    return out;
  }
};

TEST_F(ClippedRows, HaveNormsExactlyBelowAndAreTheProduct) {
  int shrunk = 0, whole = 0;
  support::Thinned sweep(5, std::string_view(GIBBSITE_TEST_BACKEND) == "emulated" ? 5 : 1);
  for (const std::size_t d : {1U, 5U, 33U, 101U}) {
    const OddRows rows = support::make_odd_rows(30, d, 3);
    for (const double scale : {1.0, 1e-3, 1e25, 1e-30, 1e60, 1e-200}) {
      const std::vector<double> P = metric(d, d, scale);
      for (const double clip : {0.0, 1e-30, 0.3, 1.0, 1e20, 1e300}) {
        if (sweep.skips()) continue;
        const auto out = clipped(rows.view(), {P.data(), d, d}, clip);
        for (std::size_t i = 0; i < rows.n; ++i) {
          Wide squares = 0, of_product = 0, off = 0, size = 0;
          std::vector<Wide> u(d);
          for (std::size_t j = 0; j < d; ++j) {
            const Wide x = static_cast<double>(rows.x[i * d + j]);
            for (std::size_t a = 0; a < d; ++a) {
              u[a] += x * Wide(P[j * d + a]);
              size += abs(x * Wide(P[j * d + a]));
            }
          }
          for (std::size_t a = 0; a < d; ++a) {
            const Wide v = static_cast<double>(out[i * d + a]);
            ASSERT_TRUE(std::isfinite(out[i * d + a]));
            squares += v * v;
            of_product += u[a] * u[a];
          }
          ASSERT_TRUE(squares <= Wide(clip) * Wide(clip)) << d << " " << scale << " " << clip;
          if (scale > 1e20 || scale < 1e-20 || clip < 1e-20) continue;
          const Wide norm = sqrt(of_product);
          const Wide shrink = norm > Wide(clip) ? Wide(clip) / norm : Wide(1.0);
          for (std::size_t a = 0; a < d; ++a) {
            const Wide away = Wide(static_cast<double>(out[i * d + a])) - shrink * u[a];
            off += away * away;
          }
          ASSERT_TRUE(sqrt(off) <=
                      shrink * Wide(1e-6 * static_cast<double>(d)) * size + Wide(1e-36))
              << d << " " << scale << " " << clip;
          ++(norm > Wide(clip) ? shrunk : whole);
        }
      }
    }
  }
  EXPECT_GT(shrunk, 40);
  EXPECT_GT(whole, 40);
}

// Not of its place, the other rows, how they are stored, nor threads: a neighbor's table differs in
// one row of the result.
TEST_F(ClippedRows, AreFunctionsOfTheRowAlone) {
  const std::size_t d = 37;
  OddRows rows = support::make_odd_rows(2500, d, 8);
  const std::vector<double> P = metric(d, d, 1);
  const auto all = clipped(rows.view(), {P.data(), d, d}, 1, 2);
  EXPECT_EQ(all, clipped(rows.view(), {P.data(), d, d}, 1, 1));
  const std::size_t from = 1234, count = 77;
  const auto part = clipped(Rows(&rows.x[from * d], count, d), {P.data(), d, d}, 1);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + from * d));
  support::make_sparse(rows);
  EXPECT_EQ(all, clipped(rows.view(), {P.data(), d, d}, 1));
}

TEST_F(ClippedRows, RefuseWhatHasNoMeaning) {
  const OddRows rows = support::make_odd_rows(4, 3, 1);
  std::vector<double> P = metric(3, 3, 1);
  EXPECT_THROW(clipped(rows.view(), {P.data(), 2, 3}, 1), BadInput);
  EXPECT_THROW(clipped(rows.view(), {P.data(), 3, 3}, -1), BadInput);
  P[4] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(clipped(rows.view(), {P.data(), 3, 3}, 1), BadInput);
}

// What a chain meets: an engine of its own, after the first one's rows are gone.
TEST_F(ClippedRows, AreAnEngineOfTheirOwn) {
  for (const std::string_view loss : {"logistic", "poisson", "softmax-3"}) {
    const std::size_t n = 40, d = 3, k = 2, outputs = loss_named(loss).outputs();
    OddRows odd = support::make_odd_rows(n, d, 5);
    std::vector<float> y(n), offset(n);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = loss == "logistic" ? (i % 2 == 0 ? -1.0F : 1.0F) : static_cast<float>(i % 3);
      offset[i] = 0.25F * static_cast<float>(i % 4);
    }
    Rows rows = odd.view();
    // The GPU has no kernels of rows with offsets.
    const bool offsets = loss == "poisson" && !on_a_gpu();
    if (offsets) rows.offset = offset.data();
    const std::vector<double> P = metric(d, k, 1e-2);
    const auto backend = support::make_test_backend(GIBBSITE_TEST_BACKEND, {});
    auto engine = backend->load(rows, y, loss_named(loss));
    const auto made =
        load_in_metric(*engine, *backend, {y, rows.offset, rows.weight}, {P.data(), d, k}, 0.5);
    engine.reset();
    ASSERT_EQ(made->features(), k * outputs);
    ASSERT_EQ(made->rows(), n);
    std::vector<float> v = clipped(odd.view(), {P.data(), d, k}, 0.5);
    Rows by_hand(v.data(), n, k);
    by_hand.offset = rows.offset;
    const auto expected = backend->load(by_hand, y, loss_named(loss));
    EXPECT_EQ(made->largest_offset(), offsets ? 0.75 : 0.0);
    const std::vector<double> theta(k * outputs, 0.3);
    std::vector<double> a(k * outputs), b(k * outputs);
    made->loss_gradients({theta.data(), 1, a.size()}, {a.data(), 1, a.size()});
    expected->loss_gradients({theta.data(), 1, a.size()}, {b.data(), 1, a.size()});
    EXPECT_EQ(a, b) << loss;
  }
}

}  // namespace clipped_rows_backend_test
}  // namespace gibbsite
