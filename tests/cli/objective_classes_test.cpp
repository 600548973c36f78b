// Noise in the slope for three classes by the program: plan, fit, ledger and verify.
#include <string>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace objective_classes_test {

using ::testing::HasSubstr;

class ObjectiveClassesCli : public Cli {
 protected:
  void SetUp() override {
    std::string table = "x,kind\n";
    for (int i = 0; i < 300; ++i) {
      table += std::to_string(i % 10) + (i % 3 == 0 ? ",a\n" : i % 3 == 1 ? ",b\n" : ",c\n");
    }
    folder.write("kinds.csv", table);
    folder.write("kinds.toml",
                 "label = \"kind\"\nclasses = [\"a\", \"b\", \"c\"]\n[columns]\nx = {type = "
                 "\"number\", range = [0, 10]}\n");
  }
};

TEST_F(ObjectiveClassesCli, IsPlannedFittedEnteredAndVerified) {
  const Arguments options{"--data", "kinds.csv", "--schema", "kinds.toml",  "--epsilon",
                          "1",      "--delta",   "1e-6",     "--mechanism", "objective"};
  const Outcome planned = gibbsite(joined({"plan"}, options));
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("mean loss: on average at most "));
  ASSERT_EQ(
      gibbsite({"ledger", "create", "kinds.ledger", "--epsilon", "3", "--delta", "1e-5"}).status,
      0);
  const Outcome fitted =
      gibbsite(joined(joined({"fit"}, options), {"--out", "m.json", "--ledger", "kinds.ledger"}));
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  nlohmann::json file = json("m.json");
  file["certificate"]["mechanism"]["calibration"] = "redberg";
  folder.write("edited.json", file.dump());
  const Outcome edited = gibbsite({"verify", "edited.json"});
  EXPECT_NE(edited.status, 0);
  EXPECT_THAT(edited.out + edited.err,
              HasSubstr("redberg, the published form, is of losses of one"));
  EXPECT_THAT(edited.out + edited.err, ::testing::Not(HasSubstr("directions")));
  const Outcome published =
      gibbsite(joined(joined({"fit"}, options), {"--out", "n.json", "--calibration", "redberg"}));
  EXPECT_NE(published.status, 0);
  EXPECT_THAT(published.err, HasSubstr("redberg, is of losses of one output"));
}

}  // namespace objective_classes_test
}  // namespace gibbsite::testing
