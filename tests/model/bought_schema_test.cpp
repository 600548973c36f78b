// Schemas from planted answers: what is taken for what, and that nothing but the answers counts.
#include "gibbsite/model/bought_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace bought_schema_answers_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double n = 10'000;
constexpr auto first_bin = static_cast<std::size_t>(CellClass::first_bin);

// Answers without noise, read as if they had a little.
BoughtSchema planted(std::vector<ColumnAnswers> columns) {
  BoughtSchema out;
  out.scale = {.rows = static_cast<std::uint64_t>(n),
               .bins_noise = 20,
               .levels_noise = 15,
               .threshold = 100,
               .refine_noise = 10};
  out.label = "y";
  out.target = TwoClasses{.positive = "1"};
  out.columns = std::move(columns);
  return out;
}

ColumnAnswers column(const std::string& name) {
  ColumnAnswers out;
  out.name = name;
  out.classes.assign(cell_classes, 0.0);
  return out;
}
ColumnAnswers of_classes(double empty, double mark, double text, double date) {
  ColumnAnswers out = column("x");
  out.classes[0] = empty, out.classes[1] = mark, out.classes[2] = text, out.classes[3] = date;
  return out;
}
// Rows spread evenly over a range of numbers, as counts of the series' bins.
ColumnAnswers of_numbers(double lo, double hi, double rows = n, Written form = Written::plain) {
  ColumnAnswers out = column("x");
  for (int i = 0; i < 1000; ++i)
    out.classes[number_class(lo + (hi - lo) * (i + 0.5) / 1000, form)] += rows / 1000;
  return out;
}
ColumnFinding found(ColumnAnswers one) {
  BoughtSchema answers = planted({std::move(one)});
  return findings(answers).front();
}
// Answers about ranges as a table of such numbers gives them.
void answer(BoughtSchema& answers, const std::function<double(double, double)>& rows_between) {
  for (const RangeQuestion& one : range_questions(answers)) {
    const std::vector<double> ends = one.edges();
    RangeAnswer& range = answers.columns[one.column].ranges.emplace_back();
    range.lo = one.lo, range.hi = one.hi;
    for (std::size_t b = 0; b < refined_bins; ++b)
      range.rows.push_back(rows_between(ends[b], ends[b + 1]));
  }
}

TEST(BoughtTypes, NumbersLevelsDatesAndWhatIsIgnored) {
  EXPECT_EQ(found(of_numbers(17, 90)).column.type, ColumnType::number);
  ColumnAnswers levels = of_classes(0, 0, n, 0);
  levels.levels = {{"b", 6000}, {"a", 4000}};
  const ColumnFinding category = found(levels);
  EXPECT_EQ(category.column.type, ColumnType::category);
  EXPECT_THAT(category.column.levels, ElementsAre("b", "a"));
  EXPECT_TRUE(category.column.other);
  EXPECT_THAT(category.words, HasSubstr("6000 b"));
  EXPECT_THAT(found(of_classes(0, 0, n, 0)).words, HasSubstr("no text is frequent enough"));
  EXPECT_THAT(found(of_classes(0, 0, 0, n)).words, HasSubstr("10000 dates"));
  EXPECT_TRUE(found(of_classes(0, 0, 0, n)).column.is_date());
  ColumnAnswers constant = of_classes(0, 0, n, 0);
  constant.levels = {{"same", n}};
  EXPECT_THAT(found(constant).words, HasSubstr("nearly constant"));
  ColumnAnswers not_asked;
  not_asked.name = "person_id";
  EXPECT_THAT(found(not_asked).words, HasSubstr("named like an id"));
  EXPECT_EQ(found(not_asked).column.type, ColumnType::ignore);
}

TEST(BoughtTypes, FewNumbersAreLevels) {
  ColumnAnswers few = of_numbers(1, 5);
  few.levels = {{"1", 4000}, {"2", 3000}, {"3", 2900}};
  EXPECT_EQ(found(few).column.type, ColumnType::category);
  few.levels.back().rows = 2000;  // 90 % alone
  EXPECT_EQ(found(few).column.type, ColumnType::number);
}

TEST(BoughtTypes, TextAmongNumbersAndNumbersAmongText) {
  ColumnAnswers mixed = of_numbers(1, 5, .97 * n);
  mixed.classes[2] = .03 * n;
  EXPECT_EQ(found(mixed).column.type, ColumnType::number);
  mixed = of_numbers(1, 5, .6 * n);
  mixed.classes[2] = .4 * n;
  EXPECT_EQ(found(mixed).column.type, ColumnType::ignore);
}

TEST(BoughtTypes, NumbersInOtherForms) {
  const auto both = [](double plain, double other, Written form) {
    ColumnAnswers out = of_numbers(0, 1000, plain);
    const ColumnAnswers more = of_numbers(0, 5000, other, form);
    for (std::size_t i = 0; i < cell_classes; ++i) out.classes[i] += more.classes[i];
    return out;
  };
  EXPECT_EQ(found(both(n, 0, Written::comma)).column.numbers, std::nullopt);
  const ColumnFinding comma = found(both(.3 * n, .7 * n, Written::comma));
  EXPECT_EQ(comma.column.numbers->decimal, ',');
  EXPECT_EQ(comma.column.numbers->thousands.size(), std::size(thousands_signs) - 1);
  EXPECT_THAT(comma.words, HasSubstr("10000 numbers with a decimal comma"));
  EXPECT_LE(comma.column.lo, 50);
  EXPECT_GE(comma.column.hi, 5000);
  const ColumnFinding grouped = found(both(.6 * n, .4 * n, Written::grouped));
  EXPECT_EQ(grouped.column.numbers->decimal, '.');
  EXPECT_THAT(grouped.column.numbers->thousands, testing::Contains(","));
  BoughtSchema answers = planted({both(.3 * n, .7 * n, Written::comma)});
  EXPECT_EQ(range_questions(answers).front().written, Written::comma);
  schema_of(answers).validate("bought");
  // Three decimals look like groups: a decimal comma that is seen decides.
  ColumnAnswers three = both(0, .9 * n, Written::grouped);
  const ColumnAnswers few = of_numbers(0, 5, .1 * n, Written::comma);
  for (std::size_t i = 0; i < cell_classes; ++i) three.classes[i] += few.classes[i];
  EXPECT_EQ(found(three).column.numbers->decimal, ',');
}

TEST(BoughtTypes, DatesHaveARangeOfMonths) {
  const auto between = [](const char* from, const char* to, double texts = 0) {
    BoughtSchema answers = planted({of_classes(texts, 0, 0, n - texts)});
    EXPECT_EQ(range_questions(answers).front().dates, iso_date);
    const double first = *parse_date(from), last = *parse_date(to) + 1;
    for (std::size_t round = 0; round < refinements; ++round)
      answer(answers, [&](double low, double high) {
        return n * std::max(std::min(high, last) - std::max(low, first), 0.0) / (last - first);
      });
    EXPECT_THAT(range_questions(answers), IsEmpty());
    const Schema schema = schema_of(answers);
    schema.validate("bought");
    EXPECT_EQ(schema.columns[0].missing_level.value_or(false), texts > 0);
    return schema.columns[0];
  };
  const Column hired = between("2015-03-07", "2018-11-20");
  EXPECT_NEAR(hired.lo, *parse_date("2015-03-01"), 120);
  EXPECT_THAT(date_text(hired.lo), testing::EndsWith("-01"));
  EXPECT_NEAR(hired.hi, *parse_date("2018-11-30"), 120);
  EXPECT_TRUE(hired.automatic_curve);
  const Column born = between("1930-05-07", "1999-11-20", 2000);
  EXPECT_THAT(date_text(born.lo), testing::EndsWith("-01-01"));
  EXPECT_THAT(date_text(born.hi), testing::EndsWith("-12-31"));
  EXPECT_NEAR(born.lo, *parse_date("1930-01-01"), 1100);
  EXPECT_NEAR(born.hi, *parse_date("1999-12-31"), 1100);
  // As many days as rows are no row numbers.
  EXPECT_TRUE(between("1960-01-01", "1990-01-01").is_date());
}

TEST(BoughtTypes, BooleansInAnySpelling) {
  ColumnAnswers flags = of_classes(0, 0, n, 0);
  flags.levels = {{"yes", 5000}, {"no", 3000}, {"TRUE", 1500}};
  EXPECT_TRUE(found(flags).column.is_boolean);
  EXPECT_THAT(found(flags).column.levels, ElementsAre("false", "true"));
  schema_of(planted({flags})).validate("bought");
  flags.levels.push_back({"maybe", 400});
  EXPECT_FALSE(found(flags).column.is_boolean);
  flags.levels = {{"M", 5000}, {"F", 4900}};
  EXPECT_THAT(found(flags).column.levels, ElementsAre("M", "F"));
  ColumnAnswers digits = of_numbers(0, 2);
  digits.levels = {{"0", 6000}, {"1", 4000}};
  EXPECT_THAT(found(digits).column.levels, ElementsAre("0", "1"));
}

// One format of dates is read. Day or month first: what dates of one reading alone say.
TEST(BoughtTypes, DatesInOtherFormats) {
  const auto of = [](std::size_t place, double rows) {
    ColumnAnswers out = of_classes(0, 0, n - rows, 0);
    out.classes[first_date_class + place] = rows;
    return out;
  };
  for (std::size_t k = 0; k < date_formats.size(); ++k) {
    const ColumnFinding one = found(of(k, n));
    EXPECT_EQ(one.column.date, date_formats[k]);
    EXPECT_THAT(one.words, HasSubstr("10000 dates like " + date_text(19'722, date_formats[k])));
    BoughtSchema answers = planted({of(k, n)});
    EXPECT_EQ(range_questions(answers).front().dates, date_formats[k]);
    EXPECT_EQ(found(of(k, .4 * n)).column.type, ColumnType::ignore);
    ColumnAnswers two = of(k, .6 * n);  // some as ISO 8601 has them: texts, as one format is read
    two.classes[2] = 0, two.classes[3] = .4 * n;
    EXPECT_EQ(found(two).column.type, ColumnType::ignore);
  }
  for (std::size_t k = 0; k < paired_date_formats.size(); ++k) {
    const std::size_t first = date_formats.size() + 3 * k;
    for (std::size_t order = 0; order < 2; ++order) {
      ColumnAnswers dates = of(first + order, .6 * n);
      dates.classes[2] = 0;
      dates.classes[first_date_class + first + 2] = .4 * n;
      EXPECT_EQ(found(dates).column.date, paired_date_formats[k][order]);
    }
    EXPECT_THAT(found(of(first + 2, n)).words, HasSubstr("hides whether the day comes first"));
  }
  // Noise in classes that no cell is in: below four deviations it is nothing.
  ColumnAnswers numbers = of_numbers(17, 90);
  for (std::size_t k = first_date_class; k < cell_classes; ++k) numbers.classes[k] = 79;
  EXPECT_EQ(found(numbers).column.type, ColumnType::number);
}

// Frequent texts among numbers or dates stand for missing cells.
TEST(BoughtTypes, FrequentTextsAmongNumbersMarkMissingCells) {
  const auto with = [](ColumnAnswers one, std::vector<LevelAnswer> levels) {
    for (const LevelAnswer& level : levels) one.classes[2] += level.rows;
    one.levels = std::move(levels);
    return one;
  };
  const ColumnFinding some =
      found(with(of_numbers(0, 30, .7 * n), {{"k.A.", .2 * n}, {"unknown", .1 * n}}));
  EXPECT_EQ(some.column.type, ColumnType::number);
  EXPECT_EQ(some.column.missing_level, true);
  EXPECT_THAT(some.column.also_missing, testing::IsSupersetOf({"NA", "k.A.", "unknown"}));
  EXPECT_THAT(some.words, HasSubstr("about 3000 missing, also k.A., unknown"));
  schema_of(planted({with(of_numbers(0, 30, .9 * n), {{"k.A.", .1 * n}})})).validate("bought");
  const ColumnFinding day = found(with(of_classes(0, 0, 0, .8 * n), {{"unknown", .2 * n}}));
  EXPECT_TRUE(day.column.is_date());
  EXPECT_THAT(day.column.also_missing, testing::Contains("unknown"));
  // "65+" says a number; four texts, or texts of which most are not seen, are levels.
  const auto type = [&](double numbers, std::vector<LevelAnswer> levels) {
    return found(with(of_numbers(0, 30, numbers), std::move(levels))).column.type;
  };
  EXPECT_EQ(type(.8 * n, {{"65+", .2 * n}}), ColumnType::category);
  EXPECT_EQ(type(.6 * n, {{"a", .1 * n}, {"b", .1 * n}, {"c", .1 * n}, {"d", .1 * n}}),
            ColumnType::category);
  ColumnAnswers rare = with(of_numbers(0, 30, .6 * n), {{"unknown", .1 * n}});
  rare.classes[2] = .4 * n;
  EXPECT_EQ(found(rare).column.type, ColumnType::category);
  EXPECT_THAT(found(rare).column.levels, ElementsAre("unknown"));
  EXPECT_EQ(type(.4 * n, {{"unknown", .6 * n}}), ColumnType::category);
}

// Files of before, which have no dates but those of ISO 8601 and no marks but the public ones.
TEST(BoughtTypes, OfTheSecondQuestionsStayWhatTheyWere) {
  ColumnAnswers mixed = of_numbers(0, 30, .8 * n);
  mixed.classes[2] = .2 * n;
  mixed.levels = {{"k.A.", .2 * n}};
  EXPECT_EQ(found(mixed).column.type, ColumnType::number);
  mixed.classes.resize(cell_classes_of(iso_questions));
  BoughtSchema answers = planted({std::move(mixed)});
  answers.questions = iso_questions;
  EXPECT_EQ(findings(answers).front().column.type, ColumnType::category);
}

// Files of before: their classes and rules.
TEST(BoughtTypes, OfTheFirstQuestionsStayWhatTheyWere) {
  const auto first = [](ColumnAnswers one) {
    one.classes.resize(cell_classes_of(first_questions));
    BoughtSchema answers = planted({std::move(one)});
    answers.questions = first_questions;
    EXPECT_EQ(schema_of(answers).text.also_missing.size(), 9U);
    return findings(answers).front();
  };
  EXPECT_THAT(first(of_classes(0, 0, 0, n)).words, HasSubstr("not read as numbers"));
  EXPECT_EQ(first(of_numbers(17, 90)).column.type, ColumnType::number);
  ColumnAnswers flags = of_classes(0, 0, n, 0);
  flags.levels = {{"yes", 5000}, {"no", 3000}, {"TRUE", 1500}};
  EXPECT_THAT(first(flags).column.levels, ElementsAre("yes", "no", "TRUE"));
}

TEST(BoughtTypes, MissingCellsHaveALevel) {
  ColumnAnswers gone = of_numbers(17, 90, .9 * n);
  gone.classes[0] = .05 * n, gone.classes[1] = .05 * n;
  EXPECT_EQ(found(gone).column.missing_level, true);
  EXPECT_THAT(found(gone).words, HasSubstr("1000 missing"));
  EXPECT_EQ(found(of_numbers(17, 90)).column.missing_level, false);
  ColumnAnswers levels = of_classes(.2 * n, .1 * n, .7 * n, 0);
  levels.levels = {{"a", .4 * n}, {"b", .3 * n}};
  const BoughtSchema answers = planted({levels});
  const Schema schema = schema_of(answers);
  EXPECT_TRUE(schema.has_missing_level(schema.columns[0]));
  schema.validate("bought");
}

TEST(BoughtRanges, AreNarrowedTwice) {
  const auto range_of = [](double lo, double hi) {
    BoughtSchema answers = planted({of_numbers(lo, hi)});
    for (std::size_t round = 0; round < refinements; ++round)
      answer(answers, [&](double from, double to) {
        return n * std::max(std::min(to, hi) - std::max(from, lo), 0.0) / (hi - lo);
      });
    EXPECT_THAT(range_questions(answers), IsEmpty());
    const Column out = findings(answers).front().column;
    return std::vector<double>{out.lo, out.hi};
  };
  const std::vector<double> age = range_of(17, 90);
  EXPECT_NEAR(age[0], 17, 2);
  EXPECT_NEAR(age[1], 90, 2);
  const std::vector<double> year = range_of(1997, 2002);
  EXPECT_NEAR(year[0], 1997, 3);
  EXPECT_NEAR(year[1], 2002, 3);
  const std::vector<double> latitude = range_of(44.89, 45.05);
  EXPECT_NEAR(latitude[0], 44.89, .03);
  EXPECT_NEAR(latitude[1], 45.05, .03);
  const std::vector<double> signed_range = range_of(-40, 40);
  EXPECT_NEAR(signed_range[0], -40, 3);
  EXPECT_NEAR(signed_range[1], 40, 3);
}

TEST(BoughtRanges, HeightsAreNoFlags) {
  BoughtSchema answers = planted({of_numbers(1.3, 1.95)});
  ASSERT_EQ(range_questions(answers).size(), 1U);
  EXPECT_EQ(range_questions(answers).front(), (RangeQuestion{.column = 0, .lo = 0, .hi = 2}));
  answer(answers, [](double from, double to) {
    return n * std::max(std::min(to, 1.95) - std::max(from, 1.3), 0.0) / .65;
  });
  const Column out = findings(answers).front().column;
  EXPECT_NEAR(out.lo, 1.3, .1);
  EXPECT_NEAR(out.hi, 1.95, .1);
}

TEST(BoughtRanges, OnlyZerosAreFromZeroToOne) {
  ColumnAnswers zeros = column("x");
  zeros.classes[number_class(0)] = n;
  BoughtSchema answers = planted({zeros});
  EXPECT_THAT(range_questions(answers), IsEmpty());
  const Column out = findings(answers).front().column;
  EXPECT_EQ(out.lo, 0);
  EXPECT_EQ(out.hi, 1);
}

TEST(BoughtRanges, SkewedAmountsHaveLogarithmicKnots) {
  BoughtSchema answers = planted({of_numbers(0, 1000)});
  answer(answers,
         [](double from, double to) { return n * (std::exp(-from / 60) - std::exp(-to / 60)); });
  const ColumnFinding out = findings(answers).front();
  EXPECT_EQ(out.column.scale, KnotScale::log);
  EXPECT_TRUE(out.column.automatic_curve);
  EXPECT_THAT(out.words, HasSubstr("skewed"));
}

TEST(BoughtRanges, FlatOnesAreRowNumbers) {
  BoughtSchema answers = planted({of_numbers(0, n)});
  for (std::size_t round = 0; round < refinements; ++round)
    answer(answers, [](double from, double to) {
      return std::max(std::min(to, n) - std::max(from, 0.0), 0.0);
    });
  EXPECT_THAT(findings(answers).front().words, HasSubstr("flat"));
}

TEST(BoughtLevels, OfAPublicListStandForIt) {
  ColumnAnswers months = of_classes(0, 0, n, 0);
  months.levels = {{"May", 5000}, {"Jun", 3000}, {"Jan", 2000}};
  EXPECT_EQ(found(months).column.levels.size(), 12U);
  EXPECT_EQ(found(months).column.levels.front(), "May");
  months.levels.push_back({"x", 150});
  EXPECT_EQ(found(months).column.levels.size(), 4U);
}

// Levels that read like a feature of another kind would make two features of one name.
TEST(BoughtLevels, NeverReadAsOtherOrMissing) {
  ColumnAnswers odd = of_classes(.2 * n, 0, .8 * n, 0);
  odd.levels = {{"(other)", 3000}, {"(missing)", 3000}, {"a", 2000}};
  const BoughtSchema answers = planted({odd});
  EXPECT_THAT(schema_of(answers).columns[0].levels, ElementsAre("a"));
  schema_of(answers).validate("bought");
}

TEST(BoughtNames, OfIds) {
  for (const char* const name : {"id", "ID", "person_id", "userId", "row.id", "rownames", "SSN",
                                 "household index", "customerID"})
    EXPECT_TRUE(named_like_an_id(name)) << name;
  for (const char* const name : {"age", "paid", "humid", "identity", "idle", "period", "solid"})
    EXPECT_FALSE(named_like_an_id(name)) << name;
}

TEST(BoughtNames, ThatCouldBecomeOneFeature) {
  EXPECT_TRUE(names_fault(std::vector<std::string>{"a", "b", "b=c=", "=a"}).text().find("b=c=") !=
              std::string::npos);
  EXPECT_TRUE(names_fault(std::vector<std::string>{"a", "b", "c=d"}).empty());
  EXPECT_FALSE(names_fault(std::vector<std::string>{"(intercept)"}).empty());
}

// Whatever noise says, a schema follows that is legal wherever it uses a column, and no question is
// about a range that is none.
TEST(BoughtAnswers, AnyLeadToALegalSchema) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::normal_distribution<double> normal;
  std::size_t used = 0;
  for (int run = 0; run < 60; ++run) {
    std::vector<ColumnAnswers> columns;
    for (int k = 0; k < 4; ++k) {
      ColumnAnswers one = column("c" + std::to_string(k));
      const double scale = std::pow(10, 4 * share(random));
      for (double& count : one.classes)
        count = scale * normal(random) + (share(random) < .05 ? n * share(random) : 0);
      if (run % 3 == 0)
        for (std::size_t b = first_bin; b < cell_classes; ++b) one.classes[b] = -1e300;
      for (int j = 0; j < run % 14; ++j)
        one.levels.push_back({std::string(1, static_cast<char>('a' + j)), 2000.0 / (j + 1)});
      columns.push_back(std::move(one));
    }
    BoughtSchema answers = planted(std::move(columns));
    for (std::size_t round = 0; round < refinements; ++round) {
      for (const RangeQuestion& one : range_questions(answers)) EXPECT_LT(one.lo, one.hi);
      answer(answers, [&](double, double) {
        return share(random) < .1 ? n * share(random) : 30 * normal(random);
      });
    }
    EXPECT_THAT(range_questions(answers), IsEmpty());
    const Schema schema = schema_of(answers);
    if (schema.features() > 1) {
      schema.validate("bought");
      ++used;
    }
  }
  EXPECT_GT(used, 15U);
}

// However many columns and levels were seen, a fit has a metric for them, with all curves too.
TEST(BoughtFitSchema, HasRoomForAMetric) {
  const auto made = [](std::size_t numbers, std::size_t categories, std::size_t levels) {
    std::vector<ColumnAnswers> columns;
    for (std::size_t k = 0; k < numbers; ++k) {
      columns.push_back(of_numbers(0, 100));
      columns.back().name = "n" + std::to_string(k);
    }
    for (std::size_t k = 0; k < categories; ++k) {
      ColumnAnswers& one = columns.emplace_back(of_classes(.1 * n, 0, .9 * n, 0));
      one.name = "c" + std::to_string(k);
      for (std::size_t j = 0; j < levels; ++j)
        one.levels.push_back({"l" + std::to_string(j), 1000 - static_cast<double>(j)});
    }
    return fit_schema_of(planted(std::move(columns)));
  };
  using Sizes = std::array<std::size_t, 3>;
  const std::vector<Sizes> all{{3, 2, 2},  {3, 1, 5000}, {70, 40, 300},
                               {80, 2, 2}, {1200, 0, 0}, {20, 900, 2}};
  for (const auto& [numbers, categories, levels] : all) {
    const Schema schema = made(numbers, categories, levels);
    schema.validate("bought");
    EXPECT_LE(with_knots(schema, most_automatic_knots).features(), most_metric_features);
    EXPECT_GT(schema.features(), 2U);
  }
  // Those of the longest list that noise puts last go first.
  const Schema cut = made(0, 1, 5000);
  EXPECT_EQ(cut.columns[0].levels.front(), "l0");
  EXPECT_GT(cut.columns[0].levels.size(), 1900U);
}

// Where nothing can be used, a schema of one column is legal all the same.
TEST(BoughtFitSchema, OfNothingIsLegal) {
  ColumnAnswers not_asked;
  not_asked.name = "id";
  const BoughtSchema answers = planted({not_asked, of_classes(0, 0, n, 0)});
  EXPECT_EQ(schema_of(answers).features(), 1U);
  const Schema schema = fit_schema_of(answers);
  schema.validate("bought");
  EXPECT_EQ(schema.features(), 2U);
  EXPECT_EQ(schema.columns[1].type, ColumnType::number);
}

}  // namespace bought_schema_answers_test
}  // namespace gibbsite
