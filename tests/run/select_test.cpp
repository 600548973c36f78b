// Released choices: their law, their file and what a run refuses.
#include "gibbsite/run/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "gibbsite/certificate/rdp.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace select_test {

using nlohmann::json;
using ::testing::HasSubstr;

Key select_key(std::uint32_t number, NoiseKind kind = NoiseKind::chacha20) {
  std::array<std::uint8_t, 32> bytes{77};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(kind, bytes));
}

SelectionModel shape_of_three() {
  return {.candidates = {"a", "b", "c"}, .score = "given", .lo = -1, .hi = 3};
}

ScoreSums three_sums() {
  ScoreSums out(3, -1, 3);
  for (int i = 0; i < 8; ++i)  // full, half, none and two thirds of a score
    out.add(std::vector<double>{3, i % 2 == 0 ? 9.0 : -7.0, i % 4 == 0 ? 5.0 / 3 : -1});
  return out;
}

const Budget select_budget{.epsilon = 1, .delta = 1e-15};

SelectRelease select_run(std::uint32_t key, const FitOptions& options = {}) {
  const SelectPlan plan = plan_select({.rows = 8, .candidates = 3}, select_budget);
  return release_selection(shape_of_three(), three_sums(), plan, select_key(key), options);
}

TEST(ScoreSums, AreClampedAndExact) {
  const ScoreSums sums = three_sums();
  constexpr std::uint64_t full = std::uint64_t{1} << 30;
  EXPECT_EQ(sums.rows(), 8U);
  EXPECT_EQ(sums.steps()[0], 8 * full);
  EXPECT_EQ(sums.steps()[1], 4 * full);
  EXPECT_EQ(sums.steps()[2], 2 * 715827883);
  ScoreSums none(2, 0, 1);
  none.add(std::vector<double>{std::nan(""), INFINITY});
  EXPECT_EQ(none.steps()[0], full / 2);
  EXPECT_EQ(none.steps()[1], full);
  EXPECT_THROW(none.add(std::vector<double>{1}), BadInput);
  EXPECT_THROW(ScoreSums(2, 1, 1), BadInput);
}

// 4,000 keys, each a choice. A share is off by 6 of its deviations with a probability below 1e-8.
TEST(ReleaseSelection, PicksByTheLawOfThePlan) {
  const SelectPlan plan = plan_select({.rows = 8, .candidates = 3}, select_budget);
  const double w = std::get<ExponentialPick>(plan.mechanism).weight;
  const std::vector<double> sums{8, 4, 4.0 / 3};
  double total = 0;
  for (const double sum : sums) total += std::exp(w * sum);
  const auto runs = support::repeats(4000U, 200U);
  std::array<double, 3> found{};
  for (std::uint32_t run = 0; run < runs; ++run)
    found.at(select_run(run).model().chosen) += 1.0 / runs;
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = std::exp(w * sums[i]) / total;
    EXPECT_NEAR(found.at(i), p, 6 * std::sqrt(p * (1 - p) / runs)) << i;
    EXPECT_GT(p, 0.01);
  }
}

TEST(ReleaseSelection, VerifiesAndIsReadAgain) {
  const SelectRelease made = select_run(1);
  EXPECT_TRUE(verify(made).valid);
  const json file = to_json(made);
  EXPECT_TRUE(verify(file).valid);
  const SelectRelease again = parse_release<SelectKind>(file.dump(), "again");
  EXPECT_EQ(to_json(again), file);
  const std::string words = in_words(made.certificate());
  EXPECT_THAT(words, HasSubstr("Whoever sees this selection"));
  EXPECT_THAT(words, HasSubstr("62.3 %"));  // 1/(1 + e^-1/2): the range's, not that of pure 1
  EXPECT_THAT(words, HasSubstr("RDP ε = 0.2"));
  EXPECT_EQ(in_words(file.at("certificate")), words);
  EXPECT_NEAR(renyi_up(made.certificate(), 2), 0.25, 1e-12);
  EXPECT_THROW(parse_release(file.dump(), "model"), BadInput);
}

// Every leaf, with a digest of its own: but for the names of candidates, which nobody can know, an
// edit is seen.
TEST(ReleaseSelection, EveryEditIsSeen) {
  const json file = to_json(select_run(2));
  const json flat = file.flatten();
  int edits = 0;
  for (const auto& item : flat.items()) {
    const std::string name = item.key();
    const bool is_name = name.starts_with("/model/candidates") || name == "/model/chosen" ||
                         name.starts_with("/model/range") || name == "/certificate/digest" ||
                         name.starts_with("/certificate/software") ||
                         name == "/certificate/guarantee/delta";  // a smaller one holds too
    if (is_name) continue;
    json edited = flat;
    const json& value = item.value();
    // What is guaranteed may be claimed weaker, so it is claimed stronger.
    const bool guaranteed = name.starts_with("/certificate/guarantee/");
    if (value.is_string()) {
      edited[name] = value.get<std::string>() + "x";
    } else if (value.is_number() && value != 0) {
      edited[name] = value.get<double>() * (guaranteed ? 0.9 : 1.1);
    } else {
      continue;
    }
    json changed = edited.unflatten();
    changed["certificate"]["digest"] = file_digest(changed);
    EXPECT_FALSE(verify(changed).valid) << name;
    ++edits;
  }
  EXPECT_GT(edits, 25);
  json undigested = file;
  undigested["model"]["chosen"] = file["model"]["chosen"] == "a" ? "b" : "a";
  EXPECT_FALSE(verify(undigested).valid);
}

TEST(ReleaseSelection, IsEnteredByTheRangesGaussian) {
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("l.ledger"), 5, 1e-6, {}, {}, {.memory = folder.path("memory")});
  const FitOptions options{.ledger = &ledger};
  const SelectRelease made = select_run(3, options);
  const SelectPlan plan = plan_select({.rows = 8, .candidates = 3}, select_budget);
  const double mu = ledger_guarantee(plan).mu;
  EXPECT_LT(mu, 0.63);
  const LedgerState state = ledger.read();
  ASSERT_EQ(state.entries.size(), 1U);
  EXPECT_EQ(state.entries[0].command, "select exponential");
  EXPECT_EQ(state.spent(), privacy_cost_up(ledger_guarantee(plan)));
  EXPECT_THROW(select_run(3, options), BadInput);  // the key is used up
}

TEST(ReleaseSelection, RefusesOtherSums) {
  const SelectPlan plan = plan_select({.rows = 9, .candidates = 3}, select_budget);
  EXPECT_THROW(release_selection(shape_of_three(), three_sums(), plan, select_key(4)), BadInput);
  SelectionModel twice = shape_of_three();
  twice.candidates[1] = "a";
  const SelectPlan right = plan_select({.rows = 8, .candidates = 3}, select_budget);
  EXPECT_THROW(release_selection(twice, three_sums(), right, select_key(5)), BadInput);
  SelectPlan stronger = right;
  std::get<ExponentialPick>(stronger.mechanism).weight *= 1.1;
  EXPECT_THROW(release_selection(shape_of_three(), three_sums(), stronger, select_key(6)),
               BadInput);
}

TEST(ReleaseSelection, OfASeedIsVoid) {
  const SelectPlan plan = plan_select({.rows = 8, .candidates = 3}, select_budget);
  const SelectRelease made =
      release_selection(shape_of_three(), three_sums(), plan, select_key(7, NoiseKind::philox));
  EXPECT_TRUE(made.certificate().is_void());
  EXPECT_FALSE(verify(made).valid);
  EXPECT_THAT(in_words(made.certificate()), HasSubstr("No guarantee"));
}

}  // namespace select_test
}  // namespace gibbsite
