// An evaluation's file gives back what was written, and no edit that strengthens its claim passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace evaluation_file_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

Schema evaluated_schema(bool several) {
  Schema out;
  out.label_name = "income";
  if (several) {
    out.label = Classes{{"a", "b", "c"}};
  } else {
    out.label = TwoClasses{.positive = ">50K", .negative = "<=50K"};
  }
  out.columns = {{.name = "age", .type = ColumnType::number, .lo = 17, .hi = 90}};
  return out;
}

EvaluationRelease evaluation(const Budget& budget, bool several = false,
                             NoiseKind kind = NoiseKind::chacha20, bool of_void = false) {
  const std::uint64_t bins = 10;
  const HistogramPlan plan = plan_histogram({.rows = 5000, .cells = 2 * bins}, budget);
  EvaluationModel model{.schema = evaluated_schema(several),
                        .of = "blake2b-256:" + std::string(64, '0'),
                        .of_void = of_void,
                        .bins = evaluation_bins(bins, several ? 3 : 2, 0.5),
                        .rows = {},
                        .counts = {}};
  if (budget.adjacency == Adjacency::replace_one) model.rows = 5000;
  model.noise = histogram_deviation(plan.mechanism, plan.problem);
  const double grid = answer_grid(model.noise);
  for (const double count : {1000, 20,  500, 30,  300, 50,  400, 100, 500, 210,
                             150,  250, 90,  250, 50,  200, 40,  300, 70,  490}) {
    model.counts.push_back(std::round(count / grid) * grid);
  }
  model.rows_per_person = budget.rows_per_person;
  EvaluationCertificate certificate = certify<EvaluationKind>(plan, {kind, "reference", true});
  certificate.of_void = of_void;
  return ReleaseAccess::make(std::move(model), std::move(certificate));
}

std::vector<EvaluationRelease> evaluations() {
  return {evaluation({}), evaluation({.adjacency = Adjacency::add_remove, .rows_per_person = 2}),
          evaluation({.epsilon = 0.3}, true), evaluation({}, false, NoiseKind::chacha20, true)};
}

json sealed_anew(json file) {
  file["certificate"]["digest"] = file_digest(file);
  return file;
}

void leaves_of(const json& value, const json::json_pointer& at,
               std::vector<json::json_pointer>& out) {
  if (value.is_structured() && !value.empty()) {
    for (const auto& item : value.items()) {
      leaves_of(item.value(), value.is_array() ? at / std::stoul(item.key()) : at / item.key(),
                out);
    }
  } else {
    out.push_back(at);
  }
}

TEST(EvaluationFile, GivesBackWhatWasWritten) {
  for (const EvaluationRelease& release : evaluations()) {
    const std::string text = to_json(release).dump(1);
    const EvaluationRelease back = parse_release<EvaluationKind>(text, "e.json");
    EXPECT_EQ(to_json(back), json::parse(text));
    EXPECT_EQ(back.model().counts, release.model().counts);
    EXPECT_EQ(back.model().rows, release.model().rows);
    EXPECT_TRUE(holds<EvaluationKind>(text, "e.json"));
    const Verification whole = verify(json::parse(text));
    EXPECT_TRUE(whole.valid) << ::testing::PrintToString(whole.failures);
    // Under add-remove no number of rows but the cap is in it.
    const bool is_public = back.certificate().claimed.who.adjacency == Adjacency::replace_one;
    EXPECT_EQ(json::parse(text)["model"].contains("rows"), is_public);
  }
}

TEST(EvaluationFile, OtherReadersRefuseItInOneLine) {
  const std::string text = to_json(evaluation({})).dump();
  EXPECT_THAT([&] { parse_release(text, "e.json"); },
              ThrowsMessage<BadInput>(HasSubstr("e.json: holds the evaluation of a model")));
  EXPECT_THAT([&] { parse_release<ConjugateKind>(text, "e.json"); },
              ThrowsMessage<BadInput>(HasSubstr("e.json: holds the evaluation of a model")));
  EXPECT_THAT([&] { parse_release<GraphicalKind>(text, "e.json"); },
              ThrowsMessage<BadInput>(HasSubstr("e.json: holds the evaluation of a model")));
  json other = json::parse(text);
  other["certificate"]["constants"].erase("histogram");
  EXPECT_THAT([&] { parse_release<EvaluationKind>(sealed_anew(other).dump(), "e.json"); },
              ThrowsMessage<BadInput>(HasSubstr(
                  "e.json: holds a model of rows, not the evaluation of a model; give the "
                  "file of an evaluation")));
}

TEST(EvaluationFile, WordsSpeakOfAnEvaluation) {
  const std::string words = in_words(evaluation({}).certificate());
  EXPECT_THAT(words, HasSubstr("Whoever sees this evaluation"));
  EXPECT_THAT(words, HasSubstr("without the evaluation"));
  const json file = to_json(evaluation({}, false, NoiseKind::philox));
  EXPECT_THAT(in_words(file.at("certificate")), HasSubstr("this evaluation is void"));
  EXPECT_THAT(words, HasSubstr("other figures of these rows"));
  EXPECT_THAT(words, HasSubstr("Another evaluation or model of the same people costs again"));
  EXPECT_THAT(words, HasSubstr("a person moves one row from one to another"));
  EXPECT_THAT(in_words(evaluation({.rows_per_person = 3}).certificate()),
              HasSubstr("a person moves up to 3 rows, between any counts"));
  EXPECT_THAT(
      in_words(
          evaluation({.adjacency = Adjacency::add_remove, .rows_per_person = 3}).certificate()),
      HasSubstr("a person adds up to 3 rows, to any counts"));
  EXPECT_THAT(to_json(evaluation({}))["certificate"]["assumptions"].dump(),
              HasSubstr("whether there is an evaluation"));
  EXPECT_TRUE(file["certificate"]["guarantee"]["epsilon"].is_null());
  const Verification check = verify(file);
  EXPECT_FALSE(check.valid);
  EXPECT_TRUE(check.void_run);
}

TEST(VerifyEvaluation, NamesTheNumberOfCountsThatIsNotTheModels) {
  json file = to_json(evaluation({}));
  file["certificate"]["constants"]["histogram"] = 21;
  EXPECT_THAT(verify(sealed_anew(file)).failures,
              ::testing::Contains("constants.histogram: claimed 21, the model has 20"));
}

TEST(EvaluationFile, SaysThatTheModelEvaluatedIsVoid) {
  const auto lines = [](const json& file) {
    return file["certificate"]["assumptions"].dump() + in_words(file["certificate"]);
  };
  const json good = to_json(evaluation({}));
  EXPECT_THAT(lines(good), HasSubstr("accounted for by its own certificate"));
  EXPECT_THAT(lines(good), Not(HasSubstr("covered by nothing")));
  for (const NoiseKind kind : {NoiseKind::chacha20, NoiseKind::philox}) {
    const json file = to_json(evaluation({}, false, kind, true));
    EXPECT_EQ(file["model"]["of_void"], true);
    EXPECT_THAT(lines(file), HasSubstr("the model is void"));
    EXPECT_THAT(lines(file), HasSubstr("The model evaluated is void"));
    EXPECT_THAT(lines(file), Not(HasSubstr("its own certificate")));
    EXPECT_EQ(verify(file).valid, kind == NoiseKind::chacha20);
    // What takes it back in one place does not verify, with a new digest either.
    json changed = file;
    changed["model"].erase("of_void");
    EXPECT_FALSE(verify(sealed_anew(changed)).valid);
    changed = file;
    changed["certificate"]["constants"].erase("of_void");
    EXPECT_FALSE(verify(sealed_anew(changed)).valid);
    changed = file;
    changed["certificate"]["assumptions"] = good["certificate"]["assumptions"];
    EXPECT_FALSE(verify(sealed_anew(changed)).valid);
  }
}

// Every leaf is edited: another number, one bit more and one bit less, another type, removed. An
// edit that passes without a new digest is a weaker claim. An edit that passes with one makes the
// same promise.
TEST(VerifyEvaluation, RejectsAnEditOfEveryLeaf) {
  for (const EvaluationRelease& release : evaluations()) {
    const json file = to_json(release);
    std::vector<json::json_pointer> leaves;
    leaves_of(file, json::json_pointer(), leaves);
    std::size_t tried = 0;
    support::Thinned sweep(41);
    for (const auto& at : leaves) {
      const std::string name = at.to_string();
      const json before = file.at(at);
      std::vector<json> edits{nullptr, "philox", "add-remove",  true, -1,
                              0,       3,        json::array(), 1e300};
      if (before.is_number()) {
        for (const double factor : {0.5, 0.99, 1.01, 2.0}) {
          edits.emplace_back(before.get<double>() * factor);
        }
      }
      // A few figures are enough: all of them are compared in one way.
      if (name.starts_with("/model/figures")) edits = {nullptr, 3};
      for (const json& edit : edits) {
        if (edit == before || sweep.skips()) continue;
        json changed = file;
        changed[at] = edit;
        ++tried;
        const bool numbers = before.is_number() && edit.is_number();
        const bool is_claim = name.starts_with("/certificate/guarantee/");
        const bool weaker = is_claim && numbers && edit.get<double>() > before.get<double>();
        if (verify(changed).valid) {
          EXPECT_TRUE(weaker) << name << " " << edit;
        }
        if (verify(sealed_anew(changed)).valid) {
          const bool same_promise =
              name.starts_with("/model/counts/") ||
              name == "/certificate/constants/rows" ||  // of a cap: sums' sizes alone
              name == "/certificate/software/version" ||
              name.starts_with("/model/preprocessing/") || name == "/certificate/digest";
          EXPECT_TRUE(weaker || same_promise) << name << " " << edit;
        }
      }
    }
    EXPECT_GT(tried, support::repeats<std::size_t>(500, 10));
  }
}

TEST(VerifyEvaluation, RejectsLessNoiseCountsOffTheGridAndFiguresOfOtherCounts) {
  const json file = to_json(evaluation({}));
  const auto failures = [](const json& changed) {
    return ::testing::PrintToString(verify(sealed_anew(changed)).failures);
  };
  json changed = file;
  changed["certificate"]["mechanism"]["noise"] =
      file["certificate"]["mechanism"]["noise"].get<double>() * 0.9;
  EXPECT_THAT(failures(changed), HasSubstr("guarantee.mu"));
  changed = file;
  changed["model"]["counts"][0] = file["model"]["counts"][0].get<double>() + 0.1;
  EXPECT_THAT(failures(changed), HasSubstr("off the grid"));
  changed = file;
  changed["model"]["counts"][0] = 1e6;
  EXPECT_THAT(failures(changed), HasSubstr("that no noise leads to"));
  const double noise = file["model"]["noise"], grid = answer_grid(noise);
  changed = file;
  changed["model"]["counts"][0] = std::round(-max_abs_answer_normal * noise / grid) * grid;
  EXPECT_THAT(failures(changed), Not(HasSubstr("1 that no noise leads to")));
  changed["model"]["counts"][0] = std::floor(-13.6 * noise / grid) * grid;
  EXPECT_THAT(failures(changed), HasSubstr("1 that no noise leads to"));
  changed = file;  // each may be, all of them not
  for (json& count : changed["model"]["counts"]) count = 1024;
  EXPECT_THAT(failures(changed), HasSubstr("their sum"));
  EXPECT_THAT(failures(changed), Not(HasSubstr("2 that no noise")));
  for (const char* of : {"", "hello", "blake2b-256:00", "sha-256:00"}) {
    changed = file;
    changed["model"]["of"] = of;
    EXPECT_THAT(failures(changed), HasSubstr("of: must be the digest"));
  }
  changed["model"]["of"] = "blake2b-256:" + std::string(64, 'A');
  EXPECT_THAT(failures(changed), HasSubstr("of: must be the digest"));
  changed = file;
  changed["model"]["rows_per_person"] = 2;
  EXPECT_THAT(failures(changed), HasSubstr("model.rows_per_person"));
  changed = file;
  changed["model"]["figures"]["accuracy"]["value"] = 0.99;
  EXPECT_THAT(failures(changed), HasSubstr("model.figures"));
  changed = file;
  changed["model"].erase("rows");
  EXPECT_THAT(failures(changed), HasSubstr("model.rows"));
  changed = file;
  changed["model"]["edges"] = evaluation_bins(11, 2, 0.5).edges;
  EXPECT_THAT(failures(changed), HasSubstr("counts"));
}

}  // namespace evaluation_file_test
}  // namespace gibbsite
