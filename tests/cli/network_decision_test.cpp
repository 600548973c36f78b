// The best response by a released network: its utilities, and how far the noise may turn it.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace network_decision_test {

using ::testing::HasSubstr;

constexpr std::array<const char*, 3> outcomes{"clerk", "farmer", "smith"};

class NetworkDecisionCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    std::string people = "work,town,income\n";
    for (int i = 0; i < 3000; ++i) {
      people += std::string(outcomes[static_cast<std::size_t>(i % 7 < 3   ? 0
                                                              : i % 7 < 5 ? 1
                                                                          : 2)]) +
                "," + (i % 2 == 0 ? "yes" : "no") + "," + (i % 7 < 4 ? "high" : "low") + "\n";
    }
    folder.write("people.csv", people);
    folder.write("people.toml",
                 "label = \"income\"\npositive = \"high\"\nnegative = \"low\"\n\n[columns]\n"
                 "work = {type = \"category\", levels = [\"clerk\", \"farmer\", \"smith\"]}\n"
                 "town = {type = \"category\", levels = [\"yes\", \"no\"]}\n");
    const Outcome fitted =
        gibbsite({"fit", "--model", "network", "--data", "people.csv", "--schema", "people.toml",
                  "--epsilon", "1", "--delta", "1e-6", "--seed", "1", "--out", "network.json"});
    ASSERT_EQ(fitted.status, 0) << fitted.err;
  }
  [[nodiscard]] Outcome decide(const std::string& table,
                               const std::vector<std::string>& more = {"P(work)"}) const {
    folder.write("u.csv", table);
    return gibbsite(joined({"query", "--model", "network.json", "--utilities", "u.csv"}, more));
  }
};

// By brute force over shares within what `query` says of each outcome alone.
TEST_F(NetworkDecisionCli, RegretIsTheLargestWithinTheReach) {
  const std::array<std::array<double, 3>, 2> utility{{{1, 0.3, 0}, {0.9, 0.35, 0.09}}};
  for (const std::string evidence : {"", " | income = high"}) {
    std::array<double, 3> share{}, reach{};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto one =
          nlohmann::json::parse(gibbsite({"query", "--model", "network.json", "--json",
                                          "P(work = " + std::string(outcomes[k]) + evidence + ")"})
                                    .out);
      share[k] = one[0]["probability"], reach[k] = one[0]["reach"];
    }
    double behind = 0, most = 0;
    for (std::size_t k = 0; k < 3; ++k) behind += (utility[0][k] - utility[1][k]) * share[k];
    ASSERT_GT(behind, 0);
    constexpr int steps = 1000;
    for (int i = 0; i <= steps; ++i) {
      for (int j = 0; i + j <= steps; ++j) {
        const std::array<double, 3> p{double(i) / steps, double(j) / steps,
                                      double(steps - i - j) / steps};
        double gain = 0;
        bool inside = true;
        for (std::size_t k = 0; k < 3; ++k) {
          gain += (utility[1][k] - utility[0][k]) * p[k];
          inside = inside && std::abs(p[k] - share[k]) <= reach[k];
        }
        if (inside) most = std::max(most, gain);
      }
    }
    const Outcome out = decide("response,clerk,farmer,smith\nask,1,0.3,0\nleave,0.9,0.35,0.09\n",
                               {"P(work" + evidence + ")"});
    EXPECT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.out, HasSubstr("P(work" + evidence + ")\n"));
    EXPECT_THAT(out.out, HasSubstr("→  ask"));
    const std::string before = "leave may be better, by at most ";
    const auto at = out.out.find(before);
    if (at == std::string::npos) {
      EXPECT_THAT(out.out, HasSubstr("what is not known does not turn it"));
      EXPECT_EQ(most, 0) << out.out;
      continue;
    }
    // To what is printed, two digits, and to the grid's step.
    EXPECT_NEAR(std::stod(out.out.substr(at + before.size())), most, 0.06 * most + 1.0 / steps)
        << out.out;
  }
}

TEST_F(NetworkDecisionCli, SaysWhatIsCertainAndWhatIsUnknown) {
  const std::string table = "response,farmer,clerk,smith\nask,0.1,1,0\nleave,0,0.2,0\n";
  EXPECT_THAT(decide(table).out, HasSubstr("what is not known does not turn it"));
  const Outcome three = decide(table, {"P(work | income = high, town = yes)"});
  EXPECT_EQ(three.status, 0) << three.err;
  EXPECT_THAT(three.out, HasSubstr("→  ask"));
  EXPECT_THAT(three.out, HasSubstr("what is not known does not turn it"));
  const Outcome asked =
      gibbsite({"query", "--model", "network.json", "P(work = clerk, income = high, town = yes)"});
  EXPECT_THAT(asked.out, HasSubstr(", what is known of pairs allows\n"));
}

TEST_F(NetworkDecisionCli, BadInputIsOneLine) {
  const std::string good = "response,clerk,farmer,smith\nask,1,0,0\n";
  expect_error(decide(good, {}), 2, "--utilities: of a network needs the column");
  expect_error(decide(good, {"P(work)", "--json"}), 2, "--json: has no meaning with --utilities");
  expect_error(decide(good, {"P(work = clerk)"}), 2, "is not of one column alone");
  expect_error(decide(good, {"P(work, town)"}), 2, "is not of one column alone");
  expect_error(decide(good, {"P(wages)"}), 2, "no column 'wages'; its columns are work, town");
  expect_error(decide(good, {"P(town)"}), 2, "'clerk' is no level of 'town'; its levels are yes");
  expect_error(decide("response,clerk,farmer\nask,1,0\n"), 2, "2 outcomes for 3 levels of 'work'");
  expect_error(decide("response,clerk,farmer,clerk\nask,1,0,0\n"), 2, "u.csv");
}

}  // namespace network_decision_test
}  // namespace gibbsite::testing
