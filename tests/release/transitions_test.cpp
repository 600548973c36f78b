// Transitions from noisy counts: intervals that cover, bounds of the long run, a person's steps.
#include "gibbsite/release/transitions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/network_model.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace transitions_test {

using Numbers = std::vector<double>;

Schema schema_of(std::size_t states, std::size_t states_after) {
  Schema out;
  out.label_name = "(none)";
  out.label = TwoClasses{.positive = "(none)"};
  for (const auto& [name, levels] :
       {std::pair("before", states), std::pair("after", states_after)}) {
    Column column{.name = name, .type = ColumnType::category};
    for (std::size_t l = 0; l < levels; ++l) column.levels.push_back(std::to_string(l));
    out.columns.push_back(column);
  }
  out.network.emplace();
  (*out.network)["after"] = {"before"};
  return out;
}

// A chain, where its people are found, and how much noise.
struct Chain {
  const char* name;
  Numbers matrix;      // [K x K]
  Numbers start;       // [K]
  Numbers stationary;  // [K]
  std::size_t rows;
  double noise;
  std::size_t k = 1;      // rows of a person
  bool path = false;      // ... are a walk of k steps; else all alike
  bool is_public = true;  // the number of rows

  [[nodiscard]] std::size_t states() const { return start.size(); }
};

std::size_t drawn(const double* shares, std::size_t k, std::mt19937_64& bits) {
  double u = std::uniform_real_distribution<double>()(bits);
  for (std::size_t i = 0; i + 1 < k; ++i)
    if ((u -= shares[i]) < 0) return i;
  return k - 1;
}

Numbers counts_of(const Chain& chain, std::mt19937_64& bits) {
  const std::size_t k = chain.states();
  Numbers out(k * k, 0.0);
  for (std::size_t row = 0; row < chain.rows; row += chain.k) {
    std::size_t before = drawn(chain.start.data(), k, bits), after = 0;
    for (std::size_t step = 0; step < chain.k; ++step) {
      if (step == 0 || chain.path) after = drawn(&chain.matrix[before * k], k, bits);
      ++out[before * k + after];
      if (chain.path) before = after;
    }
  }
  return out;
}

NetworkModel model_of(const Chain& chain, const Numbers& counts, std::mt19937_64& bits) {
  const std::size_t k = chain.states();
  NetworkModel out{.schema = schema_of(k, k), .network = {{k, k}, {{}, {0}}}, .tables = {}};
  out.noise = table_deviations(chain.noise, out.network);
  Numbers before(k, 0.0);
  for (std::size_t cell = 0; cell < k * k; ++cell) before[cell / k] += counts[cell];
  out.counts = {before, counts};
  std::normal_distribution<double> normal;
  for (std::size_t node = 0; node < 2; ++node) {
    const double deviation = out.noise[node], grid = answer_grid(deviation);
    for (double& one : out.counts[node])
      one = std::nearbyint((one + deviation * normal(bits)) / grid) * grid;
  }
  out.tables = {tables_of_counts(out.network, out.counts, out.noise)};
  return out;
}

const std::vector<Chain>& chains() {
  const Numbers plain{.7, .2, .1, .1, .8, .1, .25, .25, .5}, even{.4, .4, .2};
  const Numbers of_plain{40. / 127, 66. / 127, 21. / 127};
  // A rare state, an absorbing one, one that nobody was ever in or reaches.
  const Numbers ends{.9, .002, .098, 0, .3, .5, .2, 0, 0, 0, 1, 0, .25, .25, .25, .25};
  const Numbers few{.79, .01, .2, 0}, absorbed{0, 0, 1, 0};
  // Two parts that are left once in 1,000 steps, and never.
  const Numbers apart{.999, .001, .003, .997}, closed{1, 0, .05, .95};
  static const std::vector<Chain> all{
      {"plain", plain, even, of_plain, 2000, 4},
      {"little noise", plain, even, of_plain, 300, .3},
      {"much noise", plain, even, of_plain, 300, 40},
      {"add-remove", plain, even, of_plain, 2000, 4, 1, false, false},
      {"alike rows", plain, even, of_plain, 2000, 4, 5},
      {"alike rows, little noise", plain, even, of_plain, 500, .5, 5},
      {"walks", plain, even, of_plain, 2000, 8, 5, true},
      {"ends", ends, few, absorbed, 3000, 4},
      {"ends, little noise", ends, few, absorbed, 1000, .3},
      {"ends, alike", ends, few, absorbed, 3000, 2, 3},
      {"apart", apart, {.5, .5}, {.75, .25}, 5000, 3},
      {"apart, little noise", apart, {.5, .5}, {.75, .25}, 1000, .3},
      {"closed", closed, {.5, .5}, {1, 0}, 5000, 3},
      {"few rows", plain, even, of_plain, 12, 1},
      {"one row", plain, even, of_plain, 1, 1}};
  return all;
}

// Fails by chance with probability below 1e-6 over seeds: of 2,000 releases at 95 %, 92.5 % are 5.1
// deviations off, and few of the 190 numbers are that near (all held 95.3 % or more).
TEST(Transitions, IntervalsHoldWhatIsTrueOfPeople) {
  const int releases = support::repeats(2000, 100);
  const double least = releases < 2000 ? 0.8 : 0.925;
  std::mt19937_64 bits(17);
  for (const Chain& chain : chains()) {
    const std::size_t k = chain.states();
    std::vector<int> held(k * k, 0), long_run(k, 0);
    for (int i = 0; i < releases; ++i) {
      const NetworkModel model = model_of(chain, counts_of(chain, bits), bits);
      const Transitions of = transitions(
          model, chain.is_public ? std::optional<std::uint64_t>(chain.rows) : std::nullopt,
          chain.k);
      for (std::size_t c = 0; c < k * k; ++c)
        held[c] += of.matrix[c].low <= chain.matrix[c] && chain.matrix[c] <= of.matrix[c].high;
      for (std::size_t s = 0; s < k; ++s) {
        constexpr double rounding = 1e-6;
        long_run[s] += of.stationary[s].low <= chain.stationary[s] + rounding &&
                       chain.stationary[s] <= of.stationary[s].high + rounding;
      }
    }
    for (std::size_t c = 0; c < k * k; ++c)
      EXPECT_GE(held[c], least * releases) << chain.name << ", cell " << c;
    for (std::size_t s = 0; s < k; ++s)
      EXPECT_GE(long_run[s], least * releases) << chain.name << ", long run of " << s;
  }
}

// Vertices of a row: all entries at a bound but for one.
std::vector<Numbers> vertices(const Numbers& low, const Numbers& high) {
  std::vector<Numbers> out;
  const std::size_t k = low.size();
  for (std::size_t open = 0; open < k; ++open) {
    for (std::size_t which = 0; which < std::size_t{1} << k; ++which) {
      Numbers row(k);
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) {
        row[j] = (which >> j & 1U) != 0 ? high[j] : low[j];
        if (j != open) sum += row[j];
      }
      row[open] = 1 - sum;
      if (row[open] >= low[open] - 1e-12 && row[open] <= high[open] + 1e-12) out.push_back(row);
    }
  }
  return out;
}

// The long run of an irreducible chain of three states (the tree theorem).
Numbers stationary_of(const std::array<Numbers, 3>& p) {
  Numbers out(3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t a = (i + 1) % 3, b = (i + 2) % 3;
    out[i] = p[a][i] * p[b][i] + p[a][b] * p[b][i] + p[b][a] * p[a][i];
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& one : out) one /= sum;
  return out;
}

TEST(Transitions, LongRunsReachTheExtremesOfAllMatricesWithinTheBounds) {
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 20; ++i) {
    Numbers low, high;
    std::array<std::vector<Numbers>, 3> rows;
    for (std::vector<Numbers>& row : rows) {
      Numbers middle(3), l(3), h(3);
      for (double& one : middle) one = uniform(bits) + .01;
      const double sum = std::accumulate(middle.begin(), middle.end(), 0.0);
      for (std::size_t j = 0; j < 3; ++j) {
        l[j] = std::max(middle[j] / sum - .2 * uniform(bits), 1e-3);
        h[j] = std::min(middle[j] / sum + .2 * uniform(bits), 1.0);
      }
      low.insert(low.end(), l.begin(), l.end());
      high.insert(high.end(), h.begin(), h.end());
      row = vertices(l, h);
    }
    Numbers least(3, 1.0), largest(3, 0.0);
    for (const Numbers& a : rows[0])
      for (const Numbers& b : rows[1])
        for (const Numbers& c : rows[2]) {
          const Numbers found = stationary_of({a, b, c});
          for (std::size_t s = 0; s < 3; ++s) {
            least[s] = std::min(least[s], found[s]);
            largest[s] = std::max(largest[s], found[s]);
          }
        }
    for (std::size_t s = 0; s < 3; ++s) {
      const LongRunRange range = long_run_range(low, high, 3, s);
      EXPECT_NEAR(range.low, least[s], 1e-6);
      EXPECT_NEAR(range.high, largest[s], 1e-6);
    }
  }
  // A state that may be left never, and one that may never be reached.
  const LongRunRange open = long_run_range({.9, 0, 0, .9}, {1, .1, .1, 1}, 2, 0);
  EXPECT_NEAR(open.low, 0, 1e-6);
  EXPECT_NEAR(open.high, 1, 1e-6);
  EXPECT_NEAR(long_run_range({1}, {1}, 1, 0).low, 1, 1e-6);
}

// Calls visit(counts) for all ways to put k rows into `cells` cells.
void for_each_person(std::size_t cells, std::size_t k, Numbers& counts, std::size_t from,
                     const std::function<void(const Numbers&)>& visit) {
  if (k == 0 || from + 1 == cells) {
    counts[from] += static_cast<double>(k);
    visit(counts);
    counts[from] -= static_cast<double>(k);
    return;
  }
  for (std::size_t here = 0; here <= k; ++here) {
    counts[from] += static_cast<double>(here);
    for_each_person(cells, k - here, counts, from + 1, visit);
    counts[from] -= static_cast<double>(here);
  }
}

// Every person of up to k steps against every other: no two are further apart, in the noise of the
// plan, than is paid for, and two are that far.
TEST(Transitions, NoStepsOfAPersonAreFurtherApartThanIsPaidFor) {
  for (const std::size_t states : {1U, 2U, 3U}) {
    for (const std::size_t k : {1U, 2U, 3U}) {
      const NetworkProblem problem{.rows = 100, .levels = {states, states}, .parents = {{{}, {0}}}};
      const NetworkPlan made = plan_network(problem, {1, 1e-6, Adjacency::replace_one, k},
                                            {.mechanism = std::string(NetworkCounts::name)});
      const Numbers noise = table_deviations(made.candidate(), made.problem.network());
      const std::size_t cells = states * states;
      std::vector<Numbers> people;
      Numbers counts(cells, 0.0);
      for_each_person(cells, k, counts, 0, [&](const Numbers& one) { people.push_back(one); });
      double furthest = 0;
      for (const Numbers& a : people) {
        for (const Numbers& b : people) {
          Numbers before(states, 0.0);
          double squares = 0;
          for (std::size_t c = 0; c < cells; ++c) {
            before[c / states] += a[c] - b[c];
            squares += std::pow((a[c] - b[c]) / noise[1], 2);
          }
          for (const double one : before) squares += std::pow(one / noise[0], 2);
          furthest = std::max(furthest, std::sqrt(squares));
        }
      }
      const double mu = made.candidate().guarantee.mu;
      EXPECT_LE(furthest, mu * (1 + 1e-12));
      if (states == 1) continue;
      EXPECT_GE(furthest, mu * (1 - 1e-3)) << "rounding of noise alone";
    }
  }
}

TEST(Transitions, EstimatesAreTheNetworksOwnWithinTheirIntervals) {
  std::mt19937_64 bits(4);
  for (const Chain& chain : chains()) {
    const std::size_t k = chain.states();
    const NetworkModel model = model_of(chain, counts_of(chain, bits), bits);
    const Transitions of = transitions(model, chain.rows, chain.k);
    double all = 0;
    for (std::size_t c = 0; c < k * k; ++c) {
      EXPECT_EQ(of.matrix[c].value, model.tables[0][1][c]);
      EXPECT_LE(0, of.matrix[c].low);
      EXPECT_LE(of.matrix[c].low, of.matrix[c].value);
      EXPECT_LE(of.matrix[c].value, of.matrix[c].high);
      EXPECT_LE(of.matrix[c].high, 1);
    }
    for (const ShareEstimate& one : of.stationary) all += one.value;
    EXPECT_NEAR(all, 1, 1e-6);
  }
}

TEST(Transitions, AStateThatNobodyWasInIsWideOpen) {
  std::mt19937_64 bits(6);
  const Chain& ends = chains()[7];
  const Transitions of = transitions(model_of(ends, counts_of(ends, bits), bits), 3000, 1);
  EXPECT_GT(of.matrix[12].high - of.matrix[12].low, .9);
  EXPECT_LT(of.matrix[10].high - of.matrix[10].low, .1);  // the absorbing one is known
}

TEST(Transitions, TakesTwoColumnsOfTheSameStates) {
  EXPECT_NO_THROW(require_states(schema_of(3, 3)));
  EXPECT_THROW(require_states(schema_of(3, 2)), BadInput);
  Schema other = schema_of(3, 3);
  std::swap(other.columns[1].levels[0], other.columns[1].levels[1]);
  EXPECT_THROW(require_states(other), BadInput);
  std::mt19937_64 bits(6);
  NetworkModel model = model_of(chains()[0], counts_of(chains()[0], bits), bits);
  EXPECT_TRUE(has_transitions(model));
  model.network.parents = {{1}, {}};
  EXPECT_FALSE(has_transitions(model));
  EXPECT_THROW(transitions(model, 10, 1), BadInput);
}

}  // namespace transitions_test
}  // namespace gibbsite
