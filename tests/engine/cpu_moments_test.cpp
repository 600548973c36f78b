// Products, caps and moments of the CPU backend on every instruction set: what is exact, and the
// same bits whether rows and P are numbers or entries. Their sums: moments_backend_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/cpu/moments.hpp"
#include "engine/cpu/whitened.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/model/loss.hpp"
#include "support/instruction_sets.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite::cpu {
namespace cpu_moments_test {

struct Shape {
  std::size_t n, d, k;
};

TEST(CpuMoments, AreARowsOwnOnEveryInstructionSet) {
  support::Thinned sweep(5);
  support::on_every_instruction_set([&](const std::string& set) {
    for (const auto& [n, d, k] : {Shape{1, 1, 1}, {13, 3, 5}, {50, 17, 17}, {49, 70, 101}}) {
      for (const bool few : {false, true}) {
        support::OddRows p = support::make_sparse_rows(n, d, static_cast<double>(d) / 2, 3);
        std::mt19937 bits(4);
        std::normal_distribution<double> normal;
        std::vector<double> P(d * k), theta(d);
        for (std::size_t j = 0; j < d; ++j) {
          theta[j] = normal(bits);
          for (std::size_t a = 0; a < k; ++a) {
            P[j * k + a] = !few || a % d == j || j == d - 1 ? normal(bits) : 0.0;
          }
        }
        const Metric metric({P.data(), d, k});
        ASSERT_EQ(metric.by_entries, few || d <= 2);
        const RowsPart dense{{p.x.data(), n, d}, {}}, entries{{}, p.entries.view()};
        std::vector<float> u(n * metric.stride), of_entries(u), cap(n);
        project(metric, dense, u.data());
        project(metric, entries, of_entries.data());
        ASSERT_EQ(u, of_entries) << set << ' ' << d << ' ' << k << few;

        std::vector<double> packed(packed_size<double>(d)), z(n), z_of_entries(n);
        for (const bool absolute : {false, true}) {
          pack<double>(theta, packed.data());
          row_logits(dense, d, packed.data(), absolute, z.data());
          row_logits(entries, d, theta.data(), absolute, z_of_entries.data());
          ASSERT_EQ(z, z_of_entries) << set << ' ' << d;
        }

        const std::vector<float> y(n, 1.0F);
        for (const double clip : {0.5, 1e-40, 100.0}) {
          if (sweep.skips()) continue;
          std::vector<float> caps[2];
          for (const RowsPart& rows : {dense, entries}) {
            Caps c({rows, d, y}, loss_named("logistic"), {P.data(), d, k}, clip);
            auto scratch = c.scratch();
            c.find(0, n, scratch);
            auto& to = caps[rows.x.data == nullptr ? 1 : 0];
            to.assign(c.from(0), c.from(0) + n);
          }
          ASSERT_EQ(caps[0], caps[1]) << set;
          std::vector<double> v(n * metric.stride);
          const double scaled = std::ldexp(clip, -metric.exponent);
          clip_rows(metric, n, u.data(), scaled, {}, v.data());
          for (std::size_t i = 0; i < n; ++i) {
            Wide norm = 0, clipped = 0;
            for (std::size_t a = 0; a < k; ++a) {
              Wide exact = 0;
              for (std::size_t j = 0; j < d; ++j) {
                if (p.x[i * d + j] != 0) {
                  exact += Wide(static_cast<double>(p.x[i * d + j])) * Wide(P[j * k + a]);
                }
              }
              norm += exact * exact;
              const Wide number(v[i * metric.stride + a]);
              clipped += number * number;
              ASSERT_EQ(v[i * metric.stride + a],
                        static_cast<double>(static_cast<float>(v[i * metric.stride + a])));
            }
            const Wide most(static_cast<double>(caps[0][i]));
            ASSERT_TRUE(most * most * norm <= Wide(clip) * Wide(clip)) << set << ' ' << clip;
            ASSERT_TRUE(clipped <= Wide(scaled) * Wide(scaled)) << set << ' ' << clip;
          }
        }
      }
    }
  });
}

}  // namespace cpu_moments_test
}  // namespace gibbsite::cpu
