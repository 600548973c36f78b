// Steps timed on made-up rows: throughput, also in the arithmetic and with the noise of no fit.
#include <algorithm>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/speed/speed.hpp"
#include "gibbsite/speed/throughput.hpp"

namespace gibbsite::python {
namespace {

nb::dict bench(const nb::kwargs& arguments) {
  Arguments given("bench", arguments);
  const auto rows = given.need<std::uint64_t>("rows");
  const auto features = given.take<std::uint64_t>("features");
  const auto* const schema = given.take<const Schema*>("schema", nullptr);
  const auto chains = given.take<std::vector<std::uint64_t>>("chains", {1, 4, 16, 64, 256});
  const auto loss = given.take<std::string>("loss", "logistic");
  const auto backend = given.take<std::string>("backend", "auto");
  const auto arithmetic = given.take("arithmetic", Throughput().arithmetic);
  const auto noise = given.take("noise", Throughput().noise);
  const auto seconds = given.take("seconds", TimingOptions().seconds);
  const auto n_jobs = given.take<std::int64_t>("n_jobs");
  const auto progress = given.take<nb::object>("progress", nb::none());
  given.finish();
  const Throughput throughput{arithmetic, noise};
  const BackendOptions options = throughput.backend_options();
  if (rows == 0) throw BadInput(Field{"rows"}, "must be at least 1", "give the number of rows");
  if (features.has_value() == (schema != nullptr)) {
    throw BadInput(Field{"features"}, "give either features, the number of columns, or schema");
  }
  if (features == std::uint64_t{0}) throw BadInput(Field{"features"}, "must be at least 1");
  if (chains.empty() || std::ranges::count(chains, 0U) != 0) {
    throw BadInput(Field{"chains"}, "must be numbers of at least 1, [1, 64] say");
  }
  require_finite_positive(seconds, Field{"seconds"});
  const Loss& of = loss_named(loss);
  FeatureSpace space;
  if (features) space.features = *features;
  const TableShape shape = schema ? shape_of(*schema, rows) : dense_shape(space, rows);
  const auto engines = make_warning_backend(backend, n_jobs, options);
  settle(*engines, of, schema != nullptr && schema->offset_bound() > 0);

  const auto times = watched(progress, [&](Watch& watch) {
    TimingOptions timing;
    timing.seconds = seconds;
    timing.noise = throughput.noise_kind();
    timing.poll = [&] {
      if (watch.stopped()) throw Interrupted("stopped");
    };
    StepTimer timer(*engines, shape, of, timing);
    std::vector<StepTime> out;
    for (const std::uint64_t count : chains) {
      out.push_back(timer.time(count));
      watch.report(out.size(), chains.size());
    }
    return out;
  });

  nb::list steps;
  for (std::size_t k = 0; k < times.size(); ++k) {
    nb::dict step;
    step["chains"] = chains[k];
    step["seconds"] = times[k].seconds;
    step["chain_gradients_per_second"] = static_cast<double>(chains[k]) / times[k].seconds;
    step["rows_measured"] = times[k].rows;
    step["chains_measured"] = times[k].chains;
    steps.append(step);
  }
  nb::dict out;
  out["backend"] = std::string(engines->name());
  out["description"] = std::string(engines->description());
  out["arithmetic"] = arithmetic;
  out["noise"] = noise;
  out["rows"] = rows;
  out["features"] = shape.features();
  out["steps"] = steps;
  return out;
}

}  // namespace

void bind_bench(nb::module_& m) {
  m.def(
      "bench", &bench,
      nb::sig("def bench(*, rows: int, features: int | None = None, schema: Schema | None = None, "
              "chains: Sequence[int] = [1, 4, 16, 64, 256], loss: str = 'logistic', "
              "backend: str = 'auto', arithmetic: str = 'float64', noise: str = 'chacha20', "
              "seconds: float = ..., n_jobs: int | None = None, progress: object | None = None) "
              "-> dict"),
      "Times Langevin steps of several chains on made-up rows of a public shape: `rows` rows of "
      "`features` numbers, or of the columns of `schema`. No table is read and nothing is released.\n"
      "\n"
      "chains: numbers of chains, each timed by itself. arithmetic: \"float64\", or for throughput "
      "alone \"float32\" or \"bfloat16\" (cuda). noise: \"chacha20\", or for throughput alone "
      "\"philox\" or \"curand\" (cuda). `fit` takes neither, because certificates cover doubles and "
      "noise that the operating system keys. seconds: about how long each number of chains is "
      "measured, in seconds. progress(numbers of chains timed, in all).\n"
      "\n"
      "Returns a dict: backend (its name), description, arithmetic, noise, rows, features, and "
      "steps, a dict for each number of chains: chains; seconds, the wall time of one step of all "
      "chains over all rows, in seconds; chain_gradients_per_second, chains / seconds: gradients "
      "over all rows, in 1/s; rows_measured and chains_measured, beyond which the time is counted "
      "in proportion. Raises BadInput and BackendUnavailable.");
}

}  // namespace gibbsite::python
