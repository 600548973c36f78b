// fit with rows in files beside the table.
#include <fmt/format.h>

#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace cache_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> seeded{"--iterations", "40", "--seed", "5"};

class FitCache : public Cli {
 protected:
  [[nodiscard]] Outcome fit_to(const std::string& out, std::vector<std::string> more) const {
    more.insert(more.end(), {"--out", out});
    more.insert(more.end(), seeded.begin(), seeded.end());
    return gibbsite(fit(more));
  }
};

TEST_F(FitCache, GivesTheSameModelAsMemory) {
  ASSERT_EQ(fit_to("memory.json", {}).status, 0);
  EXPECT_THAT(folder.names(), ElementsAre("memory.json", "table.csv", "table.toml"));
  const Outcome made = fit_to("made.json", {"--cache", "always"});
  EXPECT_THAT(made.err, HasSubstr("private: table.csv.gibbsite-cache holds the rows"));
  EXPECT_THAT(made.out, Not(HasSubstr("private:")));
  const Outcome verbose = fit_to("made.json", {"--force", "--cache", "always", "--verbose"});
  EXPECT_THAT(verbose.err, HasSubstr("bytes a row on disk (dense)"));
  const Outcome used = fit_to("used.json", {"--quiet"});
  EXPECT_THAT(used.err, HasSubstr("private: rows from table.csv.gibbsite-cache"));
  EXPECT_EQ(used.out, "");
  EXPECT_EQ(folder.read("made.json"), folder.read("memory.json"));
  EXPECT_EQ(folder.read("used.json"), folder.read("memory.json"));
}

// Several draws are several chains: one pass over a file, groups of chains over memory.
TEST_F(FitCache, GivesTheSameDrawsAsMemory) {
  ASSERT_EQ(fit_to("memory.json", {"--draws", "70", "--cache", "never"}).status, 0);
  ASSERT_EQ(fit_to("cached.json", {"--draws", "70", "--cache", "always"}).status, 0);
  EXPECT_EQ(folder.read("cached.json"), folder.read("memory.json"));
}

TEST_F(FitCache, IsRemovedOnRequestHoweverTheRunEnds) {
  const std::vector<std::string> clean{"table.csv", "table.toml"};
  ASSERT_EQ(fit_to("m.json", {"--cache", "always", "--remove-cache"}).status, 0);
  std::filesystem::remove(folder.path("m.json"));
  EXPECT_EQ(folder.names(), clean);
  // Infeasible after the rows are read; then a usage error.
  ASSERT_EQ(fit_to("m.json", {"--cache", "always"}).status, 0);
  std::filesystem::remove(folder.path("m.json"));
  const Outcome refused = gibbsite(
      fit({"--out", "m.json", "--remove-cache", "--rows-cap", "5", "--adjacency", "add-remove"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(::testing::StartsWith("private: rows from table.csv.gibbsite"),
                                 HasSubstr("\ngibbsite: --rows-cap")));
  EXPECT_EQ(folder.names(), clean);
  ASSERT_EQ(fit_to("m.json", {"--cache", "always"}).status, 0);
  std::filesystem::remove(folder.path("m.json"));
  const Outcome alone = gibbsite({"fit", "--data", "table.csv", "--remove-cache"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(alone.out, "Removed: the cache of table.csv\n");
  EXPECT_EQ(folder.names(), clean);
  EXPECT_EQ(gibbsite({"fit", "--data", "table.csv", "--remove-cache"}).out,
            "table.csv has no cache\n");
}

TEST_F(FitCache, ACheckRemovesItsCacheWithoutAModel) {
  const auto clean = folder.names();
  const Outcome checked =
      gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1", "--delta",
                "1e-6", "--check", "--cache", "always", "--remove-cache"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_EQ(folder.names(), clean);
  expect_error(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                         "--delta", "1e-6", "--remove-cache"}),
               2, "--out: is missing; give it, such as --out model.json");
}

TEST_F(FitCache, RemoveCacheDoesNotLoosenWhatAFitNeeds) {
  expect_error(gibbsite({"fit", "--data", "table.csv", "--out", "m.json", "--force"}), 2,
               "--epsilon, --delta: are missing; give them, such as --epsilon 1 --delta 1e-6");
  expect_error(gibbsite({"fit", "--data", "table.csv", "--out", "m.json", "--remove-cache"}), 2,
               "--schema, --epsilon, --delta: are missing; give them, such as --schema "
               "table.toml --epsilon 1 --delta 1e-6");
  expect_error(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--out", "m.json",
                         "--epsilon", "1", "--remove-cache"}),
               2, "--delta: is missing; give it, such as --delta 1e-6");
  expect_error(fit_to("m.json", {"--cache", "sometimes"}), 2, "--cache: 'sometimes'");
}

TEST_F(FitCache, AnInterruptedRunIsCleanedUpAfter) {
  std::vector<std::string> command = fit({"--out", "m.json", "--iterations", "2e7", "--cache",
                                          "always", "--remove-cache", "--verbose"});
  command.insert(command.begin(), GIBBSITE_CLI);
  Process process(command, folder.path());
  ASSERT_TRUE(process.wait_until(
      [&] { return process.out_so_far().find("\nbackend ") != std::string::npos; }));
  ASSERT_TRUE(std::filesystem::exists(folder.path("table.csv.gibbsite-cache")));
  process.send(SIGINT);
  EXPECT_EQ(process.wait().status, 130);
  EXPECT_THAT(folder.names(), ElementsAre("table.csv", "table.toml"));
}

#ifndef GIBBSITE_SANITIZED
// A limit on memory in place of a table larger than memory: 64 MB of rows, 62.5 MB allowed.
TEST_F(FitCache, AutomaticIsForTablesLargerThanMemory) {
  std::string text = "y";
  std::string cells;
  for (int j = 1; j <= 400; ++j) {
    text += ",x" + std::to_string(j);
    cells += ",3";
  }
  for (int i = 0; i < 40000; ++i) text += (i % 2 == 0 ? "\n1" : "\n0") + cells;
  folder.write("big.csv", text + "\n");
  folder.write("big.toml",
               "label = \"y\"\npositive = \"1\"\n[columns]\nx = {type = \"number\", range = [0, "
               "8], count = 400}\n");
  const auto limited = [&](const std::string& limit, const std::string& more) {
    return run(
        {"sh", "-c",
         "export OMP_NUM_THREADS=1; " + limit +
             "exec " GIBBSITE_CLI
             " fit --data big.csv --schema big.toml --epsilon 1 --delta 1e-6 --iterations 3 " +
             more},
        folder.path());
  };
  // Room for the program and its libraries (CUDA's are large), and for less than the rows' 64 MB.
  int room = 8000;
  const auto starts = [&] {
    return run({"sh", "-c", fmt::format("ulimit -d {}; exec {} --version", room, GIBBSITE_CLI)})
               .status == 0;
  };
  while (!starts() && room < 4'000'000) room += 8000;
  const std::string limit = fmt::format("ulimit -d {}; ", room + 45'000);
  expect_error(limited(limit, "--out no.json --cache never"), 2, "need 0.1 GiB of memory");
  const Outcome cached = limited(limit, "--out cached.json --seed 5");
  ASSERT_EQ(cached.status, 0) << cached.err;
  EXPECT_THAT(cached.out, HasSubstr("they go to files on disk"));
  EXPECT_THAT(cached.err, HasSubstr("holds the rows"));
  const Outcome memory = limited("", "--seed 5 --out memory.json --cache never");
  ASSERT_EQ(memory.status, 0) << memory.err;
  EXPECT_THAT(memory.out, Not(HasSubstr("cache")));
  EXPECT_EQ(folder.read("cached.json"), folder.read("memory.json"));
}
#endif

}  // namespace cache_test
}  // namespace gibbsite::testing
