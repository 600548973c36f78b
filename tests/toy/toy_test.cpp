// A mechanism is one word in the variant: tests/CMakeLists.txt adds `Toy` there, and what plans,
// certifies and reads files is compiled with it as it stands.
#include "toy/toy.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"

namespace gibbsite {
namespace toy_test {

Problem small_problem() {
  Schema schema;
  schema.row_norm = 1;
  for (const char* const name : {"a", "b", "c"}) {
    schema.columns.push_back({.name = name, .type = ColumnType::number});
  }
  return glm("logistic", {}).constants(schema, 1000);
}

TEST(Toy, IsPlannedAsAnyOther) {
  const Plan all = plan(small_problem(), {});
  ASSERT_EQ(name_of(all.candidates.back().mechanism), "toy");
  EXPECT_NE(name_of(all.candidate().mechanism), "toy");
  const Plan made = plan(small_problem(), {}, {.mechanism = "toy"});
  const Candidate& candidate = require_feasible(made);
  EXPECT_EQ(std::get<Toy>(candidate.mechanism).noise_scale, 1);
  EXPECT_EQ(candidate.guarantee.mu, 0);
  EXPECT_GT(candidate.guarantee.tv, 0);
  EXPECT_LE(delta_up(candidate.guarantee, made.budget.epsilon), made.budget.delta);
  EXPECT_EQ(ledger_guarantee(made).tv, candidate.guarantee.tv);
  EXPECT_THROW(plan(small_problem(), {}, {.mechanism = "toy", .padded = true}), BadInput);
  EXPECT_THROW(plan(small_problem(), {}, {.mechanism = "toy", .tv = 0.1}), BadInput);
}

TEST(Toy, WhatItDoesNotSayPromisesNothing) {
  const Mechanism toy = mechanism_named("toy");
  EXPECT_FALSE(coefficient_noise_up(toy, small_problem()).has_value());
  EXPECT_FALSE(run_time_tells(toy).empty());
  EXPECT_EQ(basis_of(toy), "It rests on the theorem that the certificate names");
  EXPECT_EQ(procedure_of(toy, {30, 30}), "about 30 passes over the data");
  EXPECT_EQ(assumption_of(toy), "theta0 is public");
}

TEST(Toy, ItsCertificateIsReadAsItWasWritten) {
  const Plan made = plan(small_problem(), {}, {.mechanism = "toy"});
  const Certificate one = certify<LinearKind>(made, {NoiseKind::chacha20, "reference", true});
  const nlohmann::json file = to_json(one);
  EXPECT_EQ(file.at("mechanism"),
            nlohmann::json({{"draws", 1}, {"name", "toy"}, {"noise_scale", 1.0}}));
  EXPECT_EQ(file.at("theorem"), "docs/dummy.md");
  EXPECT_NE(file.at("assumptions").dump().find("theta0 is public"), std::string::npos);
  const Certificate back = certificate_from_json(file);
  EXPECT_EQ(std::get<Toy>(back.mechanism).noise_scale, 1);
  EXPECT_EQ(to_json(back), file);
  nlohmann::json edited = file;
  edited["mechanism"]["noise_scale"] = 0.0;
  EXPECT_THROW(certificate_from_json(edited), BadInput);
}

}  // namespace toy_test
}  // namespace gibbsite
