// What files guarantee of one column: which columns move together, what is refused, and the words.
#include "gibbsite/certificate/column_guarantee.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace column_guarantee_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

Schema columns() {
  Schema whole;
  whole.label_name = "sick";
  whole.label = TwoClasses{.positive = "yes", .negative = "no", .refuses_unlisted = true};
  whole.columns = {
      {.name = "year", .type = ColumnType::number, .lo = 2000, .hi = 2020, .edges = {2010}},
      {.name = "sex", .type = ColumnType::category, .levels = {"F", "M"}}};
  return network_schema(whole);
}

// Three columns, year, sex and sick, of which the last depends on the first.
NetworkRelease network(NoiseKind kind = NoiseKind::chacha20) {
  const Schema schema = columns();
  NetworkProblem p{.rows = 5000, .levels = network_levels(schema)};
  p.parents = {{}, {}, {0}};
  const NetworkPlan plan = plan_network(p, {}, {.mechanism = "counts"});
  NetworkModel model{.schema = schema, .network = p.network(), .tables = {}};
  model.noise =
      table_deviations(std::get<NetworkCounts>(plan.candidate().mechanism).noise, model.network);
  for (std::size_t i = 0; i < model.network.size(); ++i) {
    const auto cells = static_cast<double>(model.network.cells(i));
    const double grid = answer_grid(model.noise[i]);
    model.counts.emplace_back(model.network.cells(i), grid * std::round(5000 / cells / grid));
  }
  model.tables = {tables_of_counts(model.network, model.counts, model.noise)};
  return ReleaseAccess::make(std::move(model),
                             certify<GraphicalKind>(plan, {kind, "reference", true}));
}

CovarianceRelease moments() {
  CovarianceModel model;
  model.schema.columns = {{.name = "a", .type = ColumnType::number, .lo = 0, .hi = 100},
                          {.name = "b", .type = ColumnType::number, .lo = 0, .hi = 1}};
  drop_label(model.schema);
  model.sums = {0, 0};
  model.moments = {0, 0, 0};
  const CovariancePlan plan = plan_covariance({5000, 2}, {});
  return ReleaseAccess::make(
      std::move(model), certify<CovarianceKind>(plan, {NoiseKind::chacha20, "reference", true}));
}

FamilyRelease rate() {
  FamilyModel model{.family = Family::rate, .schema = {}, .draws = {{2.5}}};
  model.schema.columns = {
      {.name = "visits", .type = ColumnType::number, .lo = 0, .hi = 10, .decimals = 0}};
  drop_label(model.schema);
  FamilyProblem p{.family = Family::rate, .rows = 5000, .lo = 0, .hi = 10};
  p.prior = p.default_prior();
  const FamilyPlan plan = plan_family(p, {});
  return ReleaseAccess::make(
      std::move(model), certify<ConjugateKind>(plan, {NoiseKind::chacha20, "reference", true}));
}

TEST(ColumnGuarantee, OfANetwork) {
  const json file = to_json(network());
  const double whole = file["certificate"]["guarantee"]["mu"];
  const ColumnGuarantee sex = column_guarantee(file, "sex"), sick = column_guarantee(file, "sick");
  EXPECT_LT(sex.mu, sick.mu);  // its table has fewer cells, and so more noise
  EXPECT_LT(sick.mu, whole);
  EXPECT_LT(sex.epsilon, 1);
  EXPECT_EQ(sex.delta, 1e-6);
  // Two tables hold the year, all but that of sex.
  const ColumnGuarantee year = column_guarantee(file, "year");
  EXPECT_NEAR(year.mu * year.mu + sex.mu * sex.mu, whole * whole, 1e-9);
  EXPECT_THAT(in_words(year), HasSubstr("Of the column year alone: (ε, δ) = ("));
  EXPECT_THAT(in_words(year), HasSubstr("a weaker unit, not a stronger guarantee"));
  EXPECT_THAT(in_words(year), Not(HasSubstr("No theorem")));
  EXPECT_THAT([&] { column_guarantee(file, "sxe"); },
              ThrowsMessage<BadInput>(HasSubstr("no column 'sxe'")));
  EXPECT_THAT(
      [&] { column_guarantee(file, "year", 1); },
      ThrowsMessage<BadInput>(HasSubstr("`moves_by`: columns of a network are counted by levels")));
  EXPECT_THAT([&] { column_guarantee(to_json(network(NoiseKind::philox)), "sex"); },
              ThrowsMessage<BadInput>(HasSubstr("void")));
}

TEST(ColumnGuarantee, OfNumbersThatMove) {
  const json file = to_json(moments());
  const double whole = file["certificate"]["guarantee"]["mu"];
  const ColumnGuarantee all = column_guarantee(file, "a"), ten = column_guarantee(file, "a", 10);
  EXPECT_LT(all.mu, whole);
  EXPECT_LT(ten.mu, all.mu / 3);
  EXPECT_EQ(column_guarantee(file, "b", .1).mu, ten.mu);
  EXPECT_THAT(in_words(ten), HasSubstr("for values at most 10 apart"));
  for (const double wrong : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(column_guarantee(file, "a", wrong), BadInput);
  const json draws = to_json(rate());
  const ColumnGuarantee one = column_guarantee(draws, "visits", 1);
  EXPECT_LT(one.epsilon, .2);
  EXPECT_TRUE(std::isnan(one.mu));
  EXPECT_FALSE(one.is_whole);
  const ColumnGuarantee any = column_guarantee(draws, "visits");
  EXPECT_TRUE(any.is_whole);
  EXPECT_EQ(any.epsilon, 1);
  EXPECT_LT(one.guess_percent, any.guess_percent);
  EXPECT_THAT(in_words(rate().certificate()),
              HasSubstr(std::to_string(any.guess_percent).substr(0, 4) + " % of the time"));
  EXPECT_THAT(in_words(any), HasSubstr("No theorem has a smaller number"));
}

}  // namespace column_guarantee_test
}  // namespace gibbsite
