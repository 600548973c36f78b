// Draws from the posterior for people who may see the rows: nothing here is private.
#include "gibbsite/posterior/posterior.hpp"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/posterior/verdict.hpp"
#include "gibbsite/run/model_request.hpp"

namespace gibbsite::python {
namespace {

// [N x C x d] to ArviZ's [C x N x d]; d = 0 leaves that axis away.
template <class T>
Numbers by_chain(const std::vector<T>& values, const PosteriorDraws& drawn, std::size_t d) {
  const std::size_t n = drawn.draws, c = drawn.chains, width = d == 0 ? 1 : d;
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < c; ++k)
      for (std::size_t j = 0; j < width; ++j)
        out[(k * n + i) * width + j] = static_cast<double>(values[(i * c + k) * width + j]);
  return d == 0 ? to_numpy(std::move(out), {c, n}) : to_numpy(std::move(out), {c, n, d});
}

nb::dict sample(const Dataset& data, double prior_precision, const std::string& model, double beta,
                std::uint64_t chains, std::uint64_t draws, std::uint64_t warm_up,
                std::uint64_t thinning, const std::string& sampler, const std::string& metric,
                std::optional<double> target_acceptance, double tv,
                std::optional<std::uint64_t> seed, const std::string& backend,
                std::optional<std::int64_t> n_jobs, const nb::object& progress) {
  require_finite_positive(beta, "beta");
  require_finite_positive(prior_precision, "prior_precision");
  PosteriorOptions options;
  options.transition = transition_from_string(sampler);
  options.metric = metric_from_string(metric);
  options.chains = chains;
  options.draws = draws;
  options.warm_up = warm_up;
  options.thinning = thinning;
  options.tv = tv;
  if (target_acceptance) require_between(*target_acceptance, 0, 1, "target_acceptance");
  options.target_acceptance = target_acceptance.value_or(0);
  options.key = StreamKey::from_seed(seed ? *seed : std::random_device{}());
  const auto engines = make_warning_backend(backend, n_jobs);
  const PosteriorDraws drawn = watched(progress, [&](Watch& watch) {
    options.stop = watch.stop();
    options.progress = watch.reporter();
    const Loss& loss = loss_named(loss_of({.model = model}, data.schema));
    static_cast<void>(glm(loss.name()).constants(data.schema, 1));  // of such a label
    const Potential potential{.engine = engines->load(data.view(), data.y, loss),
                              .beta = beta,
                              .prior_precision = prior_precision,
                              .center = {}};
    return sample_posterior(potential, options);
  });
  nb::dict out;
  out["draws"] = by_chain(drawn.values, drawn, drawn.parameters);
  out["lp"] = by_chain(drawn.log_density, drawn, 0);
  if (!drawn.energy.empty()) out["energy"] = by_chain(drawn.energy, drawn, 0);
  if (!drawn.acceptance.empty()) out["acceptance_rate"] = by_chain(drawn.acceptance, drawn, 0);
  if (!drawn.divergent.empty()) out["diverging"] = by_chain(drawn.divergent, drawn, 0);
  if (!drawn.controlled_mean.empty()) {
    const std::size_t d = drawn.parameters;
    out["controlled_mean"] = to_numpy(std::vector<double>(drawn.controlled_mean), {d});
    out["controlled_error"] = to_numpy(std::vector<double>(drawn.controlled_error), {d});
  }
  out["sampler"] = std::string(to_string(drawn.transition));
  out["step_size"] = drawn.step_size;
  out["gradients"] = drawn.gradients;
  out["tv_gap"] = drawn.tv_gap;
  const std::vector<Summary> summaries = summarize(drawn.view(), {});
  const Verdict verdict = judge(summaries, drawn);
  out["usable"] = verdict.usable();
  out["verdict"] = in_words(verdict);
  return out;
}

}  // namespace

void bind_posterior(nb::module_& m) {
  m.def("draw_posterior", &sample, "data"_a, nb::kw_only(), "prior_precision"_a, "model"_a = "auto",
        "beta"_a = 1.0, "chains"_a = 4, "draws"_a = 1000, "warm_up"_a = 500, "thinning"_a = 1,
        "sampler"_a = "auto", "metric"_a = "auto", "target_acceptance"_a = nb::none(),
        "tv"_a = PosteriorOptions{}.tv, "seed"_a = nb::none(), "backend"_a = "auto",
        "n_jobs"_a = nb::none(), "progress"_a = nb::none(),
        "What `sample_posterior` makes an arviz.InferenceData of. Not private. draws [chains, "
        "draws, features] on the encoder's scale; the rest [chains, draws].");
}

}  // namespace gibbsite::python
