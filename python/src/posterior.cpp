// Draws from the posterior for people who may see the rows: nothing here is private.
#include "gibbsite/posterior/posterior.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/counted_rows.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/label.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/posterior/nested.hpp"
#include "gibbsite/posterior/normal.hpp"
#include "gibbsite/posterior/priors.hpp"
#include "gibbsite/posterior/verdict.hpp"
#include "gibbsite/run/plan_request.hpp"

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

// A law of all parameters, or a dict of names and laws.
std::vector<NamedPrior> named_priors(const nb::object& given) {
  std::vector<NamedPrior> out;
  std::string all;
  if (given.is_none()) return out;
  if (nb::try_cast(given, all)) return {{"*", all}};
  if (!nb::isinstance<nb::dict>(given)) {
    throw BadInput(Field{"prior"}, "must be text, or a dict of names and texts",
                   "give such as {'age': 'normal(0, 1)'}");
  }
  for (const auto& [name, law] : nb::cast<nb::dict>(given)) {
    NamedPrior one;
    if (!nb::try_cast(name, one.name) || !nb::try_cast(law, one.law)) {
      throw BadInput(Field{"prior"}, "names and laws must be text",
                     "give such as {'age': 'normal(0, 1)'}");
    }
    out.push_back(one);
  }
  return out;
}

nb::dict sample(const Dataset& data, const nb::kwargs& arguments) {
  Arguments given("draw_posterior", arguments);
  const auto prior_precision = given.take<double>("prior_precision");
  const std::vector<NamedPrior> named = named_priors(given.take<nb::object>("prior", nb::none()));
  const auto model = given.take<std::string>("model", "auto");
  const auto beta = given.take("beta", 1.0);
  const PosteriorRequest asked{.sampler = given.take<std::string>("sampler", "auto"),
                               .metric = given.take<std::string>("metric", "auto"),
                               .chains = given.take<std::uint64_t>("chains"),
                               .draws = given.take<std::uint64_t>("draws"),
                               .warm_up = given.take<std::uint64_t>("warm_up"),
                               .thinning = given.take<std::uint64_t>("thinning"),
                               .target_acceptance = given.take<double>("target_acceptance"),
                               .tv = given.take<double>("tv")};
  const auto seed = given.take<std::uint64_t>("seed");
  const auto backend = given.take<std::string>("backend", "auto");
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  require_finite_positive(beta, Field{"beta"});
  if (prior_precision) require_finite_positive(*prior_precision, Field{"prior_precision"});
  if (named.empty() && !prior_precision) {
    throw BadInput(Field{"prior_precision"}, "is missing", "give it, such as 1");
  }
  const std::vector<Prior> priors =
      named.empty() ? std::vector<Prior>{} : priors_of(data.schema, named, prior_precision);
  PosteriorOptions options = posterior_options(asked);
  options.key = StreamKey::from_seed(seed ? *seed : std::random_device{}());
  const auto engines = make_warning_backend(backend, n_jobs);
  const bool is_normal = is_normal_model(model, data.schema.label);
  const std::string loss_name = loss_of({.model = is_normal ? "squared" : model}, data.schema);
  if (is_normal) options.noise = LearnedNoise{counted_rows(data.view())};
  const PosteriorDraws drawn = watched(progress, [&](Watch& watch) {
    options.stop = watch.stop();
    options.progress = watch.reporter();
    const Loss& loss = loss_named(loss_name);
    static_cast<void>(glm(loss.name()).constants(data.schema, 1));  // of such a label
    const Potential potential{.engine = engines->load(data.view(), data.y, loss),
                              .beta = beta,
                              .prior_precision = prior_precision.value_or(0),
                              .center = {},
                              .priors = priors};
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
  // Coefficients of the label in its own unit: draws times unit, the constant plus shift.
  const Label& label = data.schema.label;
  out["unit"] = coefficient_unit(label);
  double shift = label_middle(label);
  if (is<gibbsite::Count>(label)) {
    shift += std::log(label_unit(label) * loss_named(loss_name).predicted(0));
  }
  if (const Column* const exposure = data.schema.exposure()) shift -= std::log(exposure->hi);
  out["shift"] = shift;
  out["learns_noise"] = is_normal;
  out["sampler"] = std::string(to_string(drawn.transition));
  out["step_size"] = drawn.step_size;
  out["gradients"] = drawn.gradients;
  out["tv_gap"] = drawn.tv_gap;
  out["superchains"] = drawn.superchains;
  const std::vector<Summary> summaries = summaries_of(drawn, {});
  const Verdict verdict = judge(summaries, drawn);
  out["usable"] = verdict.usable();
  out["verdict"] = in_words(verdict);
  return out;
}

// (R-hat, ESS bulk, ESS tail) of one quantity of many short chains.
nb::tuple nested(const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& draws,
                 std::size_t superchains) {
  const std::size_t chains = draws.shape(0), each = draws.shape(1);
  std::vector<double> values(chains * each);
  for (std::size_t c = 0; c < chains; ++c)
    for (std::size_t n = 0; n < each; ++n) values[n * chains + c] = draws.data()[c * each + n];
  const Summary s = summarize_nested({values, each, chains, 1}, superchains, {})[0];
  return nb::make_tuple(s.r_hat, s.ess_bulk, s.ess_tail);
}

}  // namespace

void bind_posterior(nb::module_& m) {
  m.def("nested_summary", &nested, "draws"_a, "superchains"_a,
        "(nested R-hat, ESS bulk, ESS tail) of draws [chains, draws] of many short chains.");
  m.def("draw_posterior", &sample, "data"_a, "arguments"_a,
        nb::sig("def draw_posterior(data: Dataset, *, prior_precision: float | None = None, "
                "prior: dict[str, str] | str | None = None, model: str = 'auto', "
                "beta: float = 1.0, chains: int = 4, draws: int = 1000, warm_up: int = 500, "
                "thinning: int = 1, sampler: str = 'auto', metric: str = 'auto', "
                "target_acceptance: float | None = None, tv: float = ..., seed: int | None = None, "
                "backend: str = 'auto', n_jobs: int | None = None, "
                "progress: object | None = None) -> dict"),
        "Draws from a posterior for `sample_posterior`, as a dict. NOT PRIVATE. draws is "
        "[chains, draws, features] on the encoder's scale, of the normal model with its noise at "
        "the end; the rest is [chains, draws].");
}

}  // namespace gibbsite::python
