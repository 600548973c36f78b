// Rows in shares elsewhere, as Dask's workers keep them: every question has the bits that one
// process has.
#include "gibbsite/engine/remote.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "engine/remote_cases.hpp"
#include "engine/sharded_cases.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "support/repeats.hpp"

namespace gibbsite::sharded_cases {
namespace remote_test {

using testing::HasSubstr;

TEST_P(Sharded, HasTheBitsOfOneProcessInSharesElsewhere) {
  const Case c = GetParam();
  const Table t(c);
  const auto alone = one("cpu")->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  static support::Thinned sweep(4);  // over all cases
  for (const std::size_t count : {1U, 3U, 7U}) {
    if (sweep.skips()) continue;
    SCOPED_TRACE(count);
    const Elsewhere there(c, t, share_bounds(c.n, count), 700);
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
    expect_same(whole, ask(*engine, c, t, elsewhere, 7), elsewhere, 0);
  }
}

TEST(RemoteRefuses, WhatIsNotTheShareThatWasAsked) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const Elsewhere there(c, t, {0, block, 3 * block}, 700);
  const auto refusal_of = [&](const auto& change) {
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
    std::vector<double> gradient(c.d);
    engine->plain_gradient(t.theta, gradient);
    change(carrier);
    std::string said;
    for (const bool in_turn : {true, false}) {
      try {
        if (in_turn) {
          engine->plain_gradient(t.theta, gradient);
        } else {
          engine->loss_gradients({t.theta.data(), 1, c.d}, {gradient.data(), 1, c.d});
        }
        said += "nothing";
      } catch (const BadInput& error) {
        said += std::string(error.what()) + "\n";
      }
    }
    const std::size_t half = said.size() / 2;
    EXPECT_EQ(said.substr(0, half), said.substr(half));
    return said.substr(0, half);
  };
  // One label of the second share is another, as of a partition that was computed again.
  EXPECT_THAT(
      refusal_of([&](Carrier& carrier) {
        HeldRows other = held(t, block, 3 * block);
        other.y[5] = -other.y[5];
        carrier.bytes[1] = Share(other, {block, c.n, there.table.entries}, "logistic").bytes();
      }),
      HasSubstr("shares: rows 1025 to 3072 are not those of before"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes[1] = carrier.bytes[0]; }),
              HasSubstr("shares: rows 1025 to 3072 are not those of before"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes.pop_back(); }),
              HasSubstr("shares: 1 answers or numbers where 2 were asked for"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes[0].pop_back(); }),
              HasSubstr("shares: bytes are cut off"));
}

// The last of the kinds of fault, by its place among all rows.
TEST(Remote, TellsAWeightThatIsNone) {
  const Case c{"logistic", 3 * block, 4, 0, Kept::dense, 1, true};
  Table t(c);
  t.rows.weight[block + 7] = 1.5F;
  const Elsewhere there(c, t, {0, block, 3 * block}, 700);
  Carrier carrier(there.shares);
  const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
  const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
  const auto fault = engine->first_fault({.norm_squared = 1e30, .label = t.loss.label()});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->row, block + 7);
  EXPECT_EQ(fault->what, RowFault::What::weight);
}

TEST(RemoteRefuses, SharesThatDoNotFit) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const auto refusal_of = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const BadInput& error) {
      return error.what();
    }
    return "nothing";
  };
  const auto share = [&](std::size_t first, std::size_t last, std::size_t in_all) {
    return refusal_of([&] { Share(held(t, first, last), {first, in_all, 9}, "logistic"); });
  };
  EXPECT_EQ(share(block, 2 * block, c.n), "nothing");
  EXPECT_THAT(share(5, block, c.n), HasSubstr("rows 5 to 1024 of 3072 are no whole blocks"));
  EXPECT_THAT(share(0, 1000, c.n), HasSubstr("are no whole blocks"));
  EXPECT_THAT(share(0, c.n, c.n - 1), HasSubstr("are no whole blocks"));
  const HeldRows some = held(t, 0, 10);
  const std::vector<Slice> beyond{{&some, 0, 11}};
  EXPECT_THAT(refusal_of([&] { join(beyond); }), HasSubstr("shares: rows 0 to 11 of 10"));
  Carrier none{{}};
  EXPECT_THAT(refusal_of([&] {
                static_cast<void>(make_remote_backend(one("reference"), {{0, 5}, {""}}, none));
              }),
              HasSubstr("on the CPU"));
  EXPECT_THAT(refusal_of([&] {
                static_cast<void>(make_remote_backend(one("cpu"), {{0, 5}, {""}}, none)
                                      ->load(t.rows.view(), t.rows.y, t.loss));
              }),
              HasSubstr("rows lie elsewhere, and some are here too"));
}

}  // namespace remote_test
}  // namespace gibbsite::sharded_cases
