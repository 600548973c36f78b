#pragma once
// The terms of a released model, what each column adds to the score over all that it can be, and
// pictures of them (docs/how-to/report.md). A function of the released model alone.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// A place of a term: a knot of a curve, an end or the middle of a straight line, or a level.
/// Values are those of the table of effects (release/effects.hpp): log-odds, the log of a mean,
/// the label's own unit or a score.
struct TermPoint {
  std::string name;             ///< the level, or the number as text
  double at = 0;                ///< the place of a number, in the column's unit
  double value = 0;             ///< against the middle of the term
  double lower = 0, upper = 0;  ///< ends of the 95 % interval of `value`; NaN if there is none
  bool hidden = false;          ///< noise hides it (EffectEstimate::hidden)
  bool reference = false;       ///< the column's reference level, or the knot in its place
};

/// A term for one class, and of an interaction for one level or knot of the other column.
struct TermOutput {
  std::string of_class;              ///< empty if the model has one output
  std::string beside;                ///< "sex = F" of an interaction that is drawn over a number
  std::vector<TermPoint> points;     ///< of a number ascending; of a category in its levels' order
  std::optional<TermPoint> missing;  ///< the level of missing cells of a number
};

struct Term {
  /// An interaction of a number and one other column is a curve over that number for each level or
  /// knot of the other; every other interaction has levels, such as "F × a".
  enum class Kind { line, curve, levels };
  Kind kind = Kind::levels;
  std::string column;     ///< or the name of the interaction, "age × sex"
  std::string across;     ///< the number that is drawn over; empty of levels
  double lo = 0, hi = 0;  ///< public range of a number
  bool is_date = false;   ///< whether these are days since 1970-01-01
  bool by_ratio = false;  ///< a curve with half of its knots in the lowest tenth of the range
  std::vector<TermOutput> outputs;
  std::size_t certainty = 0;  ///< place of its surest effect in EffectTable::by_certainty
};

/// The terms of a model, in the order of its columns, interactions last. Of two numbers that
/// interact the one with more knots is drawn over, of as many the first.
///
/// With estimates every value and interval is that of the table of effects: a level or a knot
/// against the mean of its column's levels, by their released shares. A straight line has half of
/// its effect on either side of the middle of the range. Without estimates there are no intervals,
/// and a curve stands against its mean over the range, a level against the plain mean of all. Of
/// several draws the first is taken.
std::vector<Term> terms_of(const LinearModel& model);

/// A term as SVG without the <svg> around it, 360 units wide.
struct TermPicture {
  std::string column;
  double height = 0;
  std::string drawing;  ///< elements of SVG, by the classes of the page and of term_svg
  std::string caption;  ///< sentences: from where to where, the reference, what could not be drawn
  std::string says;     ///< the text alternative, `caption` included
  std::size_t certainty = 0;  ///< Term::certainty
};
inline constexpr double term_picture_width = 360;

/// Pictures of all terms on one scale, in their order. A curve is drawn over its range with its
/// intervals as a band, a category as bars with whiskers, an interaction with a number as a curve
/// for each level or knot of its other column.
std::vector<TermPicture> term_pictures(const LinearModel& model);
/// What holds of all pictures: the scale of effects in words, what 1 or 0 is, what a band is or
/// that there are no intervals.
std::string term_words(const LinearModel& model);

/// A picture as a file of SVG that is complete by itself. `mark`: what must be read first, or
/// empty.
std::string term_svg(const TermPicture& picture, const std::string& words, const std::string& mark);

}  // namespace gibbsite
