// The order that privacy rests on, of every kind of release; and a kind that is of this test alone,
// from a plan to a file that verifies: what another kind costs.
#include "run/certified.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "certificate/release_of.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "gibbsite/run/fit_network.hpp"
#include "gibbsite/run/release_evaluation.hpp"
#include "run/gaussian_mechanism.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace certified_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// What happened in a run of the kind below, in order.
std::vector<std::string>& events() {
  static std::vector<std::string> all;
  return all;
}

// A kind of this test: a noisy count of each cell.

struct TallyProblem {
  std::uint64_t rows = 0, cells = 0;
};
struct TallyNoise {
  static constexpr std::string_view name = "tally";
  static constexpr std::string_view theorem = "docs/evaluation.md";
  double noise = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("noise", self.noise, Legal::positive);
  }
};
using TallyMechanism = std::variant<TallyNoise>;
struct TallyPlan {
  TallyProblem problem;
  Budget budget;
  TallyMechanism mechanism;
  Guarantee guarantee{};
};
struct TallyModel {
  Schema schema;
  std::vector<double> counts;
};

std::string_view name_of(const TallyMechanism& m) { return std::get<0>(m).name; }
std::string_view theorem_of(const TallyMechanism& m) { return std::get<0>(m).theorem; }
// That of a histogram.
Analysis analyze(const TallyMechanism& m, const TallyProblem& p, const Neighbors& who,
                 std::uint64_t draws) {
  events().emplace_back("analyze");
  const HistogramMechanism same = HistogramCounts{.noise = std::get<0>(m).noise};
  return gibbsite::analyze(same, HistogramProblem{p.rows, p.cells}, who, draws);
}
Guarantee ledger_guarantee(const TallyPlan& plan) {
  events().emplace_back("price");
  const HistogramMechanism same = HistogramCounts{.noise = std::get<0>(plan.mechanism).noise};
  return gibbsite::ledger_guarantee(
      HistogramPlan{.problem = {plan.problem.rows, plan.problem.cells},
                    .budget = plan.budget,
                    .mechanism = same,
                    .guarantee = plan.guarantee});
}

struct TallyKind : KindDefaults {
  using Problem = TallyProblem;
  using Mechanism = TallyMechanism;
  using Plan = TallyPlan;
  using Model = TallyModel;
  static constexpr std::string_view tag = "tally";
  static constexpr std::string_view holds = "a tally";
  static constexpr std::string_view use = "read it aloud";
  static constexpr std::string_view plan_maker = "tally_plan()";
  static TallyModel model_from_json(const json& model, const std::string& source) {
    TallyModel out{schema_from_json(field(model, "preprocessing", source), source), {}};
    out.counts = numbers_field(model, "counts", field(model, "counts", source).size(), source);
    return out;
  }
};
json model_json(const TallyModel& model) {
  return {{"preprocessing", schema_json(model.schema)}, {"counts", model.counts}};
}
json problem_json(const TallyProblem& p, const TallyMechanism& /*mechanism*/) {
  return {{"rows", p.rows}, {"tally", p.cells}};
}
TallyProblem problem_from_json(const json& constants, const TallyMechanism& /*mechanism*/) {
  return {count_field(constants, "rows", "constants"),
          count_field(constants, "tally", "constants")};
}
TallyProblem problem_of(const TallyModel& model, const CertificateOf<TallyKind>& claimed) {
  return {claimed.problem.rows, model.counts.size()};
}
std::size_t draws_of(const TallyModel& /*model*/) { return 1; }
void check_model(Verifier& v, const TallyModel& model, const CertificateOf<TallyKind>& c) {
  events().emplace_back("verify");
  const double grid = answer_grid(std::get<0>(c.mechanism).noise);
  for (const double count : model.counts)
    v.check(std::remainder(count, grid) == 0, "model.counts: on the grid");
}

// For each kind: a small table, a plan for it, and its run.

struct TallyCase {
  using Kind = TallyKind;
  TallyPlan plan;
  std::function<void()> meanwhile = [] {};

  TallyCase() {
    const HistogramPlan same = plan_histogram({.rows = 30, .cells = 3}, {});
    plan = {{30, 3}, {}, TallyNoise{std::get<0>(same.mechanism).noise}, same.guarantee};
  }
  ReleaseOf<TallyKind> run(const TallyPlan& asked, Key&& key, const FitOptions& options) const {
    return certified<TallyKind>(
        asked, std::move(key), options,
        {.require_planned =
             [](const TallyPlan& is) {
               events().emplace_back("planned");
               if (is.problem.rows != 30) throw BadInput("data: other rows; plan again");
             },
         .make_model =
             [&](const TallyPlan& is, const StreamKey& stream, const Analysis&) {
               events().emplace_back("run");
               TallyModel model;
               model.schema.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
               model.schema.label_name = "y";
               model.schema.label = TwoClasses{.positive = "1"};
               const double noise = std::get<0>(is.mechanism).noise;
               const std::vector<double> exact(3, 10);
               model.counts = GaussianMechanism(stream, 0, 3).release(exact, noise);
               meanwhile();
               return model;
             }});
  }
};

Schema one_column(Column column) {
  Schema schema;
  schema.label_name = "y";
  schema.label = TwoClasses{.positive = "1", .negative = "0"};
  schema.columns = {std::move(column)};
  return schema;
}

struct LinearCase {
  using Kind = LinearKind;
  Model model = logistic_regression();
  Dataset data;
  Plan plan;
  std::unique_ptr<Backend> backend = make_backend("reference");

  LinearCase() {
    data.schema = one_column({"x", ColumnType::number, 0, 1, {}, false});
    for (int i = 0; i < 200; ++i) {
      data.dense().push_back(static_cast<float>(i % 10) / 10);
      data.y.push_back(i % 3 == 0 ? 1.0F : -1.0F);
    }
    plan = gibbsite::plan(model.constants(data.schema, data.rows()), {}, {.mechanism = "path"});
  }
  Release run(const Plan& asked, Key&& key, const FitOptions& options) const {
    return fit(model, data, asked, *backend, std::move(key), options);
  }
};

struct ConjugateCase {
  using Kind = ConjugateKind;
  Dataset data;
  FamilyPlan plan;

  ConjugateCase() {
    data.schema = family_schema(
        one_column({"c", ColumnType::category, 0, 1, {"a", "b"}, true, true, "?"}), "c");
    data.dense().assign(60 * data.schema.features(), 0.0F);
    for (std::size_t i = 0; i < 60; ++i)
      data.dense()[i * data.schema.features() + i % data.schema.features()] = 1;
    FamilyProblem p = family_problem(data.schema, Family::categorical, 60);
    p.prior = p.default_prior();
    plan = plan_family(p, {});
  }
  FamilyRelease run(const FamilyPlan& asked, Key&& key, const FitOptions& options) const {
    return fit_family(data, asked, std::move(key), options);
  }
};

struct GraphicalCase {
  using Kind = GraphicalKind;
  Dataset data;
  NetworkPlan plan;

  GraphicalCase() {
    const testing::TempDir folder;
    std::string rows = "a,b\n";
    for (int i = 0; i < 40; ++i) rows += i % 3 == 0 ? "x,p\n" : "y,q\n";
    const Schema schema = parse_network_schema(
        "invalid = \"middle\"\n[columns]\na = {type = \"category\", levels = [\"x\"], other = true}\n"
        "b = {type = \"category\", levels = [\"p\"], other = true}\n[network]\nb = [\"a\"]\n",
        "t.toml");
    data = read_csv(folder.write("t.csv", rows), schema, {.labels = ReadOptions::Labels::optional});
    plan = plan_network({.rows = data.rows(),
                         .levels = network_levels(data.schema),
                         .parents = network_parents(data.schema)},
                        {}, {.mechanism = "counts"});
  }
  NetworkRelease run(const NetworkPlan& asked, Key&& key, const FitOptions& options) const {
    return fit_network(data, asked, std::move(key), options);
  }
};

struct EvaluationCase {
  using Kind = EvaluationKind;
  EvaluationModel shape;
  HistogramPlan plan = plan_histogram({.rows = 3, .cells = 20}, {});

  EvaluationCase() {
    shape.schema = one_column({"x", ColumnType::number, 0, 1, {}, false});
    shape.of = "blake2b-256:" + std::string(64, '0');
    shape.bins = evaluation_bins(10, 2, 0.5);
  }
  EvaluationRelease run(const HistogramPlan& asked, Key&& key, const FitOptions& options) const {
    return release_evaluation(shape, std::vector<std::uint32_t>{0, 1, 19}, asked, std::move(key),
                              options);
  }
};

struct SchemaCase {
  using Kind = SchemaKind;
  testing::TempDir folder;
  std::string path = folder.write("t.csv", "a,b\n1,x\n2,x\n3,y\n");
  SchemaShape shape = schema_shape({"a", "b"}, "", TwoClasses{}, "t.csv");
  TableCells cells = count_cells(path, shape.asked);
  SchemaPlan plan = plan_schema({.rows = 3, .columns = 2}, {});

  SchemaRelease run(const SchemaPlan& asked, Key&& key, const FitOptions& options) const {
    return buy_schema(shape, cells, path, asked, std::move(key), options);
  }
};

double& noise_of(auto& plan) {
  double* first = nullptr;
  struct First {
    double*& at;
    void operator()(const char* /*name*/, double& value, Legal /*legal*/) const {
      if (at == nullptr) at = &value;
    }
    void operator()(const char* /*name*/, Calibration& /*value*/) const {}
  };
  visit_fields(const_cast<std::remove_cvref_t<decltype(chosen_of(plan).mechanism)>&>(
                   chosen_of(plan).mechanism),
               First{first});
  return *first;
}

template <class Case>
class Certified : public ::testing::Test {
 protected:
  void SetUp() override { events().clear(); }
  /// A ledger of that much, and how many entries it has once the plan ran, or was refused.
  struct Outcome {
    std::size_t entries = 0;
    std::string error;
    bool is_void = false;
    Verification check;
  };
  Outcome run(const typename Case::Kind::Plan& plan, double epsilon = 5, bool has_ledger = true,
              Key key = Key::from_os()) {
    const testing::TempDir folder;
    const Ledger ledger =
        Ledger::create(folder.path("ledger"), epsilon, 1e-5, {}, {}, {.memory = folder.path("m")});
    FitOptions options;
    if (has_ledger) options.ledger = &ledger;
    Outcome out;
    try {
      const auto release = of.run(plan, std::move(key), options);
      out.is_void = release.certificate().is_void();
      out.check = verify(release);
      EXPECT_TRUE(release.certificate().analysis.has_value());
    } catch (const Error& error) {
      out.error = error.what();
    }
    EXPECT_THROW(static_cast<void>(key.kind()), BadInput) << "the key was not used up";
    const LedgerState state = ledger.read();
    out.entries = state.entries.size();
    for (const LedgerEntry& entry : state.entries)
      EXPECT_THAT(entry.command, ::testing::StartsWith(std::string(Case::Kind::command) + " "));
    return out;
  }
  Case of;
};

using Cases = ::testing::Types<LinearCase, ConjugateCase, GraphicalCase, EvaluationCase, SchemaCase,
                               TallyCase>;
TYPED_TEST_SUITE(Certified, Cases);

TYPED_TEST(Certified, EntersWhatItReturns) {
  const auto out = this->run(this->of.plan);
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.entries, 1U);
  EXPECT_TRUE(out.check.valid) << ::testing::PrintToString(out.check.failures);
}

// A refusal after the noise may tell of it, so it is paid.
TYPED_TEST(Certified, EntersBeforeItRefuses) {
  auto plan = this->of.plan;
  plan.budget.epsilon = 0.25;
  const auto out = this->run(plan);
  EXPECT_THAT(out.error, HasSubstr("plan: its certificate does not verify (guarantee.delta"));
  EXPECT_THAT(out.error, HasSubstr(std::string(TypeParam::Kind::plan_maker) + " made it"));
  EXPECT_EQ(out.entries, 1U);
}

TYPED_TEST(Certified, RefusesWhatNoPlanHasWithoutAnEntry) {
  auto plan = this->of.plan;
  noise_of(plan) = -1;
  const auto out = this->run(plan);
  EXPECT_NE(out.error, "");
  EXPECT_THAT(out.error, ::testing::Not(HasSubstr("does not verify")));
  EXPECT_EQ(out.entries, 0U);
  plan = this->of.plan;
  plan.problem.rows += 1;
  EXPECT_THAT(this->run(plan).error, HasSubstr("plan again"));
}

TYPED_TEST(Certified, RefusesWhatHasNoRoom) {
  const auto out = this->run(this->of.plan, 0.01);
  EXPECT_NE(out.error, "");
  EXPECT_EQ(out.entries, 0U);
}

// Noise of a seed is no guarantee: there is nothing to enter.
TYPED_TEST(Certified, OfASeedIsVoid) {
  const auto entered = this->run(this->of.plan, 5, true, Key::from_seed(1));
  EXPECT_THAT(entered.error, HasSubstr("`ledger`: a run from a `seed` has no guarantee"));
  EXPECT_EQ(entered.entries, 0U);
  const auto out = this->run(this->of.plan, 5, false, Key::from_seed(1));
  EXPECT_EQ(out.error, "");
  EXPECT_TRUE(out.is_void && out.check.void_run && !out.check.valid);
  EXPECT_EQ(out.check.failures.size(), 1U) << ::testing::PrintToString(out.check.failures);
}

// All steps of one run, as its kind sees them.
class Tally : public Certified<TallyCase> {};

TEST_F(Tally, GoesInOneOrder) {
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("ledger"), 5, 1e-5, {}, {}, {.memory = folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  of.meanwhile = [&] { EXPECT_TRUE(ledger.read().entries.empty()) << "entered before the run"; };
  static_cast<void>(of.run(of.plan, Key::from_os(), options));
  EXPECT_EQ(events(), (std::vector<std::string>{"planned", "analyze", "price", "run",
                                                "analyze",  // verify alone computes it anew
                                                "verify"}));
}

TEST_F(Tally, NothingIsDrawnWithoutRoomOrOfOtherData) {
  EXPECT_NE(run(of.plan, 0.01).error, "");
  EXPECT_EQ(events(), (std::vector<std::string>{"planned", "analyze", "price"}));
  events().clear();
  auto plan = of.plan;
  plan.problem.rows = 31;
  EXPECT_NE(run(plan).error, "");
  EXPECT_EQ(events(), std::vector<std::string>{"planned"});
  events().clear();
  noise_of(plan = of.plan) = -1;
  EXPECT_NE(run(plan).error, "");
  EXPECT_EQ(events(), (std::vector<std::string>{"planned", "analyze"}));
}

// What a callback changes is not what is certified, and arithmetic that it changed is refused where
// the run is paid.
TEST_F(Tally, WhatACallbackChangesIsNotCertified) {
  TallyPlan asked = of.plan;
  of.meanwhile = [&] { noise_of(asked) = 1e-3; };
  const auto release = of.run(asked, Key::from_os(), {});
  EXPECT_EQ(std::get<0>(release.certificate().mechanism).noise,
            std::get<0>(of.plan.mechanism).noise);
  EXPECT_TRUE(verify(release).valid);
  of.meanwhile = [] { std::fesetround(FE_UPWARD); };
  const auto out = run(of.plan);
  std::fesetround(FE_TONEAREST);
  EXPECT_NE(out.error, "");
  EXPECT_EQ(out.entries, 1U);
}

TEST_F(Tally, IsWrittenReadAndVerified) {
  const testing::TempDir folder;
  const auto release = of.run(of.plan, Key::from_os(), {});
  const std::string path = folder.path("tally.json");
  write_release(path, release);
  const auto back = read_release<TallyKind>(path);
  EXPECT_EQ(back.model().counts, release.model().counts);
  EXPECT_EQ(to_json(back), to_json(release));
  EXPECT_FALSE(back.certificate().analysis.has_value());
  const json file = read_release_json(path);
  EXPECT_TRUE(verify_as<TallyKind>(file).valid);
  const auto failures = [&](const char* at, const json& value) {
    json changed = file;
    changed[json::json_pointer(at)] = value;
    changed["certificate"]["digest"] = file_digest(changed);
    return ::testing::PrintToString(verify_as<TallyKind>(changed).failures);
  };
  EXPECT_EQ(failures("/model/counts/0", file["model"]["counts"][0]), "{}");
  EXPECT_THAT(failures("/model/counts/0", 0.1234567), HasSubstr("on the grid"));
  EXPECT_THAT(failures("/model/counts/3", 0), HasSubstr("constants.tally"));
  EXPECT_THAT(failures("/certificate/mechanism/draws", 2), HasSubstr("mechanism.draws"));
  EXPECT_THAT(failures("/certificate/mechanism/noise",
                       0.5 * file["certificate"]["mechanism"]["noise"].get<double>()),
              HasSubstr("guarantee.mu"));
  EXPECT_THAT(failures("/certificate/numerics/noise_tv", 0.0), HasSubstr("numerics.noise_tv"));
  json edited = file;
  edited["model"]["counts"][0] = file["model"]["counts"][0].get<double>() + 1;  // noise may be 0
  EXPECT_THAT(::testing::PrintToString(verify_as<TallyKind>(edited).failures),
              HasSubstr("certificate.digest"));
}

// What the file holds, and what to do, of each pair of kinds.
TEST_F(Tally, FilesOfOtherKindsAreRefusedInOneLine) {
  const std::string tally = to_json(of.run(of.plan, Key::from_os(), {})).dump();
  const std::string linear =
      to_json(LinearCase().run(LinearCase().plan, Key::from_os(), {})).dump();
  EXPECT_TRUE(is_of<TallyKind>(json::parse(tally).at("certificate")));
  EXPECT_THAT([&] { static_cast<void>(parse_release<TallyKind>(linear, "f.json")); },
              ThrowsMessage<BadInput>(
                  "f.json: holds a model of rows, not a tally; predict with it instead"));
}

template <class Wanted>
void expect_refused(const std::string& text, const std::string& held, const std::string& use) {
  const std::string hint = Wanted::wanted().empty() ? use : Wanted::wanted().text();
  EXPECT_THAT([&] { static_cast<void>(parse_release<Wanted>(text, "f.json")); },
              ThrowsMessage<BadInput>("f.json: holds " + held + ", not " +
                                      std::string(Wanted::holds) + "; " + hint));
}

TEST(ReleaseKinds, EachReaderSaysWhatAFileOfAnotherHolds) {
  const auto text = [](const auto& of) {
    return to_json(of.run(of.plan, Key::from_os(), {})).dump();
  };
  const std::string linear = text(LinearCase()), family = text(ConjugateCase()),
                    network = text(GraphicalCase()), evaluation = text(EvaluationCase()),
                    schema = text(SchemaCase());
  EXPECT_TRUE(holds<LinearKind>(linear, "f") && holds<ConjugateKind>(family, "f") &&
              holds<GraphicalKind>(network, "f") && holds<EvaluationKind>(evaluation, "f"));
  EXPECT_FALSE(holds<LinearKind>(family, "f") || holds<LinearKind>(network, "f") ||
               holds<LinearKind>(evaluation, "f") || holds<GraphicalKind>(linear, "f"));
  const std::string predict = "predict with it instead",
                    ask = "query it for an expectation, a probability or utilities",
                    query = "query it as a network, or draw people from it",
                    model = "give the model's file";
  expect_refused<LinearKind>(family, "draws of a family", ask);
  expect_refused<LinearKind>(network, "a network", query);
  expect_refused<LinearKind>(evaluation, "the evaluation of a model", model);
  expect_refused<ConjugateKind>(linear, "a model of rows", predict);
  expect_refused<ConjugateKind>(network, "a network", query);
  expect_refused<ConjugateKind>(evaluation, "the evaluation of a model", model);
  expect_refused<GraphicalKind>(linear, "a model of rows", predict);
  expect_refused<GraphicalKind>(family, "draws of a family", ask);
  expect_refused<GraphicalKind>(evaluation, "the evaluation of a model", model);
  expect_refused<EvaluationKind>(linear, "a model of rows", predict);
  expect_refused<EvaluationKind>(family, "draws of a family", ask);
  expect_refused<EvaluationKind>(network, "a network", query);
  const std::string fit_with = "fit a model with the schema that was written beside it";
  EXPECT_TRUE(holds<SchemaKind>(schema, "f"));
  EXPECT_FALSE(holds<LinearKind>(schema, "f") || holds<SchemaKind>(evaluation, "f"));
  expect_refused<LinearKind>(schema, "a bought schema", fit_with);
  expect_refused<GraphicalKind>(schema, "a bought schema", fit_with);
  expect_refused<SchemaKind>(linear, "a model of rows", predict);
}

}  // namespace certified_test
}  // namespace gibbsite
