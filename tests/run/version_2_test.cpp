// Files of the format /2, one of each kind of model, and what the program of then predicted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/query.hpp"
#include "gibbsite/release/report.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace version_2_test {

using nlohmann::json;
using ::testing::HasSubstr;

std::string path_of(const std::string& name) {
  return std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v2/" + name + ".json";
}
/// Tables of new rows by name, and by model what was predicted of one of them.
const json& expected() {
  static const json all = json::parse(text_of(path_of("predictions")));
  return all;
}
json resealed(json file) {
  file["certificate"]["digest"] = file_digest(file);
  return file;
}

std::vector<double> predicted(const LinearModel& model, const Dataset& data) {
  if (is<TwoClasses>(model.schema.label)) return predict_probabilities(model, data.view());
  if (is<Classes>(model.schema.label)) return predict_classes(model, data.view());
  return predict_amounts(model, data.view());
}

void expect_near(const std::vector<double>& is, const json& was) {
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    const double value = was[i].get<double>();
    EXPECT_NEAR(is[i], value, 1e-12 * std::max(1.0, std::fabs(value))) << i;
  }
}

TEST(Version2, PredictsWhatTheProgramOfThenDid) {
  const testing::TempDir folder;
  ASSERT_GE(expected()["models"].size(), 12U);
  for (const auto& item : expected()["models"].items()) {
    SCOPED_TRACE(item.key());
    const std::string table = item.value()["table"];
    const std::string rows =
        folder.write(table + ".csv", expected()["tables"][table].get<std::string>());
    const LinearModel model = read_release(path_of(item.key())).model();
    const Dataset data =
        read_table(rows, model.schema,
                   {.labels = ReadOptions::Labels::optional, .ignore_extra_columns = true});
    expect_near(predicted(model, data), item.value()["predictions"]);
    if (!item.value().contains("intervals")) continue;
    // Their way of making intervals held less often than they said.
    EXPECT_THAT([&] { static_cast<void>(predict_intervals(model, data.view())); },
                ::testing::ThrowsMessage<BadInput>(HasSubstr("an older way")));
  }
}

/// All files, whatever they hold.
std::vector<std::string> all_names() {
  std::vector<std::string> out{"bernoulli", "network", "evaluation"};
  for (const auto& item : expected()["models"].items()) out.push_back(item.key());
  return out;
}

TEST(Version2, IsValidAndWrittenAgainWithItsDigest) {
  for (const std::string& name : all_names()) {
    SCOPED_TRACE(name);
    const json file = read_release_json(path_of(name));
    ASSERT_EQ(file["format"], "gibbsite-release/2");
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << ::testing::PrintToString(result.failures);
    const json again = name == "bernoulli"    ? to_json(read_release<ConjugateKind>(path_of(name)))
                       : name == "network"    ? to_json(read_release<GraphicalKind>(path_of(name)))
                       : name == "evaluation" ? to_json(read_release<EvaluationKind>(path_of(name)))
                                              : to_json(read_release(path_of(name)));
    EXPECT_EQ(again, file);
  }
}

// A link says how probabilities follow where slopes were clipped, which they are no more.
TEST(Version2, HoldsACappedLinkExactlyWhereAWhitenedModelIsLogistic) {
  for (const std::string& name : all_names()) {
    SCOPED_TRACE(name);
    json file = read_release_json(path_of(name));
    const bool capped = name.starts_with("whitened");
    const json link = file["model"].value("link", json());
    ASSERT_EQ(link.is_object() && link["kind"] == "capped-logistic", capped);
    if (!capped) {
      file["model"]["link"] = read_release_json(path_of("whitened"))["model"]["link"];
      EXPECT_FALSE(verify(resealed(file)).valid);
      continue;
    }
    json without = file;
    without["model"].erase("link");
    EXPECT_FALSE(verify(resealed(without)).valid);
    const std::vector<std::pair<const char*, json>> edits{
        {"clip", 0}, {"metric", json::array()}, {"words", "sigmoid"}, {"kind", "capped"}};
    for (const auto& [field, value] : edits) {
      json edited = file;
      edited["model"]["link"][field] = value;
      EXPECT_FALSE(verify(resealed(edited)).valid) << field;
    }
    json shorter = file;
    shorter["model"]["link"]["metric"].erase(0);
    EXPECT_FALSE(verify(resealed(shorter)).valid);
  }
}

TEST(Version2, GradientsHaveTheClipOfTheLink) {
  json file = read_release_json(path_of("whitened-answers"));
  for (json& answer : file["model"]["answers"]) {
    if (answer["question"] != "gradient") continue;
    answer["clip"] = 0.99 * answer["clip"].get<double>();
  }
  EXPECT_THAT(::testing::PrintToString(verify(resealed(file)).failures), HasSubstr("the link's"));
}

TEST(Version2, ACappedLinkIsRefusedInOtherFormats) {
  const std::string text = text_of(path_of("whitened"));
  json file = json::parse(text);
  file["format"] = "gibbsite-release/3";
  file = resealed(file);
  EXPECT_FALSE(verify(file).valid);
  EXPECT_THAT([&] { static_cast<void>(parse_release(file.dump(), "m.json")); },
              ::testing::ThrowsMessage<BadInput>(HasSubstr("m.json: model.link: capped-logistic")));
}

// Coefficients of a clipped fit are no log-odds, and no page says so.
TEST(Version2, ACappedModelIsReportedWithoutOdds) {
  const Release capped = read_release(path_of("whitened")), plain = read_release(path_of("output"));
  EXPECT_FALSE(coefficient_lines(capped.model(), capped.certificate()).multiplies);
  EXPECT_TRUE(coefficient_lines(plain.model(), plain.certificate()).multiplies);
  EXPECT_THAT(score_words(capped.model()), HasSubstr("Fitted again they are log-odds"));
  EXPECT_EQ(score_words(plain.model()), "");
  const std::string page = read_html_report(path_of("whitened"));
  EXPECT_THAT(page, HasSubstr("scores and no log-odds"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("odds ×")));
  EXPECT_THAT(read_html_report(path_of("output")), HasSubstr("odds ×"));
}

TEST(Version2, DrawsAndNetworksAreAsked) {
  const FamilyRelease draws = read_release<ConjugateKind>(path_of("bernoulli"));
  double sum = 0;
  for (const ParameterEstimate& one : estimates(draws)) sum += one.value;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(read_release<GraphicalKind>(path_of("network")).model().network.size(), 5U);
  EXPECT_EQ(read_release<EvaluationKind>(path_of("evaluation")).model().of,
            read_release_json(path_of("whitened"))["certificate"]["digest"]);
}

}  // namespace version_2_test
}  // namespace gibbsite
