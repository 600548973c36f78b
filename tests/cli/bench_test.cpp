// `bench`: what it says, its JSON, that it says what is private, and what it refuses.
#include <cmath>

#include "cli/cli.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace bench_test {

using ::testing::HasSubstr;
using ::testing::Not;
using Bench = Cli;

std::vector<std::string> keys(const nlohmann::json& object) {
  std::vector<std::string> out;
  for (const auto& item : object.items()) out.push_back(item.key());
  return out;
}

// Arithmetic and noise that no fit takes have no prediction of one, and no budget.
TEST_F(Bench, ThroughputIsMeasuredBesideFits) {
  const std::vector<std::string> shape{"bench", "--rows", "2000", "--features", "20", "--json"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = shape;
    words.insert(words.end(), more.begin(), more.end());
    return gibbsite(words);
  };
  const Outcome run = with({"--backend", "cpu", "--arithmetic", "float32", "--noise", "philox"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto out = nlohmann::json::parse(run.out);
  EXPECT_EQ(out["backend"]["arithmetic"], "float32");
  EXPECT_EQ(out["backend"]["noise"], "philox");
  EXPECT_TRUE(out["fit"].is_null());
  EXPECT_GT(out["steps"][0]["chain_gradients_per_second"].get<double>(), 0);
  expect_error(with({"--arithmetic", "float16"}), 2, "--arithmetic: must be");
  expect_error(with({"--noise", "dice"}), 2, "--noise: must be");
  expect_error(with({"--noise", "philox", "--epsilon", "1", "--delta", "1e-6"}), 2,
               "--noise: is for throughput");
  expect_error(with({"--backend", "cpu", "--arithmetic", "bfloat16"}), 2, "bfloat16");
  expect_error(with({"--backend", "cpu", "--noise", "curand"}), 2, "cuRAND");
  for (const char* option : {"--arithmetic", "--noise"}) {
    expect_error(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                           "--delta", "1e-6", option, "philox"}),
                 2, std::string(option) + ": is of bench");
  }
}

// Dense rows of that many columns take a hundred times as long.
TEST_F(Bench, APlanOfATableThatIsMostlyZeroSaysHowLongThatTakes) {
  std::string table;
  for (int i = 0; i < 2000; ++i)
    table += std::to_string(i % 2) + " " + std::to_string(1 + i % 1500) + ":0.5 " +
             std::to_string(1501 + i % 1499) + ":0.25\n";
  folder.write("s.libsvm", table);
  folder.write(
      "s.toml",
      "label = \"y\"\npositive = \"1\"\nnegative = \"0\"\nrow_norm = 1.0\nintercept = false\n"
      "[columns]\nx = {type = \"number\", range = [0, 1], count = 3000}\n");
  const auto seconds = [&](const std::vector<std::string>& of) {
    std::vector<std::string> command{"plan", "--epsilon",   "1",    "--delta",
                                     "1e-6", "--mechanism", "path", "--json"};
    command.insert(command.end(), of.begin(), of.end());
    const Outcome out = gibbsite(command);
    EXPECT_EQ(out.status, 0) << out.err;
    const bool is_table = of.front() == "--data";
    EXPECT_EQ(out.err.find("private: the time is predicted for rows of which 2 of 3000") !=
                  std::string::npos,
              is_table)
        << out.err;
    return nlohmann::json::parse(out.out)["offers"][0]["seconds"].get<double>();
  };
  const std::vector<std::string> shape{"--rows", "2000", "--features", "3000", "--row-norm", "1"};
  std::vector<std::string> few = shape;
  few.insert(few.end(), {"--nonzero", "2"});
  const double dense = seconds(shape);
  EXPECT_LT(seconds({"--data", "s.libsvm", "--schema", "s.toml"}), dense / 5);
  EXPECT_LT(seconds(few), dense / 5);
  expect_error(gibbsite({"plan", "--data", "s.libsvm", "--schema", "s.toml", "--epsilon", "1",
                         "--delta", "1e-6", "--nonzero", "2"}),
               2, "--nonzero: says how many of --features");
}

TEST_F(Bench, JsonKeepsItsContract) {
  std::vector<std::string> command{"bench",     "--data", "table.csv",   "--schema", "table.toml",
                                   "--epsilon", "1",      "--delta",     "1e-6",     "--draws",
                                   "2",         "--json", "--mechanism", "path"};
  const Outcome run = gibbsite(command);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err,
              Not(HasSubstr("private")));  // of made-up rows, the number of which is public
  command.front() = "plan";
  const auto plan = nlohmann::json::parse(gibbsite(command).out);
  const auto out = nlohmann::json::parse(run.out);
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys(out), (Keys{"backend", "fit", "machine", "reading", "steps", "table"}));
  EXPECT_EQ(keys(out["machine"]),
            (Keys{"double_fma_flops_per_second", "float_fma_flops_per_second", "instruction_set",
                  "load", "read_bytes_per_second", "read_table_bytes_per_second", "threads"}));
  EXPECT_EQ(keys(out["backend"]), (Keys{"arithmetic", "description", "name", "noise"}));
  EXPECT_EQ(keys(out["reading"]), (Keys{"bytes", "bytes_per_second", "seconds"}));
  EXPECT_EQ(keys(out["fit"]), (Keys{"draws", "planned", "planning_seconds", "reading_seconds",
                                    "sampling_seconds", "seconds", "steps"}));
  const auto& table = out["table"];
  EXPECT_EQ(keys(table), (Keys{"bytes_per_row", "entries_per_row", "features", "made_up",
                               "pass_bytes_per_row", "rows"}));
  EXPECT_EQ(table["rows"], rows);
  EXPECT_EQ(table["features"], 5);         // age, two levels, (missing), intercept
  EXPECT_EQ(table["entries_per_row"], 3);  // one for each of age, work, intercept
  EXPECT_EQ(table["bytes_per_row"], 24);   // five floats and the label
  EXPECT_EQ(table["pass_bytes_per_row"],
            20);  // five floats: less than three entries of eight bytes
  EXPECT_EQ(table["made_up"], true);
  EXPECT_EQ(out["reading"]["bytes"], csv().size());
  EXPECT_EQ(out["fit"]["steps"].get<double>(),
            candidate_of(plan, "path")["iterations"].get<double>());
  EXPECT_EQ(out["fit"]["draws"], 2);
  EXPECT_EQ(out["fit"]["planned"], true);
  const auto seconds = [&](const char* name) { return out["fit"][name].get<double>(); };
  // Two sums of three numbers, in any order: two roundings each.
  const double sum =
      seconds("reading_seconds") + seconds("planning_seconds") + seconds("sampling_seconds");
  EXPECT_LE(std::fabs(seconds("seconds") - sum), 4 * 0x1p-53 * sum);

  ASSERT_EQ(out["steps"].size(), 5U);
  const double chains[] = {1, 4, 16, 64, 256};
  for (std::size_t k = 0; k < 5; ++k) {
    const auto& step = out["steps"][k];
    EXPECT_EQ(keys(step), (Keys{"bytes_per_second", "chain_gradients_per_second", "chains",
                                "chains_measured", "flops_per_second", "noise_share", "of_roof",
                                "roof", "rows_measured", "seconds", "windows"}));
    EXPECT_EQ(step["chains"], chains[k]);
    EXPECT_EQ(step["rows_measured"], rows);
    const double s = step["seconds"].get<double>();
    ASSERT_GT(s, 0);
    // One product and one quotient.
    const auto near = [](double a, double b) { return std::fabs(a - b) <= 4 * 0x1p-53 * b; };
    EXPECT_TRUE(near(step["chain_gradients_per_second"].get<double>(), chains[k] / s));
    EXPECT_TRUE(near(step["flops_per_second"].get<double>(), 4.0 * rows * 3 * chains[k] / s));
    EXPECT_TRUE(near(step["bytes_per_second"].get<double>(), 20.0 * rows / s));
    EXPECT_THAT(step["roof"].get<std::string>(), ::testing::AnyOf("read", "fma"));
    EXPECT_GT(step["of_roof"].get<double>(), 0);
    EXPECT_GT(step["noise_share"].get<double>(), 0);
    EXPECT_LE(step["noise_share"].get<double>(), 1);
  }
}

TEST_F(Bench, SaysWhatItFoundToPeople) {
  if (support::sanitized) GTEST_SKIP() << "what the others do";
  const Outcome run = gibbsite({"bench", "--rows", "2000", "--features", "6", "--intercept",
                                "--draws", "3", "--backend", "cpu"});
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* words :
       {"machine   ", "multiply-adds", "backend   cpu: double on float storage",
        "rows      2,000 of 7 features", "32 bytes a row", "made up, of the public shape", "chains",
        "of the roof that binds", "fit       1,000 steps of 3 draws", "--epsilon"}) {
    EXPECT_THAT(run.out, HasSubstr(words));
  }
  EXPECT_THAT(run.out, Not(HasSubstr("private, for the curator")));
  EXPECT_THAT(run.out, Not(HasSubstr("reading   ")));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"table.csv", "table.toml"}));
}

// A table with far fewer entries than its schema allows cannot be timed on made-up rows.
TEST_F(Bench, TimesASparserTableItselfAndSaysThatThisIsPrivate) {
  if (support::sanitized) GTEST_SKIP() << "what the others do";
  std::ostringstream text, domain;
  domain << "label = \"y\"\npositive = \"1\"\nrow_norm = 1.0\nintercept = false\n[columns]\n";
  for (int k = 1; k <= 40; ++k) domain << "x" << k << " = {type = \"number\", range = [0, 1]}\n";
  for (int i = 0; i < 200; ++i) text << i % 2 << " " << 1 + i % 40 << ":0.5\n";
  folder.write("wide.svm", text.str());
  folder.write("wide.toml", domain.str());
  std::vector<std::string> command{"bench", "--data", "wide.svm", "--schema", "wide.toml"};
  const Outcome people = gibbsite(command);
  ASSERT_EQ(people.status, 0) << people.err;
  EXPECT_THAT(people.out, HasSubstr("private, for the curator only, do not publish"));
  EXPECT_THAT(people.out, HasSubstr("200 of 40 features, 1 not zero: 20.04 bytes a row"));
  EXPECT_THAT(people.out, Not(HasSubstr("made up")));
  EXPECT_THAT(people.out, Not(HasSubstr("private:")));  // replace-one: the size is public
  command.push_back("--json");
  const Outcome program = gibbsite(command);
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_THAT(program.err, HasSubstr("private, for the curator only, do not publish"));
  const auto table = nlohmann::json::parse(program.out)["table"];
  EXPECT_EQ(table["made_up"], false);
  EXPECT_EQ(table["pass_bytes_per_row"], 8);  // an index and a float
}

// Under add-remove the rows are the public cap, and what tells their number is marked; the tests
// above see that it is not otherwise.
TEST_F(Bench, UnderAddRemoveTheNumberOfRowsIsPrivate) {
  if (support::sanitized) GTEST_SKIP() << "what the others do";
  std::vector<std::string> command{
      "bench",   "--data", "table.csv",   "--schema",   "table.toml", "--epsilon", "1",
      "--delta", "1e-6",   "--adjacency", "add-remove", "--rows-cap", "400"};
  const Outcome people = gibbsite(command);
  ASSERT_EQ(people.status, 0) << people.err;
  EXPECT_THAT(people.out, HasSubstr("rows      400 of 5 features"));
  EXPECT_THAT(people.out, HasSubstr("made up, of the public shape"));
  EXPECT_THAT(people.out, HasSubstr("MB/s (private: the size tells the number of rows)\n"));

  command.emplace_back("--json");
  const Outcome program = gibbsite(command);
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_THAT(program.err, HasSubstr("private, for the curator only, do not publish: under "
                                     "add-remove the size of the table and the time to read it"));
  const auto out = nlohmann::json::parse(program.out);
  EXPECT_EQ(out["table"]["rows"], 400);
  EXPECT_EQ(out["table"]["made_up"], true);
  for (const auto& step : out["steps"]) EXPECT_EQ(step["rows_measured"], 400);

  // Without a table there is nothing private, and the cap is the shape.
  const Outcome shape = gibbsite({"bench", "--features", "3", "--rows-cap", "400", "--adjacency",
                                  "add-remove", "--epsilon", "1", "--delta", "1e-6"});
  ASSERT_EQ(shape.status, 0) << shape.err;
  EXPECT_THAT(shape.out, HasSubstr("rows      400 of 3 features"));
  EXPECT_THAT(shape.out, Not(HasSubstr("private:")));
}

// The model alone: nothing is measured where all constants are given.
TEST_F(Bench, RanksElsewhereByTheModel) {
  std::vector<std::string> command{"bench",       "--ranks", "--rows",    "1e9",
                                   "--features",  "100",     "--latency", "2e-6",
                                   "--bandwidth", "5e10",    "--rates",   "1e9,5e8,1e8,5e7",
                                   "--epsilon",   "1",       "--delta",   "1e-10"};
  const Outcome people = gibbsite(command);
  ASSERT_EQ(people.status, 0) << people.err;
  for (const char* words : {"predicted 1e+09 x 100", "2 moments and 40 gradients of whitened",
                            "given", "1024", "half of the time is messages from about"}) {
    EXPECT_THAT(people.out, HasSubstr(words));
  }
  EXPECT_THAT(people.out, Not(HasSubstr("measured")));
  command.emplace_back("--json");
  const auto out = nlohmann::json::parse(gibbsite(command).out);
  EXPECT_EQ(keys(out), (std::vector<std::string>{"constants", "half_messages", "measured", "passes",
                                                 "ranks", "table"}));
  ASSERT_EQ(out["ranks"].size(), 11U);
  const auto& alone = out["ranks"][0];
  EXPECT_EQ(alone["step"]["messages_seconds"], 0);
  // 40 capped gradients, their caps once, two moments; each 1e9 rows.
  EXPECT_NEAR(alone["whitened"]["seconds"].get<double>(), 40 * 2.0 + 10 + 2 * 20, 1e-9);
  EXPECT_NEAR(alone["path"]["seconds"].get<double>(), out["passes"]["path"].get<double>(), 1e-6);
  const auto& most = out["ranks"][10];
  EXPECT_EQ(most["ranks"], 1024);
  EXPECT_GT(most["step"]["messages_seconds"].get<double>(),
            out["ranks"][5]["step"]["messages_seconds"].get<double>());
}

// Rows of nobody: nothing is written, and the same bits come of the same words.
TEST_F(Bench, FitsMadeUpRowsAndWritesNothing) {
  const std::vector<std::string> command{"bench",     "--ranks",    "--fit",   "--rows",
                                         "40000",     "--features", "5",       "--intercept",
                                         "--epsilon", "1",          "--delta", "1e-6"};
  const Outcome run = gibbsite(command);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("made up, of nobody: no model is written, nothing is certified"));
  EXPECT_THAT(run.out, HasSubstr("rows      40,000 of 6 features"));
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const auto once = nlohmann::json::parse(gibbsite(as_json).out)["fit"];
  EXPECT_EQ(once["made_up"], true);
  EXPECT_GT(once["agreement"].get<double>(), 0.98);  // the seed is fixed
  EXPECT_LE(once["agreement"].get<double>(), 1);
  EXPECT_THAT(run.out, HasSubstr("bits      " + once["bits"].get<std::string>()));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"table.csv", "table.toml"}));
}

TEST_F(Bench, RefusesBadInputInOneLine) {
  const auto bench = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "bench");
    return gibbsite(options);
  };
  expect_error(bench({}), 2, "--data: is missing");
  expect_error(bench({"--data", "table.csv"}), 2, "--schema");
  expect_error(bench({"--schema", "table.toml"}), 2, "--data");
  expect_error(bench({"--data", "absent.csv", "--schema", "table.toml"}), 2, "absent.csv");
  expect_error(bench({"--data", "table.csv", "--schema", "table.toml", "--rows", "7"}), 2,
               "either");
  expect_error(bench({"--rows", "0", "--features", "3"}), 2, "--rows");
  expect_error(bench({"--rows", "9", "--features", "0"}), 2, "--features");
  expect_error(bench({"--rows", "9"}), 2, "--features");
  expect_error(bench({"--rows", "9", "--features", "3", "--row-norm", "-1"}), 2, "--row-norm");
  expect_error(bench({"--rows", "9", "--features", "3", "--backend", "abacus"}), 2, "abacus");
  expect_error(bench({"--rows", "9", "--features", "3", "--backend", "cuda"}), 3, "cuda");
  expect_error(bench({"--rows", "9", "--features", "3", "--epsilon", "1"}), 2, "--delta");
  expect_error(bench({"--rows", "9", "--features", "3", "--delta", "1e-6"}), 2, "--epsilon");
  expect_error(bench({"--rows", "9", "--features", "3", "--draws", "0"}), 2, "--draws");
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--tv", "0.1"},
                                                 {"--mechanism", "path"},
                                                 {"--rows-cap", "9"},
                                                 {"--calibration", "minami-cor8"},
                                                 {"--prior-precision", "1"}}) {
    expect_error(bench({"--rows", "9", "--features", "3", option[0], option[1]}), 2, option[0]);
  }
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--fit"}, {"--latency", "1"}, {"--bandwidth", "1"}}) {
    std::vector<std::string> words{"--rows", "9", "--features", "3"};
    words.insert(words.end(), option.begin(), option.end());
    expect_error(bench(words), 2, option[0] + ": needs --ranks");
    words.emplace_back("--ranks");
    expect_error(bench(words), 2,
                 option[0] == "--fit" ? "--fit: needs --epsilon" : "--ranks: one process");
  }
  expect_error(bench({"--ranks", "--data", "table.csv", "--schema", "table.toml"}), 2, "--ranks");
  expect_error(bench({"--ranks", "--rows", "9", "--features", "3", "--rates", "1,2,3"}), 2,
               "--rates");
  for (const char* latency : {"0", "1e-320", "1e300"}) {
    expect_error(bench({"--ranks", "--rows", "9", "--features", "3", "--latency", latency}), 2,
                 "--latency");
  }
  expect_error(bench({"--ranks", "--fit", "--rows", "9", "--features", "1e9", "--epsilon", "1",
                      "--delta", "1e-9"}),
               2, "--features: made-up rows have at most 100000");
  expect_error(bench({"--ranks", "--rows", "9", "--features", "3", "--model", "huber"}), 2,
               "--model");
  expect_error(bench({"--rows", "9", "--features", "3", "--frobnicate"}), 2,
               "see 'gibbsite bench --help'");
  expect_error(bench({"--rows", "9", "--features", "3", "--epsilon", "1", "--delta", "1e-6",
                      "--mechanism", "dalalyan"}),
               4, "path");
}

TEST_F(Bench, EndsWhenInterrupted) {
  Process process({GIBBSITE_CLI, "bench", "--rows", "1e6", "--features", "20"}, folder.path());
  ASSERT_TRUE(process.wait_until(
      [&] { return process.out_so_far().find("machine   ") != std::string::npos; }));
  process.send(SIGINT);
  expect_error(process.wait(), 130, "interrupted");
}

}  // namespace bench_test
}  // namespace gibbsite::testing
