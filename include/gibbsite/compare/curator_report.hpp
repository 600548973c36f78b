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

/// One HTML page, whole in itself like html_report's, marked PRIVATE on the screen, in every
/// picture and on every printed page: ROC curves, calibration and confusion by threshold of two
/// classes; of several each class against the rest, and the confusion matrix; of amounts and counts
/// what was found beside what was predicted, and the errors. Beside it `non_private`, the ordinary
/// fit of the same rows (`non_private_fit`); none: the page says so. What the reader changed is
/// data.counts. `text` is the file of a linear model and `source` its name; `data` was read through
/// its schema. A function of these alone. Of a void model the first line says so. Throws BadInput
/// as parse_release and `evaluate` do, and Infeasible as require_verified.
std::string curator_report(const std::string& text, const std::string& source, const Dataset& data,
                           const std::optional<LinearModel>& non_private,
                           const CuratorOptions& options = {});

}  // namespace gibbsite
