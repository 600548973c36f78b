// Pure draws of coefficients in a ball, by the program.
#include <cmath>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace ball_draw_test {

using ::testing::HasSubstr;

class BallDrawCli : public Cli {
 protected:
  [[nodiscard]] Outcome draw(const Arguments& more) const {
    return gibbsite(joined({"select", "--epsilon", "1", "--out", "draw.json"}, more));
  }
  const Arguments table{"--ball", "4", "--data", "table.csv", "--schema", "table.toml"};
};

// Rows have norm sqrt(1.5^2 + 1) or that of their columns, sqrt(2 + 1), whichever is less: with
// beta = 1/(2 4 sqrt(3)) a draw of 4 coefficients.
TEST_F(BallDrawCli, DrawsCertifiesAndVerifies) {
  ASSERT_EQ(
      gibbsite({"ledger", "create", "people.ledger", "--epsilon", "2", "--delta", "1e-6"}).status,
      0);
  const Outcome made = draw(joined(table, {"--ledger", "people.ledger"}));
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("points of a lattice in the ball of radius 4"));
  EXPECT_THAT(made.out, HasSubstr("0.07217"));
  EXPECT_THAT(made.out, HasSubstr("work=Private"));
  const Outcome verified = gibbsite({"verify", "draw.json"});
  EXPECT_EQ(verified.status, 0) << verified.out;
  EXPECT_THAT(gibbsite({"ledger", "show", "people.ledger"}).out, HasSubstr("select exponential"));
  const nlohmann::json model = json("draw.json").at("model");
  double squares = 0;
  for (const double v : model.at("coefficients")) squares += v * v;
  EXPECT_LE(std::sqrt(squares), 4 * (1 + 1e-12));
  EXPECT_EQ(model.at("coefficients").size(), model.at("features").size());
  const Outcome again = draw(joined(table, {"--force", "--json"}));
  EXPECT_THAT(again.out, HasSubstr("\"coefficients\": ["));
}

TEST_F(BallDrawCli, RefusesWhatMakesNoSense) {
  EXPECT_THAT(draw({"--ball", "4"}).err, HasSubstr("--data: is missing"));
  EXPECT_THAT(draw({"--ball", "4", "--data", "table.csv"}).err, HasSubstr("--schema: is missing"));
  EXPECT_THAT(draw(joined(table, {"--models", "a.json"})).err, HasSubstr("--scores: give it, or"));
  EXPECT_THAT(draw(joined(table, {"--score", "brier"})).err, HasSubstr("--score: is of --models"));
  EXPECT_THAT(draw(joined(table, {"--range", "0,1"})).err, HasSubstr("--range, --candidates"));
  EXPECT_THAT(draw({"--ball", "0", "--data", "table.csv", "--schema", "table.toml"}).err,
              HasSubstr("--ball: must be a radius"));
  EXPECT_THAT(
      draw({"--models", "a.json,b.json", "--data", "table.csv", "--schema", "table.toml"}).err,
      HasSubstr("--schema: is of --ball"));
  folder.write("amount.toml",
               "label = \"age\"\nrange = [17, 90]\nintercept = true\nmissing = \"?\"\n[columns]\n"
               "work = {type = \"category\", levels = [\"Private\", \"State, gov\"], missing = "
               "\"?\"}\nincome = {type = \"ignore\"}\n");
  EXPECT_THAT(draw({"--ball", "4", "--data", "table.csv", "--schema", "amount.toml"}).err,
              HasSubstr("--ball: a draw in a ball is of two classes"));
  EXPECT_THAT(made(), ::testing::ElementsAre("amount.toml"));
}

}  // namespace ball_draw_test
}  // namespace gibbsite::testing
