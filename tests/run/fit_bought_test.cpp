// A schema and a model of one budget: one certificate over both, one entry, and nothing else.
#include "gibbsite/run/fit_bought.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "support/bought_table.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_bought_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct BoughtFitCase : support::BoughtTable {
  std::unique_ptr<Backend> backend = make_backend("reference");
  PlanRequest request{.epsilon = 2, .delta = 1e-5};

  // y by a person's age and a number from 0 to 10.
  using LabelText = std::string (*)(int, int);
  static std::string two(int age, int spread) { return age + spread > 45 ? "yes" : "no"; }
  static std::string three(int age, int spread) {
    return age + spread > 60 ? "old" : age + spread > 35 ? "middle" : "young";
  }
  static std::string amount(int age, int spread) { return std::to_string(100 * age + 10 * spread); }
  static std::string count(int age, int spread) { return std::to_string((age + spread) / 20); }

  explicit BoughtFitCase(int rows = 8000, const Label& target = TwoClasses{.positive = "yes"},
                         LabelText label = two)
      : BoughtTable({"id", "age", "work", "wage", "y"}, "y", target, text_of(rows, label)) {}
  static std::string text_of(int rows, LabelText label) {
    std::string text = "id,age,work,wage,y\n";
    for (int i = 0; i < rows; ++i) {
      const int age = 18 + (i * 37) % 60;
      text += std::to_string(i) + "," + std::to_string(age) + "," +
              (i % 3 == 0 ? "state" : "private") + "," + std::to_string((i * 7919) % 40'000) + "," +
              label(age, i % 11) + "\n";
    }
    return text;
  }
  [[nodiscard]] BoughtFitPlan plan() const {
    return plan_bought_fit(shape, request.rows_cap.value_or(cells.rows), budget_of(request), {},
                           request.intervals);
  }
  [[nodiscard]] Release fit(Key&& key, const FitOptions& options = {}) const {
    return fit_bought(table(), plan(), request, *backend, std::move(key), options);
  }
};

TEST(FitBought, HasOneCertificateOverBoth) {
  const BoughtFitCase of;
  const Release made = of.fit(Key::from_os());
  const Certificate& c = made.certificate();
  EXPECT_EQ(c.epsilon, 2);
  EXPECT_EQ(c.delta, 1e-5);
  ASSERT_TRUE(c.bought.has_value());
  EXPECT_EQ(c.bought->columns, 3U);
  EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
  const Schema& schema = made.model().schema;
  EXPECT_EQ(schema.columns[0].type, ColumnType::ignore);
  EXPECT_EQ(schema.columns[1].type, ColumnType::number);
  EXPECT_EQ(schema.columns[2].type, ColumnType::category);
  const json file = to_json(made);
  EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("the table was the same"));
  EXPECT_THAT(file["certificate"]["assumptions"].dump(), HasSubstr("the names of the columns"));
  const Verification check = verify(file);
  EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
  const Release back = release_from_json(file, "f.json");
  EXPECT_EQ(to_json(back), file);
  EXPECT_TRUE(back.model().bought.has_value());
}

const Label three_classes = Classes{{"young", "middle", "old"}};
const Label an_amount = Amount{{.lo = 0, .hi = 10'000}, 2000};
const Label a_count = Count{{.lo = 0, .hi = 6}};

BoughtFitCase case_of(const Label& target, int rows = 8000) {
  const BoughtFitCase::LabelText label = is<Classes>(target)  ? BoughtFitCase::three
                                         : is<Amount>(target) ? BoughtFitCase::amount
                                         : is<Count>(target)  ? BoughtFitCase::count
                                                              : BoughtFitCase::two;
  return BoughtFitCase(rows, target, label);
}

// mu of both parts, by hand: each cell is in one class, is one text and is in one bin.
double composed_mu(const Certificate& c) {
  const SchemaQuestions& q = c.bought->questions;
  const bool added = c.claimed.who.adjacency == Adjacency::add_remove;
  const double moved = added ? 1 : 2;
  const double change = moved * static_cast<double>(c.bought->columns);
  const double counts = change / (q.bins_noise * q.bins_noise) +
                        change / (q.levels_noise * q.levels_noise) +
                        2 * moved / (q.refine_noise * q.refine_noise) +
                        (added ? 1 / (q.rows_noise * q.rows_noise) : 0);
  const double fit = setting(c.mechanism, "query_mu").value();
  return std::sqrt(counts + fit * fit);
}

TEST(FitBought, TakesEveryLabelAndCertifiesBoth) {
  const std::vector<std::pair<Label, std::string>> all{
      {TwoClasses{.positive = "yes", .negative = "no", .weights = {1, 3}}, "logistic"},
      {three_classes, "softmax-3"},
      {an_amount, "huber"},
      {a_count, "poisson"}};
  for (const auto& [target, loss] : all) {
    SCOPED_TRACE(loss);
    const BoughtFitCase of = case_of(target);
    const Release made = of.fit(Key::from_os());
    const Certificate& c = made.certificate();
    EXPECT_THAT(made.model().loss, ::testing::StartsWith(loss));
    EXPECT_EQ(made.model().schema.label, target);
    EXPECT_EQ(c.epsilon, of.request.epsilon);
    EXPECT_NEAR(c.claimed.mu / composed_mu(c), 1, 2e-3);
    EXPECT_GE(c.claimed.mu, composed_mu(c) * (1 - 1e-12));
    EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
    const json file = to_json(made);
    const Verification check = verify(file);
    EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
    EXPECT_EQ(to_json(release_from_json(file, "f.json")), file);
  }
}

// Intervals cost what was fixed for every schema, and a small table is no refusal.
TEST(FitBought, IntervalsAreOfTheSameBudget) {
  for (const Label& target :
       {Label(TwoClasses{.positive = "yes"}), three_classes, an_amount, a_count}) {
    for (const int rows : {20'000, 40}) {
      BoughtFitCase of = case_of(target, rows);
      of.request.intervals = true;
      const Release made = of.fit(Key::from_os());
      const Certificate& c = made.certificate();
      EXPECT_TRUE(made.model().estimates || rows == 40);
      EXPECT_GE(c.claimed.mu, composed_mu(c) * (1 - 1e-12));
      EXPECT_GE(c.claimed.tv, c.analysis->guarantee.tv);
      EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
      EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
    }
  }
}

// Intervals of several classes are of few columns, so longer schemas are cut to these, by the
// number of classes alone, whatever the table holds.
TEST(FitBought, ASchemaIsCutToWhatHasIntervalsOfSeveralClasses) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  constexpr std::uint64_t most = 300;  // 600 by one less than the number of classes
  EXPECT_EQ(most_bought_features({.outputs = 3, .intervals = true}), most);
  EXPECT_EQ(most_bought_features({.outputs = 3}), most_metric_features);
  EXPECT_EQ(most_bought_features({.outputs = 1, .intervals = true}), most_metric_features);
  EXPECT_EQ(most_bought_features({.outputs = 20, .intervals = true}), 31U);
  std::string text = "town,work,y\n";
  for (int i = 0; i < 60'000; ++i)
    text += "t" + std::to_string(i % 400) + "," + (i % 3 == 0 ? "state" : "private") + "," +
            (i % 7 < 3   ? "young"
             : i % 7 < 5 ? "middle"
                         : "old") +
            "\n";
  const support::BoughtTable table({"town", "work", "y"}, "y", three_classes, text);
  const auto backend = make_backend("cpu");
  for (const bool intervals : {true, false}) {
    const PlanRequest request{.epsilon = 8, .delta = 1e-5, .intervals = intervals};
    const BoughtFitPlan plan =
        plan_bought_fit(table.shape, table.cells.rows, budget_of(request), {}, intervals);
    const Release made =
        fit_bought(table.table(), plan, request, *backend, Key::from_os(), FitOptions{});
    EXPECT_EQ(made.model().schema.features() > most, !intervals);
    EXPECT_GE(made.model().schema.features(), most - 4);
    EXPECT_EQ(made.model().estimates.has_value(), intervals);
    const json file = to_json(made);
    EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  }
}

// Parts of a date follow from the date that was found, and public lists; of another column there
// are none.
struct DatedCase : support::BoughtTable {
  std::unique_ptr<Backend> backend = make_backend("reference");
  PlanRequest request{.epsilon = 4, .delta = 1e-5};
  static std::string text_of() {
    std::string out = "hired,work,y\n";
    for (int i = 0; i < 8000; ++i) {
      const int month = 1 + i % 12;
      out += i % 10 == 9 ? ""
                         : std::to_string(2010 + i % 8) + (month < 10 ? "-0" : "-") +
                               std::to_string(month) + "-1" + std::to_string(i % 9);
      out += std::string(i % 3 == 0 ? ",state," : ",private,") + (month < 4 ? "yes" : "no") + "\n";
    }
    return out;
  }
  DatedCase()
      : BoughtTable({"hired", "work", "y"}, "y", TwoClasses{.positive = "yes"}, text_of()) {}
  [[nodiscard]] Release fit() const {
    return fit_bought(table(),
                      plan_bought_fit(shape, cells.rows, budget_of(request), {}, request.intervals),
                      request, *backend, Key::from_os(), FitOptions{});
  }
};

TEST(FitBought, PartsOfADateAreThoseThatAreWanted) {
  DatedCase of;
  want_parts(of.shape, {"hired=month,weekday,year", "work=month"});
  const Release made = of.fit();
  const Schema& schema = made.model().schema;
  ASSERT_EQ(schema.columns.size(), 5U);
  EXPECT_EQ(schema.columns[2].name, "hired_month");
  EXPECT_EQ(schema.columns[2].levels.size(), 12U);
  EXPECT_TRUE(schema.has_missing_level(schema.columns[2]));
  EXPECT_EQ(schema.columns[3].levels.size(), 7U);
  EXPECT_EQ(schema.columns[4].part, DatePart::year);
  EXPECT_LE(schema.columns[4].lo, 2010);
  EXPECT_GE(schema.columns[4].hi, 2017);
  const json file = to_json(made);
  EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  EXPECT_EQ(to_json(release_from_json(file, "f.json")), file);
  // February's log-odds are far above August's: the parts are read from the date's cells.
  const auto names = schema.feature_names();
  const auto theta = [&](const std::string& name) {
    return made.model()
        .draws[0][static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
  };
  EXPECT_GT(theta("hired_month=Feb"), theta("hired_month=Aug") + 1);
  // The answers are of the table's columns, and cost what they cost without parts.
  DatedCase plain;
  EXPECT_EQ(to_json(plain.fit())["certificate"]["guarantee"], file["certificate"]["guarantee"]);
  json changed = file;
  changed["model"]["bought"].erase("date_parts");
  changed["certificate"]["digest"] = file_digest(changed);
  EXPECT_THAT(::testing::PrintToString(verify(changed).failures),
              HasSubstr("follows from the answers"));
  changed = file;
  changed["model"]["bought"]["date_parts"][0]["column"] = "nobody";
  EXPECT_THAT([&] { static_cast<void>(release_from_json(changed, "f.json")); },
              ThrowsMessage<BadInput>(HasSubstr("date_parts")));
}

TEST(FitBought, RefusesPartsThatNoColumnHas) {
  const auto refused = [](const std::string& text, const char* what) {
    DatedCase of;
    EXPECT_THAT(
        [&] { want_parts(of.shape, {text}); },
        ThrowsMessage<BadInput>(::testing::AllOf(HasSubstr("date_parts"), HasSubstr(what))));
  };
  refused("hired", "names no parts");
  refused("hired=", "names no parts");
  refused("hired=year,day", "names no parts");
  refused("born=year", "no column that is asked about");
  refused("y=year", "no column that is asked about");
  refused("hired=year,year", "two columns");
}

// The number of rows is an answer then, which was paid for; the cap stands in the certificate.
TEST(FitBought, UnderAddRemoveRowsAreCountedWithNoise) {
  for (const Label& target : {Label(TwoClasses{.positive = "yes"}), three_classes, an_amount}) {
    BoughtFitCase of = case_of(target);
    of.request.adjacency = "add-remove";
    of.request.rows_cap = 10'000;
    const Release made = of.fit(Key::from_os());
    const Certificate& c = made.certificate();
    EXPECT_EQ(c.problem.rows, 10'000U);
    EXPECT_EQ(c.claimed.who.adjacency, Adjacency::add_remove);
    EXPECT_NEAR(c.claimed.mu / composed_mu(c), 1, 2e-3);
    EXPECT_GE(c.claimed.mu, composed_mu(c) * (1 - 1e-12));
    EXPECT_LE(delta_up(c.claimed, c.epsilon), c.delta);
    const AnswerScale& scale = made.model().bought->scale;
    EXPECT_NEAR(static_cast<double>(scale.rows), 8000, 8 * scale.rows_noise);
    EXPECT_EQ(made.model().schema.columns[1].type, ColumnType::number);
    const json file = to_json(made);
    EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
    EXPECT_EQ(to_json(release_from_json(file, "f.json")), file);
    EXPECT_THAT(file["certificate"].dump(), ::testing::Not(HasSubstr("8000")));
  }
  BoughtFitCase few = case_of(an_amount, 2);
  few.request.adjacency = "add-remove";
  few.request.rows_cap = 1;
  EXPECT_THAT([&] { static_cast<void>(few.fit(Key::from_os())); },
              ThrowsMessage<BadInput>(HasSubstr("more than 1 rows")));
}

TEST(FitBought, VerifySeesWhatWasChangedOfCountedRows) {
  BoughtFitCase of;
  of.request.adjacency = "add-remove";
  of.request.rows_cap = 10'000;
  const json file = to_json(of.fit(Key::from_os()));
  const auto failed = [&](const std::string& at, const json& value) {
    json changed = file;
    changed[json::json_pointer(at)] = value;
    changed["certificate"]["digest"] = file_digest(changed);
    return ::testing::PrintToString(verify(changed).failures);
  };
  EXPECT_EQ(failed("/model/loss", "logistic"), "{}");
  EXPECT_THAT(failed("/model/bought/scale/rows", 90'000), HasSubstr("so many rows"));
  EXPECT_THAT(failed("/model/bought/scale/rows", 1), HasSubstr("add up to no such table"));
  EXPECT_THAT(failed("/model/bought/scale/rows_noise", 1), HasSubstr("model.scale"));
  EXPECT_THAT(failed("/certificate/constants/bought_schema/rows_noise", 1),
              HasSubstr("guarantee.mu"));
  EXPECT_NE(failed("/certificate/constants/bought_schema/rows_noise", 0), "{}");
  EXPECT_NE(failed("/certificate/guarantee/adjacency", "replace-one"), "{}");
}

// The label is what a person said, whatever the rows hold: a class that nobody has stays, and one
// that nobody named is none.
TEST(FitBought, TakesNothingOfALabelFromTheTable) {
  const Label named = Classes{{"young", "nobody", "old"}};
  const Release made = case_of(named).fit(Key::from_os());
  EXPECT_EQ(made.model().schema.label, named);
  for (const int rows : {1, 40}) {  // one row alone; too few to see anything
    for (const Label& target : {named, an_amount, a_count}) {
      const Release few = case_of(target, rows).fit(Key::from_os());
      EXPECT_EQ(few.model().schema.label, target);
      EXPECT_TRUE(verify(few).valid) << ::testing::PrintToString(verify(few).failures);
    }
  }
  const BoughtFitCase lone(400, named, [](int, int) { return std::string("old"); });
  EXPECT_EQ(lone.fit(Key::from_os()).model().schema.label, named);
}

// What is published beside the answers and the coefficients does not depend on a row.
TEST(FitBought, ClaimsTheSameOfNeighbors) {
  for (const Label& target : {three_classes, an_amount, a_count}) {
    const auto claims = [&](BoughtFitCase::LabelText label) {
      const Release made = BoughtFitCase(3000, target, label).fit(Key::from_os());
      const json c = to_json(made)["certificate"];
      return std::vector<json>{c["guarantee"], c["constants"]["bought_schema"], c["assumptions"]};
    };
    EXPECT_EQ(claims(BoughtFitCase::three), claims([](int age, int spread) {
                return age == 18 && spread == 0 ? std::string(2000, 'x')
                                                : BoughtFitCase::three(age, spread);
              }));
  }
}

TEST(FitBought, VerifySeesAnotherLabel) {
  json file = to_json(case_of(three_classes).fit(Key::from_os()));
  const auto failed = [](json changed) {
    changed["certificate"]["digest"] = file_digest(changed);
    return ::testing::PrintToString(verify(changed).failures);
  };
  EXPECT_EQ(failed(file), "{}");
  json other = file;
  other["model"]["bought"]["target"]["classes"][0] = "child";
  EXPECT_THAT(failed(other), HasSubstr("follows from the answers"));
  json both = to_json(case_of(an_amount).fit(Key::from_os()));
  EXPECT_EQ(failed(both), "{}");
  both["model"]["bought"]["target"]["range"][1] = 9000;
  EXPECT_THAT(failed(both), HasSubstr("follows from the answers"));
}

std::string failures(json file, const std::string& at, const json& value) {
  file[json::json_pointer(at)] = value;
  file["certificate"]["digest"] = file_digest(file);
  return ::testing::PrintToString(verify(file).failures);
}

TEST(FitBought, VerifySeesWhatWasChanged) {
  const json file = to_json(BoughtFitCase().fit(Key::from_os()));
  const json& terms = file["certificate"]["constants"]["bought_schema"];
  EXPECT_EQ(failures(file, "/model/loss", "logistic"), "{}");
  EXPECT_THAT(failures(file, "/certificate/constants/bought_schema/levels_noise",
                       .8 * terms["levels_noise"].get<double>()),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failures(file, "/certificate/constants/bought_schema/threshold",
                       .8 * terms["threshold"].get<double>()),
              HasSubstr("guarantee.tv"));
  EXPECT_THAT(failures(file, "/certificate/constants/bought_schema/columns", 4),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failures(file, "/model/bought/columns/1/empty", 0.123), HasSubstr("off the grid"));
  EXPECT_THAT(failures(file, "/model/bought/scale/threshold", 1.0), HasSubstr("model.scale"));
  EXPECT_THAT(failures(file, "/model/preprocessing/columns/2/levels/0", "other"),
              HasSubstr("follows from the answers"));
  json without = file;
  without["model"].erase("bought");
  without["certificate"]["digest"] = file_digest(without);
  EXPECT_THAT(::testing::PrintToString(verify(without).failures), HasSubstr("model.bought"));
  without = file;
  without["certificate"]["constants"].erase("bought_schema");
  without["certificate"]["digest"] = file_digest(without);
  EXPECT_THAT(::testing::PrintToString(verify(without).failures), HasSubstr("model.bought"));
  // What the fit alone would claim is not what both cost.
  EXPECT_THAT(
      failures(file, "/certificate/guarantee/mu", file["certificate"]["mechanism"]["query_mu"]),
      HasSubstr("guarantee.mu"));
}

TEST(FitBought, IsEnteredOnceAtThePriceOfBoth) {
  const BoughtFitCase of;
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("ledger"), 5, 1e-3, {}, {}, {.memory = folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  const Release made = of.fit(Key::from_os(), options);
  const LedgerState state = ledger.read();
  ASSERT_EQ(state.entries.size(), 1U);
  EXPECT_THAT(state.entries[0].command, HasSubstr("with its schema"));
  const double mu = of.plan().guarantee.mu;
  EXPECT_GE(static_cast<double>(state.spent().mu_squared.wide()), mu * mu * (1 - 1e-12));
  const Ledger small =
      Ledger::create(folder.path("small"), .05, 1e-7, {}, {}, {.memory = folder.path("m2")});
  options.ledger = &small;
  EXPECT_THROW(static_cast<void>(of.fit(Key::from_os(), options)), BudgetSpent);
  EXPECT_TRUE(small.read().entries.empty());
  options.ledger = &ledger;
  EXPECT_THAT([&] { static_cast<void>(of.fit(Key::from_seed(1), options)); },
              ThrowsMessage<BadInput>(HasSubstr("seed")));
}

// Noise of a seed is no guarantee; and a table of which noise hides everything is fitted all the
// same, as a refusal would be one more answer.
// Once there is noise, an end without a release is paid, whatever ends it. An interrupt is too: a
// fit's progress tells how wide the bought schema is (planted: unpaid, one could wait for another).
TEST(FitBought, WhatEndsItAfterNoiseIsPaid) {
  const testing::TempDir folder;
  const BoughtFitCase of(2000);
  const auto releases = [&](const char* name, const std::function<Dataset(const Schema&)>& read) {
    const Ledger ledger =
        Ledger::create(folder.path(name), 5, 1e-3, {}, {}, {.memory = folder.path("m")});
    FitOptions options;
    options.ledger = &ledger;
    TableToBuy table = of.table();
    table.read = read;
    EXPECT_ANY_THROW(
        fit_bought(table, of.plan(), of.request, *of.backend, Key::from_os(), options));
    return ledger.read().entries.size();
  };
  EXPECT_EQ(releases("memory", [](const Schema&) -> Dataset { throw std::bad_alloc(); }), 1U);
  EXPECT_EQ(releases("other", [](const Schema&) -> Dataset { throw 1; }), 1U);
  EXPECT_EQ(releases("stopped", [](const Schema&) -> Dataset { throw Interrupted("stopped"); }),
            1U);
  // Rounding bounds are those of the standard arithmetic, which a caller may change on the way.
  EXPECT_EQ(releases("rounding",
                     [&](const Schema& schema) {
                       Dataset data = read_csv(of.path, schema, {});
                       std::fesetround(FE_UPWARD);
                       return data;
                     }),
            1U);
  std::fesetround(FE_TONEAREST);
}

TEST(FitBought, OfASeedIsVoidAndOfFewRowsLegal) {
  const Release seeded = BoughtFitCase().fit(Key::from_seed(3));
  EXPECT_TRUE(seeded.certificate().is_void());
  EXPECT_EQ(verify(seeded).failures.size(), 1U);
  const BoughtFitCase few(40);
  for (int run = 0; run < 10; ++run) {
    const Release made = few.fit(Key::from_os());
    EXPECT_TRUE(verify(made).valid) << ::testing::PrintToString(verify(made).failures);
    EXPECT_GE(made.model().schema.features(), 2U);
  }
}

TEST(FitBought, RefusesWhatItDoesNotTake) {
  const Label two = TwoClasses{.positive = "yes"};
  const auto refused_of = [](const Label& target, const PlanRequest& request, const char* what) {
    EXPECT_THAT([&] { static_cast<void>(bought_request(request, target)); },
                ThrowsMessage<BadInput>(HasSubstr(what)));
  };
  const auto refused = [&](const PlanRequest& request, const char* what) {
    refused_of(two, request, what);
  };
  refused({.model = "network"}, "buy the schema apart");
  refused({.model = "mean"}, "buy the schema apart");
  refused({.model = "huber"}, "huber");
  refused_of(an_amount, {.model = "squared"}, "buy the schema apart");
  refused_of(an_amount, {.model = "logistic"}, "logistic");
  refused_of(Classes{{"a", "a", "b"}}, {}, "classes");
  refused_of(Amount{{.lo = 2, .hi = 1}, 1}, {}, "range");
  refused_of(TwoClasses{}, {}, "positive");
  refused({.mechanism = "path"}, "mechanism");
  refused({.model = "poisson"}, "model");
  refused({.draws = 2}, "draws");
  std::vector<std::string> many;
  for (int k = 0; k < 21; ++k) many.push_back("c" + std::to_string(k));
  refused_of(Classes{many}, {.intervals = true}, "at most 20 classes");
  refused({.iterations = 50}, "iterations");
  const BoughtFitCase of;
  FitOptions options;
  options.checkpoint = "c";
  EXPECT_THAT([&] { static_cast<void>(of.fit(Key::from_os(), options)); },
              ThrowsMessage<BadInput>(HasSubstr("checkpoint")));
  BoughtFitPlan plan = of.plan();
  plan.problem.rows += 1;
  EXPECT_THAT(
      [&] {
        static_cast<void>(
            fit_bought(of.table(), plan, of.request, *of.backend, Key::from_os(), {}));
      },
      ThrowsMessage<BadInput>(HasSubstr("plan again")));
}

}  // namespace fit_bought_test
}  // namespace gibbsite
