#pragma once
// What the sections of the curator's page (curator_report.cpp) have in common: one of two models
// beside another, figures, tables and pictures of both. Private, every word of it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/curves.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"
#include "release/page.hpp"

namespace gibbsite::curator {

inline constexpr const char* beside_name = "NOT PRIVATE fit";

std::string percent_of(double fraction);
std::string one_digit(double fraction);
std::string four(double value);
/// Four digits, or all before the point.
std::string figure_of(double value);
std::string rows_words(std::uint64_t rows);
const char* whose(bool other);

using Line = std::vector<std::string>;

/// The first cell of a line names it.
void table_of(Html& page, std::string_view caption, const Line& head,
              const std::vector<Line>& lines, std::string_view kind = "wide");

/// What one of the two models does.
template <class Judged>
struct Pair {
  Judged model;
  std::optional<Judged> other;

  // f(judged, whether it is the other one).
  template <class F>
  void each(const F& f) const {
    f(model, false);
    if (other) f(*other, true);
  }
};

template <class Judged, class F>
auto both(const Pair<Judged>& of, const F& f) {
  Pair<decltype(f(of.model))> out{f(of.model), std::nullopt};
  if (of.other) out.other = f(*of.other);
  return out;
}

struct Point {
  double x = 0, y = 0;
};
using Curve = std::vector<Point>;  // broken where y is NaN

/// The other one first: where they are the same this model's is seen.
void draw(Html& page, const SquarePlot& plot, const Pair<Curve>& curves);
void begin(Html& page, const SquarePlot& plot, const std::string& says);
void diagonal(Html& page, const SquarePlot& plot);
/// Ends the figure: what its lines are, and more.
void end(Html& page, const Pair<std::string>& lines, const std::string& more);

/// Lines with a column for each model and one for what needs none.
void summary(Html& page, std::uint64_t rows, bool beside, const std::string& none,
             const std::vector<std::pair<std::string, Pair<std::string>>>& lines,
             const std::vector<std::string>& without);

/// `areas`: below the curves; `most`: points of one; `threshold`: where a dot is.
void roc_figure(Html& page, const Pair<RankedScores>& scores, const Pair<double>& areas,
                const std::string& of, std::size_t most, std::optional<double> threshold);
void calibration_section(Html& page, const Pair<CalibrationBins>& bins, const std::string& across,
                         const std::string& up, const std::string& found);

// By the kind of label.
void two_classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models,
                          double threshold);
void classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models);
void amount_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models);

}  // namespace gibbsite::curator
