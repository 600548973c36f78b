#include "gibbsite/speed/speed.hpp"

#include <unistd.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gibbsite/engine/machine.hpp"
#include "machine/processors.hpp"
#include "speed/mix.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t least_bytes = std::uint64_t{128} << 20;
constexpr std::uint64_t probe_cells = std::uint64_t{1}
                                      << 27;  // entries * C: under it no step is long
constexpr std::uint64_t least_rows = 16384;   // fewer would be shared among threads in another way
constexpr std::uint64_t least_windows = 5;
constexpr std::uint64_t least_moment_rows = 512, moment_products = 200'000'000;
constexpr std::uint64_t most_capped_numbers = std::uint64_t{1} << 24;  // of x, times outputs
constexpr double seconds_of_number = 13e-6;  // released: written and verified
constexpr double seconds_of_name = 7e-6;     // of a coordinate, which the file has once
// An answer's noise is told from its low rank in up to thirteen rounds; about so many are common.
constexpr double eigenpairs_of_answer = 5;
constexpr std::uint64_t most_eigen_features = 192;  // measured; more in proportion to d^3
// Beyond the second cache a product is slower, so that many features take more than d^3 says.
constexpr double beyond_second_cache = 1.5;
constexpr std::uint64_t most_theta = std::uint64_t{1} << 25;  // numbers, 256 MiB

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// So that what exceeds every cache is measured out of cache.
std::uint64_t beyond_the_caches() {
  const long last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where it is not known
  return std::max(least_bytes, 4 * static_cast<std::uint64_t>(std::max(last_cache, 0L)));
}

// Chains that stay where they are.
Ensemble chains_of(std::uint64_t chains, std::uint64_t features, NoiseKind noise) {
  std::vector<ChainSpec> specs(chains, {.key = {noise, {1}}});
  for (std::size_t c = 0; c < chains; ++c) {
    specs[c].step_size = 1e-6;
    specs[c].iterations = std::numeric_limits<std::uint64_t>::max();
    specs[c].stream = static_cast<std::uint32_t>(c);
  }
  return start(std::move(specs), features);
}

// Seconds of the eigenpairs of a symmetric matrix [d x d], made up.
double seconds_of_eigenpairs(std::uint64_t d, const std::function<double()>& now) {
  const auto n = static_cast<Eigen::Index>(std::min(d, most_eigen_features));
  Eigen::MatrixXd a(n, n);
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = 0; i < n; ++i)
      a(i, j) = static_cast<double>(
          mix(static_cast<std::uint64_t>(std::min(i, j) * n + std::max(i, j))) >> 11);
  const double begin = now();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> found(a);
  const double seconds = now() - begin, times = static_cast<double>(d) / static_cast<double>(n);
  const double slower = times > 2 ? beyond_second_cache : 1;
  return found.info() == Eigen::Success ? slower * seconds * times * times * times : 0;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::uint64_t TableShape::features() const {
  return std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
}

bool TableShape::is_sparse() const {
  return static_cast<double>(entries()) <= most_sparse_density * static_cast<double>(features());
}

double TableShape::bytes_per_row() const {
  const std::uint64_t entry = sizeof(std::uint32_t) + sizeof(float);
  const std::uint64_t bytes =
      is_sparse() ? entries() * entry + sizeof(std::uint64_t) : features() * sizeof(float);
  return static_cast<double>(bytes + sizeof(float));
}

TableShape dense_shape(const FeatureSpace& space, std::uint64_t rows) {
  return {rows, std::vector<std::uint32_t>(space.features, 1)};
}

TableShape shape_of(const Schema& schema, std::uint64_t rows) {
  TableShape out{rows, {}};
  for (const Column& column : schema.columns) {
    const std::size_t width = schema.features_of(column);
    if (width > 0) out.widths.push_back(static_cast<std::uint32_t>(width));
  }
  for (const Interaction& interaction : schema.interactions)
    out.widths.push_back(static_cast<std::uint32_t>(schema.features_of(interaction)));
  if (schema.intercept) out.widths.push_back(1);
  return out;
}

TableShape sparse_shape(std::uint64_t features, std::uint64_t rows, double entries) {
  const auto columns = static_cast<std::uint64_t>(
      std::clamp(std::round(entries), 1.0, static_cast<double>(features)));
  TableShape out{rows, {}};
  for (std::uint64_t k = 0; k < columns; ++k)
    out.widths.push_back(
        static_cast<std::uint32_t>((k + 1) * features / columns - k * features / columns));
  return out;
}

Rows MadeUpRows::view() const {
  if (!x.empty()) return {x.data(), y.size(), features};
  return {sparse.view(), features};
}

MadeUpRows make_up_rows(const TableShape& shape, std::uint64_t rows) {
  const std::uint64_t d = shape.features(), columns = shape.entries();
  const bool sparse = shape.is_sparse();
  const auto cell = static_cast<float>(1 / std::sqrt(static_cast<double>(columns)));
  std::vector<float> x(sparse ? 0 : rows * d), y(rows), value(sparse ? rows * columns : 0);
  std::vector<std::uint64_t> begin(sparse ? rows + 1 : 1);
  std::vector<std::uint32_t> feature(value.size());
#pragma omp parallel for schedule(dynamic, 1024) num_threads(startable_threads(thread_count()))
  for (std::uint64_t i = 0; i < rows; ++i) {
    std::uint64_t first = 0;  // feature of the column
    for (std::uint64_t k = 0; k < columns; ++k) {
      const std::uint64_t e = i * columns + k, bits = mix(e);
      const std::uint32_t width = shape.widths[k];
      const std::uint64_t j = first + bits % width;
      const float v = width == 1 && (bits & 1) != 0 ? -cell : cell;
      if (sparse) {
        feature[e] = static_cast<std::uint32_t>(j);
        value[e] = v;
      } else {
        x[i * d + j] = v;
      }
      first += width;
    }
    if (sparse) begin[i + 1] = (i + 1) * columns;
    y[i] = (mix(~i) & 1) != 0 ? 1.0F : -1.0F;
  }
  return {d, std::move(x), {std::move(begin), std::move(feature), std::move(value)}, std::move(y)};
}

StepTimer::StepTimer(Backend& backend, const TableShape& shape, const Loss& loss,
                     TimingOptions options)
    : backend_(backend), loss_(loss), options_(std::move(options)), rows_(shape.rows) {
  const std::uint64_t most = options_.most_bytes > 0 ? options_.most_bytes : beyond_the_caches();
  const double fit = static_cast<double>(most) / shape.bytes_per_row();
  made_up_ = make_up_rows(
      shape, std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fit), 1, shape.rows));
  if (loss.label() == LabelKind::classes) {
    for (std::size_t i = 0; i < made_up_.y.size(); ++i)
      made_up_.y[i] = static_cast<float>(mix(~i) % loss.outputs());
  }
  x_ = made_up_.view();
  y_ = made_up_.y;
}

StepTimer::StepTimer(Backend& backend, const Rows& x, std::span<const float> y, const Loss& loss,
                     TimingOptions options)
    : backend_(backend), loss_(loss), options_(std::move(options)), x_(x), y_(y), rows_(x.rows) {}

std::unique_ptr<Engine> StepTimer::load(std::uint64_t rows) const {
  return backend_.load(x_.part(0, rows), y_.first(rows), loss_);
}

StepTime StepTimer::time(std::uint64_t chains) {
  const auto now = options_.clock ? options_.clock : std::function<double()>(steady_seconds);
  const auto poll = [&] {
    if (options_.poll) options_.poll();
  };
  const std::uint64_t most =
      std::clamp(most_theta / coordinates(), std::uint64_t{1}, options_.most_chains);
  StepTime out{.rows = x_.rows, .chains = std::min(chains, most)};
  Ensemble ensemble = chains_of(out.chains, coordinates(), options_.noise);
  const auto seconds_of = [&](Engine& engine, std::uint64_t steps) {
    poll();
    const double begin = now();
    engine.advance(ensemble, steps);
    return now() - begin;
  };

  std::unique_ptr<Engine> shorter;
  Engine* engine = nullptr;
  if (x_.entries() * out.chains > probe_cells && x_.rows > least_rows) {
    const auto probe = load(least_rows);
    static_cast<void>(seconds_of(*probe, 1));  // memory, threads
    const double per_row = seconds_of(*probe, 1) / static_cast<double>(least_rows);
    const double fit = options_.longest_step / per_row;
    if (fit < static_cast<double>(x_.rows)) {
      out.rows = std::max(least_rows, static_cast<std::uint64_t>(fit));
      shorter = load(out.rows);
      engine = shorter.get();
    }
  }
  if (engine == nullptr) {
    if (!engine_) engine_ = load(x_.rows);
    engine = engine_.get();
  }

  // A window is long beside the clock and the start of threads, short beside the whole. Finding how
  // many steps that is warms up.
  out.steps = 1;
  static_cast<void>(seconds_of(*engine, 1));
  double taken = seconds_of(*engine, 1);
  const double seconds = std::min(options_.seconds, options_.planned_steps * taken / 20);
  for (const double window = seconds / 12;
       taken < window / 2 && out.steps < std::uint64_t{1} << 30;) {
    out.steps *= 2;
    taken = seconds_of(*engine, out.steps);
  }
  std::vector<double> each;
  double spent = 0;
  const auto enough = [&] {
    if (each.size() < 3) return false;
    return spent >= seconds && (each.size() >= least_windows || spent >= 4 * seconds);
  };
  while (!enough()) {
    taken = seconds_of(*engine, out.steps);
    spent += taken;
    each.push_back(taken / static_cast<double>(out.steps));
  }
  out.windows = each.size();
  out.seconds = median(std::move(each)) *
                (static_cast<double>(rows_) / static_cast<double>(out.rows)) *
                (static_cast<double>(chains) / static_cast<double>(out.chains));
  return out;
}

WorkTime StepTimer::time_moments() {
  const auto now = options_.clock ? options_.clock : std::function<double()>(steady_seconds);
  const std::uint64_t d = x_.cols;
  const std::uint64_t rows =
      std::min(x_.rows, std::max(least_moment_rows, moment_products / (d * d)));
  const std::unique_ptr<Engine> few = load(rows);
  const double all = static_cast<double>(rows_) / static_cast<double>(rows);
  std::vector<double> basis(d * d), out(d * d);
  const auto seconds_of_question = [&] {
    double least = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn < 2; ++turn) {  // the first also takes memory and starts threads
      if (options_.poll) options_.poll();
      const double begin = now();
      few->second_moments({basis.data(), d, d}, 1, {out.data(), d, d});
      least = std::min(least, now() - begin);
    }
    return all * least;
  };
  const double of_answer = eigenpairs_of_answer * seconds_of_eigenpairs(d, now);
  WorkTime time;
  // A run begins in the columns, and goes on in a metric, whose columns have many nonzeros.
  for (std::uint64_t j = 0; j < d; ++j) basis[j * d + j] = 1;
  time.first_moments = seconds_of_question() + of_answer;
  for (double& entry : basis)
    if (entry == 0) entry = 0.5 / std::sqrt(static_cast<double>(d));
  time.moments = seconds_of_question() + of_answer;
  return time;
}

double StepTimer::time_capped() {
  const auto now = options_.clock ? options_.clock : std::function<double()>(steady_seconds);
  const std::uint64_t rows =
      std::min(x_.rows, std::max(least_rows, most_capped_numbers / coordinates()));
  const std::unique_ptr<Engine> few = load(rows);
  // Caps are found once, at a cost of the metric's columns; later gradients do not know how many.
  const std::vector<double> column(x_.cols, 1.0), theta(coordinates());
  std::vector<double> out(coordinates());
  const auto loss = few->capped_loss({column.data(), x_.cols, 1}, {.clip = 1});
  static_cast<void>(loss->gradient(theta, out));
  std::vector<double> each(least_windows);
  for (double& seconds : each) {
    if (options_.poll) options_.poll();
    const double begin = now();
    static_cast<void>(loss->gradient(theta, out));
    seconds = now() - begin;
  }
  return median(std::move(each)) * static_cast<double>(rows_) / static_cast<double>(rows);
}

WorkTime measure_work(StepTimer& timer, std::span<const Candidate> offers, std::uint64_t draws) {
  const auto any = [&](double Cost::*work) {
    return std::ranges::any_of(
        offers, [&](const Candidate& offer) { return offer.feasible && offer.cost.*work > 0; });
  };
  WorkTime out = any(&Cost::moments) ? timer.time_moments() : WorkTime{};
  if (any(&Cost::capped)) out.capped = timer.time_capped();
  out.pass = timer.time(draws).seconds / static_cast<double>(draws);
  out.release = (seconds_of_number * static_cast<double>(draws) + seconds_of_name) *
                static_cast<double>(timer.coordinates());
  return out;
}

double predicted_seconds(const Candidate& candidate, const WorkTime& time) {
  const Cost& cost = candidate.cost;
  const double capped = std::isnan(time.capped) ? 0 : cost.capped;
  const double gradients =
      (cost.work - capped) * time.pass + (capped > 0 ? capped * time.capped : 0) + time.release;
  if (std::isnan(time.moments)) return gradients;
  const double moments =
      cost.moments > 0 ? time.first_moments + (cost.moments - 1) * time.moments : 0;
  return gradients - cost.moments_work * time.pass + moments;
}

std::vector<double> predicted_seconds(const Plan& plan, const WorkTime& time) {
  std::vector<double> out;
  for (const Candidate& candidate : plan.candidates)
    out.push_back(predicted_seconds(candidate, time));
  return out;
}

}  // namespace gibbsite
