// What verify says of one column of a person.
#include <string>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace column_test {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Cli, VerifySaysWhatOneColumnGets) {
  folder.write("moments.toml",
               "[columns]\nage = {type = \"number\", range = [17, 90]}\nwork = "
               "{type = \"ignore\"}\nincome = {type = \"ignore\"}\n");
  const Outcome made = gibbsite({"fit", "--data", "table.csv", "--schema", "moments.toml",
                                 "--epsilon", "1", "--delta", "1e-6", "--model", "covariance",
                                 "--columns", "age", "--out", "moments.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const Outcome ten = gibbsite({"verify", "moments.json", "--column", "age", "--moves-by", "10"});
  EXPECT_EQ(ten.status, 0) << ten.err;
  EXPECT_THAT(ten.out, HasSubstr("VALID: every number"));
  EXPECT_THAT(ten.out,
              HasSubstr("Of the column age alone, for values at most 10 apart: (ε, δ) = (0."));
  EXPECT_THAT(ten.out, HasSubstr("a weaker unit, not a stronger guarantee"));
  EXPECT_THAT(gibbsite({"verify", "moments.json"}).out, Not(HasSubstr("weaker unit")));
  expect_error(gibbsite({"verify", "moments.json", "--column", "agee"}), 2,
               "--column: the release has no column 'agee'");
  expect_error(gibbsite({"verify", "moments.json", "--moves-by", "1"}), 2, "--moves-by: ");
  expect_error(gibbsite({"verify", "moments.json", "--column", "age", "--moves-by", "0"}), 2,
               "--moves-by: ");
}

TEST_F(Cli, VerifyRefusesAColumnOfAModelOfRows) {
  const Outcome made = gibbsite(fit({"--out", "model.json"}));
  ASSERT_EQ(made.status, 0) << made.err;
  expect_error(gibbsite({"verify", "model.json", "--column", "age"}), 2,
               "--column: a model of rows has no guarantee of one column");
}

}  // namespace column_test
}  // namespace gibbsite::testing
