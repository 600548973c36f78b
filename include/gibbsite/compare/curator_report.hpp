#pragma once
// How a released model does on a table, as a page for its curator (docs/how-to/report.md). PRIVATE:
// every figure reads the rows, and no certificate covers it.
#include <optional>
#include <string>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

struct CuratorOptions {
  double threshold = 0.5;  ///< of two classes: what predicts the positive one
  std::string table{};     ///< what people call the table
};

/// A self-contained HTML page, like html_report's, marked PRIVATE on the screen, in every picture
/// and on every printed page. Two classes: ROC curves, calibration and confusion by threshold.
/// Several classes: each class against the rest, and the confusion matrix. Amounts and counts: what
/// was found beside what was predicted, and the errors. The ordinary fit of the same rows,
/// `non_private` (`non_private_fit`), stands beside the model; if there is none, the page says so.
/// `text` is the file of a linear model and `source` its name; `data` was read through its schema,
/// and data.counts says what the reader changed. The page is a function of these alone. A void
/// model's page says so in its first line. Throws BadInput as parse_release and `evaluate`, and
/// Infeasible as require_verified.
std::string curator_report(const std::string& text, const std::string& source, const Dataset& data,
                           const std::optional<LinearModel>& non_private,
                           const CuratorOptions& options = {});

}  // namespace gibbsite
