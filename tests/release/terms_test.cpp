// Terms and their pictures: every number drawn is one of the table of effects, on one scale.
#include "gibbsite/release/terms.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gibbsite/release/effects.hpp"
#include "support/effects_example.hpp"
#include "support/html.hpp"

namespace gibbsite {
namespace terms_test {

using support::all_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Features: age=0, age=10, age=40, age=(missing), w, w=(missing), sex=Male, sex=Female, constant.
LinearModel model_of(bool with_estimates) {
  Column age{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 40};
  age.knots = {0, 10, 40};
  age.has_missing = true;
  Column w{.name = "w", .type = ColumnType::number, .lo = 100, .hi = 200};
  w.has_missing = true;
  w.missing_level = true;
  LinearModel model = support::illness_model(
      {age, {"id", ColumnType::ignore}, w, {"sex", ColumnType::category, 0, 1, {"Male", "Female"}}},
      {}, {-0.5, 0.75, 0.25, 0.3, 1.5, 0.4, 0.1, -0.2, -1},
      {0.3, 0.4, 0.2, 0.1, 0.4, 0.1, 0.6, 0.4, 1}, with_estimates);
  if (!with_estimates) model.feature_means.clear();
  return model;
}

const Effect& effect_named(const EffectTable& table, const std::string& name) {
  return *std::ranges::find(table.effects, name, &Effect::name);
}

void expect_effect(const TermPoint& point, const Effect& effect) {
  EXPECT_EQ(point.value, effect.effect.estimate) << effect.name;
  EXPECT_EQ(point.lower, effect.effect.lower) << effect.name;
  EXPECT_EQ(point.upper, effect.effect.upper) << effect.name;
  EXPECT_EQ(point.hidden, effect.effect.hidden) << effect.name;
  EXPECT_EQ(point.reference, effect.is_reference()) << effect.name;
}

TEST(Terms, AreThoseOfTheTableOfEffects) {
  const LinearModel model = model_of(true);
  const EffectTable table = effect_table(model);
  const std::vector<Term> terms = terms_of(model);
  ASSERT_EQ(terms.size(), 3U);
  const TermOutput& age = terms[0].outputs.front();
  EXPECT_EQ(terms[0].kind, Term::Kind::curve);
  ASSERT_EQ(age.points.size(), 3U);
  for (const TermPoint& knot : age.points) {
    expect_effect(knot, effect_named(table, "age=" + knot.name));
    EXPECT_EQ(std::to_string(static_cast<int>(knot.at)), knot.name);
  }
  ASSERT_TRUE(age.missing);
  expect_effect(*age.missing, effect_named(table, "age=(missing)"));
  for (const TermPoint& level : terms[2].outputs.front().points)
    expect_effect(level, effect_named(table, "sex=" + level.name));
  // Half of a straight line's effect on either side of its middle, where there is none.
  EXPECT_EQ(terms[1].kind, Term::Kind::line);
  const TermOutput& w = terms[1].outputs.front();
  const EffectEstimate whole = effect_named(table, "w, 100 to 200").effect;
  ASSERT_EQ(w.points.size(), 3U);
  EXPECT_EQ(w.points[0].at, 100);
  EXPECT_EQ(w.points[1].at, 150);
  EXPECT_EQ(w.points[0].value, -whole.estimate / 2);
  EXPECT_EQ(w.points[0].lower, -whole.upper / 2);
  EXPECT_EQ(w.points[0].upper, -whole.lower / 2);
  EXPECT_EQ(w.points[1].upper, 0);
  EXPECT_EQ(w.points[2].upper, whole.upper / 2);
  // A missing cell is against the low end in the table, and no interval is known of it here.
  ASSERT_TRUE(w.missing);
  EXPECT_EQ(w.missing->value,
            effect_named(table, "w=(missing)").effect.estimate - whole.estimate / 2);
  EXPECT_TRUE(std::isnan(w.missing->lower));
}

TEST(Terms, StandAgainstTheirMiddleWithoutEstimates) {
  const std::vector<Term> terms = terms_of(model_of(false));
  const TermOutput& age = terms[0].outputs.front();
  // Knots stand for the ranges 5, 20 and 15 of 40.
  const double middle = (-0.5 * 5 + 0.75 * 20 + 0.25 * 15) / 40;
  EXPECT_NEAR(age.points[0].value, -0.5 - middle, 1e-12);
  EXPECT_NEAR(age.points[2].value, 0.25 - middle, 1e-12);
  EXPECT_NEAR(age.missing->value, 0.3 - middle, 1e-12);
  const TermOutput& w = terms[1].outputs.front();
  EXPECT_NEAR(w.points[2].value, 0.75, 1e-12);
  EXPECT_NEAR(w.missing->value, 0.4 - 0.75, 1e-12);
  EXPECT_NEAR(terms[2].outputs.front().points[0].value, 0.15, 1e-12);
  for (const Term& term : terms)
    for (const TermPoint& point : term.outputs.front().points)
      EXPECT_TRUE(std::isnan(point.lower) && std::isnan(point.upper) && !point.hidden);
}

// Features: age, age=(missing); sex=F, sex=M; then products: age (0, 20, 40, missing) × sex,
// sex × table (0, 100), age (0, 40, missing) × table (0, 10, 100), sex × sex-like job; constant.
LinearModel crossed_model(bool with_estimates) {
  LinearModel model;
  model.loss = "logistic";
  Schema& schema = model.schema;
  schema.label_name = "ill";
  schema.label = TwoClasses{.positive = "yes", .negative = "no"};
  schema.intercept = true;
  Column age{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 40};
  age.has_missing = true;
  age.missing_level = true;
  schema.columns = {age,
                    {"sex", ColumnType::category, 0, 1, {"F", "M"}},
                    {"table", ColumnType::number, 0, 100},
                    {"job", ColumnType::category, 0, 1, {"a", "b"}}};
  schema.interactions = {{{{"age", {0, 20, 40}}, {"sex"}}},
                         {{{"sex"}, {"table", {0, 100}}}},
                         {{{"age", {0, 40}}, {"table", {0, 10, 100}}}},
                         {{{"sex"}, {"job"}}}};
  schema.row_norm = schema.max_unclipped_norm();
  std::vector<double> draw(schema.features());
  for (std::size_t j = 0; j < draw.size(); ++j) draw[j] = std::sin(3.0 * static_cast<double>(j));
  model.draws = {draw};
  model.feature_means.assign(draw.size(), 0.25);
  if (with_estimates) {
    model.estimates = support::effects_estimates(schema);
    model.estimates->feature_means = model.feature_means;
  }
  return model;
}

TEST(Terms, OfInteractionsAreCurvesOverANumber) {
  const LinearModel model = crossed_model(true);
  const EffectTable table = effect_table(model);
  const std::vector<Term> terms = terms_of(model);
  ASSERT_EQ(terms.size(), 8U);
  struct Expected {
    std::size_t term;
    std::string over, other;
    bool over_is_first;
    std::vector<std::string> levels;
    std::vector<double> places;
    bool has_missing;
  };
  const std::vector<Expected> all = {
      {4, "age", "sex", true, {"F", "M"}, {0, 20, 40}, true},
      {5, "table", "sex", false, {"F", "M"}, {0, 100}, false},
      {6, "table", "age", false, {"0", "40", "(missing)"}, {0, 10, 100}, false}};
  for (const Expected& expected : all) {
    const Term& term = terms[expected.term];
    EXPECT_EQ(term.kind, Term::Kind::curve);
    EXPECT_EQ(term.across, expected.over);
    EXPECT_EQ(term.hi, expected.over == "age" ? 40 : 100);
    ASSERT_EQ(term.outputs.size(), expected.levels.size());
    for (std::size_t l = 0; l < expected.levels.size(); ++l) {
      const TermOutput& output = term.outputs[l];
      const auto named = [&](const std::string& place) {
        const std::string level = expected.over_is_first ? place + " × " + expected.levels[l]
                                                         : expected.levels[l] + " × " + place;
        return effect_named(table, term.column + "=" + level);
      };
      EXPECT_EQ(output.beside, expected.other + " = " + expected.levels[l]);
      ASSERT_EQ(output.points.size(), expected.places.size());
      for (std::size_t k = 0; k < output.points.size(); ++k) {
        EXPECT_EQ(output.points[k].at, expected.places[k]);
        expect_effect(output.points[k], named(output.points[k].name));
      }
      ASSERT_EQ(output.missing.has_value(), expected.has_missing);
      if (output.missing) expect_effect(*output.missing, named("(missing)"));
    }
  }
  // Two knots are ends of the range, no sign of a scale by ratios; three with the middle one low
  // are.
  EXPECT_FALSE(terms[5].by_ratio);
  EXPECT_TRUE(terms[6].by_ratio);
  EXPECT_EQ(terms[7].kind, Term::Kind::levels);
  EXPECT_EQ(terms[7].outputs.front().points.size(), 4U);
}

TEST(TermPictures, OfInteractionsHaveAPanelForEachLevel) {
  for (const bool with_estimates : {false, true}) {
    const LinearModel model = crossed_model(with_estimates);
    const std::vector<TermPicture> pictures = term_pictures(model);
    ASSERT_EQ(pictures.size(), 8U);
    const TermPicture& of_sex = pictures[4];
    EXPECT_THAT(of_sex.drawing, AllOf(HasSubstr(">sex = F<"), HasSubstr(">sex = M<")));
    EXPECT_EQ(all_of(of_sex.drawing, "class=\"(term)\"").size(), 2U);
    EXPECT_EQ(all_of(of_sex.drawing, "class=\"(band)\"").size(), with_estimates ? 2U : 0U);
    EXPECT_EQ(all_of(of_sex.drawing, ">(age)<").size(), 1U);  // the axis, below the last panel
    EXPECT_EQ(all_of(of_sex.drawing, "(rect)").size(), 0U);
    EXPECT_THAT(of_sex.caption, HasSubstr("sex = F: "));
    EXPECT_THAT(of_sex.says, HasSubstr("Effect of age × sex on odds of ill = yes."));
    EXPECT_EQ(all_of(pictures[7].drawing, "<(rect)").size(), 4U);
    for (const TermPicture& picture : pictures)
      EXPECT_THAT(picture.drawing, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  }
  // More panels than a picture has room for.
  LinearModel model = crossed_model(false);
  std::vector<double> many(20);
  for (std::size_t k = 0; k < many.size(); ++k) many[k] = 40.0 * static_cast<double>(k) / 19;
  model.schema.interactions = {{{{"age", many}, {"table", many}}}};
  for (double& knot : model.schema.interactions[0].parts[1].knots) knot *= 2.5;
  model.draws = {std::vector<double>(model.schema.features(), 0.5)};
  model.feature_means.assign(model.schema.features(), 0.25);
  EXPECT_THAT(term_pictures(model)[4].caption, HasSubstr("12 of 20 panels are drawn"));
}

std::vector<double> numbers_of(std::string path) {
  std::ranges::replace_if(
      path, [](char c) { return c == 'M' || c == 'L' || c == 'z'; }, ' ');
  std::istringstream in(path);
  std::vector<double> out;
  for (double one = 0; in >> one;) out.push_back(one);
  return out;
}

// Two values of the label's own unit are as far apart in the picture as their labels say.
TEST(TermPictures, DrawTheirNumbersToScale) {
  for (const bool with_estimates : {false, true}) {
    LinearModel model = model_of(with_estimates);
    model.loss = "huber";
    model.schema.label = Amount{{.lo = 0, .hi = 100}, 20};
    if (with_estimates)  // no noise hides anything, so that nothing is cut
      for (double& one : model.estimates->covariance) one /= 400;
    const TermPicture picture = term_pictures(model).front();
    std::vector<double> heights, labels;
    const std::regex tick("text class=\"end\" x=\"[0-9.]+\" y=\"([0-9.]+)\">([-0-9.]+)<");
    for (auto hit = std::sregex_iterator(picture.drawing.begin(), picture.drawing.end(), tick);
         hit != std::sregex_iterator(); ++hit) {
      heights.push_back(std::stod((*hit)[1]) - 4);
      labels.push_back(std::stod((*hit)[2]));
    }
    ASSERT_GE(labels.size(), 2U);
    const double unit = (heights.back() - heights.front()) / (labels.back() - labels.front());
    const auto value_at = [&](double y) { return labels.front() + (y - heights.front()) / unit; };
    const double a_pixel = std::fabs(0.15 / unit);
    const std::vector<TermPoint> knots = terms_of(model).front().outputs.front().points;
    const std::vector<double> line =
        numbers_of(all_of(picture.drawing, "class=\"term\" d=\"([^\"]*)\"").front());
    ASSERT_EQ(line.size(), 6U);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(value_at(line[2 * i + 1]), knots[i].value, a_pixel);
    EXPECT_NEAR((line[2] - line[0]) / (line[4] - line[0]), 0.25, 1e-3);  // 10 of 40
    const std::vector<std::string> bands = all_of(picture.drawing, "class=\"band\" d=\"([^\"]*)\"");
    ASSERT_EQ(bands.size(), with_estimates ? 1U : 0U);
    if (!with_estimates) continue;
    const std::vector<double> band = numbers_of(bands.front());  // along the upper ends and back
    ASSERT_EQ(band.size(), 12U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(value_at(band[2 * i + 1]), knots[i].upper, a_pixel);
      EXPECT_NEAR(value_at(band[11 - 2 * i]), knots[i].lower, a_pixel);
    }
  }
}

TEST(TermPictures, SayWhatTheyShow) {
  LinearModel model = model_of(true);
  const EffectTable table = effect_table(model);
  const TermPicture sex = term_pictures(model)[2];
  const EffectEstimate male = effect_named(table, "sex=Male").effect;
  EXPECT_THAT(sex.caption, HasSubstr("At the reference, Male: ×" +
                                     fmt::format("{:.3g}", std::exp(male.estimate))));
  EXPECT_THAT(sex.says,
              AllOf(HasSubstr("Effect of sex on odds of ill = yes."), HasSubstr(sex.caption)));
  EXPECT_THAT(term_words(model), AllOf(HasSubstr("×2 doubles it"), HasSubstr("95 % intervals"),
                                       HasSubstr("how many people have each level")));
  const LinearModel plain = model_of(false);
  EXPECT_THAT(term_words(plain), AllOf(HasSubstr("has no intervals"), Not(HasSubstr("Bands"))));
  for (const TermPicture& picture : term_pictures(plain))
    EXPECT_THAT(picture.drawing, AllOf(Not(HasSubstr("band")), Not(HasSubstr("whisker")),
                                       Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  model.schema.label = Count{{.lo = 0, .hi = 9}};
  model.loss = "poisson";
  EXPECT_THAT(term_words(model), HasSubstr("mean of ill"));
  EXPECT_THAT(term_pictures(model)[0].drawing, HasSubstr("mean of ill, ×"));
}

// What noise hides is hollow, is said, and does not set the scale.
TEST(TermPictures, ShowWhatNoiseHides) {
  LinearModel model = support::effects_model();
  for (const std::size_t j : {6U, 7U}) {  // country=it's and country=(missing): the prior's alone
    for (std::size_t i = 0, at = 0; i < model.schema.features(); ++i)
      for (std::size_t k = 0; k <= i; ++k, ++at)
        if (i == j || k == j) model.estimates->covariance[at] = i == k ? 6.2 : 0;
    model.estimates->means[0][j] = 8;
  }
  const EffectTable table = effect_table(model);
  const auto hidden = std::ranges::count_if(table.effects, [](const Effect& effect) {
    return effect.column == "country" && effect.effect.hidden;
  });
  ASSERT_GT(hidden, 0);
  const std::vector<TermPicture> pictures = term_pictures(model);
  const TermPicture& country = pictures.back();
  EXPECT_EQ(all_of(country.drawing, "(class=\"faint\")").size(), static_cast<std::size_t>(hidden));
  EXPECT_EQ(all_of(country.drawing, "(>hidden by noise<)").size(),
            static_cast<std::size_t>(hidden));
  EXPECT_THAT(country.caption, HasSubstr("Hidden by noise: "));
  EXPECT_THAT(pictures[1].caption,
              ::testing::StartsWith("Noise hides all of it."));  // hours-per-week
  EXPECT_THAT(pictures[1].drawing, HasSubstr("class=\"open\""));
  // What is hidden is beyond ×100, and the axis is not.
  EXPECT_THAT(country.drawing, AllOf(Not(HasSubstr(">×100<")), HasSubstr(">×1<")));
  EXPECT_THAT(country.caption, HasSubstr("An arrow or a band that is cut"));
}

// Names are people's text; a thousand levels, long ones and many classes stay a picture.
TEST(TermPictures, TakeOddNamesAndSizes) {
  LinearModel model;
  model.loss = "softmax";
  Schema& schema = model.schema;
  schema.label_name = "<b>\"&\x1b";
  schema.label = Classes{};
  for (int k = 0; k < 20; ++k)
    std::get<Classes>(schema.label).names.push_back("</svg><i>" + std::to_string(k));
  schema.intercept = true;
  Column job{.name = "<script>alert(1)</script>\x01", .type = ColumnType::category};
  for (int k = 0; k < 1000; ++k)
    job.levels.push_back(std::string(120, 'x') + "'<u>" + std::to_string(k));
  Column gain{.name = "gain", .type = ColumnType::number, .lo = 0, .hi = 1e6};
  gain.knots = {0, 100, 1e4, 1e6};
  schema.columns = {job, gain};
  schema.row_norm = schema.max_unclipped_norm();
  model.draws = {std::vector<double>(20 * schema.features())};
  for (std::size_t j = 0; j < model.draws[0].size(); ++j)
    model.draws[0][j] = std::sin(static_cast<double>(j));
  const std::vector<TermPicture> pictures = term_pictures(model);
  ASSERT_EQ(pictures.size(), 2U);
  for (const TermPicture& picture : pictures) {
    const std::string svg = term_svg(picture, term_words(model), "NO GUARANTEE");
    EXPECT_LT(svg.size(), 100'000U);
    for (const std::string& tag : all_of(svg, "<[/]?([A-Za-z][A-Za-z0-9]*)"))
      EXPECT_TRUE(std::set<std::string>({"svg", "style", "g", "text", "path", "rect", "circle"})
                      .contains(tag))
          << tag;
    EXPECT_THAT(svg, AllOf(HasSubstr("role=\"img\" aria-label=\"NO GUARANTEE. Effect of "),
                           HasSubstr(">NO GUARANTEE<"), HasSubstr("12 of 20 classes are drawn"),
                           Not(HasSubstr("\x1b")), Not(HasSubstr("\x01"))));
  }
  EXPECT_THAT(pictures[0].caption, HasSubstr("8 of 1000 levels are drawn"));
  // Labels of the logarithmic axis: the ends, and none beyond the picture.
  EXPECT_THAT(pictures[1].drawing,
              AllOf(HasSubstr(">1,000,000<"), HasSubstr("(logarithmic axis)")));
  // One value for every level: there is a scale all the same.
  std::ranges::fill(model.draws[0], 0.0);
  EXPECT_THAT(term_pictures(model)[1].drawing, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

}  // namespace terms_test
}  // namespace gibbsite
