// The rule that chooses a design, and its limits.
#include "engine/cuda/design.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace design_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Gpu h100{.name = "H100",
               .capability = 90,
               .multiprocessors = 132,
               .shared_bytes = 227 << 10,
               .l2_bytes = 50 << 20,
               .total_bytes = std::size_t{80} << 30,
               .free_bytes = std::size_t{79} << 30};

Design chosen(const Shape& shape, Arithmetic arithmetic, const Gpu& gpu = h100) {
  return choose_design(shape, arithmetic, gpu).design;
}

TEST(ChooseDesign, FollowsTheShapes) {
  const Shape small{400, 25, 1}, adult{32561, 108, 1}, covertype{581012, 54, 1},
      large{10'000'000, 100, 1};
  const auto with = [](Shape shape, std::size_t chains) {
    shape.chains = chains;
    return shape;
  };
  for (const Arithmetic a : {Arithmetic::float64, Arithmetic::float32, Arithmetic::bfloat16}) {
    EXPECT_EQ(chosen(adult, a), Design::cooperative);
    EXPECT_EQ(chosen(covertype, a), Design::one_pass);  // 125 MB are more than the cache
    EXPECT_EQ(chosen(large, a), Design::one_pass);
  }
  for (const Arithmetic a : {Arithmetic::float64, Arithmetic::float32}) {
    EXPECT_EQ(chosen(small, a), Design::resident);
    EXPECT_EQ(chosen(with(small, 4096), a), Design::resident);
  }
  EXPECT_EQ(chosen(with(covertype, 2), Arithmetic::float64), Design::one_pass);
  for (const std::size_t chains : {3ul, 16ul, 64ul, 1024ul}) {
    EXPECT_EQ(chosen(with(covertype, chains), Arithmetic::float64), Design::double_matrix);
  }
  EXPECT_EQ(chosen(with(large, 2), Arithmetic::float64), Design::double_matrix);
  EXPECT_EQ(chosen(with(adult, 4), Arithmetic::float64), Design::cooperative);
  EXPECT_EQ(chosen(with(adult, 5), Arithmetic::float64), Design::double_matrix);
  EXPECT_EQ(chosen(with(adult, 8), Arithmetic::float32), Design::cooperative);
  EXPECT_EQ(chosen({100'000, 20, 2}, Arithmetic::float64), Design::cooperative);
  EXPECT_EQ(chosen({100'000, 20, 3}, Arithmetic::float64), Design::double_matrix);
  EXPECT_EQ(chosen({10'000'000, 8, 8}, Arithmetic::float64), Design::one_pass);
  EXPECT_EQ(chosen({10'000'000, 8, 9}, Arithmetic::float64), Design::double_matrix);
  EXPECT_EQ(chosen({1'000'000, 200, 96}, Arithmetic::float64), Design::double_matrix);
  EXPECT_EQ(chosen({1'000'000, 200, 97}, Arithmetic::float64), Design::blocked);
  EXPECT_EQ(chosen({100'000, 257, 64}, Arithmetic::float64), Design::blocked);
  EXPECT_EQ(chosen({10'000'000, 32, 16}, Arithmetic::float32), Design::one_pass);
  EXPECT_EQ(chosen({10'000'000, 32, 17}, Arithmetic::float32), Design::tiled);
  EXPECT_EQ(chosen({10'000'000, 8, 63}, Arithmetic::float32), Design::one_pass);
  EXPECT_EQ(chosen(with(covertype, 63), Arithmetic::float32), Design::tiled);
  EXPECT_EQ(chosen(with(covertype, 64), Arithmetic::float32), Design::warp_group);
  EXPECT_EQ(chosen(with(adult, 1024), Arithmetic::float32), Design::warp_group);
  EXPECT_EQ(chosen({10'000'000, 129, 1024}, Arithmetic::float32), Design::tiled);
  EXPECT_EQ(chosen(with(adult, 1024), Arithmetic::bfloat16), Design::warp_group);
  EXPECT_EQ(chosen({100'000, 1000, 256}, Arithmetic::bfloat16), Design::blocked);
  EXPECT_EQ(chosen({100'000, 1000, 1}, Arithmetic::float64), Design::blocked);
}

// The GPU decides too: another generation has no warp-group instructions, a small cache no design
// B.
TEST(ChooseDesign, FollowsTheGpu) {
  Gpu ampere = h100;
  ampere.capability = 80;
  ampere.l2_bytes = 4 << 20;
  EXPECT_EQ(chosen({32561, 108, 1024}, Arithmetic::bfloat16, ampere), Design::blocked);
  EXPECT_EQ(chosen({32561, 108, 1024}, Arithmetic::float32, ampere), Design::tiled);
  EXPECT_EQ(chosen({32561, 108, 1}, Arithmetic::float64, ampere), Design::one_pass);
}

// Other losses than the logistic ones have kernels of C and F, those of several outputs of F alone;
// a design that is asked for says why not.
TEST(ChooseDesign, FollowsTheLoss) {
  const auto other = [](Shape shape, std::size_t outputs = 1) {
    shape.chains *= outputs;
    shape.outputs = outputs;
    shape.logistic = false;
    return shape;
  };
  for (const Arithmetic a : {Arithmetic::float64, Arithmetic::float32, Arithmetic::bfloat16}) {
    EXPECT_EQ(chosen(other({400, 25, 1}), a), Design::one_pass);
    EXPECT_EQ(chosen(other({32561, 108, 1}), a), Design::one_pass);
    EXPECT_EQ(chosen(other({32561, 108, 1024}), a), Design::blocked);
    EXPECT_EQ(chosen(other({32561, 300, 1}), a), Design::blocked);
    EXPECT_EQ(chosen(other({400, 25, 1}, 3), a), Design::blocked);
    EXPECT_EQ(chosen(other({581012, 54, 64}, 7), a), Design::blocked);
    for (const Design design : {Design::resident, Design::cooperative, Design::tiled,
                                Design::warp_group, Design::double_matrix}) {
      EXPECT_EQ(why_not(design, other({400, 25, 1}), a, h100),
                "has kernels of the logistic losses alone");
    }
    for (const Design design : {Design::resident, Design::cooperative, Design::one_pass,
                                Design::tiled, Design::warp_group, Design::double_matrix}) {
      EXPECT_THAT(why_not(design, other({400, 25, 1}, 3), a, h100),
                  HasSubstr("from one predictor"));
    }
  }
  EXPECT_THAT(choose_design(other({400, 25, 1}, 3), Arithmetic::float64, h100).why,
              HasSubstr("3 outputs"));
}

TEST(ChooseDesign, EveryChoiceCanRunAndAPersonCanOverrideIt) {
  for (const Arithmetic a : {Arithmetic::float64, Arithmetic::float32, Arithmetic::bfloat16}) {
    for (const std::size_t n : {1ul, 100ul, 10'000ul, 1'000'000ul, 1'000'000'000ul}) {
      for (const std::size_t d : {1ul, 8ul, 9ul, 256ul, 257ul, 1024ul, 1025ul, 100'000ul}) {
        for (const std::size_t chains : {1ul, 8ul, 9ul, 63ul, 64ul, 100'000ul}) {
          const Shape shape{n, d, chains};
          const Choice choice = choose_design(shape, a, h100);
          EXPECT_EQ(why_not(choice.design, shape, a, h100), "");
          EXPECT_FALSE(choice.why.empty());
          const DeviceProblem problem{shape, a, 0, h100};
          EXPECT_NE(make_source(gradient_design(choice.design, shape), problem), nullptr);
          EXPECT_EQ(choose_design(shape, a, h100, Design::blocked).design, Design::blocked);
        }
      }
    }
  }
  EXPECT_THAT(
      [] {
        choose_design({1000, 300, 1}, Arithmetic::float64, h100, Design::one_pass);
      },
      ThrowsMessage<BadInput>(HasSubstr("at most 256 features, there are 300")));
  EXPECT_THAT([] { design_named("fastest"); }, ThrowsMessage<BadInput>(HasSubstr("warp-group")));
}

}  // namespace design_test
}  // namespace gibbsite::cuda
