// What the public headers let a program do with keys, draws and certificates: no internal header
// here.
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <nlohmann/json.hpp>
#include <random>
#include <type_traits>

#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/gibbsite.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "support/arithmetic.hpp"
#include "support/forwarding_engine.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_test {

using Draws = std::vector<std::vector<double>>;

// A certificate is on what `fit` made or a file says, and on nothing else.
static_assert(!std::is_default_constructible_v<Release> && !std::is_aggregate_v<Release>);
static_assert(!std::is_constructible_v<Release, LinearModel, Certificate>);
static_assert(!std::is_constructible_v<Release, LinearModel, Plan>);
template <class R>
concept LetsItsDrawsChange = requires(R release) {
  release.model().draws = Draws{};
}
|| requires(R release) { release.draws = Draws{}; };
template <class R>
concept LetsItsCertificateChange = requires(R release, Certificate other) {
  release.certificate() = other;
}
|| requires(R release, Certificate other) { release.certificate = other; };
static_assert(!LetsItsDrawsChange<Release> && !LetsItsCertificateChange<Release>);

// Names are looked up where the concept is met, so a function that comes back is seen.
template <class P>
concept CertifiesDraws = requires(P plan, Draws draws) {
  release(draws, plan);
}
|| requires(P plan, LinearModel model) { release(model, plan); }
|| requires(P plan, NoiseKind noise) { certificate_json(plan, {noise, "cpu"}); };
template <class M>
concept GivesRawDraws = requires(const M& model, const Dataset& data, const Plan& plan,
                                 Backend& backend, Key&& key) {
  run_plan(model, data, plan, backend, std::move(key));
}
|| requires(const M& model, const Dataset& data, const Plan& plan, Backend& backend, Key& key) {
  run_plan(model, data, plan, backend, key);
}
|| requires(const M& model, const Dataset& data, const Plan& plan, Backend& backend,
            StreamKey& key) {
  run_plan(model, data, plan, backend, key);
};
static_assert(!CertifiesDraws<Plan> && !GivesRawDraws<Model>);

template <class K>
concept IsTakenByFit = requires(const Model& model, const Dataset& data, const Plan& plan,
                                Backend& backend, K key) {
  fit(model, data, plan, backend, static_cast<K>(key));
};
static_assert(IsTakenByFit<Key&&>);
static_assert(!IsTakenByFit<Key&> && !IsTakenByFit<const Key&>);  // it is used up
static_assert(!IsTakenByFit<StreamKey> && !IsTakenByFit<NoiseKind>);

class Fit : public ::testing::Test {
 protected:
  void SetUp() override {
    data.schema.label_name = "y";
    data.schema.label = TwoClasses{.positive = "1"};
    data.schema.columns = {{"x", ColumnType::number, 0, 1, {}, false}};
    std::mt19937 random(1);
    for (int i = 0; i < 200; ++i) {
      data.dense().push_back(static_cast<float>(random() % 1000) / 1000);
      data.y.push_back(random() % 2 == 0 ? 1.0F : -1.0F);
    }
    made = plan(model.constants(data.schema, data.rows()), {.epsilon = 1.0, .delta = 1e-6},
                {.mechanism = "path"});
  }
  Model model = logistic_regression();
  Dataset data;
  Plan made;
  std::unique_ptr<Backend> backend = make_backend("reference");
};

TEST_F(Fit, CertifiesThePlanThatItRanAndTheKeyThatItUsedUp) {
  Key key = Key::from_os();
  const Release release = fit(model, data, made, *backend, std::move(key));
  const Verification verified = verify(release);
  EXPECT_TRUE(verified.valid && !verified.void_run);
  EXPECT_EQ(setting(release.certificate().mechanism, "step_size"),
            setting(made.candidate().mechanism, "step_size"));
  EXPECT_EQ(release.certificate().noise, NoiseKind::chacha20);
  EXPECT_EQ(release.certificate().backend, backend->name());
  EXPECT_THROW(fit(model, data, made, *backend, std::move(key)), BadInput);

  const Release seeded = fit(model, data, made, *backend, Key::from_seed(0));
  EXPECT_TRUE(verify(seeded).void_run);
  EXPECT_EQ(seeded.certificate().noise, NoiseKind::philox);
  EXPECT_NE(release.model().draws, seeded.model().draws);
}

// What a library or a caller did to this thread changes no bit of a plan or of a model, and stays
// as it was.
TEST_F(Fit, ComputesTheSameWhateverTheThreadRoundsTo) {
  const auto bits = [&](Backend& engine) {
    const Plan here = plan(model.constants(data.schema, data.rows()),
                           {.epsilon = 1.0, .delta = 1e-6}, {.mechanism = "path"});
    return to_json(fit(model, data, here, engine, Key::from_seed(7))).dump();
  };
  for (const char* name : {"reference", "cpu"}) {
    const std::string expected = bits(*make_backend(name));
    for (const int what : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO,
                           test_arithmetic::ChangedArithmetic::flush_to_zero}) {
      const test_arithmetic::ChangedArithmetic changed(what);
      const int mode = std::fegetround();
      EXPECT_EQ(bits(*make_backend(name)), expected) << name << ' ' << what;
      EXPECT_EQ(std::fegetround(), mode);
    }
  }
}

// A callback of the caller's may change it in the middle.
TEST_F(Fit, RefusesArithmeticThatChangedMeanwhile) {
  const std::fenv_t* const usual = FE_DFL_ENV;
  FitOptions options;
  options.progress = [](std::uint64_t, std::uint64_t) { std::fesetround(FE_UPWARD); };
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os(), options), BadInput);
  std::fesetenv(usual);
}

// Engines that compute otherwise are refused, and the key is used up all the same.
TEST_F(Fit, RefusesArithmeticThatNoCertificateCovers) {
  const auto fast = make_backend("cpu", {.arithmetic = Arithmetic::float32});
  Key key = Key::from_os();
  EXPECT_THROW(fit(model, data, made, *fast, std::move(key)), BadInput);
  EXPECT_THROW(static_cast<void>(key.kind()), BadInput);
}

// Logistic by its name and constants, with gradients a million times as long.
class Long final : public Loss {
 public:
  [[nodiscard]] std::string_view name() const override { return true_.name(); }
  [[nodiscard]] double max_abs_derivative() const override { return true_.max_abs_derivative(); }
  [[nodiscard]] double curvature() const override { return true_.curvature(); }
  [[nodiscard]] double self_concordance() const override { return true_.self_concordance(); }
  [[nodiscard]] double drop_from_zero(double bound) const override {
    return true_.drop_from_zero(bound);
  }
  [[nodiscard]] double value_sum(std::span<const double> z,
                                 std::span<const float> y) const override {
    return true_.value_sum(z, y);
  }
  void derivatives(std::span<const double> z, std::span<const float> y,
                   std::span<double> r) const override {
    true_.derivatives(z, y, r);
    for (double& v : r) v *= 1e6;
  }
  void curvatures(std::span<const double> z, std::span<const float> y,
                  std::span<double> w) const override {
    true_.curvatures(z, y, w);
  }
  void curvature_products(std::span<const double> z, std::span<const float> y,
                          std::span<const double> v, std::span<double> out) const override {
    true_.curvature_products(z, y, v, out);
  }

 private:
  const Loss& true_ = loss_named("logistic");
};

TEST_F(Fit, RefusesALossThatIsNotTheLibrarys) {
  const Long other;
  model.loss = &other;
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os()), BadInput);
}

// What a callback changes is not what is certified.
TEST_F(Fit, CertifiesThePlanAsItWasGiven) {
  Plan weak = plan(made.problem, {.epsilon = 20, .delta = 0.1});
  const auto beta = setting(weak.candidate().mechanism, "beta");
  FitOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) { weak = made; };
  const Release release = fit(model, data, weak, *backend, Key::from_os(), options);
  EXPECT_EQ(setting(weak.candidate().mechanism, "beta"),
            setting(made.candidate().mechanism, "beta"))
      << "the callback was not called";
  EXPECT_EQ(setting(release.certificate().mechanism, "beta"), beta);
  EXPECT_TRUE(verify(release).valid);
}

// And an edited plan is not certified.
TEST_F(Fit, RefusesAPlanWithEditedNumbers) {
  const Plan planned = made;
  made.budget.epsilon = 0.5;
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os()), BadInput);
  made = planned;
  made.candidates[made.chosen].guarantee.mu *= 0.99;
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os()), BadInput);
  made = planned;
  std::get<Path>(made.candidates[made.chosen].mechanism).beta *= 1.01;
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os()), BadInput);
  made = planned;  // a part of a step is not run: the file would tell of another plan
  std::get<Path>(made.candidates[made.chosen].mechanism).iterations -= 0.5;
  EXPECT_THROW(fit(model, data, made, *backend, Key::from_os()), BadInput);
}

// A refusal after the noise may tell of it, so such a run is paid: of a plan with edited numbers,
// and of a schema that none could read, whose coefficients overflow in its columns' unit.
TEST_F(Fit, EntersARunBeforeItsFileCanBeRefused) {
  const testing::TempDir folder;
  const auto entries_of = [&](const char* name) {
    const Ledger ledger =
        Ledger::create(folder.path(name), 5, 1e-5, {}, {}, {.memory = folder.path("memory")});
    FitOptions options;
    options.ledger = &ledger;
    EXPECT_THROW(fit(model, data, made, *backend, Key::from_os(), options), BadInput) << name;
    return ledger.read().entries.size();
  };
  const Plan planned = made;
  std::get<Path>(made.candidates[made.chosen].mechanism).beta *= 1.01;
  EXPECT_EQ(entries_of("edited"), 1U);
  made = planned;
  data.schema.columns[0].hi = 3e-308;
  EXPECT_EQ(entries_of("narrow"), 1U);
}

// An engine that does not vouch for its arithmetic is not certified.
TEST(EngineOfSomebodyElse, IsNotCertifiedByDefault) {
  class Own final : public support::ForwardingEngine {};
  EXPECT_FALSE(Own().certifiable());
}

}  // namespace fit_test
}  // namespace gibbsite
