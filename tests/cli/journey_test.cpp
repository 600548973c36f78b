// What a person does: plan, fit, predict, evaluate, verify, and the contracts of their output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace journey_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Journey = Cli;

std::set<std::string> names(const nlohmann::json& object) {
  std::set<std::string> out;
  for (const auto& item : object.items()) out.insert(item.key());
  return out;
}

TEST_F(Journey, OfTheReadmeOnBerkeley) {
  const std::string data = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.csv";
  const std::string domain = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.toml";
  const Outcome plan =
      gibbsite({"plan", "--data", data, "--schema", domain, "--epsilon", "1", "--delta", "1e-6"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  for (const char* word :
       {"4,526 rows", "δ = 1e-06", "best guess", "54.8 %", "rows for 90 %", "chosen: whitened",
        "also possible: metric-path, path", "out of reach: averaged, dalalyan"}) {
    EXPECT_THAT(plan.out, HasSubstr(word));
  }
  EXPECT_EQ(plan.err, "");
  EXPECT_LE(std::ranges::count(plan.out, '\n'), 17);
  const Outcome fit = gibbsite({"fit", "--data", data, "--schema", domain, "--epsilon", "1",
                                "--delta", "1e-6", "--out", "model.json"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  for (const char* word : {"(ε, δ) = (1, 1e-06)", "gender=Female", "department=A", "Not covered",
                           "gibbsite predict --model model.json"}) {
    EXPECT_THAT(fit.out, HasSubstr(word));
  }
  // The effects come first, what is private goes elsewhere, and the engine is for --verbose.
  EXPECT_THAT(fit.out, StartsWith("Coefficients and what they multiply the odds by"));
  for (const char* word : {"private:", "private,", "backend", "mechanism", "μ = ", " in memory"})
    EXPECT_THAT(fit.out, Not(HasSubstr(word)));
  EXPECT_EQ(fit.err, "");
  const Outcome verbose =
      gibbsite({"fit", "--data", data, "--schema", domain, "--epsilon", "1", "--delta", "1e-6",
                "--out", "model.json", "--force", "--verbose"});
  for (const char* word : {"4,526 rows", "mechanism whitened: ", "backend cpu", "fitting took "})
    EXPECT_THAT(verbose.out, HasSubstr(word));
  EXPECT_THAT(
      verbose.err,
      HasSubstr("private, for the curator only, do not publish: every cell and label counts as "
                "it is written\nprivate:   36 bytes a row in memory (dense)\n"));
  const Outcome predict = gibbsite({"predict", "--model", "model.json", "--data", data, "--out",
                                    "predictions.csv", "--probabilities"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  const std::string predictions = folder.read("predictions.csv");
  EXPECT_EQ(std::count(predictions.begin(), predictions.end(), '\n'), 4527);
  EXPECT_THAT(predictions, ::testing::StartsWith("prediction,probability\n"));

  const Outcome evaluate =
      gibbsite({"evaluate", "--model", "model.json", "--data", data, "--json"});
  ASSERT_EQ(evaluate.status, 0) << evaluate.err;
  EXPECT_THAT(evaluate.err, HasSubstr("the certificate does not cover them"));
  const auto figures = nlohmann::json::parse(evaluate.out);
  EXPECT_EQ(names(figures),
            (std::set<std::string>{"rows", "accuracy", "log_loss", "auc", "majority", "classes",
                                   "confusion", "precision", "recall", "calibration"}));
  double right = 0, in_all = 0, binned = 0;
  for (std::size_t is = 0; is < 2; ++is) {
    for (std::size_t said = 0; said < 2; ++said) {
      const double found = figures["confusion"][is][said];
      right += is == said ? found : 0;
      in_all += found;
    }
  }
  for (const auto& bin : figures["calibration"]) binned += bin["rows"].get<double>();
  EXPECT_EQ(in_all, 4526);
  EXPECT_EQ(binned, 4526);
  EXPECT_NEAR(figures["accuracy"].get<double>(), right / 4526, 1e-12);
  EXPECT_EQ(figures["rows"], 4526);
  EXPECT_NEAR(figures["majority"].get<double>(), 2771.0 / 4526, 1e-12);
  // The mu of this budget is 0.24 and the non-private fit reaches 0.69; noise cannot bring a model
  // that sees the departments below the majority but with a chance far below 1e-6.
  EXPECT_GT(figures["accuracy"].get<double>(), figures["majority"].get<double>());
  EXPECT_GT(figures["auc"].get<double>(), 0.65);

  const Outcome verify = gibbsite({"verify", "model.json"});
  EXPECT_EQ(verify.status, 0) << verify.err;
  EXPECT_THAT(verify.out, StartsWith("VALID: every number"));
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"model.json", "predictions.csv", "table.csv", "table.toml"}));
}

TEST_F(Journey, AThresholdMovesWhatIsPredicted) {
  ASSERT_EQ(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                      "--delta", "1e-6", "--out", "model.json"})
                .status,
            0);
  const auto positives = [&](const char* threshold) {
    const Outcome out = gibbsite({"evaluate", "--model", "model.json", "--data", "table.csv",
                                  "--json", "--threshold", threshold});
    EXPECT_EQ(out.status, 0) << out.err;
    const auto found = nlohmann::json::parse(out.out)["confusion"];
    return found[0][1].get<int>() + found[1][1].get<int>();
  };
  EXPECT_EQ(positives("0.999999999"), 0);
  EXPECT_GT(positives("0.000000001"), 0);
  expect_error(
      gibbsite({"predict", "--model", "model.json", "--data", "table.csv", "--threshold", "1.5"}),
      2, "--threshold");
}

// An amount and a count: from a schema to figures in the label's own unit; columns that are kept.
TEST_F(Journey, OfAmountsAndCounts) {
  std::string people = "id,x,wage,visits\n";
  for (int i = 0; i < 3000; ++i) {
    const double x = i % 101 / 100.0;
    people += fmt::format("\"n,{}\",{},{},{}\n", i, x, 1000 + 4000 * x, i % 3 + (i % 101) / 25);
  }
  folder.write("people.csv", people);
  const char* const column =
      "[columns]\nid = {type = 'ignore'}\nx = {type = 'number', range = [0, 1]}\n";
  folder.write("wage.toml", fmt::format("label = 'wage'\nrange = [0, 6000]\n{}visits = {{type = "
                                        "'ignore'}}\n",
                                        column));
  folder.write("visits.toml",
               fmt::format("label = 'visits'\nrange = [0, 12]\ncounts = true\n{}wage "
                           "= {{type = 'ignore'}}\n",
                           column));
  for (const std::string what : {"wage", "visits"}) {
    const std::string model = what + ".json";
    const Outcome fit = gibbsite({"fit", "--data", "people.csv", "--schema", what + ".toml",
                                  "--epsilon", "4", "--delta", "1e-6", "--out", model});
    ASSERT_EQ(fit.status, 0) << fit.err;
    EXPECT_EQ(fit.err, "");  // every cell and label counts as it is written
    EXPECT_THAT(fit.out, HasSubstr(what == "wage" ? "a prediction of wage is 3000 plus"
                                                  : "what they multiply the mean by"));
    EXPECT_EQ(gibbsite({"verify", model}).status, 0);
    const Outcome evaluate =
        gibbsite({"evaluate", "--model", model, "--data", "people.csv", "--json"});
    ASSERT_EQ(evaluate.status, 0) << evaluate.err;
    const auto figures = nlohmann::json::parse(evaluate.out);
    EXPECT_EQ(figures.contains("deviance"), what == "visits");
    // Noise of this budget is far below what is learned: R2 is 0.99 and 0.45 in the mean.
    EXPECT_GT(figures["r2"].get<double>(), what == "wage" ? 0.8 : 0.2);
    const Outcome predict =
        gibbsite({"predict", "--model", model, "--data", "people.csv", "--keep", "visits,id"});
    ASSERT_EQ(predict.status, 0) << predict.err;
    EXPECT_THAT(predict.out, ::testing::StartsWith("visits,id,prediction\n0,\"n,0\","));
    EXPECT_EQ(std::ranges::count(predict.out, '\n'), 3001);
    std::istringstream lines(predict.out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      const double amount = std::stod(line.substr(line.rfind(',') + 1));
      ASSERT_TRUE(amount >= 0 && amount <= (what == "wage" ? 6000 : 12)) << line;
    }
    EXPECT_EQ(
        gibbsite({"predict", "--model", model, "--data", "people.csv", "--probabilities"}).status,
        2);
    expect_error(gibbsite({"predict", "--model", model, "--data", "people.csv", "--intervals"}), 2,
                 "holds no intervals; fit with --intervals");
    expect_error(gibbsite({"predict", "--model", model, "--data", "people.csv", "--keep", "nope"}),
                 2, "no column 'nope'");
    expect_error(
        gibbsite({"evaluate", "--model", model, "--data", "people.csv", "--threshold", "0.3"}), 2,
        "and no class");
  }
  expect_error(gibbsite({"fit", "--data", "people.csv", "--schema", "wage.toml", "--model",
                         "logistic", "--epsilon", "1", "--delta", "1e-6", "--out", "m.json"}),
               2, "logistic predicts two classes, and the schema's label is an amount");
}

// With --intervals: effects in the label's unit or as rate ratios, combinations of them, and the
// interval of a mean.
TEST_F(Journey, OfIntervalsOfAmountsAndCounts) {
  std::string people = "x,wage,visits\n";
  for (int i = 0; i < 6000; ++i) {
    const double x = i % 101 / 100.0;
    people +=
        fmt::format("{},{},{}\n", x, 1000 + 4000 * x + 700 * (i % 7 - 3), i % 3 + (i % 101) / 25);
  }
  folder.write("people.csv", people);
  const char* const column = "[columns]\nx = {type = 'number', range = [0, 1]}\n";
  folder.write("wage.toml", fmt::format("label = 'wage'\nrange = [-2000, 8000]\ninvalid = "
                                        "'middle'\n{}visits = {{type = 'ignore'}}\n",
                                        column));
  folder.write("visits.toml", fmt::format("label = 'visits'\nrange = [0, 12]\ncounts = true\n"
                                          "invalid = 'middle'\n{}wage = {{type = 'ignore'}}\n",
                                          column));
  for (const std::string what : {"wage", "visits"}) {
    SCOPED_TRACE(what);
    const bool counts = what == "visits";
    const std::string model = what + ".json";
    const Outcome fit =
        gibbsite({"fit", "--data", "people.csv", "--schema", what + ".toml", "--epsilon", "4",
                  "--delta", "1e-6", "--intervals", "--out", model});
    ASSERT_EQ(fit.status, 0) << fit.err;
    EXPECT_THAT(fit.out, HasSubstr("docs/theory/intervals.md"));
    EXPECT_THAT(fit.out, HasSubstr("predict --model " + model + " --data NEW.csv --intervals"));
    EXPECT_EQ(gibbsite({"verify", model}).status, 0);
    const Outcome table = gibbsite({"coefficients", model, "--csv"});
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr(counts ? "log of the mean" : ",wage,"));
    EXPECT_EQ(table.out.find("rate_ratio") != std::string::npos, counts);
    const Outcome query = gibbsite({"query", "--model", model, "--effect", "x*0.5", "--json"});
    ASSERT_EQ(query.status, 0) << query.err;
    const auto effect = nlohmann::json::parse(query.out)[0];
    if (!counts) {  // in the label's unit
      EXPECT_EQ(effect["unit"], "wage");
      EXPECT_NEAR(effect["estimate"].get<double>(), 2000, 300);
      EXPECT_LT(effect["upper"].get<double>() - effect["lower"].get<double>(), 1000);
    } else {
      EXPECT_TRUE(effect.contains("rate_ratio"));
    }
    EXPECT_GT(effect["lower"].get<double>(), 0);
    const Outcome predict =
        gibbsite({"predict", "--model", model, "--data", "people.csv", "--intervals"});
    ASSERT_EQ(predict.status, 0) << predict.err;
    EXPECT_THAT(predict.out, ::testing::StartsWith("prediction,low,high\n"));
    std::istringstream lines(predict.out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      const std::size_t first = line.find(','), last = line.rfind(',');
      const double low = std::stod(line.substr(first + 1)), high = std::stod(line.substr(last + 1));
      ASSERT_LT(low, high) << line;
      ASSERT_TRUE(low >= (counts ? 0 : -2000) && high <= (counts ? 12 : 8000)) << line;
    }
  }
}

// Least squares in a public ball, and nowhere else.
TEST_F(Journey, OfLeastSquaresInABall) {
  std::string people = "x,wage\n";
  for (int i = 0; i < 4000; ++i) {
    const double x = i % 101 / 100.0;
    people += fmt::format("{},{}\n", x, 1000 + 4000 * x + 300 * (i % 3 - 1));
  }
  folder.write("people.csv", people);
  folder.write("wage.toml",
               "label = 'wage'\nrange = [0, 6000]\n[columns]\nx = {type = 'number', range = [0, "
               "1]}\n");
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"fit",     "--data",  "people.csv", "--schema", "wage.toml",
                                 "--model", "squared", "--epsilon",  "20",       "--delta",
                                 "1e-6",    "--out",   "m.json"};
    all.insert(all.end(), more.begin(), more.end());
    return gibbsite(all);
  };
  expect_error(with({}), 4, "unless chains are kept in a ball: give --mechanism path and a public");
  for (const char* other : {"whitened", "metric-path", "output", "objective", "rejection"}) {
    expect_error(with({"--mechanism", other}), 4, "one row can do anything to squared");
    expect_error(with({"--mechanism", other, "--ball", "5"}), 2, "--ball: only chains of");
  }
  expect_error(with({"--ball", "5", "--tv", "0.1"}), 2,
               "--tv: chains in a --ball keep no distance to the Gibbs posterior; leave one");
  expect_error(with({"--ball", "1e-7"}), 4, "a model can be all zeros");
  expect_error(with({"--ball", "5", "--backend", "cuda"}), 3, "cuda");
  EXPECT_FALSE(std::filesystem::exists(folder.path("m.json")));
  const Outcome fit = with({"--ball", "8"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("in a ball of radius 8"));
  EXPECT_THAT(fit.out, HasSubstr("a prediction of wage is 3000 plus"));
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  const Outcome evaluate =
      gibbsite({"evaluate", "--model", "m.json", "--data", "people.csv", "--json"});
  ASSERT_EQ(evaluate.status, 0) << evaluate.err;
  const auto figures = nlohmann::json::parse(evaluate.out);
  // In wages: 245 is the labels' own noise, 1,190 what one number for all would be off by.
  EXPECT_GT(figures["rmse"].get<double>(), 240);
  EXPECT_LT(figures["rmse"].get<double>(), 500);
  EXPECT_GT(figures["r2"].get<double>(), 0.8);
  const Outcome predict = gibbsite({"predict", "--model", "m.json", "--data", "people.csv"});
  EXPECT_EQ(std::ranges::count(predict.out, '\n'), 4001);
  const Outcome plan = gibbsite({"plan", "--data", "people.csv", "--schema", "wage.toml", "--model",
                                 "squared", "--epsilon", "1", "--delta", "1e-6", "--json"});
  EXPECT_EQ(plan.out.find("null, \"lipschitz"), std::string::npos);
}

TEST_F(Journey, EveryCommandHasHelpWithAnExample) {
  for (const char* command :
       {"plan", "fit", "predict", "evaluate", "verify", "schema", "devices", "bench", "sample",
        "compare", "query", "ledger", "report", "export", "table"}) {
    const Outcome help = gibbsite({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, HasSubstr(std::string("Example:\n  gibbsite ") + command));
  }
  const Outcome help = gibbsite({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Example:"));
  EXPECT_THAT(help.out, HasSubstr("Commands:\n  plan "));
  EXPECT_THAT(help.out, HasSubstr("evaluate"));
  EXPECT_THAT(gibbsite({"--version"}).out, ::testing::MatchesRegex("gibbsite [0-9.]+\n"));
}

// What everybody needs first, in lines that a terminal holds.
TEST_F(Journey, HelpIsGroupedAndNoWiderThanATerminal) {
  for (const char* command : {"plan", "fit", "table", "sample", "bench"}) {
    const std::string help = gibbsite({command, "--help"}).out;
    const std::size_t more = help.find("\nMore options:\n");
    ASSERT_NE(more, std::string::npos) << command;
    EXPECT_LT(help.find("--data"), more);
    EXPECT_LT(help.find("--schema"), more);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line) && !line.starts_with("Example");) {
      EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 100)
          << line;
    }
  }
  const std::string fit = gibbsite({"fit", "--help"}).out;
  for (const char* later : {"--mechanism", "--iterations", "--seed", "--checkpoint"}) {
    EXPECT_GT(fit.find(later), fit.find("More options")) << later;
  }
}

TEST_F(Journey, FitSaysWhatItDidOnOneScreen) {
  std::string columns, header, body;
  for (int j = 0; j < 15; ++j) {
    columns += fmt::format("c{} = {{type = \"number\", range = [-2, 6]}}\n", j);
    header += fmt::format("c{},", j);
  }
  for (int i = 0; i < 3000; ++i) {
    for (int j = 0; j < 15; ++j) body += std::to_string((i * (j + 3)) % 11 - 3) + ",";
    body += std::to_string(i % 11 > 4) + "\n";
  }
  folder.write("w.csv", header + "y\n" + body);
  folder.write("w.toml", "label = \"y\"\npositive = \"1\"\n[columns]\n" + columns);
  const Outcome fit = gibbsite({"fit", "--data", "w.csv", "--schema", "w.toml", "--epsilon", "1",
                                "--delta", "1e-8", "--out", "m.json"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_LE(std::ranges::count(fit.out, '\n'), 30) << fit.out;
  EXPECT_THAT(fit.out, HasSubstr("the 10 that spread the scores most of 16"));
  // Odds from the low end of a range to its high end are e to the coefficient.
  std::smatch found;
  const std::regex line("(c[0-9]+), -2 to 6 +([+-][0-9.]+) +×([0-9.e+-]+)");
  ASSERT_TRUE(std::regex_search(fit.out, found, line)) << fit.out;
  EXPECT_NEAR(std::stod(found[3]) / std::exp(std::stod(found[2])), 1, 0.01);
}

TEST_F(Journey, IntervalsGoFromFitToPredict) {
  const std::string data = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.csv";
  const std::string domain = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.toml";
  const std::vector<std::string> command{"fit",  "--data",    data,        "--schema",
                                         domain, "--epsilon", "1",         "--delta",
                                         "1e-6", "--out",     "model.json"};
  std::vector<std::string> with = command;
  with.emplace_back("--intervals");
  const Outcome fit = gibbsite(with);
  ASSERT_EQ(fit.status, 0) << fit.err;
  for (const char* word :
       {"95 % interval", "odds ratio", "p-value", "reference level", "department=A", " to ",
        "gibbsite predict --model model.json --data NEW.csv --intervals"}) {
    EXPECT_THAT(fit.out, HasSubstr(word));
  }
  EXPECT_LE(std::ranges::count(fit.out, '\n'), 35);
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  const Outcome predict =
      gibbsite({"predict", "--model", "model.json", "--data", data, "--intervals"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_THAT(predict.out, ::testing::StartsWith("prediction,probability,low,high\n"));
  EXPECT_EQ(std::ranges::count(predict.out, '\n'), 4527);

  std::vector<std::string> other = with;
  other.insert(other.end(), {"--mechanism", "path", "--force"});
  const Outcome refused = gibbsite(other);
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.err, HasSubstr("--intervals: path answers nothing that they could be made"));
  std::vector<std::string> without = command;
  without.emplace_back("--force");
  ASSERT_EQ(gibbsite(without).status, 0);
  const Outcome none =
      gibbsite({"predict", "--model", "model.json", "--data", data, "--intervals"});
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.err, HasSubstr("model.json: holds no intervals; fit with --intervals"));
}

// K x d coefficients are no K d features.
TEST_F(Journey, PlanOfSeveralClassesNamesFeaturesAndClasses) {
  std::vector<std::string> command{"plan",    "--rows",    "200",       "--features", "10",
                                   "--model", "softmax",   "--classes", "3",          "--row-norm",
                                   "1",       "--epsilon", "1",         "--delta",    "1e-9"};
  EXPECT_THAT(gibbsite(command).err, HasSubstr("200 rows are few for 3 classes x 10 features"));
  command.emplace_back("--json");
  const auto out = nlohmann::json::parse(gibbsite(command).out);
  EXPECT_EQ(out["constants"]["features"], 10);
  EXPECT_EQ(out["constants"]["outputs"], 3);
}

TEST_F(Journey, PlanJsonKeepsItsContract) {
  const Outcome plan = gibbsite({"plan", "--rows", "1e6", "--features", "10", "--row-norm", "1",
                                 "--intercept", "--epsilon", "1", "--delta", "1e-9", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const auto out = nlohmann::json::parse(plan.out);
  EXPECT_EQ(names(out), (std::set<std::string>{"constants", "offers", "chosen"}));
  EXPECT_EQ(out["constants"]["rows"], 1000000);
  EXPECT_EQ(out["constants"]["features"], 11);
  EXPECT_EQ(out["constants"]["outputs"], 1);
  EXPECT_EQ(out["chosen"], "whitened");
  ASSERT_EQ(out["offers"].size(), 12U);
  for (const auto& candidate : out["offers"]) {
    const auto fields = names(candidate);
    for (const char* name : {"name", "guarantee", "passes", "seconds", "feasible", "why"}) {
      EXPECT_TRUE(fields.contains(name)) << name;
    }
    EXPECT_GT(candidate["seconds"].get<double>(), 0);
  }
  EXPECT_EQ(candidate_of(out, "whitened")["passes"], 42);
  EXPECT_EQ(candidate_of(out, "whitened")["iterations"], 40);
  EXPECT_LT(candidate_of(out, "proximal")["passes"].get<double>(), 1e6);
  EXPECT_TRUE(candidate_of(out, "path")["iterations"].is_number_integer());
  EXPECT_TRUE(candidate_of(out, "path")["feasible"].get<bool>());
  const auto far = candidate_of(out, "dalalyan");
  EXPECT_FALSE(far["feasible"].get<bool>());
  EXPECT_TRUE(far["iterations"].is_number_float());
  EXPECT_GT(far["iterations"].get<double>(), 0x1p64);  // no silent overflow
  EXPECT_THAT(far["why"].get<std::string>(), HasSubstr("passes over the data"));
  EXPECT_THAT(far["why"].get<std::string>(), HasSubstr("path"));
}

// Half of an interval is said for every kind of label that has intervals; of counts only where the
// schema says how large they are.
TEST_F(Journey, PlanSaysHowWideIntervalsWillBe) {
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "plan",      "--rows", "10000",   "--features", "10",          "--row-norm", "1",
        "--epsilon", "1",      "--delta", "1e-8",       "--intervals", "--intercept"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome out = gibbsite(words);
    EXPECT_EQ(out.status, 0) << out.err;
    return out.out;
  };
  EXPECT_THAT(plan({"--model", "logistic"}), HasSubstr("level of 1 %\n"));
  EXPECT_THAT(plan({"--model", "softmax", "--classes", "3"}), HasSubstr("against the mean of all"));
  EXPECT_THAT(plan({"--model", "huber"}), HasSubstr("in tolerances"));
  EXPECT_THAT(plan({"--model", "poisson"}), Not(HasSubstr("interval ±")));
  folder.write("counts.toml",
               "label = \"y\"\nrange = [0, 40]\ncounts = true\n[columns]\n"
               "x = {type = \"number\", range = [0, 1]}\n");
  std::string rows = "x,y\n";
  for (int i = 0; i < 2000; ++i) rows += i % 2 == 0 ? "0.2,3\n" : "0.8,5\n";
  folder.write("counts.csv", rows);
  const Outcome out =
      gibbsite({"plan", "--data", "counts.csv", "--schema", "counts.toml", "--model", "poisson",
                "--epsilon", "1", "--delta", "1e-7", "--intervals"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("a tenth of the largest count"));
}

TEST_F(Journey, PlanShowsEveryMechanismWhereAsked) {
  const Outcome plan = gibbsite({"plan", "--rows", "4526", "--features", "8", "--row-norm", "1",
                                 "--epsilon", "1", "--delta", "1e-6", "--all"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  for (const char* word : {"mechanism", "passes", "time here", "path", "dalalyan", "years",
                           "(1, 1e-06)", "coefficient ±", "chosen: whitened"}) {
    EXPECT_THAT(plan.out, HasSubstr(word));
  }
}

TEST_F(Journey, PlanPutsSeveralEpsilonSideBySide) {
  const auto with = [&](const char* epsilon, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{"plan",  "--rows",     "1e5", "--features",
                                     "10",    "--row-norm", "1",   "--epsilon",
                                     epsilon, "--delta",    "1e-9"};
    command.insert(command.end(), more.begin(), more.end());
    return gibbsite(command);
  };
  const Outcome text = with("0.1,0.5,1,2");
  ASSERT_EQ(text.status, 0) << text.err;
  for (const char* line :
       {"\n  0.1  whitened", "\n  0.5  whitened", "\n  1    whitened", "\n  2    whitened"}) {
    EXPECT_THAT(text.out, HasSubstr(line));
  }
  const Outcome json = with("0.5,2", {"--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto plans = nlohmann::json::parse(json.out);
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0]["offers"][0]["guarantee"]["epsilon"], 0.5);
  EXPECT_EQ(plans[1]["offers"][0]["guarantee"]["epsilon"], 2.0);
  // One budget out of reach is a line, all of them an error.
  const std::vector<std::string> rejection{"--mechanism", "rejection", "--prior-precision", "1"};
  const Outcome some = with("0.001,20", rejection);
  EXPECT_EQ(some.status, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("\n  20     none\n"));
  expect_error(with("20,30", rejection), 4, "--mechanism rejection: ");
  expect_error(with("0.1,,1"), 2, "--epsilon: '' is not a number");
  expect_error(with("0.1,1,"), 2, "--epsilon: '' is not a number");
  expect_error(with("0.1;1"), 2, "--epsilon: '0.1;1' is not a number");
  expect_error(with("0.1,-1"), 2, "--epsilon: must be");
}

// The warning is about public numbers alone, so it may be seen by anybody.
TEST_F(Journey, SaysWhenThereAreTooFewRowsToLearnFrom) {
  const auto with = [&](const char* count) {
    return gibbsite({"plan", "--rows", count, "--features", "4", "--row-norm", "1", "--epsilon",
                     "1", "--delta", "1e-5"});
  };
  const Outcome few = with("35");
  EXPECT_EQ(few.status, 0);
  EXPECT_THAT(few.err, HasSubstr("warning: 35 rows are few for 4 features at ε = 1: expect next to "
                                 "nothing"));
  EXPECT_THAT(few.out, HasSubstr("next to nothing"));
  EXPECT_EQ(with("350").err, "");
  const Outcome fit = gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon",
                                "0.1", "--delta", "1e-6", "--out", "m.json", "--quiet"});
  EXPECT_EQ(fit.status, 0) << fit.err;
  EXPECT_THAT(fit.err, HasSubstr("warning: 120 rows are few"));
}

// A rare class: the plan does not promise what it cannot keep. What people are told of is all that
// the share chooses.
TEST_F(Journey, PlansOfARareClassPromiseLess) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"plan",    "--rows", "50000",      "--features", "5",
                                 "--delta", "1e-6",   "--row-norm", "2.2",        "--intercept"};
    all.insert(all.end(), more.begin(), more.end());
    return gibbsite(all);
  };
  const Outcome even = with({"--epsilon", "0.1,1"});
  EXPECT_THAT(even.out, HasSubstr("over 99 %"));
  EXPECT_THAT(even.out, HasSubstr("naming the commoner class, if both are of like size"));
  const Outcome rare = with({"--epsilon", "0.1,1", "--positive-share", "0.002"});
  ASSERT_EQ(rare.status, 0) << rare.err;
  EXPECT_EQ(rare.out.find("over 99 %"), std::string::npos) << rare.out;
  EXPECT_THAT(rare.out, HasSubstr("where 0.2 % of the rows are of the\npositive class"));
  EXPECT_THAT(rare.err, HasSubstr("50,000 rows are few for 6 features at ε = 0.1"));
  EXPECT_THAT(with({"--epsilon", "0.1", "--positive-share", "0.001,0.01"}).out,
              HasSubstr("where 0.1 to 1 % of the rows"));

  // No offer depends on it.
  const auto candidates = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--epsilon", "0.1", "--json"});
    nlohmann::json out = nlohmann::json::parse(with(more).out);
    for (auto& candidate : out["offers"]) candidate.erase("seconds");
    return out;
  };
  EXPECT_EQ(candidates({"--positive-share", "0.002"}), candidates({}));

  const auto refused = [&](const std::string& share, const std::string& words,
                           std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--epsilon", "1", "--positive-share", share});
    expect_error(with(more), 2, "--positive-share: " + words);
  };
  refused("0", "must be above 0 and below 1, got 0;");
  refused("1", "must be above 0 and below 1, got 1;");
  refused("0.1,2", "must be above 0 and below 1, got 2;");
  refused("0.4,0.3", "must have the lower bound first, got 0.4 and 0.3;");
  refused("0.1,0.2,0.3", "takes one share or two bounds;");
  refused("few", "'few' is not a number");
  refused("0.1", "is of two classes, and the label is an amount;", {"--model", "huber"});
  refused("0.1", "is of two classes, and the label is several classes;",
          {"--model", "softmax", "--classes", "3"});
  for (const char* model : {"bernoulli", "network"}) {
    expect_error(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                           "--delta", "1e-6", "--model", model, "--positive-share", "0.1", "--out",
                           "m.json"}),
                 2, "--positive-share: has no meaning with --model ");
  }
}

// A fit is the same to the last byte whatever is said of the classes: neither noise nor file has
// it.
TEST_F(Journey, AFitDoesNotDependOnThePositiveShare) {
  const std::string schema = folder.read("table.toml");
  const auto fitted = [&](const std::string& name, const std::string& line,
                          const std::vector<std::string>& more) {
    folder.write("this.toml", line + schema);
    std::vector<std::string> all{"fit",       "--data",  "table.csv", "--schema", "this.toml",
                                 "--epsilon", "0.5",     "--delta",   "1e-6",     "--seed",
                                 "7",         "--quiet", "--out",     name};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = gibbsite(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return folder.read(name);
  };
  const std::string without = fitted("a.json", "", {});
  EXPECT_EQ(fitted("b.json", "positive_share = 0.002\n", {}), without);
  EXPECT_EQ(fitted("c.json", "positive_share = [0.3, 0.6]\n", {"--positive-share", "0.01"}),
            without);
  EXPECT_EQ(fitted("d.json", "", {"--positive-share", "0.1,0.9"}), without);
}

// Nobody has measured bias or coverage of the rule of small budgets, so nothing about it has an
// interval.
TEST_F(Journey, ASmallBudgetWithoutIntervalsShowsNone) {
  std::string rows = "age,hours,income\n";
  for (int i = 0; i < 120; ++i)
    rows += fmt::format("{},{},{}\n", 18 + i * 37 % 60, i * 11 % 50, i % 3 == 0 ? "high" : "low");
  folder.write("numbers.csv", rows);
  folder.write("numbers.toml",
               "label = \"income\"\npositive = \"high\"\n[columns]\n"
               "age = {type = \"number\", range = [18, 90]}\n"
               "hours = {type = \"number\", range = [0, 60]}\n");
  const auto fitted = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all{"fit",          "--data",    "numbers.csv", "--schema",
                                 "numbers.toml", "--epsilon", "2",           "--delta",
                                 "1e-6",         "--out",     name};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome fit = gibbsite(all);
    EXPECT_EQ(fit.status, 0) << fit.err;
    return fit.out;
  };
  EXPECT_EQ(fitted("small.json", {}).find("95 %"), std::string::npos);
  EXPECT_GT(json("small.json")["certificate"]["mechanism"].value("length_share", 0.0), 0);
  EXPECT_FALSE(json("small.json").contains("estimates"));
  std::istringstream effects(gibbsite({"coefficients", "small.json", "--csv"}).out);
  std::string line;
  std::getline(effects, line);
  std::size_t told = 0;
  while (std::getline(effects, line)) {
    // estimate, then empty: std_err, lower, upper, p_value
    EXPECT_THAT(line, ::testing::ContainsRegex(",log-odds,[^,]+,,,,,")) << line;
    ++told;
  }
  EXPECT_GT(told, 1U);
  expect_error(
      gibbsite({"predict", "--model", "small.json", "--data", "numbers.csv", "--intervals"}), 2,
      "holds no intervals");
  // With them it is the other rule, whose intervals were measured.
  static_cast<void>(fitted("wide.json", {"--intervals"}));
  EXPECT_FALSE(json("wide.json")["certificate"]["mechanism"].contains("length_share"));
}

// A plan without intervals says how wide they would be as the plan with them does.
TEST_F(Journey, PlansSayOfIntervalsWhatTheFitWithThemHas) {
  const auto line = [&](const char* epsilon, const std::vector<std::string>& more) {
    std::vector<std::string> all{"plan", "--rows",      "4526",      "--features",
                                 "8",    "--delta",     "1e-8",      "--row-norm",
                                 "2",    "--intercept", "--epsilon", epsilon};
    all.insert(all.end(), more.begin(), more.end());
    const std::string out = gibbsite(all).out;
    const std::size_t at = out.find("interval ±");
    EXPECT_NE(at, std::string::npos) << out;
    return out.substr(at, out.find("of a number", at) - at);
  };
  for (const char* epsilon : {"0.1", "0.3", "3"})
    EXPECT_EQ(line(epsilon, {}), line(epsilon, {"--intervals"})) << epsilon;
}

TEST_F(Journey, PlanOptionsReachThePlan) {
  const Outcome plan = gibbsite({"plan",       "--data",
                                 "table.csv",  "--schema",
                                 "table.toml", "--epsilon",
                                 "2",          "--delta",
                                 "1e-5",       "--prior-precision",
                                 "0.5",        "--iterations",
                                 "1e2",        "--adjacency",
                                 "add-remove", "--rows-cap",
                                 "500",        "--rows-per-person",
                                 "3",          "--draws",
                                 "2",          "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const auto out = nlohmann::json::parse(plan.out);
  EXPECT_EQ(out["constants"]["rows"], 500);
  const auto path = candidate_of(out, "path");
  EXPECT_EQ(path["iterations"], 100);
  EXPECT_EQ(path["passes"], 200);
  EXPECT_EQ(path["prior_precision"], 0.5);
  EXPECT_EQ(path["guarantee"]["epsilon"], 2.0);
  EXPECT_EQ(path["guarantee"]["delta"], 1e-5);
}

TEST_F(Journey, PredictWorksFromTheModelAlone) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  std::filesystem::remove(folder.path("table.toml"));
  // No label column, one column more, another order.
  folder.write("new.csv", "work,id,age\nPrivate,7,40\n?,8,200\n\"State, gov\",9,-5\n");
  const Outcome to_screen = gibbsite({"predict", "--model", "model.json", "--data", "new.csv"});
  EXPECT_EQ(to_screen.status, 0) << to_screen.err;
  EXPECT_EQ(std::count(to_screen.out.begin(), to_screen.out.end(), '\n'), 4);
  const Outcome to_file = gibbsite({"predict", "--model", "model.json", "--data", "new.csv",
                                    "--probabilities", "--out", "out.csv"});
  EXPECT_EQ(to_file.status, 0) << to_file.err;
  EXPECT_EQ(to_file.out, "");

  // The coefficients in original units give the same score, computed by hand for the row that is
  // not clipped.
  const auto model = json("model.json")["model"];
  const auto& theta = model["coefficients"];
  const double age = (40.0 - 17) / (90 - 17);
  const double norm = std::sqrt(age * age + 1);
  ASSERT_LT(norm, 1.5);
  const double z = age * theta[0].get<double>() + theta[1].get<double>() + theta[4].get<double>();
  const double original = model["original_units"]["intercept"].get<double>() +
                          40 * model["original_units"]["slopes"]["age"].get<double>() +
                          model["original_units"]["slopes"]["work=Private"].get<double>();
  EXPECT_NEAR(z, original, 1e-12);
  std::istringstream lines(folder.read("out.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "prediction,probability");
  std::getline(lines, line);
  // The plain sigmoid of the score: the file holds no link.
  EXPECT_FALSE(model.contains("link"));
  const double p = 1 / (1 + std::exp(-z));
  EXPECT_EQ(line.substr(0, line.find(',')), p >= 0.5 ? ">50K" : "<=50K");
  EXPECT_NEAR(std::stod(line.substr(line.find(',') + 1)), p, 1e-6);  // float rows
}

TEST_F(Journey, EvaluateOfOneClassHasNoAuc) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  folder.write("one.csv", "age,work,income\n40,Private,>50K\n20,?,>50K\n");
  const Outcome out =
      gibbsite({"evaluate", "--model", "model.json", "--data", "one.csv", "--json"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_TRUE(nlohmann::json::parse(out.out)["auc"].is_null());
  EXPECT_EQ(nlohmann::json::parse(out.out)["majority"], 1.0);
}

TEST_F(Journey, CertifiedRunsDifferSeededRunsDoNotAndAreVoid) {
  ASSERT_EQ(gibbsite(fit({"--out", "a.json", "--quiet"})).status, 0);
  ASSERT_EQ(gibbsite(fit({"--out", "b.json", "--quiet"})).status, 0);
  EXPECT_NE(json("a.json")["model"]["coefficients"], json("b.json")["model"]["coefficients"]);
  EXPECT_EQ(json("a.json")["certificate"]["guarantee"], json("b.json")["certificate"]["guarantee"]);
  EXPECT_EQ(gibbsite({"verify", "a.json"}).status, 0);

  const Outcome seeded = gibbsite(fit({"--out", "c.json", "--quiet", "--seed", "7"}));
  EXPECT_EQ(seeded.status, 0);
  EXPECT_THAT(seeded.err, HasSubstr("warning: --seed 7"));
  ASSERT_EQ(gibbsite(fit({"--out", "d.json", "--quiet", "--seed", "7"})).status, 0);
  ASSERT_EQ(gibbsite(fit({"--out", "e.json", "--quiet", "--seed", "8"})).status, 0);
  EXPECT_EQ(folder.read("c.json"), folder.read("d.json"));
  EXPECT_NE(json("c.json")["model"]["coefficients"], json("e.json")["model"]["coefficients"]);
  const auto guarantee = json("c.json")["certificate"]["guarantee"];
  EXPECT_EQ(guarantee["void"], true);
  EXPECT_TRUE(guarantee["epsilon"].is_null());
  const Outcome verify = gibbsite({"verify", "c.json"});
  expect_error(verify, 4, "NOT VALID (void)");
  EXPECT_THAT(verify.out, StartsWith("NOT VALID: "));
}

TEST_F(Journey, VerifyFailsOnAnEditAndOnWhatIsNoModel) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet", "--draws", "2"})).status, 0);
  ASSERT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  auto edited = json("model.json");
  edited["certificate"]["guarantee"]["epsilon"] = 0.5;
  folder.write("edited.json", edited.dump());
  const Outcome verify = gibbsite({"verify", "edited.json"});
  expect_error(verify, 4, "edited.json: NOT VALID: guarantee.delta");
  EXPECT_THAT(verify.out, StartsWith("NOT VALID: "));
  EXPECT_THAT(verify.out, HasSubstr("FAIL  guarantee.delta: claimed 1e-06 at epsilon = 0.5"));
  folder.write("junk.json", "{\"format\": 1");
  expect_error(gibbsite({"verify", "junk.json"}), 2,
               "junk.json: is no gibbsite model file, or is cut off or damaged (at line 1 of 1)");
  expect_error(gibbsite({"verify", "absent.json"}), 2, "absent.json: there is no such file; give");
  expect_error(gibbsite({"verify", "table.csv"}), 2,
               "table.csv: is no gibbsite model file, or its beginning is damaged");
  folder.write("empty.json", "\n");
  expect_error(gibbsite({"verify", "empty.json"}), 2, "empty.json: is empty, so it is no gibbsite");
  expect_error(gibbsite({"verify", "."}), 2, ".: is a folder; give a model file");
  expect_error(gibbsite({"predict", "--model", "junk.json", "--data", "table.csv"}), 2,
               "junk.json: is no gibbsite model file, or is cut off or damaged (at line 1 of 1)");
}

TEST_F(Journey, ReadsNumpyWithItsLabels) {
  // Version 1.0 header: magic, length, dictionary padded to 64 bytes in all.
  const auto npy = [](const std::string& shape, const std::vector<float>& values) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize(128 - 10 - 1, ' ');
    header += '\n';
    std::string out = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header;
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return out;
  };
  folder.write("x.npy", npy("4, 2", {0, 1, 1, 0, 0.5F, 0.5F, 1, 1}));
  folder.write("y.npy", npy("4,", {0, 1, 1, 0}));
  folder.write(
      "npy.toml",
      "label = \"y\"\npositive = \"1\"\nrow_norm = 1.5\nintercept = false\n[columns]\n"
      "a = {type = \"number\", range = [0, 1]}\nb = {type = \"number\", range = [0, 1]}\n");
  const Outcome out =
      gibbsite({"fit", "--data", "x.npy", "--labels", "y.npy", "--schema", "npy.toml", "--epsilon",
                "1", "--delta", "1e-2", "--out", "npy.json", "--backend", "reference"});
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_EQ(json("npy.json")["certificate"]["software"]["backend"], "reference");
  EXPECT_EQ(json("npy.json")["certificate"]["constants"]["rows"], 4);
  EXPECT_EQ(gibbsite({"predict", "--model", "npy.json", "--data", "x.npy"}).status, 0);
}

TEST_F(Journey, SchemaComesFromTheHeaderAlone) {
  const Outcome out = gibbsite({"schema", "table.csv"});
  ASSERT_EQ(out.status, 0) << out.err;
  for (const char* name : {"age", "work", "income"}) EXPECT_THAT(out.out, HasSubstr(name));
  EXPECT_THAT(out.out, Not(HasSubstr("Private")));
  EXPECT_THAT(out.out, Not(HasSubstr("50K")));
  EXPECT_EQ(out.err,
            "gibbsite: note: table.csv: the first line is taken for the names of the columns: "
            "'age', 'work', 'income'\n");
}

TEST_F(Journey, AHeaderlessTableIsNotPublishedAsNames) {
  folder.write("bare.csv", "39,State-gov,<=50K\n50,Private,>50K\n");
  const Outcome refused = gibbsite({"schema", "bare.csv"});
  expect_error(refused, 2, "bare.csv:1: cell 1 is a number");
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, Not(HasSubstr("State-gov")));
  EXPECT_EQ(gibbsite({"schema", "bare.csv", "--header", "yes"}).status, 0);
  folder.write("words.csv", "Smith,nurse\nJones,clerk\n");
  const Outcome words = gibbsite({"schema", "words.csv"});
  expect_error(words, 2, "words.csv:1: the second line looks like the first one");
  EXPECT_THAT(words.err, HasSubstr("--header yes"));
  EXPECT_EQ(words.out, "");
  EXPECT_THAT(gibbsite({"schema", "words.csv", "--header", "yes"}).err, HasSubstr("'Smith'"));
  expect_error(gibbsite({"schema", "table.csv", "--header", "no"}), 2, "--header: 'no'");
}

TEST_F(Journey, NothingThatExistsIsReplacedWithoutForce) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  const std::string published = folder.read("model.json");
  expect_error(gibbsite(fit({"--out", "model.json"})), 2, "model.json is there already");
  std::filesystem::create_symlink("model.json", folder.path("link.json"));
  std::filesystem::create_symlink("nowhere.json", folder.path("dangling.json"));
  for (const char* name : {"./model.json", "link.json", "dangling.json"})
    expect_error(gibbsite(fit({"--out", name})), 2,
                 "is there already; give another name, or --force");
  EXPECT_EQ(folder.read("model.json"), published);
  EXPECT_EQ(gibbsite(fit({"--out", "model.json", "--quiet", "--force"})).status, 0);
  EXPECT_NE(folder.read("model.json"), published);

  const std::vector<std::string> predict{"predict", "--model",   "model.json",
                                         "--data",  "table.csv", "--out"};
  const auto to = [&](const std::string& name, bool force = false) {
    std::vector<std::string> arguments = predict;
    arguments.push_back(name);
    if (force) arguments.emplace_back("--force");
    return gibbsite(arguments);
  };
  folder.write("p.csv", "mine");
  expect_error(to("p.csv"), 2, "p.csv is there already");
  EXPECT_EQ(folder.read("p.csv"), "mine");
  EXPECT_EQ(to("p.csv", true).status, 0);
  EXPECT_THAT(folder.read("p.csv"), ::testing::StartsWith("prediction"));
  // A descriptor is no file to replace, whatever it leads to.
  EXPECT_EQ(to("/dev/stdout").status, 0);
  EXPECT_EQ(to("/dev/null").status, 0);
}

TEST_F(Journey, ALargeDeltaIsSaidAndOneThatPromisesNothingRefused) {
  const auto with = [&](const std::string& epsilon, const std::string& delta) {
    return gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", epsilon,
                     "--delta", delta, "--iterations", "3", "--out", "model.json", "--force"});
  };
  const Outcome large = with("1", "0.01");  // 120 rows
  ASSERT_EQ(large.status, 0) << large.err;
  EXPECT_THAT(large.err, HasSubstr("warning: --delta: δ = 0.01 is not below 1/rows"));
  EXPECT_THAT(large.out, HasSubstr("not below 1/rows"));
  const Outcome small = with("1", "0.008");
  EXPECT_THAT(small.err, Not(HasSubstr("warning")));
  EXPECT_THAT(with("20", "1e-6").out, HasSubstr("may be"));
  expect_error(with("1", "0.5"), 2, "--delta: must be below 0.5");
  expect_error(with("1000", "1e-6"), 2, "--epsilon: must be at most 700");
  const Outcome plan = gibbsite({"plan", "--rows", "100", "--features", "3", "--row-norm", "1",
                                 "--epsilon", "1", "--delta", "0.1"});
  EXPECT_THAT(plan.err, HasSubstr("not below 1/rows"));
  expect_error(gibbsite({"plan", "--rows", "100", "--features", "3", "--row-norm", "1", "--epsilon",
                         "1000", "--delta", "1e-6"}),
               2, "--epsilon: must be at most");
}

TEST_F(Journey, ReadsStandardInput) {
  const auto shell = [&](const std::string& line) {
    return run({"/bin/sh", "-c", line}, folder.path());
  };
  const std::string options =
      " fit --data - --schema table.toml --epsilon 1 --delta 1e-6 --iterations 5 --seed 3 --quiet ";
  for (const std::string& line :
       {std::string("cat table.csv | ") + GIBBSITE_CLI + options + "--out piped.json",
        GIBBSITE_CLI + options + "--out redirected.json < table.csv"}) {
    const Outcome out = shell(line);
    ASSERT_EQ(out.status, 0) << out.err;
  }
  ASSERT_EQ(gibbsite(fit({"--out", "file.json", "--iterations", "5", "--seed", "3"})).status, 0);
  EXPECT_EQ(folder.read("piped.json"), folder.read("file.json"));
  EXPECT_EQ(folder.read("redirected.json"), folder.read("file.json"));
  EXPECT_EQ(shell(std::string("cat table.csv | ") + GIBBSITE_CLI +
                  " predict --model file.json --data - --probabilities")
                .status,
            0);
  const std::string plain =
      " fit --data - --schema table.toml --epsilon 1 --delta 1e-6 --iterations 5 --out none.json ";
  expect_error(shell(GIBBSITE_CLI + plain + "< /dev/null"), 2, "standard input: the file is empty");
  expect_error(shell("cat table.csv | " GIBBSITE_CLI + plain + "--cache always"), 2,
               "standard input: rows of a pipe cannot be cached");
}

TEST_F(Journey, SemicolonsAndDecimalCommasAreReadFromEndToEnd) {
  std::string text = csv();
  std::replace(text.begin(), text.end(), ',', ';');
  for (std::size_t at = 0; (at = text.find("\"State; gov\"", at)) != std::string::npos;)
    text.replace(at, 12, "State, gov");
  folder.write("european.csv", text);
  const auto with = [](const std::string& data, const std::string& out) {
    return std::vector<std::string>{
        "fit",  "--data", data, "--schema",     "table.toml", "--epsilon", "1",     "--delta",
        "1e-6", "--seed", "3",  "--iterations", "5",          "--quiet",   "--out", out};
  };
  ASSERT_EQ(gibbsite(with("table.csv", "a.json")).status, 0);
  ASSERT_EQ(gibbsite(with("european.csv", "b.json")).status, 0);
  EXPECT_EQ(folder.read("a.json"), folder.read("b.json"));
}

TEST_F(Journey, UnknownOptionsAreNamedAndASuggestionIsMade) {
  const auto error = [&](std::vector<std::string> more, const std::string& what) {
    expect_error(gibbsite(fit(more)), 2, what);
  };
  error({"--out", "m.json", "--itterations", "4", "--wibble", "3"},
        "--itterations: gibbsite fit has no such option, did you mean --iterations?; see 'gibbsite "
        "fit --help'");
  error({"--out", "m.json", "--wibble=3"}, "--wibble: gibbsite fit has no such option; see");
  error({"--out", "m.json", "--lodger", "x"}, "no such option, did you mean --ledger?; see");
  error({"--out", "m.json", "stray"}, "'stray': gibbsite fit does not know");
  expect_error(gibbsite({"ledger", "create", "l", "--epsilon", "2", "--delta", "1e-6", "--peopel"}),
               2, "--peopel: gibbsite ledger create has no such option, did you mean --people?");
  expect_error(gibbsite({"ledger", "shwo", "l"}), 2,
               "ledger shwo: there is no such word; give one of create, show, export");
  error({"--out", "m.json", "--rows-per-person", "abc"},
        "--rows-per-person: 'abc' is no whole number; give one, such as 10");
  error({"--out", "m.json", "--model", "median", "--column", "age"},
        "--model: no loss is called 'median'; there is: logistic");
  expect_error(gibbsite({"fitt", "--data", "x"}), 2,
               "no command is called 'fitt', did you mean fit?");
  expect_error(gibbsite({"frobnicate"}), 2, "no command is called 'frobnicate'; see");
}

// Six digits tell all that the model knows; no line speaks of "about under", or of time left at the
// end.
TEST_F(Journey, FiguresAreThoseThatPeopleRead) {
  const Outcome out = gibbsite(fit({"--out", "model.json", "--iterations", "3", "--progress"}));
  ASSERT_EQ(out.status, 0) << out.err;
  EXPECT_THAT(out.out + out.err, Not(HasSubstr("about under")));
  EXPECT_THAT(out.out + out.err, Not(::testing::ContainsRegex("100 %, ")));
  const Outcome predicted =
      gibbsite({"predict", "--model", "model.json", "--data", "table.csv", "--probabilities"});
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size() - line.rfind(',') - 1, 11U) << line;  // 0.00123456, 1.23456e-05
  }
}

TEST_F(Journey, AllErrorsOfASchemaAreSaidAtOnce) {
  folder.write("table.toml", "label = \"income\"\nrow_norm = \"x\"\n[columns]\nage = {}\n");
  const Outcome out = gibbsite(fit({"--out", "model.json"}));
  EXPECT_EQ(out.status, 2);
  EXPECT_EQ(std::count(out.err.begin(), out.err.end(), '\n'), 3) << out.err;
  for (const char* line :
       {"gibbsite: table.toml:2: row_norm", "gibbsite: table.toml:4: column 'age'",
        "gibbsite: table.toml: `positive` is missing"})
    EXPECT_THAT(out.err, HasSubstr(line));
}

TEST_F(Journey, DevicesAreListed) {
  const Outcome out = gibbsite({"devices"});
  EXPECT_EQ(out.status, 0);
  for (const char* name : {"reference", "cpu", "cuda"}) EXPECT_THAT(out.out, HasSubstr(name));
}

}  // namespace journey_test
}  // namespace gibbsite::testing
