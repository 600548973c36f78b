// The table of effects: its numbers against sums by hand, its order, reference levels, CSV, page.
#include "gibbsite/release/effects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses.hpp"
#include "release/forest.hpp"
#include "release/report_parts.hpp"
#include "support/effects_example.hpp"
#include "support/html.hpp"

namespace gibbsite {
namespace effects_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What the report shows of a model's effects.
std::string effects_on_page(const LinearModel& model) {
  PageFacts facts;
  add_effects(facts, model, 1);
  return page_of({"# Effects\n{effects_tables}\n> {interval_words}\n", "test"}, report_names(),
                 facts)
      .body.text;
}

const Effect& named(const EffectTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.effects, name, &Effect::name);
  if (found == table.effects.end()) throw std::runtime_error("no effect " + name);
  return *found;
}

// c' V c of what is given, by the lower triangle.
double variance(const Estimates& of, const std::vector<double>& c) {
  double sum = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    for (std::size_t j = 0; j < c.size(); ++j) {
      const std::size_t row = std::max(i, j), column = std::min(i, j);
      sum += c[i] * c[j] * of.covariance[row * (row + 1) / 2 + column];
    }
  return sum;
}

TEST(Effects, OfANumberAreOverItsRangeAndPerUnit) {
  const LinearModel model = support::effects_model();
  const EffectTable table = effect_table(model);
  EXPECT_TRUE(table.has_intervals);
  EXPECT_EQ(table.ratio, "odds ratio");
  EXPECT_EQ(table.unit, "log-odds");
  const Effect& age = named(table, "age, 17 to 90");
  EXPECT_EQ(age.coefficient, 0.9);  // the shrunk one, beside the estimate
  EXPECT_DOUBLE_EQ(age.effect.estimate, model.estimates->means[0][0]);
  EXPECT_NEAR(age.effect.standard_error, 0.1, 1e-12);
  ASSERT_TRUE(age.per_unit);
  EXPECT_NEAR(age.per_unit->estimate, age.effect.estimate / 73, 1e-15);
  EXPECT_NEAR(age.per_unit->upper - age.per_unit->lower, (age.effect.upper - age.effect.lower) / 73,
              1e-15);
  EXPECT_EQ(age.per_unit->p_value, age.effect.p_value);
  EXPECT_FALSE(age.share || age.against_reference);
}

TEST(Effects, OfALevelStandAgainstTheWeightedMeanAndTheMostFrequentLevel) {
  const LinearModel model = support::effects_model();
  const EffectTable table = effect_table(model);
  const std::vector<double>& mean = model.estimates->means[0];
  const Effect& male = named(table, "sex=Male");
  EXPECT_NEAR(male.effect.estimate, mean[2] - (0.67 * mean[2] + 0.33 * mean[3]), 1e-12);
  std::vector<double> c(10);
  c[2] = 0.33;
  c[3] = -0.33;
  EXPECT_NEAR(male.effect.standard_error, std::sqrt(variance(*model.estimates, c)), 1e-12);
  EXPECT_EQ(male.share, 0.67);
  EXPECT_TRUE(male.is_reference());
  EXPECT_FALSE(male.against_reference);
  const Effect& female = named(table, "sex=Female");
  EXPECT_EQ(female.reference, "Male");
  ASSERT_TRUE(female.against_reference);
  EXPECT_NEAR(female.against_reference->estimate, mean[3] - mean[2], 1e-12);
  c[2] = -1;
  c[3] = 1;
  EXPECT_NEAR(female.against_reference->standard_error, std::sqrt(variance(*model.estimates, c)),
              1e-12);
  EXPECT_EQ(named(table, "country=it's").reference, "United-States");
  EXPECT_EQ(named(table, "country=(other)").share, 0);  // answered as -.002
}

TEST(Effects, TheBaselineTakesUpTheMeansOfLevels) {
  const LinearModel model = support::effects_model();
  const Effect baseline = effect_table(model).effects.back();
  EXPECT_TRUE(baseline.is_constant());
  EXPECT_EQ(baseline.name, "(baseline)");
  const std::vector<double>& mean = model.estimates->means[0];
  double expected = mean[9] + 0.67 * mean[2] + 0.33 * mean[3];
  const double shares[] = {0.9, 0.05, 0.04, 0.012};  // a share below 0 counts as 0
  for (std::size_t l = 0; l < 4; ++l) expected += shares[l] / 1.002 * mean[4 + l];
  EXPECT_NEAR(baseline.effect.estimate, expected, 1e-12);
}

// Amounts in their own unit from 0 on, and mean counts of exposure 1: what a baseline is read as.
TEST(Effects, TheBaselineIsOfTheLabelsOwnScale) {
  LinearModel model = support::effects_model();
  const double score = effect_table(model).effects.back().effect.estimate;
  model.schema.label = Amount{{140, 210}, 10};
  model.loss = "huber";
  const EffectEstimate amount = effect_table(model).effects.back().effect;
  EXPECT_NEAR(amount.estimate, 175 + 10 * score, 1e-9);
  EXPECT_NEAR((amount.lower + amount.upper) / 2, amount.estimate, 1e-9);
  EXPECT_TRUE(std::isnan(amount.p_value));
  model.schema.label = Count{{0, 8}};
  model.loss = "poisson";
  Column years = model.schema.columns.front();
  years.name = "years";
  years.type = ColumnType::exposure;
  years.lo = 0.1;
  years.hi = 2;
  model.schema.columns.push_back(years);
  const EffectEstimate count = effect_table(model).effects.back().effect;
  EXPECT_NEAR(count.estimate, score + std::log(8 * loss_named("poisson").predicted(0) / 2), 1e-9);
}

TEST(Effects, AreOrderedByWhatIsKnownAndHiddenOnesAreLast) {
  LinearModel model = support::effects_model();
  model.estimates->means[0][1] = 40;  // far from 0, and noise hides it all the same
  const EffectTable table = effect_table(model);
  const std::vector<std::size_t> order = table.by_certainty();
  ASSERT_EQ(order.size(), table.effects.size());
  EXPECT_GE(table.hidden(), 1U);
  EXPECT_TRUE(named(table, "hours-per-week, 0 to 100").effect.hidden);
  double last = std::numeric_limits<double>::infinity();
  std::size_t at = 0;
  for (; at < order.size() - 1 - table.hidden(); ++at) {
    const Effect& one = table.effects[order[at]];
    EXPECT_FALSE(one.effect.hidden || one.is_constant()) << one.name;
    const double towards_zero = one.effect.estimate > 0 ? one.effect.estimate - one.effect.lower
                                                        : one.effect.upper - one.effect.estimate;
    const double z = std::fabs(one.effect.estimate) / towards_zero;
    EXPECT_LE(z, last) << one.name;
    last = z;
  }
  for (; at < order.size() - 1; ++at) EXPECT_TRUE(table.effects[order[at]].effect.hidden);
  EXPECT_TRUE(table.effects[order.back()].is_constant());
}

// Two numbers of which only the sum is known: Var(a + b) = 0.02, Var(a - b) = 10 of the prior's
// 12.5.
TEST(Effects, SayWhatTheTableCannotTellFromOtherColumns) {
  LinearModel model = support::effects_model();
  EXPECT_EQ(effect_table(model).collinear(), 0U);
  std::vector<double>& covariance = model.estimates->covariance;
  covariance[0] = covariance[2] = 0.25 * 10.02;
  covariance[1] = -0.25 * 9.98;
  covariance[4] = 0;  // with sex=Male
  const EffectTable table = effect_table(model);
  EXPECT_EQ(table.collinear(), 2U);
  for (const Effect& one : table.effects) {
    const bool of_both = one.column == "age" || one.column == "hours-per-week";
    EXPECT_EQ(one.effect.collinear, of_both) << one.name;
    EXPECT_EQ(one.per_unit && one.per_unit->collinear, of_both) << one.name;
  }
  std::istringstream lines(effects_csv(table));
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, EndsWith(",coefficient,collinear"));
  std::getline(lines, line);
  EXPECT_THAT(line, EndsWith(",true"));
  for (int skipped = 0; skipped < 2; ++skipped) std::getline(lines, line);
  EXPECT_THAT(line, EndsWith(",false"));
  const std::string page = effects_on_page(model);
  EXPECT_EQ(support::all_of(page, "(the table cannot tell it from other columns)").size(), 2U);
}

TEST(Effects, WhoseIntervalHoldsZeroFollowThoseThatExcludeIt) {
  LinearModel model = support::effects_model();
  const std::string first = effect_table(model).effects[effect_table(model).by_certainty()[0]].name;
  EXPECT_EQ(first, "age, 17 to 90");
  // The estimate stays ten standard errors from 0, but its interval now reaches beyond 0.
  model.estimates->further_above.assign(model.schema.features(), 0);
  model.estimates->further_below = model.estimates->further_above;
  model.estimates->further_below[0] = 3;
  const EffectTable table = effect_table(model);
  EXPECT_LT(named(table, first).effect.lower, 0);
  EXPECT_GT(std::fabs(named(table, first).effect.estimate),
            9 * named(table, first).effect.standard_error);
  bool holds_zero = false;
  std::size_t excluding = 0;
  for (const std::size_t i : table.by_certainty()) {
    const Effect& one = table.effects[i];
    if (one.effect.hidden || one.is_constant()) continue;
    const bool holds = one.effect.lower <= 0 && one.effect.upper >= 0;
    EXPECT_FALSE(holds_zero && !holds) << one.name;
    holds_zero |= holds;
    excluding += holds ? 0 : 1;
  }
  EXPECT_TRUE(holds_zero);
  EXPECT_GE(excluding, 1U);
}

TEST(Effects, TakeAReferenceFromTheSchemaOrTheCaller) {
  LinearModel model = support::effects_model();
  model.schema.columns[4].reference = "it's";
  EXPECT_EQ(named(effect_table(model), "country=United").reference, "it's");
  EXPECT_TRUE(named(effect_table(model), "country=it's").is_reference());
  EXPECT_EQ(named(effect_table(model, {{"country", "United"}}), "country=it's").reference,
            "United");
  // By default the most frequent one, wherever it is listed.
  LinearModel others = support::effects_model();
  others.estimates->feature_means[2] = 0.4;
  others.estimates->feature_means[3] = 0.6;
  EXPECT_EQ(named(effect_table(others), "sex=Male").reference, "Female");
  // A missing cell's own text stands for its level.
  References given;
  add_reference(model.schema, "country=?", given);
  EXPECT_EQ(named(effect_table(model, given), "country=it's").reference, "(missing)");
  // It changes nothing but what levels are set against.
  const EffectTable before = effect_table(support::effects_model()), after = effect_table(model);
  for (std::size_t i = 0; i < before.effects.size(); ++i)
    EXPECT_EQ(before.effects[i].effect.estimate, after.effects[i].effect.estimate);
}

void expect_refused(const Schema& schema, const std::string& text, const std::string& what) {
  References none;
  try {
    add_reference(schema, text, none);
    ADD_FAILURE() << text;
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(what), Not(HasSubstr("\n"))));
  }
  EXPECT_TRUE(none.empty());
}

TEST(Effects, RefuseAnUnknownReference) {
  const Schema schema = support::effects_schema();
  expect_refused(schema, "sex=Mole", "column 'sex' has no level 'Mole', did you mean Male?");
  expect_refused(schema, "sexx=Male", "no category is called 'sexx', did you mean sex?");
  expect_refused(schema, "age=17", "no category is called 'age'");
  expect_refused(schema, "Male", "is no column=level");
  expect_refused(schema, "sex=(missing)", "has no level '(missing)'");
  EXPECT_THROW(static_cast<void>(effect_table(support::effects_model(), {{"sex", "x"}})), BadInput);
}

TEST(Effects, WithoutEstimatesAreCoefficientsAndPromiseNothing) {
  LinearModel model = support::effects_model();
  model.estimates.reset();
  EffectTable table = effect_table(model);
  EXPECT_FALSE(table.has_intervals);
  const Effect& female = named(table, "sex=Female");
  EXPECT_EQ(female.effect.estimate, -0.2);
  EXPECT_TRUE(std::isnan(female.effect.standard_error));
  EXPECT_TRUE(std::isnan(female.effect.p_value));
  EXPECT_EQ(female.against_reference->estimate, -0.4);
  EXPECT_EQ(table.effects.back().name, "(intercept)");
  EXPECT_EQ(table.hidden(), 0U);
  // A level that hardly anybody has does not lead, however large its coefficient is.
  model.draws[0][7] = 2;
  table = effect_table(model);
  EXPECT_EQ(table.effects[table.by_certainty().front()].name, "age, 17 to 90");
  model.feature_means.clear();
  table = effect_table(model);
  EXPECT_FALSE(named(table, "sex=Male").share);
  EXPECT_TRUE(named(table, "sex=Male").is_reference());  // the first one
}

TEST(Effects, AreInTheUnitOfTheLabel) {
  LinearModel model = support::effects_of_amounts();
  EffectTable table = effect_table(model);
  EXPECT_EQ(table.unit, "income");
  EXPECT_TRUE(table.ratio.empty());
  EXPECT_NEAR(named(table, "age, 17 to 90").effect.estimate, 20 * model.estimates->means[0][0],
              1e-12);
  EXPECT_NEAR(named(table, "age, 17 to 90").effect.standard_error, 2, 1e-12);
  EXPECT_THAT(effect_columns(table), Not(::testing::Contains("odds_ratio")));
  model.loss = "poisson";
  model.schema.label = Count{{.lo = 0, .hi = 100}};
  table = effect_table(model);
  EXPECT_EQ(table.ratio, "rate ratio");
  EXPECT_THAT(effect_columns(table), ::testing::Contains("rate_ratio"));
}

TEST(Effects, OfSeveralClassesAreOneTableAClass) {
  LinearModel model = support::effects_model();
  model.schema.label = Classes{{"a", "b", "c"}};
  model.loss = "softmax-3";
  model.draws = {std::vector<double>(30, 0.5)};
  model.estimates = support::effects_estimates(model.schema, 3);
  const EffectTable table = effect_table(model);
  ASSERT_EQ(table.effects.size(), 30U);
  EXPECT_EQ(table.effects[10].of_class, "b");
  EXPECT_DOUBLE_EQ(table.effects[10].effect.estimate, model.estimates->means[0][10]);
  EXPECT_EQ(effect_columns(table).front(), "class");
}

TEST(Effects, AsCsvHaveACellForEveryColumn) {
  LinearModel model = support::effects_model();
  model.schema.columns[3].levels[0] = "Ma\"le, or so";
  for (const bool has : {true, false}) {
    if (!has) model.estimates.reset();
    const EffectTable table = effect_table(model);
    const std::vector<std::string> names = effect_columns(table);
    for (const Effect& effect : table.effects)
      EXPECT_EQ(effect_cells(table, effect).size(), names.size());
    const std::string csv = effects_csv(table);
    EXPECT_THAT(csv, HasSubstr("term,column,level,unit,estimate,std_err,lower,upper,p_value,"
                               "odds_ratio,odds_ratio_lower,odds_ratio_upper,hidden,share,"));
    EXPECT_THAT(csv, HasSubstr("\n\"sex=Ma\"\"le, or so\",sex,\"Ma\"\"le, or so\",log-odds,"));
    EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 10);
    EXPECT_THAT(csv, Not(HasSubstr("nan")));
  }
}

TEST(Effects, AreTheSameFromTheFile) {
  LinearModel model = support::effects_model();
  model.schema.columns[4].reference = "it's";
  model.estimates->weights = {0.25, 0.75};
  model.estimates->means.push_back(std::vector<double>(10, 0.125));
  model.estimates->further_above.assign(10, 0.5);
  model.estimates->further_below.assign(10, 0.25);
  const nlohmann::json file = nlohmann::json::parse(model_json(model).dump());
  const LinearModel back = LinearKind::model_from_json(file, "m");
  EXPECT_EQ(back.schema, model.schema);
  EXPECT_EQ(back.feature_means, model.feature_means);
  EXPECT_EQ(effects_csv(effect_table(back)), effects_csv(effect_table(model)));
  // What is not as it was written is refused.
  const auto refuses = [&](const char* place, const nlohmann::json& value) {
    nlohmann::json edited = file;
    edited[nlohmann::json::json_pointer(place)] = value;
    EXPECT_THROW(static_cast<void>(LinearKind::model_from_json(edited, "m")), BadInput) << place;
  };
  refuses("/preprocessing/columns/4/reference", "white");
  refuses("/preprocessing/columns/0/reference", "white");
  refuses("/feature_means", {1, 2});
  refuses("/estimates/level", 0.9);
  refuses("/estimates/weights", {1});
  refuses("/estimates/means/0", {1, 2});
  refuses("/estimates/covariance", {1});
  refuses("/estimates/prior_deviation/0", "wide");
  refuses("/estimates/more", 1);
  // Files of before hold none of these.
  nlohmann::json before = file;
  before.erase("estimates");
  before.erase("feature_means");
  before["preprocessing"]["columns"][4].erase("reference");
  const LinearModel old = LinearKind::model_from_json(before, "m");
  EXPECT_FALSE(old.estimates);
  EXPECT_TRUE(old.feature_means.empty());
  EXPECT_EQ(named(effect_table(old), "country=it's").reference, "United-States");
}

TEST(Effects, OnThePageStandWithAnAxisAndWhiskers) {
  LinearModel model = support::effects_model();
  model.schema.columns[3].levels[1] = "<script>alert(1)</script>";
  const std::string page = effects_on_page(model);
  const std::string& text = page;
  EXPECT_THAT(text, AllOf(HasSubstr("odds ratio"), HasSubstr("confidence interval"),
                          HasSubstr("p-value"), HasSubstr("reference level"),
                          HasSubstr(std::string(interval_meaning)), Not(HasSubstr("<script>"))));
  // Rows in the order of certainty, the hidden ones gray, each with whiskers.
  const EffectTable table = effect_table(model);
  std::size_t last = 0;
  for (const std::size_t i : table.by_certainty()) {
    const std::string name = ">" + escaped_html(table.effects[i].name);
    const std::size_t at = text.find(name, last);
    ASSERT_NE(at, std::string::npos) << name;
    last = at;
    const std::string row = text.substr(at, text.find("</tr>", at) - at);
    EXPECT_THAT(row, HasSubstr("class=\"whisker\""));
  }
  EXPECT_EQ(support::all_of(text, "(<tr class=\"soft\">)").size(), table.hidden());
  EXPECT_THAT(text, HasSubstr("hours-per-week, 0 to 100 – hidden by noise"));
}

TEST(Forest, PutsEveryEndOnOneScale) {
  const std::vector<Whisker> all{{-1, 0.5, 2}, {0, 1, 1.5}};
  const Forest plain(all, false);
  EXPECT_THAT(plain.axis().text, AllOf(HasSubstr(">0<"), HasSubstr(">1<"), HasSubstr(">2<")));
  const Forest ratios(all, true);
  EXPECT_THAT(ratios.axis().text,
              AllOf(HasSubstr(">1<"), HasSubstr(">2<"), HasSubstr(">5<"), Not(HasSubstr(">0<"))));
  // 5 % of the range are left at either side: -1 is at 12 + 216 (.05 * 3)/3.3.
  EXPECT_THAT(plain.row(all[0]).text, HasSubstr("M21.8 10H218.2"));
  EXPECT_THAT(plain.row(all[0]).text, AllOf(HasSubstr("M21.8 3v14"), HasSubstr("M218.2 3v14")));
  // Ends of an interval that is narrower than its dot are drawn over it, and stand out.
  const std::string narrow = plain.row({0.999, 1, 1.001}).text;
  EXPECT_THAT(narrow, AllOf(HasSubstr("r=\"3\"/><path class=\"whisker\""), HasSubstr(" 3v14")));
  EXPECT_LT(narrow.find("circle"), narrow.find("whisker"));
  // The scale at the foot is that of the head, and 0 has its line in every row.
  const auto scale = [](const Markup& of) {
    std::vector<std::string> out = support::all_of(of.text, "class=\"middle\" x=\"([0-9.]+)\"");
    for (const std::string& label : support::all_of(of.text, ">([0-9.-]+)</text>"))
      out.push_back(label);
    return out;
  };
  EXPECT_EQ(scale(plain.foot()), scale(plain.axis()));
  EXPECT_EQ(scale(ratios.foot()), scale(ratios.axis()));
  EXPECT_GE(scale(ratios.foot()).size(), 6U);
  for (const Whisker& one : all) EXPECT_THAT(plain.row(one).text, HasSubstr("class=\"even\""));
  // Beyond the axis an arrow.
  EXPECT_THAT(plain.row({-9, 0, 1}).text,
              AllOf(HasSubstr("M18.0 5l-6 5l6 5"), HasSubstr("circle")));
  EXPECT_THAT(plain.row({8, 9, 10}).text, Not(HasSubstr("circle")));
  EXPECT_THAT(Forest({}, true).axis().text, HasSubstr(">1<"));
}

// What a person's rows were taken for is said, and by files that took them for other people's; none
// is said of people or of a row each.
TEST(IntervalMeaning, SaysWhatRowsOfAPersonAreTakenFor) {
  LinearModel model = support::effects_model();
  const std::string plain(interval_meaning);
  EXPECT_THAT(
      interval_meaning_of(model, 1),
      AllOf(StartsWith(plain), EndsWith("unusual rows count less in it than in a fit without "
                                        "privacy.")));
  EXPECT_THAT(
      interval_meaning_of(model, 4),
      AllOf(StartsWith(plain), HasSubstr("took the 4 rows of a person for those of 4 people"),
            HasSubstr("up to 2 times too narrow")));
  model.estimates->rows_alike = 4;
  EXPECT_THAT(interval_meaning_of(model, 4),
              AllOf(StartsWith(plain), HasSubstr("The 4 rows of a person are taken for alike"),
                    HasSubstr("column of ids"), Not(HasSubstr("narrow"))));
  model.estimates->rows_alike = 1;
  model.schema.columns.push_back({.name = "who", .type = ColumnType::person});
  EXPECT_THAT(interval_meaning_of(model, 4),
              AllOf(StartsWith(std::string(interval_meaning_of_people)), Not(HasSubstr("narrow")),
                    Not(HasSubstr("alike"))));
}

TEST(IntervalMeaning, SaysWhereLabelsAndWeightsAreHeld) {
  LinearModel model = support::effects_model();
  EXPECT_THAT(interval_meaning_of(model, 1), Not(HasSubstr("count as that")));
  model.schema.columns.push_back({.name = "w", .type = ColumnType::weight, .hi = 10});
  EXPECT_THAT(interval_meaning_of(model, 1), HasSubstr("Weights above 10 count as that."));
  model.schema.label = Count{{.lo = 0, .hi = 20}};
  EXPECT_THAT(interval_meaning_of(model, 1), HasSubstr("Labels above 20 count as that."));
}

TEST(IntervalMeaning, SaysWhatWeightsOfClassesMove) {
  LinearModel model = support::effects_model();
  std::get<TwoClasses>(model.schema.label).weights = {2, 2};
  EXPECT_THAT(interval_meaning_of(model, 1), Not(HasSubstr("Classes count")));
  std::get<TwoClasses>(model.schema.label).weights = {1, 5};
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(StartsWith(std::string(interval_meaning_of_people)),
                    HasSubstr("those without weights and only the intercept moves")));
  model.schema.intercept = false;
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(HasSubstr("of the population in which they count so"),
                    Not(HasSubstr("intercept moves"))));
}

// Uniform columns whose log-odds spread by 9.7, at a budget of 1: 6 of 10 tables held an effect.
TEST(IntervalMeaning, OfClassesThatNearlySeparatePromisesNoCoverage) {
  LinearModel model = support::effects_model();
  ASSERT_TRUE(model.estimates);
  EXPECT_THAT(interval_meaning_of(model, 1), HasSubstr("simulated tables they held"));
  for (double& value : model.estimates->means.front()) value *= 40;
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(HasSubstr("The classes nearly separate"), Not(HasSubstr("94 to 100"))));
}

// Four fifths of the counts 0 and the others of mean 5: 0.00 for 1.04.
TEST(IntervalMeaning, OfCountsThatSpreadFarPromisesNoCoverage) {
  LinearModel model = support::effects_model();
  model.schema.label = Count{{0, 20}};
  model.estimates->count_dispersion = 2;
  EXPECT_THAT(interval_meaning_of(model, 1), HasSubstr("On simulated tables they held"));
  model.estimates->count_dispersion = 20;
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(HasSubstr("the mean and about 20 times its square"),
                    Not(HasSubstr("they held")), HasSubstr("as two classes")));
}

// A range 2,000 times the deviation: no interval of its effect held it, of the others' half did.
TEST(IntervalMeaning, OfNumbersThatNoiseHidesInASmallPartOfTheRangePromisesNoCoverage) {
  LinearModel model = support::effects_model();
  const auto said = HasSubstr("Noise hides how the cells of 'hours-per-week' spread");
  std::vector<double>& deviations = model.estimates->feature_deviations;
  EXPECT_THAT(interval_meaning_of(model, 1), Not(said));
  deviations[0] = 0.001;  // its effect is known
  EXPECT_THAT(interval_meaning_of(model, 1), Not(HasSubstr("Noise hides")));
  deviations[1] = 0.001;  // this one's is not
  EXPECT_THAT(interval_meaning_of(model, 1), AllOf(said, Not(HasSubstr("94 to 100"))));
}

// A fifth of the cells missing at random, far from the middle: half of the intervals missed the
// effect.
TEST(IntervalMeaning, OfMissingCellsInTheMiddlePromisesNoCoverage) {
  LinearModel model = support::effects_model();
  Column& age = model.schema.columns.front();
  ASSERT_EQ(age.type, ColumnType::number);
  age.has_missing = true;
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(HasSubstr("A missing cell of '" + age.name + "' is read as the middle"),
                    HasSubstr("missing_level = true"), Not(HasSubstr("simulated"))));
  age.missing_level = true;
  EXPECT_EQ(read_otherwise_meaning(model.schema), "");
}

// Where rows may be scaled effects are of other rows than the table's, and no simulation held them.
TEST(IntervalMeaning, OfScaledRowsPromisesNoCoverage) {
  LinearModel model = support::effects_model();
  EXPECT_EQ(read_otherwise_meaning(model.schema), "");
  model.schema.row_norm = 1;
  EXPECT_THAT(interval_meaning_of(model, 1),
              AllOf(HasSubstr("row_norm, 1, are scaled"), HasSubstr("up to 2 long"),
                    HasSubstr("row_norm = \"auto\""), Not(HasSubstr("simulated"))));
  const std::string page = effects_on_page(model);
  EXPECT_THAT(
      page, AllOf(HasSubstr("effects are those of the scaled rows"), Not(HasSubstr("simulated"))));
}

TEST(PValues, AreShort) {
  EXPECT_EQ(p_value_text(0.0123), "0.012");
  EXPECT_EQ(p_value_text(1e-9), "<0.001");
  EXPECT_EQ(p_value_text(1), "1");
  EXPECT_EQ(p_value_text(std::nan("")), "");
}

}  // namespace effects_test
}  // namespace gibbsite
