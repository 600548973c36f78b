// Draws from the posterior of a logistic regression, for whoever may see the data: NOT private.
// posterior_sampling TABLE.csv SCHEMA.toml
#include <cstdio>
#include <gibbsite/gibbsite.hpp>
#include <gibbsite/posterior/posterior.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "posterior_sampling TABLE.csv SCHEMA.toml\n");
    return 2;
  }
  const auto data = gibbsite::read_csv(argv[1], gibbsite::read_schema(argv[2]));
  const auto backend = gibbsite::make_backend("auto");
  const auto& loss = *gibbsite::logistic_regression().loss;
  const gibbsite::Potential potential{.engine = backend->load(data.view(), data.y, loss),
                                      .prior_precision = 1.0};
  const auto out = gibbsite::sample_posterior(
      potential, {.warm_up = 200, .draws = 500, .key = gibbsite::StreamKey::from_seed(1)});

  const auto names = data.schema.feature_names();
  const auto summaries = gibbsite::summarize(out.view(), {});
  for (std::size_t j = 0; j < summaries.size(); ++j) {
    const auto& s = summaries[j];
    std::printf("%-24s %8.3f +- %.3f   R-hat %.3f\n", names[j].c_str(), s.mean, s.deviation,
                s.r_hat);
    if (!(s.r_hat < 1.05)) return 1;
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
