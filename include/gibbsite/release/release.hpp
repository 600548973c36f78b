#pragma once
// The model file: coefficients, the whole schema, the certificate. `predict` needs nothing else.
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/rows.hpp"
#include "gibbsite/data/schema.hpp"
#include "gibbsite/release/certificate.hpp"

namespace gibbsite {

/// Coefficients and the whole schema: what predicting needs. Says nothing about privacy.
struct LinearModel {
  std::string loss;
  Schema schema;
  std::vector<std::vector<double>> draws;  ///< [draws][d]
};

/// A model, its coefficients on the public grid, with its certificate. Only `fit` makes one, or
/// reading a file, whose certificate is as good as `verify` says.
class Release {
 public:
  [[nodiscard]] const LinearModel& model() const { return model_; }
  [[nodiscard]] const nlohmann::json& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/release/certify.hpp
  Release(LinearModel model, nlohmann::json certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  LinearModel model_;
  nlohmann::json certificate_;
};

nlohmann::json to_json(const Release& release);
/// Throws BadInput "SOURCE: ..." on anything that is not a gibbsite-release/1 file.
Release release_from_json(const nlohmann::json& json, const std::string& source);

/// Written whole or not at all (temporary file in the same folder, then rename; a path that is not
/// a regular file is written directly). Throws BadInput when it cannot be.
void write_release(const std::string& path, const Release& release);
/// Throws BadInput as below and as release_from_json, and when the file was changed after it was
/// written: its digest is not that of its contents (but for epsilon, delta and gdp_mu, which may be
/// claimed weaker), or its certificate has not the form of one.
Release read_release(const std::string& path);
/// The JSON of a model file, for `verify`. Throws BadInput when it is not JSON, gives a name twice,
/// nests deeper than 32 levels or is not a gibbsite-release/1 object with a model and a
/// certificate.
nlohmann::json read_release_json(const std::string& path);

/// Coefficients in the units of the original columns, valid for rows that are not scaled down.
struct OriginalUnits {
  double intercept = 0;
  std::vector<std::pair<std::string, double>> slopes;  ///< per number column, or per level
  bool exact = false;  ///< no row can be clipped, so it holds for every row
};
OriginalUnits original_units(const Schema& schema, std::span<const double> theta);

/// P(y = +1) for rows [n x d]: the mean over the released draws of sigmoid(x.theta).
std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x);

struct Evaluation {
  std::uint64_t rows = 0;
  double accuracy = 0;  ///< fraction
  double log_loss = 0;  ///< nats per row
  double auc = 0;       ///< ties count one half; NaN when there is one class
  double majority = 0;  ///< fraction of the larger class
};
Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels);

}  // namespace gibbsite
