#include "gibbsite/certificate/certificate.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "run/example.hpp"

namespace gibbsite {
namespace certificate_test {

using nlohmann::json;
using ::testing::HasSubstr;

std::set<std::string> names(const json& object) {
  std::set<std::string> out;
  for (const auto& item : object.items()) out.insert(item.key());
  return out;
}

TEST(Certificate, HasTheFieldsOfTheContract) {
  const auto example = testing::examples().front();
  const json c = testing::certificate_of(example);
  EXPECT_EQ(names(c), (std::set<std::string>{"guarantee", "mechanism", "constants", "numerics",
                                             "assumptions", "theorem", "software", "digest"}));
  EXPECT_EQ(names(c["guarantee"]),
            (std::set<std::string>{"epsilon", "delta", "mu", "pure", "reveal", "tv", "adjacency",
                                   "rows_per_person"}));
  EXPECT_EQ(names(c["mechanism"]),
            (std::set<std::string>{"name", "calibration", "beta", "prior_precision", "step_size",
                                   "iterations", "draws"}));
  EXPECT_EQ(names(c["constants"]),
            (std::set<std::string>{"rows", "features", "row_norm", "intercept", "lipschitz",
                                   "sensitivity", "strong_convexity", "smoothness", "loss",
                                   "max_abs_residual", "curvature"}));
  EXPECT_EQ(names(c["numerics"]),
            (std::set<std::string>{"arithmetic", "map_error", "noise", "noise_tv",
                                   "release_epsilon", "release_grid"}));
  EXPECT_EQ(names(c["software"]), (std::set<std::string>{"version", "backend"}));
  const Candidate& candidate = example.plan.candidate();
  const auto& path = std::get<Path>(candidate.mechanism);
  const double M = example.plan.problem.smoothness_up(path.beta, path.prior_precision);
  EXPECT_EQ(c["guarantee"]["epsilon"], 1.0);
  EXPECT_EQ(c["guarantee"]["delta"], 1e-6);
  EXPECT_EQ(c["guarantee"]["mu"], candidate.guarantee.mu);
  EXPECT_EQ(c["guarantee"]["adjacency"], "replace-one");
  EXPECT_EQ(c["mechanism"]["name"], "path");
  EXPECT_TRUE(c["mechanism"]["iterations"].is_number_integer());
  EXPECT_EQ(c["mechanism"]["iterations"], path.iterations);
  EXPECT_EQ(c["constants"]["rows"], 1000);
  EXPECT_EQ(c["constants"]["features"], 7);
  EXPECT_EQ(c["constants"]["lipschitz"], 1.5);
  EXPECT_EQ(c["constants"]["sensitivity"],
            example.plan.problem.sensitivity_up(path.beta, Adjacency::replace_one, 1));
  EXPECT_EQ(c["constants"]["smoothness"], M);
  EXPECT_EQ(c["numerics"]["noise"], "chacha20");
  EXPECT_EQ(c["software"]["backend"], "reference");
}

TEST(Certificate, OfATvCertificateNamesItsGapAndItsStart) {
  for (const auto& example : testing::examples()) {
    const bool tv = setting(example.plan.candidate().mechanism, "tv_gap").has_value();
    const json mechanism = testing::certificate_of(example)["mechanism"];
    EXPECT_EQ(mechanism.contains("tv_gap"), tv) << example.name;
    EXPECT_EQ(mechanism.contains("start_gradient_norm"), tv) << example.name;
    if (!tv) continue;
    EXPECT_GT(mechanism["tv_gap"], 0) << example.name;
    // Padded: starts at theta0, not at a minimizer.
    EXPECT_EQ(mechanism["start_gradient_norm"] > 0, mechanism.value("gradients", 0) == 0);
  }
}

// What a certificate says is read back as it was, by every mechanism.
TEST(Certificate, IsReadBackAsItWas) {
  std::set<std::string_view> seen;
  for (const auto& example : testing::examples()) {
    const json file = testing::certificate_of(example);
    json again = to_json(certificate_from_json(file));
    again["digest"] = file["digest"];
    EXPECT_EQ(again, file) << example.name;
    seen.insert(name_of(example.plan.candidate().mechanism));
  }
  EXPECT_EQ(seen.size(), mechanism_names().size()) << "an example of every mechanism";
}

TEST(Certificate, OfASeededRunHasNoNumberToQuote) {
  const auto example = testing::make_example("seeded", testing::example_schema(false), 100,
                                             {1.0, 1e-6, {}, 1, 1}, {}, {}, NoiseKind::philox);
  const json file = testing::certificate_of(example);
  const json guarantee = file["guarantee"];
  EXPECT_EQ(guarantee["void"], true);
  EXPECT_THAT(guarantee["reason"].get<std::string>(), HasSubstr("seed"));
  for (const char* name : {"epsilon", "delta", "mu", "tv"}) EXPECT_TRUE(guarantee[name].is_null());
  EXPECT_EQ(file["numerics"]["noise"], "philox");
  const std::string words = in_words(file);
  EXPECT_THAT(words, HasSubstr("No guarantee"));
  EXPECT_EQ(words.find("ε"), std::string::npos);
}

ChainNoise numbers(double h, double e, double T, double m = 0, double M = 0) {
  return {h, T, m, M, e, false};
}

TEST(ReleaseGrid, FollowsTheNoiseOfAStep) {
  // sqrt(2h) in [2^k, 2^(k+1)) gives 2^(k - 8); checked on both sides of powers of two.
  for (int k = -40; k <= 10; ++k) {
    const double edge = std::ldexp(0.5, 2 * k);  // sqrt(2h) = 2^k
    EXPECT_EQ(release_grid(numbers(edge, 0, 1)), std::ldexp(1.0, k - 8)) << k;
    EXPECT_EQ(release_grid(numbers(edge * 3.99, 0, 1)), std::ldexp(1.0, k - 8)) << k;
    EXPECT_EQ(release_grid(numbers(std::nextafter(edge, 0), 0, 1)), std::ldexp(1.0, k - 9)) << k;
  }
}

TEST(ReleaseGrid, StaysAboveSixteenAccumulatedMapErrors) {
  // c = 1: e T accumulates. 16 * 2^-20 * 64 = 2^-10.
  EXPECT_EQ(release_grid(numbers(1e-12, 0x1p-20, 64)), 0x1p-10 * 2);  // rounded up past the edge
  EXPECT_EQ(release_grid(numbers(1e-12, 0.99 * 0x1p-20, 64)), 0x1p-10);
  // c = 1 - hm = 1 - 1/32: e / (1 - c) = 32 e.
  EXPECT_EQ(release_grid(numbers(0x1p-40, 0.99 * 0x1p-20, 1e6, 0x1p35, 0x1p36)), 0x1p-11);
  // c = |1 - hM| = 31/32 from the other side.
  EXPECT_EQ(release_grid(numbers(0x1p-40, 0.99 * 0x1p-20, 1e6, 0x1p40, 0x1p41 - 0x1p35)), 0x1p-11);
  EXPECT_TRUE(std::isnan(release_grid(numbers(1e-3, std::numeric_limits<double>::infinity(), 1))));
}

TEST(InWords, SaysWhatIsPromisedAndWhatIsNot) {
  const std::string words = in_words(testing::examples().front().release.certificate());
  EXPECT_THAT(words, HasSubstr("(ε, δ) = (1, 1e-06), replace-one, one row per person"));
  EXPECT_THAT(words, HasSubstr("Not covered"));
  EXPECT_THAT(words, HasSubstr("number of rows, 1000"));
  EXPECT_THAT(words, HasSubstr("whether or not the chain"));
  EXPECT_GE(std::count(words.begin(), words.end(), '\n'), 5);
  EXPECT_LE(std::count(words.begin(), words.end(), '\n'), 11);
  const std::string two = in_words(testing::examples()[1].release.certificate());
  EXPECT_THAT(two, HasSubstr("up to 2 rows per person"));
  EXPECT_THAT(two, HasSubstr("all 3 released draws"));
  EXPECT_THAT(in_words(testing::examples()[2].release.certificate()),
              HasSubstr("whether that person was in the table"));
}

TEST(InWords, GuessIsTheOneOfTheGaussianTradeOff) {
  json c = testing::certificate_of(testing::examples().front());
  c["guarantee"]["mu"] = 1.0;  // Phi(0.5) = 0.69146, rounded up to a tenth of a percent
  EXPECT_THAT(in_words(c), HasSubstr("right at most 69.2 %"));
  c["guarantee"]["tv"] = 0.1;
  EXPECT_THAT(in_words(c), HasSubstr("right at most 79.2 %"));
  // A pure part: the best guess about an (epsilon, delta(epsilon))-private release.
  c["guarantee"]["pure"] = 1.0;  // wrong by 2 Phi(-0.5)/(1 + e) = 0.16595, less the gap
  EXPECT_THAT(in_words(c), HasSubstr("right at most 93.5 %"));
  c["guarantee"]["mu"] = c["guarantee"]["tv"] = 0;  // randomized response: e/(1 + e) = 0.73106
  EXPECT_THAT(in_words(c), HasSubstr("right at most 73.2 %"));
}

// Each grade from just above the one before to its end.
TEST(InWords, FollowTheBudget) {
  struct Grade {
    double least_mu, most_mu;  // 2 Phi^-1 of the percentages, inside by a tenth of a percent
    const char* words;
  };
  json c = testing::certificate_of(testing::examples().front());
  for (const Grade& grade :
       {Grade{0.01, 0.505, "learns little about any one person"},  // 50.2 to 60.0 %
        Grade{0.515, 1.34, "learns something about a person, but cannot be sure of it"},
        Grade{1.36, 2.55, "may learn much about a person (this protection is weak)"},
        Grade{2.575, 4.64, "may be all but sure about a person (this hardly protects anybody)"},
        Grade{4.70, 40, "may be certain about a person (this protects nobody)"}}) {
    for (const double mu : {grade.least_mu, grade.most_mu}) {
      c["guarantee"]["mu"] = mu;
      EXPECT_THAT(in_words(c), HasSubstr(grade.words)) << mu;
    }
  }
  // The gap of a TV certificate counts: mu = 0.505 and 0.2 are 80 %.
  c["guarantee"]["mu"] = 0.505;
  c["guarantee"]["tv"] = 0.2;
  EXPECT_THAT(in_words(c), HasSubstr("may learn much"));
}

TEST(InWords, WarnOfADeltaOfOneInTheNumberOfRows) {
  json c = testing::certificate_of(testing::examples().front());  // 1000 rows
  EXPECT_THAT(in_words(c), ::testing::Not(HasSubstr("not below 1/rows")));
  c["guarantee"]["delta"] = 1e-3;
  EXPECT_THAT(in_words(c), HasSubstr("δ = 0.001 is not below 1/rows"));
}

TEST(InWords, RejectsACertificateWithoutItsNumbers) {
  json c = testing::certificate_of(testing::examples().front());
  c["guarantee"].erase("delta");
  EXPECT_THROW(in_words(c), BadInput);
  EXPECT_THROW(in_words(json::array()), BadInput);
}

TEST(PlanJson, HasTheFieldsOfTheContract) {
  const Plan& example = testing::examples().front().plan;
  Plan plan = gibbsite::plan(example.problem, example.budget, {.mechanism = "path"});
  auto& dalalyan = std::get<Dalalyan>(plan.candidates[7].mechanism);
  dalalyan.iterations = 0x1p53;
  const json out = plan_json(plan);
  EXPECT_EQ(out["chosen"], "path");
  ASSERT_EQ(out["offers"].size(), mechanism_names().size());
  EXPECT_EQ(names(out["offers"][2]),
            (std::set<std::string>{"name", "calibration", "beta", "prior_precision", "step_size",
                                   "iterations", "guarantee", "passes", "feasible", "why"}));
  EXPECT_EQ(names(out["offers"][2]["guarantee"]),
            (std::set<std::string>{"epsilon", "delta", "mu", "pure", "reveal", "tv"}));
  EXPECT_EQ(out["constants"]["rows"], 1000);
  EXPECT_TRUE(out["offers"][2]["iterations"].is_number_integer());
  EXPECT_TRUE(out["offers"][7]["iterations"].is_number_integer());

  dalalyan.iterations = 2.5e22;  // beyond 2^64: no silent overflow
  const json far = json::parse(plan_json(plan).dump());
  EXPECT_TRUE(far["offers"][7]["iterations"].is_number_float());
  EXPECT_EQ(far["offers"][7]["iterations"], 2.5e22);

  // Fields have their names there: no backquotes, which front ends turn into their own.
  Problem flat = example.problem;
  flat.prior_precision = 0;
  const json refused = plan_json(gibbsite::plan(flat, example.budget, {.mechanism = "path"}));
  EXPECT_EQ(refused["offers"][3]["why"],
            "needs a strongly convex potential; give prior_precision above 0");
}

}  // namespace certificate_test
}  // namespace gibbsite
