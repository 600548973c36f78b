#pragma once
// A released evaluation of a model from what is asked to its plan: what every front end does before
// and after it reads the table.
#include <cstdint>
#include <optional>
#include <string>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/histogram.hpp"

namespace gibbsite {

struct Dataset;

/// What is asked of a released evaluation.
struct EvaluationRequest {
  double epsilon = 1;
  double delta = 1e-6;
  Adjacency adjacency = Adjacency::replace_one;
  std::optional<std::uint64_t> rows_cap{};  ///< add-remove: public bound on the number of rows
  std::uint64_t rows_per_person = 1;
  std::optional<std::uint64_t> bins{};  ///< from the budget and the public number of rows if absent
  std::optional<double> threshold{};    ///< of two classes; 0.5 if absent
};

class PlannedEvaluation {
 public:
  /// `text`: the model's file, which `source` names in errors. Finds all that can go wrong without
  /// the table: throws BadInput on a request out of range, on a model of amounts, of people or that
  /// does not verify, and Infeasible as plan_histogram.
  PlannedEvaluation(const std::string& text, std::string source, const EvaluationRequest& request);

  /// By its schema the table is read (release/predict.hpp, reading_to_evaluate).
  [[nodiscard]] const LinearModel& model() const { return release_.model(); }
  /// Throws BadInput unless the rows were read by that schema: by its columns, ranges, levels and
  /// label.
  void require_read(const Dataset& data) const;
  /// Warns that no certificate covers what a void model tells of these rows.
  void warn_of_void(const Note& warn) const;
  /// The plan for a table of so many rows, by public numbers. Throws BadInput if the cap does not
  /// hold.
  [[nodiscard]] HistogramPlan plan(std::uint64_t rows) const;
  /// What is said before the run: throws BudgetSpent where the ledger, if there is one, has no
  /// room, and warns of the budget.
  void look_at(const HistogramPlan& plan, const Ledger* ledger, const Note& warn) const;
  /// The evaluation without its counts, for evaluation_cells and release_evaluation.
  [[nodiscard]] EvaluationModel shape(const HistogramPlan& plan) const;

 private:
  [[nodiscard]] HistogramPlan planned(std::uint64_t rows, const Budget& budget) const;
  [[nodiscard]] EvaluationBins bins_of(std::uint64_t bins) const;

  std::string source_;
  EvaluationRequest request_;
  Budget budget_;
  Release release_;
  std::string digest_;
  bool of_void_ = false;
};

}  // namespace gibbsite
