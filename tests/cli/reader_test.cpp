// Tables as people have them: what reads them, from the command line to the released model.
#include <fmt/format.h>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace reader_test {

using ::testing::HasSubstr;
using ::testing::Not;

class Reader : public Cli {
 protected:
  [[nodiscard]] Outcome fit_of(const std::string& data, const std::string& out,
                               std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"fit", "--data", data, "--schema", "s.toml", "--epsilon", "1",
                               "--delta", "1e-6", "--out", out, "--force", "--seed", "5"});
    return gibbsite(more);
  }
};

// The model file keeps every mark, and predicts by them.
TEST_F(Reader, SeveralMarksOfMissingAreKeptInTheModel) {
  folder.write("s.toml",
               "label = 'y'\npositive = '1'\nmissing = ['NA', '']\n[columns]\n"
               "x = {type = 'number', range = [0, 10]}\n"
               "c = {type = 'category', levels = ['a', 'b'], missing = ['?', '']}\n");
  std::string table = "x,c,y\n";
  for (int i = 0; i < 300; ++i)
    table += fmt::format("{},{},{}\n", i % 3 == 0 ? "NA" : i % 3 == 1 ? "" : "5",
                         i % 4 == 0 ? "?" : i % 4 == 1 ? "" : "a", i % 2);
  folder.write("t.csv", table);
  const Outcome fitted = fit_of("t.csv", "m.json");
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const nlohmann::json rows = json("m.json")["model"]["preprocessing"];
  EXPECT_EQ(rows["missing"], (nlohmann::json{"NA", ""}));
  EXPECT_EQ(rows["columns"][1]["missing"], (nlohmann::json{"?", ""}));
  folder.write("new.csv", "x,c\nNA,?\n,\n5,\n");
  const Outcome predicted =
      gibbsite({"predict", "--model", "m.json", "--data", "new.csv", "--probabilities"});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  std::istringstream lines(predicted.out);
  std::string header, first, second, third;
  std::getline(lines, header), std::getline(lines, first), std::getline(lines, second);
  std::getline(lines, third);
  EXPECT_NE(first, "");
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, third);
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
}

}  // namespace reader_test
}  // namespace gibbsite::testing
