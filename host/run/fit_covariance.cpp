#include "gibbsite/run/fit_covariance.hpp"

#include <cmath>

#include "engine/moment_sums.hpp"
#include "gibbsite/core/error.hpp"
#include "run/certified.hpp"
#include "run/gaussian_mechanism.hpp"

namespace gibbsite {
namespace {

// Places of the numbers among the features of a row, and of what says that one is missing.
struct MomentPlaces {
  std::vector<std::size_t> numbers, missing;
};

MomentPlaces moment_places(const Schema& schema) {
  MomentPlaces out;
  std::size_t at = 0;
  for (const Column& column : schema.columns) {
    if (column.type != ColumnType::number) continue;  // of how rows count: no feature
    out.numbers.push_back(at++);
    if (schema.has_missing_level(column)) out.missing.push_back(at++);
  }
  return out;
}

void require_planned_covariance(const Dataset& data, const CovariancePlan& plan) {
  const bool replaced = plan.guarantee.who.adjacency == Adjacency::replace_one;
  const bool weighed = counts_by_weight(data.schema);
  const std::uint64_t n = data.counted(), planned = plan.problem.rows;
  const MomentPlaces places = moment_places(data.schema);
  if (plan.problem.columns != places.numbers.size() ||
      places.numbers.size() + places.missing.size() != data.view().cols ||
      (replaced ? n != planned : n > planned)) {
    throw BadInput("data: its rows or columns are not the plan's; plan again for this data");
  }
  if (replaced && !weighed && !places.missing.empty())
    throw BadInput("data: has missing cells, which are for add-remove; plan for that");
  if (!is_covariance_schema(data.schema, plan.guarantee.who.adjacency))
    throw BadInput("data: was read by a schema of something else; read it by covariance_schema");
  if (plan.problem.weighted != weighed || (data.view().weight != nullptr) != weighed ||
      plan.problem.rows_of_person != data.rows_of_person)
    throw BadInput("data: its rows do not count as those of the plan; plan again for this data");
}

CovarianceModel noisy_moments(const Dataset& data, const CovariancePlan& plan,
                              const StreamKey& stream) {
  const std::size_t d = plan.problem.columns;
  const MomentDeviations noise = moment_deviations(
      plan.mechanism, plan.problem.columns, plan.guarantee.who.adjacency, plan.problem.weighted);
  const MomentPlaces places = moment_places(data.schema);
  const MomentSums exact =
      moment_sums(data.view(), places.numbers, places.missing, covariance_bits);
  const auto number = [](std::int64_t steps) {
    return std::ldexp(static_cast<double>(steps), -covariance_bits);
  };
  CovarianceModel out{.schema = data.schema};
  const double rows = exact.rows;
  GaussianMechanism gaussian(stream, 0, 1 + d + exact.products.size());
  if (noise.count > 0) out.count = gaussian.release(rows, noise.count);
  for (const std::int64_t sum : exact.sums)
    out.sums.push_back(gaussian.release(number(sum), noise.sum));
  for (std::size_t a = 0, at = 0; a < d; ++a) {
    for (std::size_t b = 0; b <= a; ++b, ++at) {
      const double sum = number(exact.products[at]);
      out.moments.push_back(a == b ? gaussian.release(sum - noise.shift * rows, noise.square)
                                   : gaussian.release(sum, noise.product));
    }
  }
  return out;
}

}  // namespace

CovarianceRelease fit_covariance(const Dataset& data, const CovariancePlan& plan, Key&& key,
                                 const FitOptions& options) {
  return certified<CovarianceKind>(
      plan, std::move(key), options,
      {.require_planned = [&](const CovariancePlan& is) { require_planned_covariance(data, is); },
       .make_model = [&](const CovariancePlan& is, const StreamKey& stream,
                         const Analysis&) { return noisy_moments(data, is, stream); }});
}

}  // namespace gibbsite
