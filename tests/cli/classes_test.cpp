// A model of three classes from the schema to its evaluation: names of classes wherever people
// look.
#include <algorithm>
#include <cmath>

#include "cli.hpp"

namespace gibbsite::testing {
namespace classes_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ClassesCli : public Cli {
 protected:
  static constexpr int count = 3000;
  static inline const std::vector<std::string> names{"round", "long, thin", "\"flat\""};

  // Height and weight tell most of the kind; one row in ten is of another.
  void SetUp() override {
    std::string table = "id,height,weight,kind\n";
    for (int i = 0; i < count; ++i) {
      const int k = i % 3, height = (k == 1 ? 60 : 10) + (i * 7) % 40,
                weight = (k == 2 ? 55 : 5) + (i * 11) % 45;
      const std::string& kind = names[static_cast<std::size_t>(i % 10 == 0 ? (k + 1) % 3 : k)];
      table += std::to_string(i) + "," + std::to_string(height) + "," + std::to_string(weight) +
               "," + quoted_cell(kind) + "\n";
    }
    folder.write("table.csv", table);
    folder.write("table.toml",
                 "label = \"kind\"\nclasses = [\"round\", \"long, thin\", '\"flat\"']\n\n"
                 "[columns]\nid = {type = \"ignore\"}\n"
                 "height = {type = \"number\", range = [0, 100]}\n"
                 "weight = {type = \"number\", range = [0, 100]}\n");
  }
  static std::string quoted_cell(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  }
  [[nodiscard]] Outcome fitted(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = fit(
        {"--out", "model.json", "--backend", "reference", "--mechanism", "output", "--seed", "1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gibbsite(arguments);
  }
  [[nodiscard]] Outcome ask(const std::string& command,
                            const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{command, "--model", "model.json", "--data", "table.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gibbsite(arguments);
  }
};

TEST_F(ClassesCli, AreFittedPredictedAndJudgedByName) {
  const Outcome fit = fitted({"--verbose"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  for (const char* part :
       {"3 features, 3 classes", "Coefficients by kind", "long, thin", "--probabilities"})
    EXPECT_THAT(fit.out, HasSubstr(part));

  const nlohmann::json model = json("model.json")["model"];
  EXPECT_EQ(model["loss"], "softmax-3");
  EXPECT_EQ(model["classes"], names);
  EXPECT_EQ(model["link"]["kind"], "softmax-3");
  for (const std::string& name : names) {
    ASSERT_EQ(model["coefficients"][name].size(), 3U);
    const double slope = model["original_units"][name]["slopes"]["height"];
    EXPECT_DOUBLE_EQ(slope, model["coefficients"][name][0].get<double>() / 100);
  }

  // As the file's own words say.
  const Outcome predict = ask("predict", {"--probabilities", "--keep", "kind,height,weight"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_THAT(predict.out,
              StartsWith("kind,height,weight,prediction,probability=round,\"probability=long, "
                         "thin\",\"probability=\"\"flat\"\"\"\n"));
  std::istringstream lines(predict.out);
  std::string line;
  std::getline(lines, line);
  int right = 0, read = 0;
  for (; std::getline(lines, line); ++read) {
    const std::string& is =
        names[static_cast<std::size_t>(read % 10 == 0 ? (read % 3 + 1) % 3 : read % 3)];
    const bool quotes = is != "round";
    const std::string kept = quotes ? quoted_cell(is) : is;
    ASSERT_THAT(line, StartsWith(kept + ","));
    line.erase(0, kept.size() + 1);
    double height = 0, weight = 0;
    int at = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%n", &height, &weight, &at), 2) << line;
    line.erase(0, static_cast<std::size_t>(at));
    double z[3], sum = 0;
    for (int k = 0; k < 3; ++k) {
      const nlohmann::json& theta = model["coefficients"][names[static_cast<std::size_t>(k)]];
      z[k] = std::exp(theta[0].get<double>() * height / 100 +
                      theta[1].get<double>() * weight / 100 + theta[2].get<double>());
      sum += z[k];
    }
    const int best = static_cast<int>(std::max_element(z, z + 3) - z);
    const std::string name = names[static_cast<std::size_t>(best)];
    const std::string cell = name == "round" ? name : quoted_cell(name);
    ASSERT_THAT(line, StartsWith(cell + ","));
    right += name == is ? 1 : 0;
    double p[3];
    ASSERT_EQ(std::sscanf(line.c_str() + cell.size() + 1, "%lf,%lf,%lf", p, p + 1, p + 2), 3);
    for (int k = 0; k < 3; ++k) ASSERT_NEAR(p[k], z[k] / sum, 1e-6);
  }
  EXPECT_EQ(read, count);
  EXPECT_GT(right, 2100);  // 1000 by naming one class

  const Outcome evaluate = ask("evaluate", {"--json"});
  ASSERT_EQ(evaluate.status, 0) << evaluate.err;
  const auto figures = nlohmann::json::parse(evaluate.out);
  EXPECT_EQ(figures["classes"], names);
  EXPECT_DOUBLE_EQ(figures["accuracy"].get<double>(), right / 3000.0);
  int rows_of_all = 0;
  for (const auto& row : figures["confusion"])
    for (const auto& cell : row) rows_of_all += cell.get<int>();
  EXPECT_EQ(rows_of_all, count);
  for (const char* of_class : {"precision", "recall", "auc_by_class"})
    EXPECT_EQ(figures[of_class].size(), 3U) << of_class;
  const Outcome shown = ask("evaluate", {"--beside-non-private"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  for (const char* part : {"predicted long, thin", "is \"flat\"", "precision", "AUC against",
                           "AUC, mean of the classes", "NOT PRIVATE fit"})
    EXPECT_THAT(shown.out, HasSubstr(part));
}

TEST_F(ClassesCli, HaveIntervalsOnEveryFace) {
  const Outcome fitted = gibbsite(fit({"--out", "model.json", "--backend", "reference",
                                       "--intervals", "--release-moments", "--seed", "1"}));
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  for (const char* part : {"95 % interval", "class", "height, 0 to 100", "p-value"})
    EXPECT_THAT(fitted.out, HasSubstr(part));
  // Every number as expected, but for the seed.
  const Outcome verified = gibbsite({"verify", "model.json"});
  EXPECT_EQ(verified.status, 4) << verified.out << verified.err;
  const std::size_t fault = verified.out.find("FAIL");
  EXPECT_EQ(fault, verified.out.find("FAIL  guarantee: void by its own account"));
  EXPECT_EQ(verified.out.find("FAIL", fault + 1), std::string::npos) << verified.out;

  const nlohmann::json model = json("model.json")["model"];
  EXPECT_EQ(model["estimates"]["means"][0].size(), 9U);
  for (std::size_t j = 0; j < 3; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      sum += model["estimates"]["means"][0][3 * k + j].get<double>();
    EXPECT_NEAR(sum, 0, 1e-9);
  }
  // Three coordinates of three classes: a block of 9 numbers, and 6 for each pair of classes.
  const auto& answers = model["answers"];
  EXPECT_EQ(answers[answers.size() - 2]["values"].size(), 9U);
  EXPECT_EQ(answers[answers.size() - 1]["values"].size(), 18U);

  // Tall ones are "long, thin".
  const Outcome effect = gibbsite({"query", "--model", "model.json", "--effect", "height*10",
                                   "--class", "long, thin", "--against", "round", "--json"});
  ASSERT_EQ(effect.status, 0) << effect.err;
  const auto is = nlohmann::json::parse(effect.out)[0];
  EXPECT_GT(is["lower"].get<double>(), 0);
  EXPECT_LT(is["lower"].get<double>(), is["estimate"].get<double>());

  // A question about one class names it; one about a whole column may be of all.
  EXPECT_THAT(gibbsite({"query", "--model", "model.json", "--effect", "height*10"}).err,
              HasSubstr("--class: is missing"));
  EXPECT_THAT(gibbsite({"query", "--model", "model.json", "--effect", "heigt"}).err,
              HasSubstr("no column is called 'heigt', did you mean height?"));

  const Outcome table = gibbsite({"coefficients", "model.json", "--csv"});
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(std::ranges::count(table.out, '\n'), 10);

  const Outcome predict = ask("predict", {"--intervals"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_THAT(predict.out, StartsWith("prediction,probability=round,low=round,high=round,"));
  EXPECT_EQ(std::ranges::count(predict.out, '\n'), count + 1);
  std::istringstream lines(predict.out);
  std::string line;
  std::getline(lines, line);
  for (int i = 0; i < 20; ++i) {
    std::getline(lines, line);
    // A name may hold a comma; the nine numbers are the last ones.
    std::vector<double> numbers;
    for (int n = 0; n < 9; ++n) {
      const std::size_t comma = line.rfind(',');
      ASSERT_NE(comma, std::string::npos);
      numbers.insert(numbers.begin(), std::stod(line.substr(comma + 1)));
      line.resize(comma);
    }
    for (std::size_t k = 0; k < 9; k += 3) {
      EXPECT_LE(0, numbers[k + 1]);
      EXPECT_LT(numbers[k + 1], numbers[k + 2]);
      EXPECT_LE(numbers[k + 2], 1);
    }
  }
}

TEST_F(ClassesCli, WithoutRowsAreUndefined) {
  ASSERT_EQ(fitted().status, 0);
  folder.write("two.csv", "id,height,weight,kind\n1,20,20,round\n2,80,20,\"long, thin\"\n");
  const Outcome shown = gibbsite({"evaluate", "--model", "model.json", "--data", "two.csv"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out.find("nan"), std::string::npos) << shown.out;
  const Outcome json =
      gibbsite({"evaluate", "--model", "model.json", "--data", "two.csv", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto figures = nlohmann::json::parse(json.out);
  EXPECT_TRUE(figures["recall"][2].is_null());
  EXPECT_TRUE(figures["auc_by_class"][2].is_null());
  EXPECT_TRUE(figures["auc"].is_number());
}

TEST_F(ClassesCli, RefuseWhatIsOfTwo) {
  ASSERT_EQ(fitted().status, 0);
  for (const char* command : {"predict", "evaluate"}) {
    expect_error(ask(command, {"--threshold", "0.5"}), 2,
                 "--threshold: model.json is of several classes, and the likeliest is predicted");
  }
  expect_error(ask("predict", {"--intervals"}), 2, "holds no intervals");
  expect_error(gibbsite(fit({"--out", "other.json", "--model", "logistic"})), 2,
               "logistic predicts two classes");
  expect_error(gibbsite(fit({"--out", "other.json", "--model", "softmax-4"})), 2,
               "softmax-4 is of 4 classes, and the schema lists 3");
  EXPECT_EQ(fitted({"--model", "softmax", "--force"}).status, 0);
}

// One class's coefficients gone, one more, or a loss of another number of classes.
TEST_F(ClassesCli, ThatDoNotFitTheirSchemaFailToVerify) {
  ASSERT_EQ(fitted().status, 0);
  const auto failing = [&](const auto& change, const std::string& what) {
    nlohmann::json file = json("model.json");
    change(file["model"]);
    folder.write("changed.json", file.dump(2));
    const Outcome out = gibbsite({"verify", "changed.json"});
    EXPECT_NE(out.status, 0);
    EXPECT_THAT(out.out + out.err, HasSubstr(what));
  };
  failing([](auto& m) { m["coefficients"].erase("round"); }, "by the names of 3 classes");
  failing([](auto& m) { m["coefficients"]["square"] = m["coefficients"]["round"]; },
          "by the names of 3 classes");
  failing(
      [](auto& m) {
        m["coefficients"]["square"] = m["coefficients"]["round"];
        m["coefficients"].erase("round");
      },
      "lack a class of the schema");
  failing([](auto& m) { m["coefficients"]["round"].erase(0); }, "must be 3 numbers");
  failing([](auto& m) { m["loss"] = "softmax-4"; }, "softmax-4 is of 4 classes");
  failing([](auto& m) { std::swap(m["classes"][0], m["classes"][1]); }, "model.classes[0]");
}

TEST_F(ClassesCli, ArePlannedByTheirNumber) {
  const std::vector<std::string> shape{"plan", "--rows",     "30000", "--features",
                                       "9",    "--row-norm", "1",     "--epsilon",
                                       "1",    "--delta",    "1e-6"};
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = shape;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gibbsite(arguments);
  };
  const Outcome out = plan({"--model", "softmax", "--classes", "5"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("9 features, 5 classes"));
  expect_error(plan({"--model", "softmax"}), 2, "--classes: is missing");
  expect_error(plan({"--classes", "5"}), 2, "--classes: has a meaning with --model softmax");
}

TEST_F(ClassesCli, AreNotCompared) {
  const Outcome out = gibbsite({"compare", "--data", "table.csv", "--schema", "table.toml"});
  expect_error(out, 2, "its label is several classes, and two classes are compared");
}

TEST_F(ClassesCli, HavePosteriorDrawsByName) {
  std::vector<std::string> asked{
      "sample", "--data",  "table.csv", "--schema",  "table.toml", "--prior-precision",
      "1",      "--draws", "50",        "--warm-up", "50",         "--chains",
      "2",      "--seed",  "3",         "--backend", "reference",  "--out",
      "seen"};
  EXPECT_THAT(gibbsite(asked).out, HasSubstr("ask each draw for a difference of two classes"));
  asked.back() = "draws";
  asked.push_back("--json");
  const Outcome out = gibbsite(asked);
  ASSERT_EQ(out.status, 0) << out.err;
  const auto summary = nlohmann::json::parse(out.out);
  ASSERT_EQ(summary["parameters"].size(), 9U);
  EXPECT_EQ(summary["parameters"][3]["feature"], "long, thin: height");
  EXPECT_EQ(summary["parameters"][3]["variable"], "long_thin_height");
}

}  // namespace classes_test
}  // namespace gibbsite::testing
