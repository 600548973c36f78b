// `gibbsite audit`: on screen, as JSON and as a picture; private tables say so; bad input; nothing
// half-written.
#include <fmt/format.h>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace audit_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* publish_nothing = "private, for the curator only, do not publish";

class Audit : public Cli {
 protected:
  [[nodiscard]] static std::vector<std::string> quick(const std::string& mechanism,
                                                      const std::vector<std::string>& more = {}) {
    std::vector<std::string> out{"audit",   "--mechanism", mechanism, "--epsilon", "4",
                                 "--delta", "1e-3",        "--rows",  "50",        "--features",
                                 "2",       "--pairs",     "400",     "--quiet"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  [[nodiscard]] static std::vector<std::string> of_table(
      const std::vector<std::string>& more = {}) {
    std::vector<std::string> out{"audit",      "--mechanism", "output", "--epsilon", "4",
                                 "--delta",    "1e-3",        "--data", "table.csv", "--schema",
                                 "table.toml", "--pairs",     "400",    "--quiet"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
};

TEST_F(Audit, TheScreenSaysWhatTheJsonSays) {
  const Outcome screen = gibbsite(quick("output"));
  ASSERT_EQ(screen.status, 0) << screen.err;
  const Outcome out = gibbsite(quick("output", {"--json"}));
  ASSERT_EQ(out.status, 0) << out.err;
  const auto found = nlohmann::json::parse(out.out);
  EXPECT_EQ(found["schema"], "gibbsite-audit/1");
  EXPECT_EQ(found["warning"], nullptr);
  EXPECT_EQ(found["data"], nullptr);
  EXPECT_EQ(found["rows"], 50);
  EXPECT_EQ(found["pairs"], 400);
  EXPECT_EQ(found["pilot"], 100);
  EXPECT_EQ(found["confidence"], 0.95);
  ASSERT_EQ(found["results"].size(), 1U);
  const auto& one = found["results"][0];
  EXPECT_EQ(one["mechanism"], "output");
  EXPECT_EQ(one["measure"], "mu");
  EXPECT_EQ(one["refuted"], false);
  EXPECT_NEAR(one["claimed"], one["claim"]["mu"], 1e-9);
  EXPECT_LT(one["lower"], one["claimed"]);
  EXPECT_GT(one["reach"], 0.7);
  const auto shown = [](const nlohmann::json& value) {
    return fmt::format("μ = {:.4g}", value.get<double>());
  };
  EXPECT_THAT(screen.out, HasSubstr(shown(one["claimed"])));
  EXPECT_THAT(screen.out, HasSubstr(shown(one["lower"])));
  EXPECT_THAT(screen.out, HasSubstr("not refuted"));
  EXPECT_THAT(screen.out, HasSubstr("An audit can refute a claim, never prove it"));
  EXPECT_THAT(screen.out, Not(HasSubstr(publish_nothing)));
}

TEST_F(Audit, AllIsEveryMechanismOrALineWithItsReason) {
  std::vector<std::string> command = quick("all", {"--json"});
  command[12] = "60";
  const Outcome out = gibbsite(command);
  ASSERT_EQ(out.status, 0) << out.err;
  const auto found = nlohmann::json::parse(out.out);
  EXPECT_EQ(found["results"].size() + found["left_out"].size(), 14U);
  EXPECT_GE(found["results"].size(), 8U);
}

TEST_F(Audit, ABoughtSchemaHasTwoPairsAndNoLoss) {
  const Outcome out = gibbsite(quick("bought-schema", {"--json"}));
  ASSERT_EQ(out.status, 0) << out.err;
  const auto found = nlohmann::json::parse(out.out);
  ASSERT_EQ(found["results"].size(), 2U);
  EXPECT_TRUE(found["loss"].is_null());
  EXPECT_EQ(found["features"], 2);
  for (const auto& one : found["results"]) {
    EXPECT_EQ(one["mechanism"], "bought-schema");
    EXPECT_FALSE(one["refuted"]);
  }
  std::vector<std::string> data = of_table();
  data[2] = "bought-schema";
  expect_error(gibbsite(data), 2, "--data: a bought schema is audited on tables that audit makes");
}

TEST_F(Audit, APrivateTableSaysSoOnEveryLine) {
  const Outcome out = gibbsite(of_table({"--plot", "p.svg"}));
  ASSERT_EQ(out.status, 0) << out.err;
  std::istringstream in(out.out);
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    EXPECT_THAT(line, HasSubstr(publish_nothing));
    ++lines;
  }
  EXPECT_GE(lines, 6);
  EXPECT_THAT(folder.read("p.svg"),
              HasSubstr(">PRIVATE: for the curator only, do not publish</text>"));
  const Outcome json = gibbsite(of_table({"--json"}));
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["warning"], publish_nothing);
}

TEST_F(Audit, ThePictureShowsBothSamples) {
  const Outcome out = gibbsite(quick("path", {"--plot", "p.svg"}));
  ASSERT_EQ(out.status, 0) << out.err;
  const std::string svg = folder.read("p.svg");
  for (const char* part : {">the table</text>", ">its neighbor</text>",
                           "Audit of path: not refuted", "400 pairs", "</svg>"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("PRIVATE")));
  expect_error(gibbsite(quick("path", {"--plot", "p.svg"})), 2, "--plot: p.svg is there already");
  EXPECT_EQ(gibbsite(quick("path", {"--plot", "p.svg", "--force"})).status, 0);
}

TEST_F(Audit, BadInputIsOneLine) {
  const auto error = [&](const std::vector<std::string>& command, const std::string& what) {
    expect_error(gibbsite(command), 2, what);
    EXPECT_EQ(made(), std::vector<std::string>{});
  };
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> out = quick("path");
    const auto at = std::find(out.begin(), out.end(), option);
    if (at == out.end()) {
      out.insert(out.end(), {option, value});
    } else {
      *(at + 1) = value;
    }
    return out;
  };
  error(with("--mechanism", "magic"), "--mechanism: 'magic' is unknown; give all, ");
  error(with("--mechanism", "auto"), "--mechanism auto: ");
  error(with("--pairs", "0"), "--pairs: must be a whole number, 1 or above");
  error(with("--confidence", "2"), "--confidence: must lie strictly");
  error(with("--epsilon", "-1"), "--epsilon: must");
  error(with("--delta", "0.7"), "--delta: must");
  error(with("--features", "1"), "--features: must be a whole number, 2 or above");
  error(with("--rows", "1"), "--rows: must be a whole number, 2 or above");
  error(with("--row-norm", "0"), "--row-norm: must");
  error(with("--plot", "absent/p.svg"), "--plot: cannot write to absent");
  error(with("--plot", "table.csv"), "--plot: table.csv is there already");
  error(with("--schema", "table.toml"), "--schema: needs --data");
  error(with("--data", "table.csv"), "--data: needs --schema");
  error(with("--backend", "abacus"), "--backend");
  error(quick("all", {"--plot", "p.svg"}), "--plot: shows one audit");
  error(of_table({"--rows", "10"}),
        "--rows, --features, --row-norm: are of tables that audit makes");
  error(of_table({"--plot", "table.toml"}), "--plot: table.toml is the file of --schema");
  expect_error(gibbsite(with("--mechanism", "dalalyan")), 4, "--mechanism dalalyan: needs ");
}

TEST_F(Audit, InterruptedItEndsInOneLineWithNothingWritten) {
  std::vector<std::string> command = quick("whitened", {"--progress", "--plot", "p.svg"});
  std::erase(command, "--quiet");
  std::ranges::replace(command, "400", "1000000");
  command.insert(command.begin(), GIBBSITE_CLI);
  Process process(command, folder.path());
  ASSERT_TRUE(process.wait_until([&] {
    return process.err_so_far().find("auditing whitened: ") != std::string::npos;
  })) << process.err_so_far();
  EXPECT_EQ(expect_interruption(process, SIGINT).out, "");
}

}  // namespace audit_test
}  // namespace gibbsite::testing
