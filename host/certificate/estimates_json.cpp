#include "certificate/estimates_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

constexpr std::size_t most_components = 64;
// What weights written as decimals may miss of 1, and variances of what covariances say.
constexpr double rounding = 1e-6;

constexpr const char* estimate_words =
    "posterior of the coefficients that the same model has without noise, for the encoded "
    "features: a mixture of normals with these weights and means that share one covariance, given "
    "as its lower triangle by rows. A level counts against the mean of its column's levels, "
    "weighted by feature_means. further_above and further_below: by how much further half an "
    "interval reaches for 1 of the coefficient, to be added in quadrature";

constexpr std::array<std::string_view, 12> estimate_fields{"level",
                                                           "weights",
                                                           "means",
                                                           "covariance",
                                                           "prior_deviation",
                                                           "feature_means",
                                                           "feature_deviations",
                                                           "further_above",
                                                           "further_below",
                                                           "rows_alike",
                                                           "count_dispersion",
                                                           "words"};

// Fields of one "estimates" object, with the place of a fault in its message.
class EstimateFields {
 public:
  EstimateFields(const json& object, const std::string& source)
      : object_(object), source_(source + ": estimates") {
    if (!object.is_object())
      throw BadInput(source_ + ": must be an object; use the file as written");
    for (const auto& item : object.items()) {
      if (std::ranges::find(estimate_fields, item.key()) == estimate_fields.end())
        refuse(item.key(), "unknown field");
    }
  }

  [[noreturn]] void refuse(std::string_view name, std::string_view what) const {
    throw BadInput(fmt::format("{}.{}: {}; use the file as it was written", source_, name, what));
  }
  [[nodiscard]] std::vector<double> numbers(const char* name, std::size_t length) const {
    return numbers_field(object_, name, length, source_);
  }
  [[nodiscard]] std::vector<double> nonnegative(const char* name, std::size_t length) const {
    std::vector<double> out = numbers(name, length);
    if (std::ranges::any_of(out, [](double value) { return value < 0; }))
      refuse(name, "must be 0 or more");
    return out;
  }
  [[nodiscard]] std::vector<double> nonnegative_if_there(const char* name,
                                                         std::size_t length) const {
    return object_.contains(name) ? nonnegative(name, length) : std::vector<double>{};
  }
  [[nodiscard]] const json& list(const char* name) const {
    const json& out = field(object_, name, source_);
    if (!out.is_array()) refuse(name, "must be a list");
    return out;
  }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  const json& object_;
  std::string source_;
};

// A symmetric matrix of which no two coordinates contradict each other.
void require_covariance(const EstimateFields& fields, const std::vector<double>& triangle,
                        std::size_t size) {
  std::vector<double> deviations(size);
  std::size_t at = 0;
  for (std::size_t a = 0; a < size; ++a) {
    at += a;
    if (triangle[at] < 0) fields.refuse("covariance", "must have no negative variance");
    deviations[a] = std::sqrt(triangle[at++]);
  }
  at = 0;
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b <= a; ++b, ++at) {
      if (std::fabs(triangle[at]) > (1 + rounding) * deviations[a] * deviations[b] + 1e-300)
        fields.refuse("covariance", "must have no correlation beyond 1");
    }
  }
}

}  // namespace

json estimates_json(const Estimates& estimates) {
  json prior = json::array();
  for (const double deviation : estimates.prior_deviation)
    prior.push_back(std::isfinite(deviation) ? json(deviation) : json(nullptr));
  json out = {{"level", Estimates::level},
              {"weights", estimates.weights},
              {"means", estimates.means},
              {"covariance", estimates.covariance},
              {"prior_deviation", std::move(prior)},
              {"feature_means", estimates.feature_means},
              {"feature_deviations", estimates.feature_deviations},
              {"words", estimate_words}};
  if (!estimates.further_above.empty()) out["further_above"] = estimates.further_above;
  if (!estimates.further_below.empty()) out["further_below"] = estimates.further_below;
  if (estimates.rows_alike > 1) out["rows_alike"] = estimates.rows_alike;
  if (estimates.count_dispersion > 0) out["count_dispersion"] = estimates.count_dispersion;
  return out;
}

Estimates estimates_from_json(const json& object, std::size_t d, std::size_t outputs,
                              const std::string& source) {
  const EstimateFields fields(object, source);
  if (number_field(object, "level", fields.source()) != Estimates::level)
    fields.refuse("level", fmt::format("must be {}", Estimates::level));
  const std::size_t size = outputs * d;
  Estimates out;
  const json& means = fields.list("means");
  if (means.empty() || means.size() > most_components)
    fields.refuse("means", fmt::format("must be 1 to {} lists", most_components));
  out.weights = fields.nonnegative("weights", means.size());
  double total = 0;
  for (const double weight : out.weights) total += weight;
  if (!(std::fabs(total - 1) <= rounding)) fields.refuse("weights", "must add up to 1");
  for (const json& mean : means)
    out.means.push_back(numbers_field({{"means", mean}}, "means", size, fields.source()));
  out.covariance = fields.numbers("covariance", size * (size + 1) / 2);
  require_covariance(fields, out.covariance, size);
  const json& prior = fields.list("prior_deviation");
  if (prior.size() != size)
    fields.refuse("prior_deviation", fmt::format("must be {} numbers", size));
  for (const json& deviation : prior) {
    if (deviation.is_null()) {
      out.prior_deviation.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    const json one = {{"prior_deviation", deviation}};
    out.prior_deviation.push_back(number_field(one, "prior_deviation", fields.source()));
    if (!(out.prior_deviation.back() > 0)) fields.refuse("prior_deviation", "must be above 0");
  }
  out.feature_means = fields.numbers("feature_means", d);
  out.feature_deviations = fields.nonnegative("feature_deviations", d);
  out.further_above = fields.nonnegative_if_there("further_above", size);
  out.further_below = fields.nonnegative_if_there("further_below", size);
  if (out.further_above.empty() != out.further_below.empty())
    fields.refuse("further_above", "must stand beside further_below");
  if (object.contains("rows_alike")) {
    out.rows_alike = count_field(object, "rows_alike", fields.source());
    if (out.rows_alike < 2) fields.refuse("rows_alike", "must be 2 or more, or left out");
  }
  if (object.contains("count_dispersion")) {
    out.count_dispersion = number_field(object, "count_dispersion", fields.source());
    if (!(out.count_dispersion > 0))
      fields.refuse("count_dispersion", "must be above 0, or left out");
  }
  return out;
}

}  // namespace gibbsite
