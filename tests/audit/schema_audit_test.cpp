// A bought schema's claim against both pairs of tables, and planted errors that must be found. A
// true claim is refuted by chance with probability 1e-6 at most; a bound falls below the share of
// its claim that is asserted with probability below 1e-6 too.
#include "gibbsite/audit/schema_audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>

#include "gibbsite/core/error.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace schema_audit_test {

using ::testing::HasSubstr;

constexpr std::uint64_t rows = 600, columns = 2;

AuditOptions options_of(std::uint64_t pairs = 1000) {
  return {.pairs = support::repeats(pairs, std::uint64_t{20}),
          .pilot = support::repeats(std::uint64_t{300}, std::uint64_t{20}),
          .confidence = 1 - 1e-6,
          .seed = 7};
}
SchemaAuditCase case_of(SchemaPair pair, std::uint64_t rows_per_person = 1) {
  return schema_case(pair, rows, columns,
                     {.epsilon = 6, .delta = 1e-3, .rows_per_person = rows_per_person});
}
SchemaQuestions& settings_of(SchemaAuditCase& at) {
  return std::get<SchemaQuestions>(at.plan.mechanism);
}

TEST(SchemaAudit, KeepsItsClaimAndIsAuditedNearIt) {
  for (const std::uint64_t k : {1U, 5U}) {
    for (const SchemaPair pair : {SchemaPair::counts, SchemaPair::rare_texts}) {
      const AuditResult r = audit(case_of(pair, k), options_of());
      EXPECT_FALSE(r.refuted) << k;
      EXPECT_EQ(r.measure, AuditMeasure::mu);
      EXPECT_LE(r.mu_lower, r.mu_claimed);
      // From a number to a text only one count of levels and of ranges is released.
      if (!support::sanitized) {
        EXPECT_GE(r.reach(), pair == SchemaPair::counts ? .7 : .5) << k;
      }
    }
  }
}

void expect_refuted(const SchemaAuditCase& at, std::uint64_t pairs = 1000) {
  if (support::sanitized) return;  // too few runs there
  const AuditResult r = audit(at, options_of(pairs));
  EXPECT_TRUE(r.refuted) << r.reach();
}

// One table lacks the person, whose rows are counted too.
TEST(SchemaAudit, OfRowsThatArriveKeepsItsClaim) {
  for (const SchemaPair pair : {SchemaPair::counts, SchemaPair::rare_texts}) {
    const AuditResult r = audit(schema_case(pair, rows, columns,
                                            {.epsilon = 6,
                                             .delta = 1e-3,
                                             .adjacency = Adjacency::add_remove,
                                             .rows_per_person = 5}),
                                options_of());
    EXPECT_FALSE(r.refuted);
    EXPECT_LE(r.mu_lower, r.mu_claimed);
    if (!support::sanitized) {
      EXPECT_GE(r.reach(), pair == SchemaPair::counts ? .7 : .3);
    }
  }
  SchemaAuditCase unpaid = schema_case(
      SchemaPair::counts, rows, columns,
      {.epsilon = 6, .delta = 1e-3, .adjacency = Adjacency::add_remove, .rows_per_person = 5});
  settings_of(unpaid).rows_noise /= 8;  // the number of rows as good as free
  expect_refuted(unpaid);
}

// The height that keeps a person's one row hidden, under the noise of five.
TEST(SchemaAudit, AThresholdThatIgnoresRowsPerPersonIsFound) {
  SchemaAuditCase at = case_of(SchemaPair::rare_texts, 5);
  settings_of(at).threshold = settings_of(at).threshold / 5;
  expect_refuted(at, 2000);
}

// A claim that leaves out the question for levels, and that of a person with one row.
TEST(SchemaAudit, AShareThatIsNotPaidForIsFound) {
  {
    SchemaAuditCase at = case_of(SchemaPair::counts);
    at.plan.guarantee.mu *= std::sqrt(1 - .75 * .65);
    expect_refuted(at, 2000);
  }
  SchemaAuditCase at = case_of(SchemaPair::counts, 5);
  at.plan.guarantee.mu /= 5;
  expect_refuted(at);
}

TEST(SchemaAudit, LittleNoiseIsFound) {
  for (double SchemaQuestions::*const noise :
       {&SchemaQuestions::bins_noise, &SchemaQuestions::levels_noise,
        &SchemaQuestions::refine_noise}) {
    SchemaAuditCase at = case_of(SchemaPair::counts);
    settings_of(at).*noise /= 4;
    expect_refuted(at, 500);
  }
}

TEST(SchemaAudit, RefusesWhatIsNoPair) {
  EXPECT_THAT([] { schema_case(SchemaPair::counts, 5, 2, {.rows_per_person = 5}); },
              ThrowsMessage<BadInput>(HasSubstr("above rows per person")));
  SchemaAuditCase at = case_of(SchemaPair::counts);
  at.neighbor.pop_back();
  EXPECT_THAT([&] { audit(at, options_of()); }, ThrowsMessage<BadInput>(HasSubstr("plan")));
}

}  // namespace schema_audit_test
}  // namespace gibbsite::testing
