// Tables as people have them: what reads them, from the command line to the released model.
#include <fmt/format.h>

#include <filesystem>

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
    table += fmt::format("{},{},{}\n",
                         i % 3 == 0   ? "NA"
                         : i % 3 == 1 ? ""
                                      : "5",
                         i % 4 == 0   ? "?"
                         : i % 4 == 1 ? ""
                                      : "a",
                         i % 2);
  folder.write("t.csv", table);
  const Outcome fitted = fit_of("t.csv", "m.json");
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const nlohmann::json preprocessing = json("m.json")["model"]["preprocessing"];
  EXPECT_EQ(preprocessing["missing"], (nlohmann::json{"NA", ""}));
  EXPECT_EQ(preprocessing["columns"][1]["missing"], (nlohmann::json{"?", ""}));
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
  ASSERT_EQ(gibbsite({"fit", "--data", "t.csv", "--schema", "s.toml", "--epsilon", "1", "--delta",
                      "1e-6", "--out", "v.json"})
                .status,
            0);
  EXPECT_EQ(gibbsite({"verify", "v.json"}).status, 0);
}

// Columns that repeat each other are named to the curator, and nowhere in the file.
TEST_F(Reader, ColumnsThatRepeatEachOtherAreNamed) {
  folder.write("s.toml",
               "label = 'y'\npositive = '1'\n[columns]\n"
               "a = {type = 'number', range = [0, 1]}\nb = {type = 'number', range = [0, 10]}\n"
               "c = {type = 'number', range = [0, 2]}\nd = {type = 'number', range = [0, 1]}\n"
               "e = {type = 'number', range = [0, 1]}\n"
               "f = {type = 'category', levels = ['x', 'y', 'z']}\n"
               "g = {type = 'category', levels = ['1', '2', '3']}\n");
  const auto table = [](int last_differs) {
    std::string out = "a,b,c,d,e,f,g,y\n";
    for (int i = 0; i < 3000; ++i) {
      const int a = (i * 37) % 1001, level = (i * 7) % 3;
      const bool odd = i == last_differs;
      out += fmt::format("{:.3f},{:.2f},{},{:.3f},{:.3f},{},{},{}\n", a / 1000.0,
                         odd ? 3.21 : a / 100.0, odd ? 2 : 1, odd ? 0.1 : (1000 - a) / 1000.0,
                         (i * 11) % 997 / 1000.0, "xyz"[level],
                         odd ? (level + 1) % 3 + 1 : level + 1, i % 2);
    }
    return out;
  };
  folder.write("t.csv", table(-1));
  const Outcome alike = fit_of("t.csv", "m.json");
  ASSERT_EQ(alike.status, 0) << alike.err;
  for (const char* const said : {"warning: private: columns 'a' and 'b' say the same in every row",
                                 "warning: private: column 'c' is the same in every row",
                                 "warning: private: column 'd' is 'a' turned around in every row",
                                 "warning: private: columns 'f' and 'g' say the same in every row"})
    EXPECT_THAT(alike.err, HasSubstr(said));
  EXPECT_THAT(alike.err, Not(HasSubstr("'e'")));
  EXPECT_THAT(folder.read("m.json"), Not(HasSubstr("every row and")));
  folder.write("t.csv", table(2999));  // one row is enough to tell them apart
  const Outcome apart = fit_of("t.csv", "m.json");
  ASSERT_EQ(apart.status, 0) << apart.err;
  EXPECT_THAT(apart.err, Not(HasSubstr("every row")));
}

TEST_F(Reader, CachesLieInTheFolderThatIsGiven) {
  const std::string places = folder.path("caches");
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--cache", "always", "--cache-dir", places})).status,
            0);
  EXPECT_EQ(made(), (std::vector<std::string>{"caches", "m.json"}));
  const std::filesystem::directory_iterator inside(places), end;
  ASSERT_NE(inside, end);
  const std::filesystem::path cache = inside->path();
  EXPECT_THAT(cache.filename().string(), ::testing::StartsWith("table.csv-"));
  EXPECT_EQ(std::filesystem::status(places).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(std::filesystem::status(cache).permissions(), std::filesystem::perms::owner_all);
  const Outcome used = gibbsite(fit({"--out", "m.json", "--force", "--cache-dir", places}));
  EXPECT_THAT(used.err, HasSubstr("private: rows from " + cache.string()));
  const Outcome removed =
      gibbsite({"fit", "--data", "table.csv", "--cache-dir", places, "--remove-cache"});
  EXPECT_THAT(removed.out, HasSubstr("Removed: the cache of table.csv"));
  EXPECT_TRUE(std::filesystem::is_empty(places));
  expect_error(gibbsite(fit({"--out", "n.json", "--cache", "always", "--cache-dir",
                             folder.path("table.csv/below")})),
               2, "give --cache-dir");
}

// Every coefficient that the file holds can be had, whatever the screen shows.
TEST_F(Reader, EveryCoefficientOnRequest) {
  std::string names, cells, schema = "label = 'y'\npositive = '1'\n[columns]\n";
  for (int j = 0; j < 15; ++j) {
    names += fmt::format("x{},", j);
    schema += fmt::format("x{} = {{type = 'number', range = [0, 9]}}\n", j);
  }
  std::string table = names + "y\n";
  for (int i = 0; i < 400; ++i) {
    for (int j = 0; j < 15; ++j) table += fmt::format("{},", (i * (j + 3) + i / 7) % 10);
    table += i % 2 == 0 ? "1\n" : "0\n";
  }
  folder.write("t.csv", table);
  folder.write("s.toml", schema);
  const auto count = [](const std::string& text) {
    std::size_t shown = 0;
    for (int j = 0; j < 15; ++j)
      shown += text.find(fmt::format("x{}, 0 to 9", j)) != std::string::npos ? 1U : 0U;
    return shown;
  };
  EXPECT_LE(count(fit_of("t.csv", "m.json").out), 10U);
  EXPECT_EQ(count(fit_of("t.csv", "m.json", {"--all-effects"}).out), 15U);
  EXPECT_EQ(count(gibbsite({"coefficients", "m.json", "--all"}).out), 15U);
  // The last column of numbers is the file's coefficient, of every draw.
  for (const std::size_t draws : {1U, 3U}) {
    const std::string number = std::to_string(draws);
    ASSERT_EQ(fit_of("t.csv", "d.json", {"--mechanism", "path", "--draws", number}).status, 0);
    const nlohmann::json all = json("d.json")["model"]["coefficients"];
    const Outcome listed = gibbsite({"coefficients", "d.json", "--csv"});
    ASSERT_EQ(listed.status, 0) << listed.err;
    std::istringstream lines(listed.out);
    std::string line;
    std::getline(lines, line);
    EXPECT_THAT(line, ::testing::EndsWith(draws == 1 ? ",coefficient,collinear"
                                                     : ",coefficient,collinear,draw"));
    for (std::size_t draw = 0; draw < draws; ++draw)
      for (std::size_t j = 0; j < 16; ++j) {
        ASSERT_TRUE(std::getline(lines, line)) << draw << " " << j;
        const double wanted = (draws == 1 ? all[j] : all[draw][j]).get<double>();
        EXPECT_THAT(line, ::testing::EndsWith(fmt::format(",{},", wanted) +
                                              (draws == 1 ? "" : fmt::format(",{}", draw + 1))));
      }
    EXPECT_FALSE(std::getline(lines, line));
  }
}

}  // namespace reader_test
}  // namespace gibbsite::testing
