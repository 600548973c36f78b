// Every bad input: one line on stderr, the right status, nothing left behind.
#include <cstdlib>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace bad_input_test {

using BadInput = Cli;

struct Case {
  const char* name;
  const char* what;  ///< part of the line
  int status;
  std::string csv, schema;           ///< empty: the good ones
  std::vector<std::string> options;  ///< after `fit`, with --out model.json

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

class BadFit : public Cli, public ::testing::WithParamInterface<Case> {
 protected:
  static std::string csv_with(const std::string& from, const std::string& to) {
    std::string out = csv();
    replace(out, from, to);
    return out;
  }
  static std::string schema_with(const std::string& from, const std::string& to) {
    std::string out = schema();
    replace(out, from, to);
    return out;
  }

 public:
  static std::vector<Case> cases() {
    const std::string header = "age,work,income\n";
    return {
        {"MissingFile", "absent.csv", 2, "", "", {"--data", "absent.csv"}},
        {"MissingSchema", "absent.toml", 2, "", "", {"--schema", "absent.toml"}},
        {"EmptyFile", "table.csv", 2, "\n", "", {}},
        {"HeaderOnly", "table.csv", 2, header, "", {}},
        {"RaggedRow", "table.csv:3", 2, header + "20,Private,>50K\n30,Private\n", "", {}},
        {"UnknownColumn", "table.csv:1", 2, csv_with("age,work", "age,town,work"), "", {}},
        {"MissingColumn", "table.csv:1", 2, "work,income\nPrivate,>50K\n", "", {}},
        {"EmptyLabel", "table.csv:3", 2, header + "20,Private,>50K\n21,Private,\n", "", {}},
        {"UnlistedLabel",
         "table.csv:4",
         2,
         header + "20,Private,>50K\n21,Private,<=50K\n22,Private,maybe\n",
         schema_with("row_norm", "unlisted_label = \"refuse\"\nrow_norm"),
         {}},
        {"Nan", "table.csv:2", 2, csv_with("18,Private", "nan,Private"), "", {}},
        {"Infinity", "table.csv:2", 2, csv_with("18,Private", "-inf,Private"), "", {}},
        {"TooLarge", "table.csv:2", 2, csv_with("18,Private", "1e400,Private"), "", {}},
        {"NoNumber", "table.csv:2", 2, csv_with("18,Private", "old,Private"), "", {}},
        {"UnknownLevel", "table.csv:2", 2, csv_with("18,Private", "18,Circus"), "", {}},
        {"RowNormZero", "row_norm", 2, "", schema_with("row_norm = 1.5", "row_norm = 0"), {}},
        {"SchemaWrongType",
         "table.toml:4",
         2,
         "",
         schema_with("row_norm = 1.5", "row_norm = \"1\""),
         {}},
        {"SchemaSyntax", "table.toml:", 2, "", schema_with("[columns]", "[columns"), {}},
        {"EpsilonZero", "--epsilon", 2, "", "", {"--epsilon", "0"}},
        {"EpsilonNegative", "--epsilon", 2, "", "", {"--epsilon", "-1"}},
        {"EpsilonNoNumber", "--epsilon: 'one'", 2, "", "", {"--epsilon", "one"}},
        {"EpsilonNan", "--epsilon", 2, "", "", {"--epsilon", "nan"}},
        {"EpsilonTooLarge", "--epsilon", 2, "", "", {"--epsilon", "1e400"}},
        {"DeltaOne", "--delta", 2, "", "", {"--delta", "1"}},
        {"DeltaZero", "--delta", 2, "", "", {"--delta", "0"}},
        {"IterationsZero", "--iterations", 2, "", "", {"--iterations", "0"}},
        {"IterationsHalf", "--iterations", 2, "", "", {"--iterations", "1.5"}},
        {"StepSizeZero", "--step-size", 2, "", "", {"--step-size", "0"}},
        {"PriorNegative", "--prior-precision", 2, "", "", {"--prior-precision", "-1"}},
        {"TvTooLarge", "--tv", 2, "", "", {"--tv", "0.5"}},
        {"DrawsZero", "--draws", 2, "", "", {"--draws", "0"}},
        {"CapMissing", "--rows-cap", 2, "", "", {"--adjacency", "add-remove"}},
        {"CapWithoutAdjacency", "--rows-cap", 2, "", "", {"--rows-cap", "500"}},
        {"CapTooSmall",
         "--rows-cap",
         2,
         "",
         "",
         {"--adjacency", "add-remove", "--rows-cap", "100"}},
        {"AdjacencyUnknown", "--adjacency", 2, "", "", {"--adjacency", "swap"}},
        {"ModelUnknown",
         "--model: no loss is called 'magic'; there is: logistic",
         2,
         "",
         "",
         {"--model", "magic"}},
        {"ModelProbit", "--model: probit is refused", 2, "", "", {"--model", "probit"}},
        {"MechanismUnknown", "--mechanism", 2, "", "", {"--mechanism", "magic"}},
        {"TvIsTooLarge", "--tv", 2, "", "", {"--tv", "0.5"}},
        {"TvIsNegative", "--tv", 2, "", "", {"--tv", "-1e-9"}},
        {"TvCostsMoreThanDelta", "ask for --tv below 2.69e-07", 4, "", "", {"--tv", "1e-3"}},
        {"TvWithoutStrongConvexity",
         "--prior-precision above 0",
         4,
         "",
         "",
         {"--tv", "1e-9", "--prior-precision", "0"}},
        {"TvFixesItsSteps", "--step-size", 2, "", "", {"--tv", "1e-9", "--iterations", "7"}},
        {"BallZero", "--ball: must be a radius", 2, "", "", {"--mechanism", "path", "--ball", "0"}},
        {"BallNegative", "--ball: must be", 2, "", "", {"--mechanism", "path", "--ball", "-1"}},
        {"BallNan", "--ball", 2, "", "", {"--mechanism", "path", "--ball", "nan"}},
        {"BallNoNumber", "--ball: 'big'", 2, "", "", {"--mechanism", "path", "--ball", "big"}},
        {"SquaredOfClasses",
         "--model: squared predicts an amount",
         2,
         "",
         "",
         {"--model", "squared", "--ball", "1"}},
        {"BallIsOfPath", "--ball: only chains of --mechanism path", 2, "", "", {"--ball", "1"}},
        {"BallNotOfProximal",
         "--ball: only chains",
         2,
         "",
         "",
         {"--mechanism", "proximal", "--ball", "1"}},
        {"BallBelowTheGrid",
         "--ball: in one of radius 1e-07 a model can be all zeros",
         4,
         "",
         "",
         {"--mechanism", "path", "--ball", "1e-7"}},
        {"BallNeedsGdp",
         "--ball: --calibration minami-cor8",
         2,
         "",
         "",
         {"--mechanism", "path", "--ball", "1", "--calibration", "minami-cor8"}},
        {"PaddedIsProximal", "--padded", 2, "", "", {"--padded"}},
        {"CertificateOutOfReach", "passes over the data", 4, "", "", {"--mechanism", "dalalyan"}},
        {"CalibrationUnknown", "--calibration", 2, "", "", {"--calibration", "magic"}},
        {"BackendUnknown", "backend", 2, "", "", {"--backend", "abacus"}},
        {"BackendMissing", "cuda", 3, "", "", {"--backend", "cuda"}},
        {"OptionUnknown", "see 'gibbsite fit --help'", 2, "", "", {"--frobnicate"}},
        {"OptionWithoutValue", "see 'gibbsite fit --help'", 2, "", "", {"--draws"}},
        {"LedgerMissing",
         "budget.db: there is no such ledger",
         2,
         "",
         "",
         {"--ledger", "budget.db"}},
        {"LedgerIsTheTable", "table.csv: is no ledger", 2, "", "", {"--ledger", "table.csv"}},
        {"LedgerOfASeed",
         "--ledger: a run with --seed",
         2,
         "",
         "",
         {"--ledger", "l", "--seed", "1"}},
        {"QuietAndProgress", "--quiet", 2, "", "", {"--quiet", "--progress"}},
        {"OutFolderMissing", "--out", 2, "", "", {"--out", "absent/model.json"}},
        {"OutIsAFolder", "--out", 2, "", "", {"--out", "."}},
        {"OutIsTheTable", "--out", 2, "", "", {"--out", "./table.csv"}},
        {"OutIsTheSchema", "--out", 2, "", "", {"--out", "table.toml"}},
        {"OutIsTheCheckpoint", "--out", 2, "", "", {"--checkpoint", "model.json"}},
        {"DiskFull", "/dev/full", 2, "", "", {"--out", "/dev/full"}},
        {"CheckpointUnreadable", "table.toml", 2, "", "", {"--checkpoint", "table.toml"}},
    };
  }
};

TEST_P(BadFit, IsOneLineAndLeavesNothing) {
  const Case& bad = GetParam();
  if (!bad.csv.empty()) folder.write("table.csv", bad.csv == "\n" ? "" : bad.csv);
  if (!bad.schema.empty()) folder.write("table.toml", bad.schema);
  std::vector<std::string> arguments = fit({"--out", "model.json"});
  for (const std::string& option : bad.options) {
    // An option given again takes the place of the first.
    const auto old = std::find(arguments.begin(), arguments.end(), option);
    if (option.starts_with("--") && old != arguments.end()) arguments.erase(old, old + 2);
  }
  arguments.insert(arguments.end(), bad.options.begin(), bad.options.end());
  expect_error(gibbsite(arguments), bad.status, bad.what);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"table.csv", "table.toml"}));
  if (bad.csv.empty()) {
    EXPECT_EQ(folder.read("table.csv"), csv());
  }
  if (bad.schema.empty()) {
    EXPECT_EQ(folder.read("table.toml"), schema());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, BadFit, ::testing::ValuesIn(BadFit::cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(BadInput, OfTheCommandItself) {
  expect_error(gibbsite({}), 2, "no command given; see 'gibbsite --help'");
  expect_error(gibbsite({"frobnicate"}), 2, "'frobnicate'");
  expect_error(gibbsite({"--frobnicate"}), 2, "see 'gibbsite --help'");
  expect_error(
      gibbsite({"fit", "--data", "table.csv"}), 2,
      "--epsilon, --delta: are missing; give them, such as --epsilon 1 --delta 1e-6; see 'gibbsite fit --help'");
  expect_error(gibbsite({"verify"}), 2, "see 'gibbsite verify --help'");
}

#ifdef __x86_64__
// The variable is read by every command, before it does anything else.
TEST_F(BadInput, OfTheInstructionSet) {
  const char* const before = std::getenv("GIBBSITE_INSTRUCTIONS");
  const std::string kept = before == nullptr ? "" : before;
  setenv("GIBBSITE_INSTRUCTIONS", "sse5", 1);
  for (const char* const command : {"devices", "plan"}) {
    expect_error(gibbsite({command}), 2,
                 "GIBBSITE_INSTRUCTIONS=sse5: this machine and build have ");
  }
  setenv("GIBBSITE_INSTRUCTIONS", "sse4", 1);
  EXPECT_THAT(gibbsite({"devices"}).out, ::testing::HasSubstr("; SSE4 by GIBBSITE_INSTRUCTIONS; "));
  kept.empty() ? unsetenv("GIBBSITE_INSTRUCTIONS")
               : setenv("GIBBSITE_INSTRUCTIONS", kept.c_str(), 1);
}
#endif

TEST_F(BadInput, OfPlan) {
  const auto plan = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"plan", "--epsilon", "1", "--delta", "1e-6"});
    return gibbsite(options);
  };
  expect_error(plan({}), 2, "--rows");
  expect_error(plan({"--data", "table.csv"}), 2, "--schema");
  expect_error(plan({"--rows", "100", "--features", "3"}), 2, "--row-norm");
  expect_error(plan({"--rows", "0", "--features", "3", "--row-norm", "1"}), 2, "--rows");
  expect_error(plan({"--rows", "-5", "--features", "3", "--row-norm", "1"}), 2, "--rows");
  expect_error(plan({"--rows", "10", "--features", "3", "--row-norm", "0"}), 2, "--row-norm");
  expect_error(plan({"--data", "table.csv", "--schema", "table.toml", "--rows", "7"}), 2, "--rows");
  const Outcome far =
      plan({"--rows", "100", "--features", "3", "--row-norm", "1", "--mechanism", "dalalyan"});
  EXPECT_EQ(far.status, 4);
  EXPECT_THAT(far.out, ::testing::HasSubstr("out of reach: dalalyan"));
  expect_error(far, 4, "the path certificate is in reach");
}

TEST_F(BadInput, PredictAndEvaluateLeaveNothing) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  folder.write("nolabel.csv", "age,work\n40,Private\n");
  folder.write("ragged.csv", "age,work\n40,Private\n41\n");
  const auto before = folder.names();
  expect_error(gibbsite({"evaluate", "--model", "model.json", "--data", "nolabel.csv"}), 2,
               "nolabel.csv");
  expect_error(
      gibbsite({"predict", "--model", "model.json", "--data", "ragged.csv", "--out", "p.csv"}), 2,
      "ragged.csv:3");
  expect_error(
      gibbsite({"predict", "--model", "model.json", "--data", "table.csv", "--out", "/dev/full"}),
      2, "/dev/full");
  expect_error(
      gibbsite({"predict", "--model", "model.json", "--data", "table.csv", "--out", "model.json"}),
      2, "--out");
  expect_error(gibbsite({"predict", "--model", "model.json", "--data", "table.csv", "--out",
                         "absent/p.csv"}),
               2, "absent/p.csv");
  EXPECT_EQ(folder.names(), before);
}

// A quota that the model file exceeds: the write fails, and the temporary file goes.
TEST_F(BadInput, FullQuotaLeavesNothing) {
  expect_error(gibbsite(fit({"--out", "model.json", "--quiet"}), 1024), 2, "model.json");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"table.csv", "table.toml"}));
}

TEST_F(BadInput, FullStandardOutputIsAnError) {
  const Outcome out =
      run({"/bin/sh", "-c", std::string(GIBBSITE_CLI) + " devices > /dev/full"}, folder.path());
  expect_error(out, 2, "standard output");
}

}  // namespace bad_input_test
}  // namespace gibbsite::testing
