// Names that readers take; what a writer refuses. The files themselves: tests/cli/sample_test.cpp
// and tests/scripts/sample_arviz_test.py.
#include "gibbsite/posterior/draws_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "gibbsite/core/error.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace draws_file_test {

using Names = std::vector<std::string>;

TEST(DrawsFile, ColumnNamesAreLegalAndDistinct) {
  EXPECT_EQ(column_names({"age", "workclass=State-gov", "workclass=(other)", "(intercept)", "a.b,c",
                          "größe", "1st", "=", "lp__", "accept_stat__"}),
            (Names{"age", "workclass_State_gov", "workclass_other", "intercept", "a_b_c", "größe",
                   "x_1st", "x", "lp", "accept_stat"}));
  EXPECT_EQ(column_names({"n=1", "n=-1", "n_1_2", "n=+1"}),
            (Names{"n_1", "n_1_2", "n_1_2_2", "n_1_3"}));
  // Dimensions and columns of the readers' own.
  EXPECT_EQ(column_names({"chain", "draw", "iteration", ".draw"}),
            (Names{"chain_2", "draw_2", "iteration_2", "draw_3"}));
}

PosteriorDraws draws_of(std::size_t draws, std::size_t chains, std::size_t parameters) {
  PosteriorDraws out;
  out.draws = draws;
  out.chains = chains;
  out.parameters = parameters;
  out.values.assign(draws * chains * parameters, 0.1);
  for (auto* v : {&out.log_density, &out.energy, &out.acceptance})
    v->assign(draws * chains, 1e-300);
  out.divergent.assign(draws * chains, 1);
  return out;
}

TEST(DrawsFile, NumbersHaveTheFewestDigitsThatReadBack) {
  const testing::TempDir folder;
  PosteriorDraws draws = draws_of(1, 2, 2);
  draws.values = {0.1 + 0.2, 1, -1e-300, 5e-324};
  draws.leapfrog_steps = 6;
  draws.step_size = 0.5;
  write_cmdstan_csv(folder.path("one.csv"), draws, 1, {"a", "b"}, {});
  EXPECT_THAT(folder.read("one.csv"),
              ::testing::HasSubstr("\n1e-300,1e-300,0.5,0,6,1,1e-300,-1e-300,5e-324\n"));
  write_cmdstan_csv(folder.path("two.csv"), draws, 0, {"a", "b"}, {});
  EXPECT_THAT(folder.read("two.csv"), ::testing::HasSubstr(",0.30000000000000004,1\n"));
}

TEST(DrawsFile, ChunksJoinWithoutASeam) {
  const testing::TempDir folder;
  // Above one chunk of 1 MiB in both files.
  PosteriorDraws draws = draws_of(3000, 2, 100);
  for (std::size_t i = 0; i < draws.values.size(); ++i) draws.values[i] = static_cast<double>(i);
  write_npy(folder.path("draws.npy"), draws);
  const std::string text = folder.read("draws.npy");
  const std::size_t start = text.size() - draws.values.size() * sizeof(double);
  for (const std::size_t n : {0UL, 1310UL, 1311UL, 2999UL}) {
    double value = 0;
    std::memcpy(&value, text.data() + start + ((3000 + n) * 100 + 7) * sizeof(double),
                sizeof value);
    EXPECT_EQ(value, static_cast<double>((n * 2 + 1) * 100 + 7)) << n;
  }
  write_cmdstan_csv(folder.path("one.csv"), draws, 0, column_names(Names(100, "p")), {});
  const std::string csv = folder.read("one.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), ','), 3001 * 106);
}

TEST(DrawsFile, RefusesWhatDoesNotFit) {
  const testing::TempDir folder;
  const PosteriorDraws draws = draws_of(4, 2, 3);
  EXPECT_THROW(write_cmdstan_csv(folder.path("a"), draws, 2, {"a", "b", "c"}, {}), BadInput);
  EXPECT_THROW(write_cmdstan_csv(folder.path("a"), draws, 0, {"a", "b"}, {}), BadInput);
  PosteriorDraws cut = draws;
  cut.values.pop_back();
  EXPECT_THROW(write_npy(folder.path("a"), cut), BadInput);
  cut = draws;
  cut.energy.pop_back();
  EXPECT_THROW(write_cmdstan_csv(folder.path("a"), cut, 0, {"a", "b", "c"}, {}), BadInput);
  EXPECT_TRUE(folder.names().empty());
  folder.write("there", "kept");
  EXPECT_THROW(write_npy(folder.path("there"), draws), BadInput);
  EXPECT_EQ(folder.read("there"), "kept");
}

}  // namespace draws_file_test
}  // namespace gibbsite
