#pragma once
// Linear combinations of effects as a person writes them: "age*10 - sex=Male". They are answered
// from the released estimates alone, at no privacy (docs/how-to/report.md, "Hypotheses").
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// The class whose score is asked about, and the class that it is compared with (empty: the mean of
/// all classes), in a model of several classes. Both are empty for other models.
struct EffectClasses {
  std::string of, against;
};

/// A name of an interaction: its columns joined by " × " or by "*", which every keyboard has, in
/// any order; order[c]: which part of the interaction stands at place c.
struct InteractionSpelling {
  std::string name;
  std::vector<std::size_t> order;
};

/// All of them, that of the schema first.
std::vector<InteractionSpelling> spellings_of(const Interaction& interaction);

/// A combination [d] of one class's coefficients as one [K x d] of all: of `classes.of` less
/// `classes.against`; itself for other models. Throws BadInput on a class that the model has not.
std::vector<double> in_classes(const Schema& schema, std::vector<double> one,
                               const EffectClasses& classes);

/// Throws BadInput if the model has no estimates.
void require_testable(const LinearModel& model);

/// The combination c [K x d] of coefficients that a text names.
///
///     sum    = ["-"] term {("+" | "-") term}
///     term   = factor {"*" factor | "/" number}
///     factor = number | column | column "=" level | "(" sum ")" | "-" factor
///
/// A column is a number per unit of the column; a level stands against the mean of its column's
/// levels weighted by their answered shares, so differences of levels are differences of levels.
/// Names are the longest ones of the schema that fit, or texts in quotes ('...' or "...", a quote
/// inside is doubled). Throws BadInput "`effect` ...: what; what to do", with the nearest spelling
/// of an unknown name.
std::vector<double> parse_effect(const LinearModel& model, std::string_view text,
                                 const EffectClasses& classes = {});

/// The estimate of the combination in the label's unit (EffectTable). Throws BadInput if the text
/// or a class cannot be read, or if the model has no estimates.
EffectEstimate ask_effect(const LinearModel& model, std::string_view text,
                          const EffectClasses& classes = {});

}  // namespace gibbsite
