// A seeded fit releases the same bits on every instruction set of the machine: what sets round
// differently is far below the grid that a release is rounded to.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "gibbsite/gibbsite.hpp"
#include "support/instruction_sets.hpp"

namespace gibbsite {
namespace instructions_test {

TEST(Instructions, APathFitReleasesTheSameBits) {
  Dataset data;
  data.schema.label_name = "y";
  data.schema.label = TwoClasses{.positive = "1"};
  data.schema.row_norm = 1.5;
  for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    data.schema.columns.push_back({name, ColumnType::number, 0, 1, {}, false});
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    for (std::size_t j = 0; j < 9; ++j)
      data.dense().push_back(static_cast<float>(random() % 500) / 1000);
    data.y.push_back(random() % 3 == 0 ? 1.0F : -1.0F);
  }
  const Model model = logistic_regression();
  for (const std::uint64_t draws :
       {std::uint64_t{1}, std::uint64_t{6}}) {  // few chains, and a panel of many
    const Plan made = plan(model.constants(data.schema, data.rows()),
                           {.epsilon = 1.0, .delta = 1e-6, .draws = draws}, {.mechanism = "path"});
    std::map<std::string, std::vector<std::vector<double>>> found;
    support::on_every_instruction_set([&](const std::string& set) {
      found[set] = fit(model, data, made, *make_backend("cpu"), Key::from_seed(7)).model().draws;
    });
    for (const auto& [set, coefficients] : found) {
      EXPECT_EQ(coefficients, found.begin()->second) << set << ", " << draws << " draws";
    }
  }
}

}  // namespace instructions_test
}  // namespace gibbsite
