#pragma once
// What public rows say of the coefficients, before anything is asked of the private ones
// (docs/theory/whitened.md, "A public center").
#include <string>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/planned_fit.hpp"

namespace gibbsite {

/// Whether a center of the prior was ahead where it was measured: `whitened` without intervals,
/// below 30 rows in units of the noise for each feature. Public numbers alone.
bool gains_by_center(const Plan& plan);

/// Whether the rows' labels can lead anywhere: two different ones at least, and no more than one in
/// twenty that the schema cannot read.
bool has_usable_labels(const Dataset& rows);

/// theta0 [K x d] for Model::center: the minimizer of the model's loss over public rows with the
/// prior N(0, 1), without privacy. Nobody in these rows is protected. Throws BadInput if they have
/// no labels, or another number of features than the plan.
std::vector<double> public_center(const Dataset& rows, const Plan& plan, Backend& backend);

/// The model with that center; the plan's constants name its norm.
Model centered_model(Model model, Plan& plan, const Schema& schema, std::vector<double> center);

/// The model of a plan; with the center of those public rows, where one gains and their labels can
/// lead to it. They are read by the plan's schema; `schema` is that of the private rows.
Model model_by_public_rows(PlannedFit& fit, const Dataset& rows, const Schema& schema,
                           Backend& backend);
/// Likewise of a public table's file, which the plan's schema follows from. Tells `note`, if there
/// is one, where the center comes from. Throws BadInput where the file is no longer what the schema
/// says, and on a plan without a schema.
Model model_by_public_table(PlannedFit& fit, const std::string& path, Backend& backend,
                            const Note& note);

}  // namespace gibbsite
