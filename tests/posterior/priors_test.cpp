#include "gibbsite/posterior/priors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/posterior/posterior.hpp"

namespace gibbsite {
namespace priors_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// age, sex = F or M, their product, the intercept: 8 features.
Schema schema() {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1", .negative = "0"};
  out.intercept = true;
  out.columns = {{.name = "age", .type = ColumnType::number, .lo = 0, .hi = 100},
                 {.name = "sex", .type = ColumnType::category, .levels = {"F", "M"}}};
  out.interactions = {{{{"age", {0, 100}}, {"sex", {}}}}};
  return out;
}

std::vector<std::string> texts(const std::vector<NamedPrior>& given,
                               std::optional<double> precision = 1) {
  std::vector<std::string> out;
  for (const Prior& one : priors_of(schema(), given, precision)) out.push_back(to_text(one));
  return out;
}

TEST(Priors, TextIsReadAndWritten) {
  for (const char* text : {"normal(0, 1)", "normal(-2.5, 0.001)", "student_t(3, 0, 2.5)",
                           "student_t(1, -1e+20, 1e-20)"}) {
    EXPECT_EQ(to_text(prior_from_text(text)), text);
  }
  EXPECT_EQ(to_text(prior_from_text("  student_t( 4 ,+1,2 ) ")), "student_t(4, 1, 2)");
  for (const char* text :
       {"", "normal", "cauchy(0, 1)", "normal(0)", "normal(0, 1, 2)", "student_t(0, 1)",
        "normal(0, 0)", "normal(0, -1)", "normal(0, nan)", "normal(inf, 1)", "normal(0, 1e400)",
        "student_t(0, 0, 1)", "student_t(-1, 0, 1)", "normal(0, 1) x", "normal(0; 1)",
        "normal(0, 1e-200)", "normal(0, 1e200)", "normal(,)", "normal((0, 1)"}) {
    EXPECT_THAT([&] { prior_from_text(text); },
                ThrowsMessage<BadInput>(HasSubstr("write normal(center, scale)")))
        << text;
  }
}

TEST(Priors, LinesAreDividedAtTheLastSign) {
  EXPECT_EQ(named_prior("sex=F = normal(0, 1)").name, "sex=F");
  EXPECT_EQ(named_prior("sex=F = normal(0, 1)").law, "normal(0, 1)");
  EXPECT_EQ(named_prior("student_t(3, 0, 1)").name, "*");
}

TEST(Priors, MoreSpecialNamesWin) {
  const std::string n1 = "normal(0, 1)", n2 = "normal(0, 2)", n3 = "normal(0, 3)";
  EXPECT_EQ(texts({}), std::vector<std::string>(8, n1));
  EXPECT_EQ(texts({{"sex", n2}, {"sex=M", n3}}),
            (std::vector<std::string>{n1, n2, n3, n1, n1, n1, n1, n1}));
  // In any order, and with "*" no precision is needed.
  EXPECT_EQ(texts({{"sex=M", n3}, {"sex", n2}, {"*", n1}}, {}),
            (std::vector<std::string>{n1, n2, n3, n1, n1, n1, n1, n1}));
  EXPECT_EQ(texts({{"age × sex", n2}, {"(intercept)", n3}}),
            (std::vector<std::string>{n1, n1, n1, n2, n2, n2, n2, n3}));
  EXPECT_EQ(texts({{"age", n2}})[0], n2);
  EXPECT_EQ(texts({}, 4)[3], "normal(0, 0.5)");
}

TEST(Priors, OfSeveralClasses) {
  Schema s = schema();
  s.label = Classes{.names = {"a", "b", "c"}};
  const auto of = [&](const std::vector<NamedPrior>& given) {
    std::string out;
    for (const Prior& one : priors_of(s, given, 1)) out += one.scale == 2 ? '2' : '1';
    return out;
  };
  EXPECT_EQ(of({{"sex=M", "normal(0, 2)"}}), "112111111121111111211111");
  EXPECT_EQ(of({{"b: sex=M", "normal(0, 2)"}}), "111111111121111111111111");
  EXPECT_EQ(of({{"sex", "normal(0, 2)"}, {"b: sex=M", "normal(0, 1)"}}),
            "122111111211111112211111");
}

TEST(Priors, WrongNamesAreNamed) {
  EXPECT_THAT(
      [] {
        texts({{"aeg", "normal(0, 1)"}});
      },
      ThrowsMessage<BadInput>(
          AllOf(HasSubstr("no column or feature is called 'aeg'"), HasSubstr("age"))));
  EXPECT_THAT(
      [] {
        texts({{"age", "normal(0, 1)"}, {"age", "normal(0, 2)"}});
      },
      ThrowsMessage<BadInput>(HasSubstr("'age' is given twice")));
  EXPECT_THAT(
      [] {
        texts({{"age", "normal(0, 1)"}}, {});
      },
      ThrowsMessage<BadInput>(HasSubstr("none is given for 'sex=F'")));
}

TEST(Priors, SamplerRefusesWhatItCannotKeep) {
  const std::vector<float> x{1, -1}, y{1, -1};
  const std::shared_ptr<Engine> engine =
      make_backend("reference")->load({x.data(), 2, 1}, y, loss_named("logistic"));
  const auto run = [&](std::vector<Prior> priors, Transition transition) {
    Potential u{engine, 1, 0, {}};
    u.priors = priors;
    return sample_posterior(u, {.transition = transition, .warm_up = 2, .draws = 4});
  };
  EXPECT_THAT([&] { run({{}}, Transition::proximal); },
              ThrowsMessage<BadInput>(HasSubstr("certifies draws under one normal prior alone")));
  EXPECT_THAT(
      [&] {
        run({{}, {}}, Transition::hamiltonian);
      },
      ThrowsMessage<BadInput>(HasSubstr("the rows have 1 features")));
  for (const Prior& bad : {Prior{.center = NAN}, Prior{.scale = 0}, Prior{.scale = NAN},
                           Prior{.degrees = 0}, Prior{.degrees = NAN}}) {
    EXPECT_THAT([&] { run({bad}, Transition::hamiltonian); },
                ThrowsMessage<BadInput>(HasSubstr("give a finite center")));
  }
  EXPECT_EQ(run({{.degrees = 3}}, Transition::split).transition, Transition::split);
}

}  // namespace priors_test
}  // namespace gibbsite
