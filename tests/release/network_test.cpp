// Elimination against the joint law summed by hand, questions as text, and drawn people against the
// law that they are drawn from.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/network_query.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace network_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Column category(std::string name, std::vector<std::string> levels) {
  return {.name = std::move(name), .type = ColumnType::category, .levels = std::move(levels)};
}
Column number(std::string name, double lo, double hi, std::vector<double> edges,
              std::optional<int> decimals = {}) {
  return {.name = std::move(name),
          .type = ColumnType::number,
          .lo = lo,
          .hi = hi,
          .edges = std::move(edges),
          .decimals = decimals};
}

// Tables by `share`(column, cell), each configuration divided by its sum.
template <class Share>
NetworkModel network_of(std::vector<Column> columns,
                        std::vector<std::vector<std::uint32_t>> parents, std::size_t draws,
                        const Share& share) {
  NetworkModel out;
  Schema whole;
  whole.label_name = "(none)";
  whole.label = TwoClasses{.positive = "(none)"};
  whole.columns = std::move(columns);
  out.schema = network_schema(whole);
  out.network = {network_levels(out.schema), std::move(parents)};
  out.network.validate();
  for (std::size_t d = 0; d < draws; ++d) {
    auto& tables = out.tables.emplace_back();
    for (std::size_t k = 0; k < out.network.size(); ++k) {
      auto& table = tables.emplace_back(out.network.cells(k));
      for (std::size_t i = 0; i < table.size(); ++i) table[i] = share(k, i);
      const std::size_t levels = out.network.levels[k];
      for (std::size_t c = 0; c < table.size(); c += levels) {
        if (std::count(&table[c], &table[c] + levels, 0.0) == std::ptrdiff_t(levels)) table[c] = 1;
        const double sum = std::accumulate(&table[c], &table[c] + levels, 0.0);
        for (std::size_t l = 0; l < levels; ++l) table[c + l] /= sum;
      }
    }
  }
  return out;
}

NetworkModel random_network(std::size_t columns, std::size_t draws, std::mt19937& random) {
  std::vector<Column> of;
  for (std::size_t k = 0; k < columns; ++k) {
    std::vector<std::string> levels;
    for (std::size_t l = 0; l < 1 + random() % 4; ++l) levels.push_back("l" + std::to_string(l));
    of.push_back(category("c" + std::to_string(k), levels));
  }
  std::vector<std::uint32_t> order(columns);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::vector<std::uint32_t>> parents(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (parents[order[i]].size() < 3 && random() % 2 == 0) parents[order[i]].push_back(order[j]);
    std::ranges::sort(parents[order[i]]);
  }
  std::uniform_real_distribution<double> share;
  return network_of(std::move(of), std::move(parents), draws, [&](std::size_t, std::size_t) {
    return random() % 4 == 0 ? 0.0 : share(random) + 1e-3;
  });
}

// The probability of each combination of levels in one draw, the last column fastest.
std::vector<double> whole_law(const NetworkModel& model, std::size_t draw) {
  const Network& network = model.network;
  std::size_t cells = 1;
  for (const auto levels : network.levels) cells *= levels;
  std::vector<double> out(cells, 1.0);
  for (std::size_t i = 0; i < cells; ++i) {
    std::vector<std::size_t> at(network.size());
    for (std::size_t k = network.size(), rest = i; k-- > 0;) {
      at[k] = rest % network.levels[k];
      rest /= network.levels[k];
    }
    for (std::size_t k = 0; k < network.size(); ++k) {
      std::size_t c = 0;
      for (const auto parent : network.parents[k]) c = c * network.levels[parent] + at[parent];
      out[i] *= model.tables[draw][k][c * network.levels[k] + at[k]];
    }
  }
  return out;
}
std::size_t level_in(const NetworkModel& model, std::size_t cell, std::size_t column) {
  for (std::size_t k = model.network.size(); --k > column;) cell /= model.network.levels[k];
  return cell % model.network.levels[column];
}

TEST(NetworkQuestions, AreSumsOfTheJointLaw) {
  std::mt19937 random(1);
  int impossible = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const NetworkModel model = random_network(1 + random() % 8, 1 + random() % 3, random);
    const std::size_t columns = model.network.size();
    std::vector<std::vector<double>> laws;
    for (std::size_t d = 0; d < model.tables.size(); ++d) laws.push_back(whole_law(model, d));

    std::vector<std::uint32_t> some(columns);
    std::iota(some.begin(), some.end(), 0U);
    std::shuffle(some.begin(), some.end(), random);
    some.resize(random() % (columns + 1));
    const std::vector<double> got = joint(model, some);
    std::vector<double> expected(got.size());
    for (const auto& law : laws) {
      for (std::size_t i = 0; i < law.size(); ++i) {
        std::size_t at = 0;
        for (const auto k : some) at = at * model.network.levels[k] + level_in(model, i, k);
        expected[at] += law[i] / static_cast<double>(laws.size());
      }
    }
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-13);

    NetworkQuestion question;
    for (auto* side : {&question.target, &question.evidence}) {
      for (std::uint32_t k = 0; k < columns; ++k) {
        if (random() % 3 != 0) continue;
        LevelEvent event{k, {}};
        for (std::uint32_t l = 0; l < model.network.levels[k]; ++l)
          if (random() % 2 == 0) event.levels.push_back(l);
        side->push_back(event);
      }
    }
    const auto holds = [&](const std::vector<LevelEvent>& events, std::size_t cell) {
      return std::ranges::all_of(events, [&](const LevelEvent& e) {
        return std::ranges::find(e.levels, level_in(model, cell, e.column)) != e.levels.end();
      });
    };
    std::vector<double> above(laws.size()), below(laws.size());
    for (std::size_t d = 0; d < laws.size(); ++d) {
      for (std::size_t i = 0; i < laws[d].size(); ++i) {
        if (!holds(question.evidence, i)) continue;
        below[d] += laws[d][i];
        if (holds(question.target, i)) above[d] += laws[d][i];
      }
    }
    if (*std::ranges::min_element(below) == 0) {
      EXPECT_THROW(answer(model, question), BadInput);
      ++impossible;
      continue;
    }
    const std::vector<double> answers = answer(model, question);
    ASSERT_EQ(answers.size(), laws.size());
    for (std::size_t d = 0; d < laws.size(); ++d)
      EXPECT_NEAR(answers[d], above[d] / below[d], 1e-12);
  }
  EXPECT_GT(impossible, 3);
  EXPECT_LT(impossible, 100);
}

// 1e-3^199 is no double.
// Independence that the structure alone decides is not what a table said.
TEST(NetworkQuestions, NameColumnsThatNoEdgesJoin) {
  const auto two = [](const std::string& name) { return category(name, {"x", "y"}); };
  // a -> c <- b, c -> d; e alone
  const NetworkModel model =
      network_of({two("a"), two("b"), two("c"), two("d"), two("e")}, {{}, {}, {0, 1}, {2}, {}}, 1,
                 [](std::size_t k, std::size_t cell) { return 1.0 + double((k + cell) % 3); });
  const auto of = [&](const std::string& text) {
    return unjoined_columns(model.network, parse_question(model, text));
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(of("P(a = x)"), IsEmpty());
  EXPECT_THAT(of("P(a = x | b = y)"), ElementsAre(0, 1));  // c, which both lead to, is not asked
  EXPECT_THAT(of("P(a = x | b = y, c = x)"), IsEmpty());
  EXPECT_THAT(of("P(a = x | b = y, d = x)"), IsEmpty());
  EXPECT_THAT(of("P(a = x | d = y)"), IsEmpty());
  EXPECT_THAT(of("P(e = x | d = y)"), ElementsAre(3, 4));
  EXPECT_THAT(of("P(a = x, e = x | d = y)"), ElementsAre(4));
  EXPECT_THAT(of("P(e = x, e = y)"), IsEmpty());
  const auto said = [&](const std::string& text) {
    return question_warnings(model, parse_question(model, text));
  };
  EXPECT_THAT(said("P(a = x | d = y)"), IsEmpty());
  EXPECT_THAT(said("P(a = x, e = x | d = y)"),
              ElementsAre(::testing::HasSubstr("no edges join 'e' to the other columns")));
  // Where it says so, the answer is that of the column alone.
  const auto p = [&](const std::string& text) {
    return answer(model, parse_question(model, text)).front();
  };
  EXPECT_NEAR(p("P(a = x | b = y)"), p("P(a = x)"), 1e-12);
  EXPECT_GT(std::fabs(p("P(a = x | b = y, c = x)") - p("P(a = x)")), 1e-3);
}

TEST(NetworkQuestions, KnowTheNoiseOfACount) {
  NetworkModel model = network_of({category("a", {"x", "y"}), category("b", {"x", "y", "z"})},
                                  {{}, {0}}, 1, [](std::size_t, std::size_t) { return 1.0; });
  const auto noise = [&](const std::string& text) {
    return question_noise(model, parse_question(model, text));
  };
  EXPECT_FALSE(noise("P(a = x)").has_value());  // of drawn tables
  model.counts = {{60, 40}, {10, 20, 30, 10, 20, 10}};
  model.noise = {2, 3};
  EXPECT_DOUBLE_EQ(noise("P(a = x)").value(), 0.02);
  EXPECT_DOUBLE_EQ(noise("P(b in {x, z})").value(), 3 * std::sqrt(4.0) / 100);
  EXPECT_FALSE(noise("P(b = x | a = y)").has_value());
}

TEST(NetworkQuestions, EvidenceOfVeryManyColumns) {
  std::vector<Column> columns;
  std::vector<std::vector<std::uint32_t>> parents(most_network_columns);
  for (std::uint32_t k = 0; k < most_network_columns; ++k) {
    columns.push_back(category("c" + std::to_string(k), {"no", "yes"}));
    if (k > 0) parents[k] = {0};
  }
  const NetworkModel model = network_of(columns, parents, 1, [](std::size_t k, std::size_t i) {
    if (k == 0) return 0.5;
    const double yes = i < 2 ? 1e-3 : 1.01e-3;
    return i % 2 == 1 ? yes : 1 - yes;
  });
  NetworkQuestion question{{{0, {1}}}, {}};
  for (std::uint32_t k = 1; k < most_network_columns; ++k) question.evidence.push_back({k, {1}});
  const double odds = std::pow(1.01, most_network_columns - 1);
  EXPECT_NEAR(answer(model, question)[0], odds / (1 + odds), 1e-11);
}

TEST(NetworkQuestions, ATableTooLargeIsNamed) {
  std::mt19937 random(2);
  std::vector<Column> columns;
  for (int k = 0; k < 9; ++k) columns.push_back(category("c" + std::to_string(k), {"a", "b"}));
  const NetworkModel model = network_of(columns, std::vector<std::vector<std::uint32_t>>(9), 1,
                                        [](std::size_t, std::size_t) { return 1.0; });
  const std::vector<std::uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(joint(model, all, 512).size(), 512U);
  try {
    joint(model, all, 511);
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), HasSubstr("512 cells over c0, c1, c2, c3, c4, c5, c6, c7, c8"));
  }
  EXPECT_THROW(joint(model, std::vector<std::uint32_t>{1, 1}), BadInput);
  EXPECT_THROW(joint(model, std::vector<std::uint32_t>{9}), BadInput);
}

// Names that a careless reader would cut.
NetworkModel people() {
  std::vector<Column> columns{
      category("income", {">50K", "<=50K"}),
      category("marital status", {"Never-married", "Married, civ", "Married", "it's | (over)"}),
      category("marital", {"a", "b", "\"a\""}),
      number("age", 17, 90, {20, 30, 40}, 0),
      number("hours, a week", -1, 1, {-0.5, 0, 0.25}),
      category("in", {"in", "="})};
  columns[1].other = true;
  columns[2].has_missing = true;
  columns[2].missing = "?";
  return network_of(columns, {{}, {0}, {1}, {0}, {3}, {2}}, 1,
                    [](std::size_t k, std::size_t i) { return 1.0 + double(i % (k + 2)); });
}

TEST(NetworkQuestions, AreReadByTheNamesOfTheModel) {
  const NetworkModel model = people();
  const auto levels = [&](const std::string& event) {
    const NetworkQuestion q = parse_question(model, "P(" + event + ")");
    EXPECT_TRUE(q.evidence.empty());
    EXPECT_EQ(q.target.size(), 1U) << event;
    return std::pair{q.target[0].column, q.target[0].levels};
  };
  using Places = std::vector<std::uint32_t>;
  const std::vector<std::tuple<std::string, std::uint32_t, Places>> cases{
      {"income = >50K", 0, {0}},
      {"income=<=50K", 0, {1}},
      {"  income  !=  >50K ", 0, {1}},
      {"income in {>50K, <=50K}", 0, {0, 1}},
      {"marital status = Married", 1, {2}},
      {"marital status = Married, civ", 1, {1}},
      {"marital status in {Married, Married, civ}", 1, {1, 2}},
      {"marital status = it's | (over)", 1, {3}},
      {"'marital status' = 'it''s | (over)'", 1, {3}},
      {"marital status = (other)", 1, {4}},
      {"marital = (missing)", 2, {3}},
      {"marital = a", 2, {0}},
      {"marital = \"a\"", 2, {2}},
      {"\"marital\" != \"b\"", 2, {0, 2, 3}},
      {"age < 30", 3, {0, 1}},
      {"age >= 40", 3, {3}},
      {"age <= 29", 3, {0, 1}},
      {"age > 19", 3, {1, 2, 3}},
      {"age >= 17", 3, {0, 1, 2, 3}},
      {"age <= 90", 3, {0, 1, 2, 3}},
      {"age > 90", 3, {}},
      {"age >= 20, age < 40", 3, {1, 2}},
      {"age = [20, 30)", 3, {1}},
      {"age in {[20, 30), [40, 90]}", 3, {1, 3}},
      {"hours, a week < 0.25", 4, {0, 1, 2}},
      {"hours, a week >= -5e-1", 4, {1, 2, 3}},
      {"in = in", 5, {0}},
      {"in in {in}", 5, {0}},
      {"in = =", 5, {1}},
  };
  for (const auto& [event, column, places] : cases)
    EXPECT_EQ(levels(event), (std::pair{column, places})) << event;
  const NetworkQuestion q =
      parse_question(model, " P ( income = >50K , in = in|marital=a,age < 20 ) ");
  EXPECT_EQ(q.target.size(), 2U);
  ASSERT_EQ(q.evidence.size(), 2U);
  EXPECT_EQ(q.evidence[1].column, 3U);
}

// Cells of d decimals are multiples of 10^-d: whatever value a question names, on that grid or not,
// the levels that it means hold those cells that it means and no other, or it is refused.
TEST(NetworkQuestions, AValueBetweenCellsMeansTheCellsOnItsSide) {
  struct Case {
    Column column;
    double step;
  };
  std::vector<Case> cases{{number("x", 0, 6, {0.5, 1.5, 2.5, 3.5, 4.5, 5.5}, 0), 1},
                          {number("x", 0, 6, {0.5, 2.5, 4.5}, 0), 1},
                          {number("x", 0, 6, {1, 2, 4}, 0), 1},
                          {number("x", -3, 3, {-1.5, 0, 0.2, 0.4, 2}, 0), 1},
                          {number("x", 0, 1, {0.25, 0.3, 0.75}, 1), 0.1},
                          {number("x", 0, 1000, {100, 250.5, 900}, 0), 1},
                          {number("x", 0, 6.5, {2, 4}, 0), 1}};
  for (const auto& [column, step] : cases) {
    const NetworkModel model =
        network_of({column}, {{}}, 1, [](std::size_t, std::size_t) { return 1.0; });
    std::vector<double> ends{column.lo};
    ends.insert(ends.end(), column.edges.begin(), column.edges.end());
    const auto bin_of = [&](double cell) {
      return static_cast<std::uint32_t>(std::ranges::upper_bound(ends, cell) - ends.begin() - 1);
    };
    const auto cells = static_cast<int>(std::floor((column.hi - column.lo) / step + 1e-9));
    int read = 0;
    for (int tenth = -3; tenth <= 10 * std::min(cells, 12) + 3; ++tenth) {
      const double value = column.lo + tenth * step / 10;
      for (const std::string sign : {"<", "<=", ">", ">="}) {
        const std::string text = fmt::format("P(x {} {:.4f})", sign, value);
        std::vector<std::uint32_t> levels;
        try {
          levels = parse_question(model, text).target[0].levels;
        } catch (const BadInput&) {
          continue;
        }
        ++read;
        for (int k = 0; k <= cells; ++k) {
          const double cell = column.lo + k * step, above = cell - value;
          const bool on_it = std::abs(above) < 1e-6 * step;
          const bool meant = on_it ? sign.size() == 2 : (above < 0) == sign.starts_with('<');
          EXPECT_EQ(std::ranges::count(levels, bin_of(cell + 1e-9 * step)) == 1, meant)
              << text << " of " << cell;
        }
      }
    }
    EXPECT_GT(read, 10);
  }
}

// As tables of counts call them.
TEST(NetworkQuestions, ABinOfOneNumberHasItsName) {
  const NetworkModel model =
      network_of({number("x", 0, 7, {0.5, 2, 3, 5}, 0), number("y", 0, 1, {0.5}),
                  number("z", 0, 9, {0.005, 0.015, 4}, 2)},
                 {{}, {}, {}}, 1, [](std::size_t, std::size_t) { return 1.0; });
  const auto level = [&](const std::string& text) {
    return parse_question(model, "P(" + text + ")").target[0].levels;
  };
  EXPECT_EQ(level("x = 0"), std::vector{0U});
  EXPECT_EQ(level("x in {2, [0, 0.5)}"), (std::vector{0U, 2U}));
  EXPECT_EQ(level("x = 1"), std::vector{1U});
  EXPECT_EQ(level("x != 2.0"), (std::vector{0U, 1U, 3U, 4U}));
  EXPECT_EQ(level("z = 0"), std::vector{0U});
  EXPECT_EQ(level("z = 0.01"), std::vector{1U});
  // 0.07 * 100 is above 7 in double: [0.07, 0.09) holds it all the same, and has no name.
  const NetworkModel hundredths = network_of({number("u", 0, 1, {0.07, 0.09, 0.1}, 2)}, {{}}, 1,
                                             [](std::size_t, std::size_t) { return 1.0; });
  EXPECT_THROW(parse_question(hundredths, "P(u = 0.08)"), BadInput);
  EXPECT_EQ(parse_question(hundredths, "P(u = 0.09)").target[0].levels, std::vector{2U});
  for (const char* const text :
       {"P(x = 3)", "P(x = 7)", "P(x = 0.5)", "P(y = 0)", "P(z = 0.02)", "P(z = 4)"})
    EXPECT_THROW(parse_question(model, text), BadInput) << text;
}

TEST(NetworkQuestions, WhatCannotBeReadIsOneLine) {
  const NetworkModel model = people();
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "does not begin with P("},
           {"income = >50K", "does not begin with P("},
           {"P()", "lacks a column before )"},
           {"P(x = 1)", "columns are income, marital status, marital, age, hours, a week, in"},
           {"P(income = >50K", "has no closing )"},
           {"P(income = >50K) and more", "goes on"},
           {"P(income)", "says nothing of 'income'"},
           {"P(salary = 3)", "no column 'salary'"},
           {"P(income = >60K)", "'income' has no level '>60K'; its levels are >50K, <=50K"},
           {"P(income >= 50K)", "'income' is no number"},
           {"P(income in >50K)", "has no {"},
           {"P(income in {>50K)", "has no level '>50K)'"},
           {"P(income = >50K | )", "lacks a column before )"},
           {"P(income = >50K || in = in)", "lacks a column before |"},
           {"P(income in {})", "lists no level"},
           {"P(age < 33)",
            "cuts a bin; its bins hold their lower end and meet at 17, 20, 30, 40, 90"},
           {"P(age <= 30)", "cuts a bin"},
           {"P(age < 90)", "cuts a bin"},
           {"P(hours, a week <= 0)", "cuts a bin"},
           {"P(age < old)", "compares with no number"},
           {"P(age = 20)", "'age' has no bin '20'; its bins are [17, 20), [20, 30)"},
           {"P(age = \x1b[31m)", "\\x1b[31m"},
       }) {
    try {
      parse_question(model, text);
      ADD_FAILURE() << text;
    } catch (const BadInput& e) {
      EXPECT_THAT(e.what(), HasSubstr(what)) << text;
    }
  }
  EXPECT_THROW(answer(model, parse_question(model, "P(in = in | age > 90)")), BadInput);
  // Beyond the range there is nobody: cells are clamped.
  EXPECT_EQ(answer(model, parse_question(model, "P(age > 90)"))[0], 0);
  EXPECT_EQ(answer(model, parse_question(model, "P(age < 16.5)"))[0], 0);
  EXPECT_NEAR(answer(model, parse_question(model, "P(age < 1000)"))[0], 1, 1e-12);
  EXPECT_EQ(answer(model, parse_question(model, "P(in = in | in = =)"))[0], 0);
}

std::string csv_of(const NetworkModel& model, std::uint64_t rows, std::uint64_t seed,
                   std::size_t threads = 1, char delimiter = ',') {
  std::string out;
  SynthesisOptions options;
  options.threads = threads;
  options.delimiter = delimiter;
  synthesize(
      model, rows, StreamKey::from_seed(seed), [&](std::string_view text) { out += text; },
      options);
  return out;
}

// Levels of a table that was read through the model's schema [rows][K].
std::vector<std::vector<std::uint32_t>> levels_read(const NetworkModel& model,
                                                    const Dataset& data) {
  const auto columns = level_columns(model.schema);
  std::vector<std::vector<std::uint32_t>> out(data.rows());
  const Rows rows = data.view();
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (const LevelColumn& column : columns) {
      std::uint32_t level = 0;
      if (column.is_number) {
        while (level < column.edges.size() && rows(i, column.first_feature) >= column.edges[level])
          ++level;
      } else {
        while (rows(i, column.first_feature + level) == 0) ++level;
      }
      out[i].push_back(level);
    }
  }
  return out;
}
std::vector<std::vector<std::uint32_t>> written_and_read(const NetworkModel& model,
                                                         const std::string& csv) {
  const testing::TempDir folder;
  ReadOptions options;
  options.labels = ReadOptions::Labels::optional;
  return levels_read(model, read_table(folder.write("people.csv", csv), model.schema, options));
}

// Whether counts fit expectations at 1e-6: cells of fewer than 5 together.
bool fits(const std::vector<double>& counts, const std::vector<double>& expected) {
  double chi = 0, rest = 0, rest_expected = 0;
  int cells = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] < 5) {
      rest += counts[i], rest_expected += expected[i];
    } else {
      chi += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
      ++cells;
    }
  }
  if (rest_expected < 1e-9 && rest > 0) return false;
  if (rest_expected >= 5) {
    chi += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
    ++cells;
  }
  if (cells < 2) return true;
  const boost::math::chi_squared law(cells - 1);
  return chi < boost::math::quantile(boost::math::complement(law, 1e-6));
}

TEST(Synthesis, HasTheLawOfTheNetwork) {  // 12 tests of 1e-6 each on a fixed seed
  std::mt19937 random(3);
  for (std::uint64_t trial = 0; trial < 12; ++trial) {
    const NetworkModel model = random_network(6, 1 + trial % 2, random);
    constexpr std::uint64_t rows = 40'000;
    const auto people =
        levels_read(model, synthetic_rows(model, rows, StreamKey::from_seed(trial)));
    std::vector<std::uint32_t> all(model.network.size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<double> expected = joint(model, all), counts(expected.size());
    for (const auto& person : people) {
      std::size_t at = 0;
      for (std::size_t k = 0; k < all.size(); ++k) at = at * model.network.levels[k] + person[k];
      ASSERT_GT(expected[at], 0) << "of probability 0";
      ++counts[at];
    }
    for (double& e : expected) e *= static_cast<double>(rows);
    EXPECT_TRUE(fits(counts, expected)) << trial;
    // A planted error: a tenth of the likeliest cell goes to the next one.
    const auto most =
        static_cast<std::size_t>(std::ranges::max_element(expected) - expected.begin());
    if (expected[most] > 0.99 * static_cast<double>(rows)) continue;
    const std::size_t next = (most + 1) % expected.size();
    expected[next] += expected[most] / 10;
    expected[most] *= 0.9;
    EXPECT_FALSE(fits(counts, expected)) << trial;
  }
}

TEST(Synthesis, IsTheSameForAnyNumberOfThreads) {
  const NetworkModel model = people();
  const std::string one = csv_of(model, 50'000, 7);
  EXPECT_EQ(csv_of(model, 50'000, 7, 5), one);
  EXPECT_NE(csv_of(model, 50'000, 8, 5), one);
  // A row does not depend on how many there are.
  EXPECT_TRUE(one.starts_with(csv_of(model, 4'097, 7, 2)));
}

// Which level a number is in is decided by that of the column before it: nothing is off by a bin.
TEST(Synthesis, IsReadToTheSameLevels) {
  const std::vector<std::string> odd{"plain",  "a,b",    "say \"so\"", " blank ", "two\nlines",
                                     "semi;c", "tab\tc", "",           "é",       "\r"};
  struct Case {
    Column column;
    char decimal = '.';
    char delimiter = ',';
  };
  std::vector<double> nine, tenths;
  for (int i = 1; i < 10; ++i) nine.push_back(1e8 * i), tenths.push_back(i / 10.0);
  std::vector<Case> cases{
      {number("n, of", 0, 1e9, nine, 0)},  // where floats are 64 apart
      {number("n;of;of", -3, 7, {-2, -1, 0, 1, 2, 3, 4, 5, 6}, 0)},
      {number("n", 0, 1, tenths)},
      {number("n", 0, 1, tenths), ',', ';'},
      {number("n", 0, 1, tenths), ','},
      {number("n", 0, 1, tenths, 0)},  // of most bins no whole number: it takes decimals
      {number("n", 0, 1e300, {1e299, 2e299, 3e299, 4e299, 5e299, 6e299, 7e299, 8e299, 9e299})},
      {number("n", 0, 1e-90, {1e-91, 2e-91, 3e-91, 4e-91, 5e-91, 6e-91, 7e-91, 8e-91, 9e-91})},
      {number("n", -3, 7, {-2, -1, 0, 1, 2, 3, 4, 5, 6}, 1)},
      {number("n", 0, 1e3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 2)},
  };
  cases[1].column.has_missing = cases[8].column.has_missing = true;
  cases[1].column.missing = "2";  // a bin's only whole number is written "2.0" then
  cases[8].column.missing = "2.5";
  cases[1].column.missing_level = cases[8].column.missing_level = false;
  cases[8].column.also_missing = {"2.6", "-1", "?", "2.60"};
  for (const Case& one : cases) {
    Column levels = category("level", odd);
    levels.other = true;
    levels.levels.pop_back();
    NetworkModel model =
        network_of({levels, one.column}, {{}, {0}}, 1, [](std::size_t k, std::size_t i) {
          return k == 0 ? 1.0 : i / 10 == i % 10 ? 1.0 : 0.0;
        });
    model.schema.text.decimal = one.decimal;
    const auto read = written_and_read(model, csv_of(model, 20'000, 5, 2, one.delimiter));
    ASSERT_EQ(read.size(), 20'000U);
    for (const auto& person : read) ASSERT_EQ(person[0], person[1]) << one.column.hi;
  }
}

// Missing cells have a level behind the bins. Readers find it again, however missing is written.
TEST(Synthesis, MissingNumbersAreReadToTheirLevel) {
  std::vector<double> nine;
  for (int i = 1; i < 9; ++i) nine.push_back(1e8 * i);
  for (const Column& kind :
       {number("n, of", 0, 9e8, nine, 0), number("n", 0, 9, {1, 2, 3, 4, 5, 6, 7, 8}, 1),
        number("n", 0, 9e300, {1e300, 2e300, 3e300, 4e300, 5e300, 6e300, 7e300, 8e300})}) {
    for (const char* mark : {"", "NA", "a,b", "2", " "}) {
      Column column = kind;
      column.has_missing = true;
      column.missing = mark;
      Column levels = category("level", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
      const NetworkModel model =
          network_of({levels, column}, {{}, {0}}, 1, [](std::size_t k, std::size_t i) {
            return k == 0 ? 1.0 : i / 10 == i % 10 ? 1.0 : 0.0;
          });
      ASSERT_EQ(model.network.levels[1], 10U);
      const std::string csv = csv_of(model, 3'000, 5);
      const auto read = written_and_read(model, csv);
      ASSERT_EQ(read.size(), 3'000U);
      for (const auto& person : read) ASSERT_EQ(person[0], person[1]) << column.hi << mark;
      if (*mark == 0) {
        EXPECT_THAT(csv, HasSubstr("\n9,\n"));
      }
    }
  }
  // An empty line would be no row in a table of one column, so the cell is quoted.
  Column alone = number("n", 0, 9, {5}, 0);
  alone.has_missing = true;
  const NetworkModel model =
      network_of({alone}, {{}}, 1, [](std::size_t, std::size_t) { return 1.0; });
  const std::string csv = csv_of(model, 3'000, 5);
  EXPECT_THAT(csv, HasSubstr("\n\"\"\n"));
  EXPECT_EQ(written_and_read(model, csv).size(), 3'000U);
}

TEST(Synthesis, NumbersAreUniformInTheirBins) {
  const NetworkModel model =
      network_of({number("age", 17, 90, {20, 30, 40}, 0), number("x", 0, 1, {0.5})}, {{}, {}}, 1,
                 [](std::size_t, std::size_t) { return 1.0; });
  std::istringstream csv(csv_of(model, 40'000, 11));
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "age,x");
  std::vector<double> counts(91), expected(91), tens(10);
  while (std::getline(csv, line)) {
    const auto comma = line.find(',');
    ++counts[std::stoul(line.substr(0, comma))];
    const std::string x = line.substr(comma + 1);  // a hundredth of a bin of 0.5: three decimals
    EXPECT_EQ(x.size(), 5U) << x;
    ++tens[std::min<std::size_t>(9, static_cast<std::size_t>(10 * std::stod(x)))];
  }
  for (std::size_t a = 17; a <= 90; ++a)  // 90 is in the last bin
    expected[a] = 10'000.0 / (a < 20 ? 3 : a < 40 ? 10 : 51);
  EXPECT_TRUE(fits(counts, expected));
  EXPECT_TRUE(fits(tens, std::vector<double>(10, 4'000.0)));
  std::swap(expected[18], expected[50]);
  EXPECT_FALSE(fits(counts, expected));
}

TEST(Synthesis, EndsAsItIsTold) {
  const NetworkModel model = people();
  const StreamKey stream = StreamKey::from_seed(1);
  const auto ignore = [](std::string_view) {};
  EXPECT_THROW(synthesize(model, 0, stream, ignore), BadInput);
  EXPECT_THROW(synthetic_rows(model, 0, stream), BadInput);
  SynthesisOptions options;
  options.delimiter = 'x';
  EXPECT_THROW(synthesize(model, 1, stream, ignore, options), BadInput);
  options.delimiter = ',';
  options.threads = 3;
  options.progress = [](std::uint64_t done, std::uint64_t) { return done < 100'000; };
  EXPECT_THROW(synthesize(model, 1'000'000'000'000, stream, ignore, options), Interrupted);
  options.progress = {};
  std::size_t pieces = 0;
  EXPECT_THROW(synthesize(
                   model, 1'000'000'000'000, stream,
                   [&](std::string_view) {
                     if (++pieces == 20) throw BadInput("full");
                   },
                   options),
               BadInput);
}

}  // namespace network_test
}  // namespace gibbsite
