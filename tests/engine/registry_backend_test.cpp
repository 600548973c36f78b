#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/backend_names.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"

namespace gibbsite {
namespace registry_backend_test {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The cuda engine on a GPU in software answers to the engine's name.
const std::string_view backend_name =
    std::string_view(GIBBSITE_TEST_BACKEND) == "emulated" ? "cuda" : GIBBSITE_TEST_BACKEND;

class Registry : public support::TestOn {
 protected:
  Registry() : TestOn(GIBBSITE_TEST_BACKEND) {}
};
using Load = Registry;

TEST_F(Registry, GivesTheBackendOfThatName) {
  const auto backend = support::make_test_backend(GIBBSITE_TEST_BACKEND);
  EXPECT_EQ(backend->name(), backend_name);
  EXPECT_THAT(backend->description(), HasSubstr("double on float storage"));
}

TEST_F(Registry, KnowsEveryName) {
  for (const BackendInfo& backend : list_backends()) EXPECT_TRUE(is_backend_name(backend.name));
  EXPECT_FALSE(is_backend_name("auto"));
  EXPECT_FALSE(is_backend_name(""));
}

TEST_F(Registry, AutoIsTheFastestThereIs) {
  bool gpu = true;
  try {
    make_backend("cuda");
  } catch (const BackendUnavailable&) {
    gpu = false;
  }
  EXPECT_EQ(make_backend("auto")->name(), gpu ? "cuda" : "cpu");
}

TEST_F(Registry, CudaNeverFallsBackAndSaysWhatToDo) {
  if (!cuda::compiled()) {
    EXPECT_THAT([] { make_backend("cuda"); },
                ThrowsMessage<NotCompiled>(HasSubstr("use `backend` cpu")));
    return;
  }
  try {
    EXPECT_EQ(make_backend("cuda")->name(), "cuda");
  } catch (const NotCompiled&) {
    FAIL() << "compiled, and says that it is not";
  } catch (const BackendUnavailable& error) {  // NoDevice or CudaError
    EXPECT_THAT(error.what(), HasSubstr("use `backend` cpu"));
  }
}

TEST_F(Registry, OtherBackendsHaveOneDesignAndNotEveryArithmetic) {
  EXPECT_THAT([] { make_backend("reference", {.arithmetic = Arithmetic::float32}); },
              ThrowsMessage<BadInput>(HasSubstr("does not compute in float; use `backend` cuda")));
  EXPECT_THAT(make_backend("cpu", {.arithmetic = Arithmetic::float32})->description(),
              HasSubstr("float on float storage"));
  for (const char* name : {"cpu", "reference"}) {
    EXPECT_THAT([&] { make_backend(name, {.arithmetic = Arithmetic::bfloat16}); },
                ThrowsMessage<BadInput>(HasSubstr("does not compute in bfloat16")));
    EXPECT_THAT([&] { make_backend(name, {.design = "tiled"}); },
                ThrowsMessage<BadInput>(HasSubstr("leave it out")));
  }
}

TEST_F(Registry, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT([] { make_backend("gpu"); }, ThrowsMessage<BadInput>(HasSubstr("reference, cpu")));
}

TEST_F(Registry, ListsWhatCanBeUsed) {
  for (const BackendInfo& info : list_backends()) {
    EXPECT_FALSE(info.description.empty());
    if (info.available) {
      EXPECT_EQ(make_backend(info.name)->name(), info.name);
    } else {
      EXPECT_THROW(make_backend(info.name), BackendUnavailable);
    }
  }
}

TEST_F(Load, RefusesDataThatHasNoShape) {
  const auto backend = support::make_test_backend(GIBBSITE_TEST_BACKEND);
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

  const auto refused_entries = [&](std::vector<std::uint64_t> begin,
                                   const std::vector<std::uint32_t>& feature, const char* what) {
    const Rows rows({begin.data(), feature.data(), x.data(), 3}, 4);
    EXPECT_THAT([&] { backend->load(rows, y, loss); }, ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  refused_entries({0, 2, 2, 4}, {0, 3, 1, 4}, "entries of row 3");  // beyond the features
  refused_entries({0, 2, 2, 4}, {0, 3, 1, 1}, "entries of row 3");  // twice
  refused_entries({0, 2, 2, 4}, {3, 0, 1, 2}, "entries of row 1");  // descending
  refused_entries({0, 3, 2, 4}, {0, 1, 2, 3}, "entries of row 2");
}

}  // namespace registry_backend_test
}  // namespace gibbsite
