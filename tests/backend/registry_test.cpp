#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/sampler/backend.hpp"

namespace gibbsite {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Registry, GivesTheBackendOfThatName) {
  const auto backend = make_backend(GIBBSITE_TEST_BACKEND);
  EXPECT_EQ(backend->name(), GIBBSITE_TEST_BACKEND);
  EXPECT_THAT(backend->description(), HasSubstr("double on float storage"));
}

TEST(Registry, AutoIsTheFastestThereIs) { EXPECT_EQ(make_backend("auto")->name(), "cpu"); }

TEST(Registry, CudaIsNotCompiledAndSaysWhatToDo) {
  EXPECT_THAT([] { make_backend("cuda"); }, ThrowsMessage<NotCompiled>(HasSubstr("use --backend")));
}

TEST(Registry, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT([] { make_backend("gpu"); }, ThrowsMessage<BadInput>(HasSubstr("reference, cpu")));
}

TEST(Registry, ListsWhatCanBeUsed) {
  for (const BackendInfo& info : list_backends()) {
    EXPECT_FALSE(info.description.empty());
    if (info.available) {
      EXPECT_EQ(make_backend(info.name)->name(), info.name);
    } else {
      EXPECT_THROW(make_backend(info.name), BackendUnavailable);
    }
  }
}

TEST(Load, RefusesDataThatHasNoShape) {
  const auto backend = make_backend(GIBBSITE_TEST_BACKEND);
  const Loss& loss = loss_named("logistic");
  const std::vector<float> x(6, 1.0f), y(3, 1.0f);
  const std::span<const float> labels(y);
  const auto refused = [&](MatrixView<const float> view, std::span<const float> with,
                           const char* what) {
    EXPECT_THAT([&] { backend->load(view, with, loss); }, ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  refused({x.data(), 0, 2}, labels.first(0), "no rows");
  refused({x.data(), 3, 0}, labels, "no features");
  refused({x.data(), 3, 2}, labels.first(2), "3 rows but 2 labels");
  refused({x.data(), 2, 3}, labels, "2 rows but 3 labels");
}

}  // namespace
}  // namespace gibbsite
