#include "gibbsite/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

using namespace gibbsite;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace error_test {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const BadInput& e) {
    EXPECT_EQ(e.status(), Status::bad_input);
    return e.what();
  }
  return "accepted";
}

TEST(Error, EachTypeHasItsExitStatus) {
  EXPECT_EQ(BadInput("").status(), Status::bad_input);
  EXPECT_EQ(Infeasible("").status(), Status::infeasible);
  EXPECT_EQ(BudgetSpent("").status(), Status::budget_spent);
  EXPECT_EQ(Interrupted("").status(), Status::interrupted);
  EXPECT_EQ(NotCompiled("").status(), Status::backend_unavailable);
  EXPECT_EQ(NoDevice("").status(), Status::backend_unavailable);
  EXPECT_EQ(CudaError("").status(), Status::backend_unavailable);
  EXPECT_EQ(static_cast<int>(Status::bad_input), 2);
  EXPECT_EQ(static_cast<int>(Status::backend_unavailable), 3);
  EXPECT_EQ(static_cast<int>(Status::infeasible), 4);
  EXPECT_EQ(static_cast<int>(Status::budget_spent), 5);
  EXPECT_STREQ(BadInput("a: b; c").what(), "a: b; c");
}

TEST(Validators, AcceptWhatTheyShould) {
  EXPECT_NO_THROW(require_finite_positive(5e-324, "x"));
  EXPECT_NO_THROW(require_finite_positive(1e308, "x"));
  EXPECT_NO_THROW(require_finite_nonnegative(0, "x"));
  EXPECT_NO_THROW(require_between(5e-324, 0, 1, "x"));
  EXPECT_NO_THROW(require_at_least(2, 2, "x"));
}

TEST(Validators, NameTheParameterTheValueAndTheRangeInOneLine) {
  const auto says = [](const char* value) {
    return AllOf(StartsWith("x: must be"), HasSubstr(std::string("got ") + value), HasSubstr("; "),
                 Not(HasSubstr("\n")));
  };
  EXPECT_THAT(message([] { require_finite_positive(0, "x"); }), says("0"));
  EXPECT_THAT(message([] { require_finite_positive(-1.5, "x"); }), says("-1.5"));
  EXPECT_THAT(message([] { require_finite_positive(nan, "x"); }), says("nan"));
  EXPECT_THAT(message([] { require_finite_positive(inf, "x"); }), says("inf"));
  EXPECT_THAT(message([] { require_finite_nonnegative(-1, "x"); }), says("-1"));
  EXPECT_THAT(message([] { require_finite_nonnegative(nan, "x"); }), says("nan"));
  EXPECT_THAT(message([] { require_finite_nonnegative(inf, "x"); }), says("inf"));
  EXPECT_THAT(message([] { require_at_least(1, 2, "x"); }), says("1"));
  EXPECT_THAT(message([] { require_at_least(nan, 2, "x"); }), says("nan"));
  for (const double bad : {0.0, 1.0, -1.0, 2.0, nan, inf}) {
    EXPECT_THAT(message([&] { require_between(bad, 0, 1, "x"); }),
                AllOf(StartsWith("x: must lie strictly between 0 and 1, got "), HasSubstr("; ")));
  }
}

// Whatever a file brings into it: found by tests/fuzz/model.cpp.
TEST(Error, IsOneLineThatIsSafeToShow) {
  const BadInput error("model.json: a\nb\x1b[2J\x7f\u2028\u202e: unknown field");
  EXPECT_STREQ(error.what(), R"(model.json: a\x0ab\x1b[2J\x7f\u{2028}\u{202e}: unknown field)");
}

}  // namespace error_test
