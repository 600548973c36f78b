// People whose rows lie on several ranks, end to end: one release of the bits of one process, and
// none where a rank counted its own rows alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/shares.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "support/backend.hpp"
#include "support/people.hpp"
#include "support/repeats.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace people_of_ranks_test {

using nlohmann::json;
using support::ThreadRanks;
using ::testing::HasSubstr;

/// 900 people of 1 to 9 rows, which lie all over the table, and one of 500 rows.
Dataset table_of_people() {
  std::vector<std::uint32_t> places;
  for (std::uint32_t round = 0; round < 9; ++round)
    for (std::uint32_t person = 0; person < 900; ++person)
      if (person % 9 >= round) places.push_back(person);
  for (std::size_t i = 0; i < 500; ++i) places.push_back(7);
  Dataset data = support::people(places.size(), 3, 12);
  data.group(places);
  return data;
}

/// Rows [first, last), with the places that people have in the whole.
Dataset share_of(const Dataset& data, std::size_t first, std::size_t last) {
  Dataset out = data;
  const auto part = [&](auto& values, std::size_t d) {
    const auto at = [&](std::size_t k) { return values.begin() + static_cast<std::ptrdiff_t>(k); };
    values.erase(at(last * d), values.end());
    values.erase(values.begin(), at(first * d));
  };
  part(out.dense(), data.features());
  part(out.y, 1);
  part(out.person, 1);
  return out;
}

PlanRequest request_of(const std::string& mechanism, std::uint64_t k, bool add_remove) {
  PlanRequest out;
  out.mechanism = mechanism;
  out.epsilon = 2;
  out.delta = 1e-4;
  out.rows_per_person = k;
  out.intervals = mechanism == "whitened";
  if (add_remove) out.adjacency = "add-remove", out.rows_cap = 1000;
  return out;
}

enum class Counted { together, alone, alone_and_forged };

/// The files of all ranks.
std::vector<json> fit_on_ranks(const Dataset& data, const PlanRequest& request, const Plan& made,
                               const std::vector<std::uint64_t>& bounds,
                               Counted how = Counted::together) {
  std::vector<json> out(bounds.size() - 1);
  ThreadRanks::run(out.size(), [&](Communicator& ranks) {
    const std::size_t rank = ranks.rank();
    Dataset mine = share_of(data, bounds[rank], bounds[rank + 1]);
    const std::uint64_t k = *request.rows_per_person;
    if (how == Counted::together) {
      hold_people(mine, k, ranks);
    } else {
      mine.hold_people(k);
    }
    if (how == Counted::alone_and_forged) mine.rows_counted = data.rows();
    const auto backend = shard(make_backend("cpu", {.threads = 1}), ranks);
    FitOptions options;
    options.ranks = &ranks;
    out[rank] = json::parse(
        to_json(fit(model_of(request, made), mine, made, *backend, Key::from_seed(3), options))
            .dump());
  });
  return out;
}

TEST(PeopleOfRanks, HaveOneReleaseOfTheBitsOfOneProcess) {
  support::Thinned sweep(3);
  const Dataset data = table_of_people();
  const std::uint64_t n = data.rows();
  ASSERT_GT(n, 4U * 1024);
  const auto backend = make_backend("cpu", {.threads = 1});
  for (const char* const mechanism : {"whitened", "path", "metric-path"}) {
    for (const std::uint64_t k : {1U, 3U}) {
      for (const bool add_remove : {false, true}) {
        const PlanRequest request = request_of(mechanism, k, add_remove);
        Dataset whole = data;
        whole.hold_people(k);
        const Plan made = plan_chosen(request, whole.schema, whole.counted(), budget_of(request));
        ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
        const Release alone =
            fit(model_of(request, made), whole, made, *backend, Key::from_seed(3));
        const json one = json::parse(to_json(alone).dump());
        EXPECT_EQ(one["certificate"]["constants"]["people"], add_remove ? 1000 : 900);
        EXPECT_EQ(one["model"].contains("estimates"), request.intervals);
        for (const std::vector<std::uint64_t>& bounds :
             {share_bounds(n, 1), share_bounds(n, 2), share_bounds(n, 3),
              std::vector<std::uint64_t>{0, 0, 1024, 1024, 4096, n}}) {
          if (sweep.skips()) continue;
          SCOPED_TRACE(
              fmt::format("{}, {}, {}, {} ranks", mechanism, k, add_remove, bounds.size() - 1));
          for (const json& file : fit_on_ranks(data, request, made, bounds)) EXPECT_EQ(file, one);
        }
      }
    }
  }
}

// What a rank counts of its own rows alone would give a person of two ranks twice what is paid for.
TEST(PeopleOfRanks, AreRefusedWhereARankCountsAlone) {
  const Dataset data = table_of_people();
  const auto bounds = share_bounds(data.rows(), 2);
  for (const bool add_remove : {false, true}) {
    const PlanRequest request = request_of("whitened", 1, add_remove);
    Dataset whole = data;
    whole.hold_people(1);
    const Plan made = plan_chosen(request, whole.schema, whole.counted(), budget_of(request));
    const auto refused = [&](Counted how) {
      try {
        std::ignore = fit_on_ranks(data, request, made, bounds, how);
        return std::string();
      } catch (const BadInput& error) {
        return std::string(error.what());
      }
    };
    EXPECT_EQ(refused(Counted::together), "");
    EXPECT_THAT(refused(Counted::alone), HasSubstr("were counted among other rows"));
    // Who says otherwise is found out under replace-one alone: fewer people than are planned for.
    EXPECT_EQ(refused(Counted::alone_and_forged).empty(), add_remove);
  }
  // The weights of such ranks: of the person of most rows they add up to more than k.
  double sum = 0;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Dataset mine = share_of(data, bounds[rank], bounds[rank + 1]);
    mine.hold_people(1);
    for (std::size_t i = 0; i < mine.rows(); ++i)
      if (mine.person[i] == 7) sum += static_cast<double>(mine.weight[i]);
  }
  EXPECT_GT(sum, 1.9);
}

}  // namespace people_of_ranks_test
}  // namespace gibbsite
