// One model for many noisy tables, against brute force over all rows that there can be.
#include "gibbsite/model/tree_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/network_model.hpp"
#include "model/beliefs.hpp"

namespace gibbsite {
namespace tree_model_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Levels = std::vector<std::uint64_t>;

ColumnList all_columns(const Levels& levels) {
  ColumnList out(levels.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

// The cell of a table that row number `row` of all is in, the last column fastest.
std::size_t cell_of(const Levels& levels, std::size_t row, const ColumnList& columns) {
  std::vector<std::size_t> at(levels.size());
  for (std::size_t k = levels.size(); k-- > 0;) {
    at[k] = row % levels[k];
    row /= levels[k];
  }
  std::size_t out = 0;
  for (const std::uint32_t k : columns) out = out * levels[k] + at[k];
  return out;
}

bool is_forbidden(const Levels& levels, std::size_t row, const std::vector<StructuralZero>& never) {
  return std::ranges::any_of(never, [&](const StructuralZero& zero) {
    for (std::size_t c = 0; c < zero.columns.size(); ++c) {
      const auto level = static_cast<std::uint32_t>(cell_of(levels, row, {zero.columns[c]}));
      if (std::ranges::count(zero.levels[c], level) == 0) return false;
    }
    return true;
  });
}

// Probabilities of all rows, by the model's definition.
std::vector<double> joint_of(const TreeModel& model) {
  std::vector<double> out(table_cells(model.levels, all_columns(model.levels)));
  for (std::size_t row = 0; row < out.size(); ++row) {
    double log = 0;
    for (std::size_t t = 0; t < model.tables.size(); ++t)
      log += model.potentials[t][cell_of(model.levels, row, model.tables[t])];
    out[row] = is_forbidden(model.levels, row, model.never) ? 0 : std::exp(log);
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& p : out) p /= sum;
  return out;
}
std::vector<double> joint_of(const TreeNetwork& tree) {
  const Levels& levels = tree.network.levels;
  std::vector<double> out(table_cells(levels, all_columns(levels)), 1.0);
  for (std::size_t row = 0; row < out.size(); ++row)
    for (std::uint32_t k = 0; k < levels.size(); ++k) {
      ColumnList columns = tree.network.parents[k];
      columns.push_back(k);
      out[row] *= tree.tables[k][cell_of(levels, row, columns)];
    }
  return out;
}
std::vector<double> margin_of(const Levels& levels, const std::vector<double>& joint,
                              const ColumnList& columns) {
  std::vector<double> out(table_cells(levels, columns), 0.0);
  for (std::size_t row = 0; row < joint.size(); ++row)
    out[cell_of(levels, row, columns)] += joint[row];
  return out;
}

TreeModel model_of(const Levels& levels, const std::vector<ColumnList>& tables,
                   const std::vector<std::vector<double>>& potentials) {
  return {levels, junction_tree(levels, tables), tables, potentials};
}
TreeFit fit_of(const Levels& levels, const std::vector<MeasuredTable>& measured, double rows,
               const TreeFitOptions& options = {}) {
  std::vector<ColumnList> tables;
  for (const MeasuredTable& table : measured) tables.push_back(table.columns);
  return fit_tree(levels, junction_tree(levels, tables), measured, rows, options);
}

TreeModel random_model(std::mt19937_64& bits, double spread) {
  TreeModel out;
  std::normal_distribution<double> normal(0, spread);
  const std::size_t count = 1 + bits() % 5;
  for (std::size_t k = 0; k < count; ++k) out.levels.push_back(1 + bits() % 6);
  for (std::uint32_t a = 0; a < count; ++a) {
    if (bits() % 2 == 0) out.tables.push_back({a});
    for (std::uint32_t b = a + 1; b < count; ++b) {
      if (bits() % 2 == 0) out.tables.push_back({a, b});
      for (std::uint32_t c = b + 1; c < count; ++c)
        if (bits() % 8 == 0) out.tables.push_back({a, b, c});
    }
  }
  for (const ColumnList& table : out.tables) {
    auto& of = out.potentials.emplace_back(table_cells(out.levels, table));
    for (double& p : of) p = normal(bits);
  }
  out.tree = junction_tree(out.levels, out.tables);
  return out;
}

TEST(Beliefs, ExponentialAndLogarithmAreTheirs) {
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> uniform(-699, 0);
  for (int i = 0; i < 10'000; ++i) {
    const double x = i < 100 ? -i * 1e-3 : uniform(bits);
    EXPECT_NEAR(exp_of(x) / std::exp(x), 1, 1e-12) << x;
    const double y = std::exp(-x);
    EXPECT_NEAR(log_of(y), -x, 1e-12 * std::max(1.0, -x)) << y;
    EXPECT_NEAR(log_of(1 / y), x, 1e-12 * std::max(1.0, -x)) << y;
  }
  EXPECT_EQ(exp_of(0), 1);
  EXPECT_EQ(log_of(1), 0);
  EXPECT_EQ(exp_of(-1e300), 0);
}

// Vectors, whatever their length on this machine, and their ends have the bits of one number.
TEST(TreeModel, VectorsOfExponentialsHaveTheSameBits) {
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<double> uniform(-720, 0);
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<double> x, y;
    for (std::size_t i = 0; i < count; ++i) {
      x.push_back(i % 7 == 0 ? -1e12 : i % 7 == 1 ? -0.0 : uniform(bits));
      y.push_back(i % 7 == 0 ? 1.0 : i % 7 == 1 ? 1e300 : std::exp(-uniform(bits) / 700));
    }
    const std::vector<double> from_x = x, from_y = y;
    exp_each(x);
    log_each(y);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(x[i], exp_of(from_x[i])) << from_x[i];
      EXPECT_EQ(y[i], log_of(from_y[i])) << from_y[i];
    }
  }
}

// Every cell is in one part, and the cells of a part meet those of the table that are its own.
TEST(Beliefs, PartsWriteNothingInCommon) {
  std::mt19937_64 bits(14);
  std::size_t several = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    Levels levels;
    ColumnList array, table;
    const std::size_t columns = 1 + bits() % 6;
    for (std::uint32_t k = 0; k < columns; ++k) {
      levels.push_back(1 + bits() % 9);
      array.push_back(k);
    }
    for (const std::uint32_t k : array)
      if (bits() % 2 == 0) table.push_back(k);
    const std::size_t cells = table_cells(levels, array), wanted = 1 + bits() % 2'000;
    const std::vector<ArrayPart> parts = array_parts(levels, array, table, wanted);
    std::vector<std::size_t> seen(cells, 0);
    std::size_t first = 0;
    for (const ArrayPart& part : parts) {
      ASSERT_EQ(part.first, first);
      first = part.last;
      for (std::size_t s = 0; s < part.segments.size(); ++s) {
        const auto [begin, end] = part.segments[s];
        ASSERT_LT(begin, end);
        if (s > 0) {
          ASSERT_GT(begin, part.segments[s - 1].end);
        }
        for (std::size_t cell = begin; cell < end; ++cell) {
          ++seen.at(cell);
          const std::size_t at = cell_of(levels, cell, table);
          ASSERT_TRUE(at >= part.first && at < part.last) << repeat;
        }
      }
    }
    EXPECT_EQ(first, table_cells(levels, table));
    EXPECT_THAT(seen, testing::Each(1));
    if (parts.size() > 1) ++several;
  }
  EXPECT_GT(several, 20U);
}

// Sums over cliques of many parts, on three branches: in any order, and by several threads.
TEST(TreeModel, EveryThreadCountGivesTheSameBits) {
  const Levels levels{9, 11, 13, 53, 3, 12, 5, 2};
  const std::vector<ColumnList> sets{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {1, 3}, {0, 3}, {3, 4},
                                     {4, 5}, {3, 5}, {2, 5}, {5, 6}, {6, 7}, {2, 6}};
  const JunctionTree tree = junction_tree(levels, sets);
  std::uint64_t largest = 0;
  for (const ColumnList& clique : tree.cliques)
    largest = std::max(largest, table_cells(levels, clique));
  ASSERT_GT(largest, 65'536U);
  std::mt19937_64 bits(15);
  std::normal_distribution<double> normal;
  std::vector<MeasuredTable> measured;
  for (std::uint32_t k = 0; k < levels.size(); ++k) {
    measured.push_back({{k}, std::vector<double>(levels[k]), 20});
    for (double& count : measured.back().counts)
      count = 5e4 / static_cast<double>(levels[k]) + 20 * normal(bits);
  }
  for (const ColumnList& set : sets) {
    measured.push_back({set, std::vector<double>(table_cells(levels, set)), 30});
    for (double& count : measured.back().counts)
      count = static_cast<double>(bits() % 1000) + 30 * normal(bits);
  }
  TreeFitOptions how{.rounds = 2, .iterations = 6};
  const TreeFit alone = fit_tree(levels, tree, measured, 5e4, how);
  std::size_t shared = 0, most = 0;
  how.each = [&](std::size_t tasks, const std::function<void(std::size_t)>& f) {
    ++shared;
    most = std::max(most, tasks);
    while (tasks-- > 0) f(tasks);
  };
  EXPECT_EQ(fit_tree(levels, tree, measured, 5e4, how).model.potentials, alone.model.potentials);
  EXPECT_GT(shared, 20U);
  EXPECT_GT(most, 4U);
  for (std::size_t threads = 2; threads < 8; threads += 2) {
    how.each = [&](std::size_t tasks, const std::function<void(std::size_t)>& f) {
      std::atomic<std::size_t> next = 0;
      std::vector<std::thread> team;
      for (std::size_t t = 0; t < threads; ++t)
        team.emplace_back([&] {
          for (std::size_t task = next++; task < tasks; task = next++) f(task);
        });
      for (std::thread& one : team) one.join();
    };
    EXPECT_EQ(fit_tree(levels, tree, measured, 5e4, how).model.potentials, alone.model.potentials)
        << threads;
  }
}

TEST(TreeModel, IsTheNetworkItSays) {
  std::mt19937_64 bits(2);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const TreeModel model = random_model(bits, repeat % 2 == 0 ? 1 : 20);
    const TreeNetwork tree = network_of(model);
    tree.network.validate();
    const std::vector<double> expected = joint_of(model), joint = joint_of(tree);
    for (std::size_t row = 0; row < joint.size(); ++row)
      EXPECT_NEAR(joint[row], expected[row], 1e-11) << repeat;
    for (std::size_t k = 0; k < tree.tables.size(); ++k)
      for (std::size_t c = 0; c < tree.tables[k].size(); c += tree.network.levels[k]) {
        const auto first = tree.tables[k].begin() + static_cast<std::ptrdiff_t>(c);
        EXPECT_NEAR(std::accumulate(
                        first, first + static_cast<std::ptrdiff_t>(tree.network.levels[k]), 0.0),
                    1, 1e-12);
      }
  }
}

// No number underflows away: potentials thousands apart, and what is left is the larger one.
// Rules of one column to three, which may overlap and leave no row.
std::vector<StructuralZero> random_zeros(std::mt19937_64& bits, const Levels& levels) {
  std::vector<StructuralZero> out(1 + bits() % 4);
  for (StructuralZero& zero : out) {
    for (std::uint32_t k = 0; k < levels.size(); ++k) {
      if (zero.columns.size() == 3 || bits() % 2 == 0) continue;
      std::vector<std::uint32_t> some;
      for (std::uint32_t l = 0; l < levels[k]; ++l)
        if (bits() % 2 == 0) some.push_back(l);
      if (some.empty()) continue;
      zero.columns.push_back(k);
      zero.levels.push_back(std::move(some));
    }
  }
  std::erase_if(out, [](const StructuralZero& zero) { return zero.columns.empty(); });
  return out;
}
JunctionTree tree_with(const Levels& levels, std::vector<ColumnList> sets,
                       const std::vector<StructuralZero>& never) {
  for (const StructuralZero& zero : never) sets.push_back(zero.columns);
  return junction_tree(levels, sets);
}

TEST(StructuralZeros, AreRowsOfProbabilityZero) {
  std::mt19937_64 bits(9);
  int none_left = 0, kept = 0;
  for (int repeat = 0; repeat < 400; ++repeat) {
    TreeModel model = random_model(bits, repeat % 2 == 0 ? 1 : 20);
    model.never = random_zeros(bits, model.levels);
    model.tree = tree_with(model.levels, model.tables, model.never);
    const std::size_t rows = table_cells(model.levels, all_columns(model.levels));
    std::size_t left = 0;
    for (std::size_t row = 0; row < rows; ++row)
      left += !is_forbidden(model.levels, row, model.never);
    ASSERT_EQ(leaves_rows(model.levels, model.never), left > 0) << repeat;
    if (left == 0) {
      ++none_left;
      EXPECT_THAT([&] { network_of(model); }, ThrowsMessage<BadInput>(HasSubstr("leave no row")));
      continue;
    }
    ++kept;
    const TreeNetwork tree = network_of(model);
    tree.network.validate();
    const std::vector<double> expected = joint_of(model), joint = joint_of(tree);
    for (std::size_t row = 0; row < joint.size(); ++row) {
      EXPECT_NEAR(joint[row], expected[row], 1e-11) << repeat;
      if (is_forbidden(model.levels, row, model.never)) {
        EXPECT_EQ(joint[row], 0) << repeat;
      }
    }
  }
  EXPECT_GT(none_left, 20);
  EXPECT_GT(kept, 200);
}

// Without noise the fit finds the law among rows that may be, though rows that break the rules were
// counted, as many as 10 in 11 of the others.
TEST(StructuralZeros, AreFittedAroundWhateverWasCountedThere) {
  const Levels levels{3, 4, 2};
  const std::vector<StructuralZero> never{{{0, 1}, {{0}, {2, 3}}}, {{1, 2}, {{0}, {1}}}};
  for (const double broken : {0.0, 100.0, 1e9}) {
    std::vector<double> cells(24);
    std::vector<double> truth(24);
    for (std::size_t row = 0; row < 24; ++row) {
      const bool forbidden = is_forbidden(levels, row, never);
      truth[row] = forbidden ? 0 : 50.0 + static_cast<double>(row * 7 % 24) * 10;
      cells[row] = forbidden ? broken : truth[row];
    }
    std::vector<MeasuredTable> measured;
    for (const ColumnList& columns : {ColumnList{0, 1}, ColumnList{1, 2}})
      measured.push_back({columns, margin_of(levels, cells, columns), 1e-3});
    const double rows = std::accumulate(truth.begin(), truth.end(), 0.0);
    const TreeFit fit =
        fit_tree(levels, tree_with(levels, {{0, 1}, {1, 2}}, never), measured, rows, {}, never);
    const std::vector<double> joint = joint_of(network_of(fit.model));
    for (std::size_t row = 0; row < 24; ++row) {
      EXPECT_TRUE(std::isfinite(joint[row]));
      if (is_forbidden(levels, row, never)) {
        EXPECT_EQ(joint[row], 0);
      }
    }
    if (broken > 0) continue;  // tables with them have other sums
    for (const MeasuredTable& table : measured) {
      const std::vector<double> found = margin_of(levels, joint, table.columns);
      for (std::size_t cell = 0; cell < found.size(); ++cell)
        EXPECT_NEAR(found[cell] * rows, table.counts[cell], 0.5);
    }
  }
}

TEST(StructuralZeros, AreRefusedWhereTheyAreNone) {
  const Levels levels{2, 3};
  const std::vector<MeasuredTable> measured{{{0}, {1, 2}, 1}, {{1}, {1, 2, 3}, 1}};
  const auto fit = [&](const StructuralZero& zero, const std::vector<ColumnList>& sets) {
    return
        [=] { fit_tree(levels, junction_tree(levels, sets), measured, 6, {}, std::vector{zero}); };
  };
  EXPECT_THAT(fit({{0, 1}, {{0}, {1}}}, {{0}, {1}}), ThrowsMessage<BadInput>(HasSubstr("tree")));
  for (const StructuralZero& bad :
       {StructuralZero{{}, {}}, StructuralZero{{1, 0}, {{0}, {0}}}, StructuralZero{{0}, {{2}}},
        StructuralZero{{0}, {}}, StructuralZero{{0}, {{}}}})
    EXPECT_THROW(fit(bad, {{0, 1}})(), BadInput);
}

TEST(TreeModel, TakesPotentialsThatAreFarApart) {
  const TreeModel model =
      model_of({2, 2, 2}, {{0, 1}, {1, 2}}, {{0, -5000, -9000, -4000}, {-3000, -3001, 4000, 4000}});
  const TreeNetwork tree = network_of(model);
  const std::vector<double> joint = joint_of(tree);
  // Rows 010 and 011 have -5000 + 4000, rows 110 and 111 have -4000 + 4000.
  EXPECT_EQ(joint[6] + joint[7], 1);
  EXPECT_EQ(joint[6], joint[7]);
  for (const auto& table : tree.tables)
    for (const double share : table) EXPECT_TRUE(std::isfinite(share));
}

// Potentials give these bits on every machine, whatever the compiler and its vectors.
TEST(TreeModel, HasTheseBits) {
  const TreeModel model = model_of({3, 2, 4}, {{0}, {0, 1}, {1, 2}},
                                   {{-0.5, -1.25, -2},
                                    {0.1, -0.3, 0.7, 1.9, -2.3, 0.04},
                                    {0.11, 0.23, -0.37, 0.41, -1.7, 2.9, 0.6, -0.8}});
  std::uint64_t bits = 0;
  for (const auto& table : network_of(model).tables)
    for (const double share : table)
      bits = bits * 6'364'136'223'846'793'005U + std::bit_cast<std::uint64_t>(share);
  EXPECT_EQ(bits, 307'049'441'799'195'532U);
}

struct Answers {
  Levels levels;
  std::vector<MeasuredTable> measured;
  double rows = 0;
};
// Noisy counts of a random distribution's tables.
Answers random_answers(std::mt19937_64& bits, double rows, double deviation) {
  TreeModel truth = random_model(bits, 1.5);
  const std::vector<double> joint = joint_of(truth);
  std::normal_distribution<double> normal;
  Answers out{truth.levels, {}, rows};
  for (std::uint32_t k = 0; k < truth.levels.size(); ++k) truth.tables.push_back({k});
  for (const ColumnList& table : truth.tables) {
    MeasuredTable one{table, margin_of(truth.levels, joint, table), deviation};
    for (double& count : one.counts) count = rows * count + deviation * normal(bits);
    out.measured.push_back(one);
  }
  return out;
}

// The condition of a round's optimum, from probabilities of all rows: what is expected less what
// was counted is the ridge's share of how far the potential moved.
TEST(TreeFit, MeetsTheConditionOfItsOptimum) {
  std::mt19937_64 bits(3);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Answers answers = random_answers(bits, 3000, 20);
    TreeFitOptions options{.rounds = 1, .ridge = 0.5, .iterations = 5000, .tolerance = 1e-6};
    const TreeFit fit = fit_of(answers.levels, answers.measured, answers.rows, options);
    EXPECT_LE(fit.off, 1e-6);
    options.iterations = 0;
    const TreeFit start = fit_of(answers.levels, answers.measured, answers.rows, options);
    const std::vector<double> joint = joint_of(fit.model);
    for (std::size_t t = 0; t < answers.measured.size(); ++t) {
      const MeasuredTable& table = answers.measured[t];
      const std::vector<double> shares = margin_of(answers.levels, joint, table.columns);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double moved = fit.model.potentials[t][i] - start.model.potentials[t][i];
        EXPECT_NEAR(answers.rows * shares[i] - table.counts[i] + 0.5 * 20 * moved, 0, 1e-4);
      }
    }
  }
}

TEST(TreeFit, FindsCountsWithoutNoise) {
  std::mt19937_64 bits(4);
  for (int repeat = 0; repeat < 30; ++repeat) {
    Answers answers = random_answers(bits, 1e5, 0);
    for (MeasuredTable& table : answers.measured) table.deviation = 1e-3;
    const TreeFit fit = fit_of(answers.levels, answers.measured, answers.rows);
    const std::vector<double> joint = joint_of(fit.model);
    for (const MeasuredTable& table : answers.measured) {
      const std::vector<double> shares = margin_of(answers.levels, joint, table.columns);
      for (std::size_t i = 0; i < shares.size(); ++i)
        EXPECT_NEAR(answers.rows * shares[i], table.counts[i], 0.1);
    }
  }
}

// Rounds learn what is above the noise: a table's expected counts are nearer to the true ones than
// the noisy counts are, and nearer than the product of the columns' own shares.
TEST(TreeFit, IsNearerToTheTruthThanTheNoisyCounts) {
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  constexpr std::uint64_t r = 20;
  const Levels levels{r, r};
  std::vector<double> truth;
  for (std::uint64_t a = 0; a < r; ++a)
    for (std::uint64_t b = 0; b < r; ++b)
      truth.push_back(a == b ? 300 : b == (a + 1) % r ? 100 : 5);
  std::vector<MeasuredTable> measured{{{0}, std::vector<double>(r, 0), 30},
                                      {{1}, std::vector<double>(r, 0), 30},
                                      {{0, 1}, truth, 30}};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    measured[0].counts[i / r] += truth[i];
    measured[1].counts[i % r] += truth[i];
  }
  for (MeasuredTable& table : measured)
    for (double& count : table.counts) count += 30 * normal(bits);
  const double rows = std::accumulate(truth.begin(), truth.end(), 0.0);
  const std::vector<double> joint = joint_of(fit_of(levels, measured, rows).model);
  double fitted = 0, noisy = 0, flat = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    fitted += std::abs(rows * joint[i] - truth[i]);
    noisy += std::abs(measured[2].counts[i] - truth[i]);
    flat += std::abs(rows / (r * r) - truth[i]);
  }
  EXPECT_LT(fitted, 0.6 * noisy);
  EXPECT_LT(fitted, 0.6 * flat);
}

TEST(TreeFit, TakesWhateverNoiseGives) {
  const auto expect_sound = [](const Levels& levels, const std::vector<MeasuredTable>& measured,
                               double rows) {
    const TreeFit fit = fit_of(levels, measured, rows);
    fit.model.validate();
    for (const auto& table : network_of(fit.model).tables)
      for (const double share : table) EXPECT_TRUE(share >= 0 && share <= 1);
    return fit;
  };
  expect_sound({1}, {{{0}, {-3}, 5}}, 10);             // one column of one level
  expect_sound({4}, {}, 10);                           // nothing measured
  expect_sound({3}, {{{0}, {-1, -2, -300}, 5}}, 100);  // all counts negative
  expect_sound({2, 2}, {{{0}, {-9, -9}, 5}, {{0, 1}, {-90, -9, -9, -9}, 5}}, 1);
  expect_sound({2, 2}, {{{0, 1}, {1e9, -1e9, 0, 0}, 1}}, 100);
  // Two columns that are the same.
  std::vector<double> same(400, 0.0);
  for (std::size_t l = 0; l < 20; ++l) same[l * 21] = 500;
  const TreeFit twins = expect_sound({20, 20}, {{{0, 1}, same, 3}}, 10'000);
  const std::vector<double> joint = joint_of(twins.model);
  double off = 0;
  for (std::size_t i = 0; i < 400; ++i)
    if (i % 21 != 0) off += joint[i];
  EXPECT_LT(off, 0.08);
  // A column of 10,000 levels beside one that depends on it.
  MeasuredTable wide{{0}, std::vector<double>(10'000, 1.0), 4};
  MeasuredTable both{{0, 1}, std::vector<double>(20'000, 0.5), 4};
  wide.counts[77] = 5000;
  both.counts[154] = 4000;
  both.counts[155] = 1000;
  const TreeNetwork tree = network_of(expect_sound({10'000, 2}, {wide, both}, 15'000).model);
  const std::size_t k = tree.network.parents[1].empty() ? 0 : 1;
  if (k == 1) {
    EXPECT_NEAR(tree.tables[1][154], 0.8, 0.05);
  } else {
    EXPECT_NEAR(tree.tables[1][0], 0.6, 0.1);
  }
}

TEST(TreeFit, OfFiftyColumns) {
  std::mt19937_64 bits(6);
  std::normal_distribution<double> normal;
  Levels levels;
  std::vector<MeasuredTable> measured;
  for (std::uint32_t k = 0; k < 50; ++k) levels.push_back(2 + bits() % 15);
  for (std::uint32_t k = 0; k < 50; ++k)
    for (const std::uint32_t step : {0U, 1U, 2U}) {
      if (k + step >= 50) continue;
      MeasuredTable table{step == 0 ? ColumnList{k} : ColumnList{k, k + step}, {}, 30};
      const auto cells = static_cast<double>(table_cells(levels, table.columns));
      for (double i = 0; i < cells; ++i) table.counts.push_back(30'000 / cells + 30 * normal(bits));
      measured.push_back(table);
    }
  const TreeFit fit = fit_of(levels, measured, 30'000);
  EXPECT_LE(fit.off, 0.05);
  network_of(fit.model).network.validate();
}

// The tree is that of all levels, though it is fitted over groups of them, whose own tree has other
// cliques: no table of the network is larger than what the choice bounded.
TEST(TreeFit, KeepsTheTreeThatWasBounded) {
  std::mt19937_64 bits(8);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Levels levels{3, 150, 3, 150};
    std::vector<ColumnList> sets{{0, 1}, {1, 2}, {2, 3}, {0, 3}};
    LevelGroups groups;
    if (repeat > 0) {
      for (std::uint64_t& l : levels) l = 1 + bits() % 30;
      levels.push_back(1 + bits() % 30);
      levels.push_back(1 + bits() % 30);
      sets.clear();
      for (std::uint32_t a = 0; a < levels.size(); ++a)
        for (std::uint32_t b = a + 1; b < levels.size(); ++b)
          if (bits() % 2 == 0) sets.push_back({a, b});
    }
    for (const std::uint64_t l : levels) {
      const std::uint64_t kept = repeat == 0 ? (l == 3 ? 3 : 2) : 1 + bits() % l;
      auto& group = groups.group.emplace_back();
      for (std::uint64_t i = 0; i < l; ++i)
        group.push_back(static_cast<std::uint32_t>(std::min(i, kept - 1)));
      groups.shares.emplace_back(l, 1.0);
      for (std::uint64_t i = kept - 1; i < l; ++i)
        groups.shares.back()[i] = 1 / static_cast<double>(l - kept + 1);
    }
    std::vector<MeasuredTable> measured;
    for (const ColumnList& set : sets) {
      const std::uint64_t cells = table_cells(groups.levels(), set);
      measured.push_back({set, std::vector<double>(cells, 1000 / static_cast<double>(cells)), 9});
    }
    const TreeFit fit =
        fit_tree(groups.levels(), junction_tree(levels, sets), measured, 1000, {.rounds = 1});
    const TreeNetwork whole = split_groups(network_of(fit.model), groups);
    const LargestClique most = largest_clique(levels, sets);
    if (repeat == 0) {
      EXPECT_EQ(most.cells, 1350U);
    }
    for (std::size_t k = 0; k < levels.size(); ++k) {
      EXPECT_LE(whole.network.cells(k), most.cells) << repeat;
      EXPECT_LT(whole.network.parents[k].size(), most.columns);
    }
  }
}

TEST(TreeFit, RefusesATreeThatIsNotOfTheTables) {
  const Levels levels{2, 2, 2};
  const std::vector<MeasuredTable> chain{{{0, 1}, {1, 2, 3, 4}, 1}, {{1, 2}, {1, 2, 3, 4}, 1}};
  const auto refused = [&](const JunctionTree& tree) {
    EXPECT_THAT([&] { fit_tree(levels, tree, chain, 10); },
                ThrowsMessage<BadInput>(HasSubstr("tree: ")));
  };
  refused({});
  refused(junction_tree(levels, std::vector<ColumnList>{{0, 1}}));
  refused({{{0, 1}, {1, 2}}, {0}});
  refused({{{0, 1}, {1, 2}}, {0, 1}});          // no parent before it
  refused({{{0, 1}, {2}, {1, 2}}, {0, 0, 0}});  // 2 is in two cliques that nothing joins
  fit_tree(levels, JunctionTree{{{0, 1, 2}}, {0}}, chain, 10);
}

TEST(TreeFit, ProjectsCountsHoweverLargeTheyAre) {
  std::mt19937_64 bits(9);
  std::normal_distribution<double> normal;
  for (const double deviation : {1e-9, 1.0, 1e9, 1e16, 1e18, 1e30, 1e100})
    for (const double total : {1.0, 1000.0, 1e11}) {
      std::vector<double> counts(30);
      for (double& count : counts) count = deviation * normal(bits);
      const std::vector<double> near = projected_counts(counts, total);
      EXPECT_NEAR(std::accumulate(near.begin(), near.end(), 0.0) / total, 1, 1e-12);
      for (const double count : near) EXPECT_TRUE(count >= 0 && count <= total);
      const auto largest = std::ranges::max_element(counts) - counts.begin();
      EXPECT_EQ(near[static_cast<std::size_t>(largest)], std::ranges::max(near));
    }
  EXPECT_THAT(projected_counts({2.5e16, 2e16}, 1), ElementsAre(1, 0));
  EXPECT_THAT(projected_counts({5, 3, -10}, 4), ElementsAre(3, 1, 0));
  // And a fit of such counts is a network.
  const TreeFit fit = fit_of({2, 2},
                             {{{0}, {3e100, -1e100}, 1e100},
                              {{1}, {2.2e100, 1.9e100}, 1e100},
                              {{0, 1}, {-1e100, 2e100, 3e99, 0}, 1e100}},
                             1);
  for (const auto& table : network_of(fit.model).tables)
    for (const double share : table) EXPECT_TRUE(share >= 0 && share <= 1);
}

TEST(TreeFit, StopsWhereItIsTold) {
  const std::vector<MeasuredTable> one{{{0, 1}, {100, 0, 0, 100}, 1}};
  TreeFitOptions options;
  std::uint64_t calls = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t most) {
    EXPECT_LT(done, most);
    return ++calls < 3;
  };
  EXPECT_THROW(fit_of(Levels{2, 2}, one, 200, options), Interrupted);
  EXPECT_EQ(calls, 3U);
}

TEST(TreeFit, RefusesWhatIsNoCount) {
  const Levels levels{2, 2};
  const auto refused = [&](const MeasuredTable& table, double rows, const char* why) {
    EXPECT_THAT(
        [&] {
          fit_tree(levels, junction_tree(levels, {}), std::vector<MeasuredTable>{table}, rows);
        },
        ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refused({{0}, {1, 2, 3}, 1}, 10, "3 numbers for 2 cells");
  refused({{1, 0}, {1, 2, 3, 4}, 1}, 10, "ascending");
  refused({{0}, {1, std::nan("")}, 1}, 10, "not finite");
  refused({{0}, {1, 2}, 0}, 10, "above 0");
  refused({{0}, {1, 2}, 1}, 0, "rows");
  const TreeModel bad = model_of({2}, {{0}}, {{0, 1e308}});
  EXPECT_THAT([&] { network_of(bad); }, ThrowsMessage<BadInput>(HasSubstr("potentials")));
}

TEST(TreeFit, RowsAreTheMeanOfWhatCountsSay) {
  // Sums 100 of variance 8 and 130 of variance 4.
  const std::vector<MeasuredTable> measured{{{0}, {60, 40}, 2}, {{1}, {30, 30, 30, 40}, 1}};
  EXPECT_DOUBLE_EQ(measured_rows(measured), (100.0 / 8 + 130.0 / 4) / (1.0 / 8 + 1.0 / 4));
  EXPECT_EQ(measured_rows(std::vector<MeasuredTable>{{{0}, {-5, -5}, 2}}), 1);
  EXPECT_EQ(measured_rows({}), 1);
}

TEST(LevelGroups, AreOfRareLevels) {
  const std::vector<MeasuredTable> one_ways{
      {{0}, {100, 2, 50, -1, 8}, 3}, {{1}, {100, 2}, 3}, {{2}, {-4, -5, 100}, 3}};
  const LevelGroups groups = group_rare_levels(one_ways);
  EXPECT_THAT(groups.group[0], ElementsAre(0, 1, 2, 1, 1));
  EXPECT_THAT(groups.group[1], ElementsAre(0, 1));  // one rare level stays as it is
  EXPECT_THAT(groups.group[2], ElementsAre(0, 0, 1));
  EXPECT_THAT(groups.levels(), ElementsAre(3, 2, 2));
  // 2, -1 and 8 as nonnegative counts that sum to 9: 1.5, 0 and 7.5.
  EXPECT_THAT(groups.shares[0], ElementsAre(1, 1.5 / 9, 1, 0, 7.5 / 9));
  EXPECT_THAT(groups.shares[2], ElementsAre(0.5, 0.5, 1));
}

// Rare levels that a rule takes apart stay apart.
TEST(LevelGroups, KeepApartWhatRulesDo) {
  const std::vector<MeasuredTable> one_ways{{{0}, {100, 2, 1, -1, 8, 0}, 3}, {{1}, {100, 2}, 3}};
  const std::vector<StructuralZero> never{{{0, 1}, {{1, 3}, {0}}}, {{0}, {{5}}}};
  const LevelGroups groups = group_rare_levels(one_ways, never);
  EXPECT_THAT(groups.group[0], ElementsAre(0, 1, 2, 1, 2, 3));
  EXPECT_THAT(groups.shares[0], ElementsAre(1, 1, 1.0 / 9, 0, 8.0 / 9, 1));
  const std::vector<StructuralZero> grouped = grouped_zeros(never, groups);
  EXPECT_EQ(grouped[0], (StructuralZero{{0, 1}, {{1}, {0}}}));
  EXPECT_EQ(grouped[1], (StructuralZero{{0}, {{3}}}));
}

TEST(LevelGroups, AreSplitBySharesWhateverTheOthers) {
  const LevelGroups groups{{{0, 1, 0}, {0, 0}, {0, 1}}, {{0.25, 1, 0.75}, {0.9, 0.1}, {1, 1}}};
  const TreeModel model = model_of({2, 1, 2}, {{0, 2}, {1}}, {{0.3, -1, 0.2, 0.7}, {0}});
  const TreeNetwork grouped = network_of(model), whole = split_groups(grouped, groups);
  whole.network.validate();
  const std::vector<double> few = joint_of(grouped), all = joint_of(whole);
  const Levels levels{3, 2, 2};
  ASSERT_EQ(all.size(), 12U);
  for (std::size_t row = 0; row < all.size(); ++row) {
    const std::size_t a = cell_of(levels, row, {0}), b = cell_of(levels, row, {1}),
                      c = cell_of(levels, row, {2});
    const double share = groups.shares[0][a] * groups.shares[1][b];
    EXPECT_NEAR(all[row], share * few[groups.group[0][a] * 2 + c], 1e-15);
  }
}

}  // namespace tree_model_test
}  // namespace gibbsite
