#pragma once
// Answers to questions to a release as JSON, for programs.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gibbsite/release/hypothesis.hpp"
#include "gibbsite/release/network_query.hpp"

namespace gibbsite {

/// ask_effect's answer, with odds or rate ratios where they have a meaning; of a text that is the
/// name of a whole column ask_column's. Throws as ask_effect.
nlohmann::json effect_json(const LinearModel& model, const std::string& effect,
                           const EffectClasses& classes = {});
/// The question's text, its probability as the mean over draws, that of each draw, and the noise's
/// deviation and the answer's reach where they are known (question_noise, question_reach). Throws
/// as `answer`.
nlohmann::json question_json(const NetworkModel& model, const NetworkQuestion& question);

}  // namespace gibbsite
