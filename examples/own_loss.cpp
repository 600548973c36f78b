// A loss of one's own: a smoothed hinge, for posterior sampling (NOT private). The reference and
// cpu backends run any Loss. A private fit does not: its certificate rests on the constants of the
// losses that were compiled in and tested; to add one there, see include/gibbsite/model/loss.hpp.
// own_loss TABLE.csv SCHEMA.toml
#include <cmath>
#include <cstdio>
#include <gibbsite/gibbsite.hpp>
#include <gibbsite/posterior/posterior.hpp>

namespace {

// f(z, y) = s log(1 + exp((1 - y z) / s)), s = 1/2: the hinge max(0, 1 - y z) as s -> 0.
struct SmoothHinge {
  static constexpr double s = 0.5;
  static constexpr const char* name = "smooth-hinge";
  static constexpr double max_abs_derivative = 1.0;    // |f'| = sigmoid((1 - y z) / s)
  static constexpr double curvature = 1 / (4 * s);     // f'' = sigmoid (1 - sigmoid) / s
  static constexpr double self_concordance = 1 / s;    // f''' = f'' (1 - 2 sigmoid) / s
  static constexpr double drop_from_zero = 1.0634641;  // f(0), as inf f = 0: rounded up

  static double value(double z, double y) {
    const double t = (1 - y * z) / s;
    return s * (std::fmax(t, 0) + std::log1p(std::exp(-std::fabs(t))));
  }
  static double derivative(double z, double y) { return -y * sigmoid((1 - y * z) / s); }
  static double second_derivative(double z, double y) {
    const double t = (1 - y * z) / s;
    return sigmoid(t) * sigmoid(-t) / s;
  }

 private:
  static double sigmoid(double t) { return 1 / (1 + std::exp(-t)); }
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "own_loss TABLE.csv SCHEMA.toml\n");
    return 2;
  }
  const auto data = gibbsite::read_csv(argv[1], gibbsite::read_schema(argv[2]));
  const gibbsite::LossOf<SmoothHinge> loss;
  const auto backend = gibbsite::make_backend("reference");
  const gibbsite::Potential potential{.engine = backend->load(data.view(), data.y, loss),
                                      .prior_precision = 1.0};
  const auto out = gibbsite::sample_posterior(
      potential,
      {.chains = 2, .warm_up = 100, .draws = 200, .key = gibbsite::StreamKey::from_seed(1)});
  const auto names = data.schema.feature_names();
  const auto summaries = gibbsite::summarize(out.view(), {});
  for (std::size_t j = 0; j < summaries.size(); ++j) {
    std::printf("%-24s %8.3f +- %.3f   R-hat %.3f\n", names[j].c_str(), summaries[j].mean,
                summaries[j].deviation, summaries[j].r_hat);
    if (!(summaries[j].r_hat < 1.1)) return 1;
  }

  // A private fit takes none but its own.
  const gibbsite::Model model{.loss = &loss};
  try {
    const auto plan =
        gibbsite::plan(model.constants(data.schema, data.rows()), {.epsilon = 1.0, .delta = 1e-6});
    gibbsite::fit(model, data, plan, *backend, gibbsite::Key::from_os());
  } catch (const gibbsite::BadInput& refused) {
    std::printf("fit: %s\n", refused.what());
    return 0;
  }
  return 1;  // it must not
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
