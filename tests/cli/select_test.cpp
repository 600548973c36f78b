// A private choice, budgets of zCDP and RDP and the price of a posterior, by the program.
#include <cmath>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace select_test {

using ::testing::HasSubstr;
using ::testing::Not;

class SelectCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    std::string scores = "first,second,third\n";
    for (int i = 0; i < 300; ++i) scores += i % 7 == 0 ? "1,,x\n" : "1,0.1,0\n";
    folder.write("scores.csv", scores);
  }
  [[nodiscard]] Outcome select(const Arguments& more) const {
    return gibbsite(joined({"select", "--epsilon", "1", "--out", "choice.json"}, more));
  }
};

// The second has e^-100 of the first one's probability.
TEST_F(SelectCli, ChoosesCertifiesAndVerifies) {
  const Outcome made = select({"--scores", "scores.csv"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("Chosen: first, of 3 candidates"));
  EXPECT_THAT(made.out, HasSubstr("zCDP ρ = 0.125"));
  const Outcome verified = gibbsite({"verify", "choice.json"});
  EXPECT_EQ(verified.status, 0) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("zCDP ρ = 0.125"));
  EXPECT_THAT(select({"--scores", "scores.csv"}).err, HasSubstr("--out: "));
  const Outcome some =
      select({"--scores", "scores.csv", "--candidates", "third,second", "--force", "--json"});
  EXPECT_THAT(some.out, HasSubstr("\"chosen\": \"second\""));
}

TEST_F(SelectCli, ChoosesAmongModelsAndEntersIt) {
  for (const char* const out : {"a.json", "b.json"})
    ASSERT_EQ(gibbsite(fit({"--out", out})).status, 0);
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--rho", "0.5", "--delta", "1e-6"}).status, 0);
  const Outcome made = select({"--models", "a.json,b.json", "--data", "table.csv", "--score",
                               "brier", "--ledger", "people.ledger"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(".json, of 2 candidates"));
  EXPECT_EQ(gibbsite({"verify", "choice.json"}).status, 0);
  const Outcome shown = gibbsite({"ledger", "show", "people.ledger"});
  EXPECT_THAT(shown.out, HasSubstr("select exponential"));
  EXPECT_THAT(shown.out, HasSubstr("zCDP rho"));
}

TEST_F(SelectCli, RefusesWhatMakesNoSense) {
  EXPECT_THAT(select({}).err, HasSubstr("--scores: "));
  EXPECT_THAT(select({"--scores", "scores.csv", "--data", "table.csv"}).err, HasSubstr("--data"));
  EXPECT_THAT(select({"--models", "a.json,b.json"}).err, HasSubstr("--data: is missing"));
  EXPECT_THAT(select({"--scores", "scores.csv", "--candidates", "first"}).err,
              HasSubstr("--candidates: "));
  EXPECT_THAT(select({"--scores", "scores.csv", "--range", "1,0"}).err, HasSubstr("--range: "));
  EXPECT_THAT(select({"--scores", "scores.csv", "--adjacency", "add-remove"}).err,
              HasSubstr("--rows-cap: "));
}

// A first line of numbers is a person's row; its cells would be published as names.
TEST_F(SelectCli, PublishesNoRowAsNames) {
  folder.write("rows.csv", "0.9,0.4\n1,0\n0,1\n");
  EXPECT_THAT(select({"--scores", "rows.csv"}).err, HasSubstr("looks like a row"));
  folder.write("gap.csv", "first,\n1,0\n0,1\n");
  EXPECT_THAT(select({"--scores", "gap.csv"}).err, HasSubstr("looks like a row"));
  EXPECT_THAT(folder.names(), Not(::testing::Contains("choice.json")));
  const Outcome named = select({"--scores", "rows.csv", "--candidates", "0.9,0.4"});
  EXPECT_EQ(named.status, 0) << named.err;
}

// Its divergences are below what a double holds: none is said to be 0 or less.
TEST_F(SelectCli, SaysSmallDivergencesRoundedUp) {
  const Outcome made =
      gibbsite({"select", "--scores", "scores.csv", "--epsilon", "1e-300", "--out", "choice.json"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("RDP ε = 1e-300 at order 2"));
}

TEST_F(SelectCli, FitsWithinRhoAndAnOrder) {
  const Arguments table{"fit", "--data", "table.csv", "--schema", "table.toml", "--delta", "1e-6"};
  const Outcome made = gibbsite(joined(table, {"--rho", "0.02", "--out", "rho.json"}));
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("zCDP ρ = 0.02"));
  const auto file = nlohmann::json::parse(folder.read("rho.json"));
  const double mu = file.at("/certificate/guarantee/mu"_json_pointer);
  EXPECT_LE(mu * mu / 2, 0.02);
  EXPECT_GT(mu * mu / 2, 0.0199);
  EXPECT_EQ(gibbsite({"verify", "rho.json"}).status, 0);
  const Outcome order =
      gibbsite(joined(table, {"--rdp", "8", "--epsilon", "0.2", "--out", "rdp.json"}));
  EXPECT_THAT(order.out, HasSubstr(", 0.2 at 8"));
  EXPECT_THAT(gibbsite(joined(table, {"--rho", "1", "--epsilon", "1", "--out", "x.json"})).err,
              HasSubstr("--rho"));
  EXPECT_THAT(gibbsite(joined(table, {"--out", "x.json"})).err, HasSubstr("--epsilon: is missing"));
}

TEST_F(SelectCli, SaysWhatAPosteriorCosts) {
  const Outcome priced = gibbsite({"plan", "--rows", "1000", "--features", "3", "--row-norm", "1",
                                   "--prior-precision", "400", "--delta", "1e-6"});
  EXPECT_EQ(priced.status, 0) << priced.err;
  EXPECT_THAT(priced.out, HasSubstr("β = 1 and prior precision 400"));
  EXPECT_THAT(priced.out, HasSubstr("μ = 0.1, zCDP ρ = 0.005"));
  EXPECT_THAT(priced.out, HasSubstr("--beta 1 --prior-precision 400 --epsilon 0."));
  folder.write("people.csv", "id,x,y\np,1,a\np,0,b\nq,1,b\nr,0,a\n");
  folder.write("people.toml",
               "label = \"y\"\npositive = \"b\"\nintercept = false\n[columns]\n"
               "id = {type = \"person\"}\nx = {type = \"number\", range = [0, 1]}\n");
  const Outcome people =
      gibbsite({"plan", "--data", "people.csv", "--schema", "people.toml", "--prior-precision",
                "400", "--rows-per-person", "2", "--delta", "1e-6"});
  EXPECT_EQ(people.status, 0) << people.err;
  EXPECT_THAT(people.out, HasSubstr("μ = 0.2"));  // 2 k over 20
  // delta alone pays for this one, and a fit takes it all the same.
  const Outcome free = gibbsite({"plan", "--rows", "9", "--features", "1", "--row-norm", "1",
                                 "--prior-precision", "1e12", "--delta", "1e-6"});
  EXPECT_THAT(free.out, HasSubstr("(ε, δ) = (0, 1e-06)"));
  EXPECT_THAT(free.out, HasSubstr("--epsilon 0.001"));
  const Outcome family = gibbsite(
      {"plan", "--model", "bernoulli", "--rows", "1000", "--prior", "50,50", "--delta", "1e-6"});
  EXPECT_EQ(family.status, 0) << family.err;
  EXPECT_THAT(family.out, HasSubstr("the plain posterior of bernoulli"));
  EXPECT_THAT(gibbsite({"plan", "--rows", "9", "--features", "1", "--row-norm", "1"}).err,
              HasSubstr("--epsilon, --delta: are missing"));
}

}  // namespace select_test
}  // namespace gibbsite::testing
