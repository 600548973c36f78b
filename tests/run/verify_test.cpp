// Every edit that strengthens a claim is caught; nothing crashes verify.
#include "gibbsite/certificate/verify.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "certificate/canonical_json.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/example.hpp"
#include "support/people.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace verify_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

void collect_leaves(const json& value, const json::json_pointer& at,
                    std::vector<json::json_pointer>& out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& item : value.items()) collect_leaves(item.value(), at / item.key(), out);
  } else if (value.is_array() && !value.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i) collect_leaves(value[i], at / i, out);
  } else {
    out.push_back(at);
  }
}

std::vector<json::json_pointer> leaves(const json& file, const char* part) {
  std::vector<json::json_pointer> out;
  const json::json_pointer at(part);
  collect_leaves(file.at(at), at, out);
  return out;
}

struct Edit {
  std::string name;
  json value;
  bool remove = false;
};

std::vector<Edit> edits_of(const json& value) {
  std::vector<Edit> out{{"delete", {}, true},
                        {"null", nullptr},
                        {"a text", "NaN"},
                        {"another text", "inf"},
                        {"an empty text", ""},
                        {"a list", json::array()},
                        {"an object", json::object()},
                        {"a flag", !(value.is_boolean() && value.get<bool>())}};
  for (const double number : {0.0, -1.0, 1e-300, 1e300}) {
    out.push_back({"the number " + std::to_string(number), number});
  }
  if (value.is_number()) {
    const double v = value.get<double>();
    for (const double factor : {0.5, 0.999, 1.001, 2.0, -1.0}) {
      out.push_back({"times " + std::to_string(factor), v * factor});
    }
    out.push_back({"one ulp down", std::nextafter(v, -INFINITY)});
    out.push_back({"one ulp up", std::nextafter(v, INFINITY)});
    out.push_back({"as a text", value.dump()});
  } else if (value.is_string()) {
    out.push_back({"longer", value.get<std::string>() + "x"});
    for (const char* text :
         {"replace-one", "add-remove", "path", "dalalyan", "gdp", "minami-cor8", "minami-thm7",
          "geumlek-rdp", "redberg", "chacha20", "philox", "float"}) {
      out.push_back({std::string("the text ") + text, text});
    }
  }
  std::erase_if(out, [&](const Edit& e) { return !e.remove && e.value == value; });
  return out;
}

json edited(json file, const json::json_pointer& at, const Edit& edit) {
  json& parent = file.at(at.parent_pointer());
  if (!edit.remove) {
    file.at(at) = edit.value;
  } else if (parent.is_array()) {
    parent.erase(std::stoul(at.back()));
  } else {
    parent.erase(at.back());
  }
  return file;
}

json resealed(json file) {
  file["certificate"]["digest"] = file_digest(file);
  return file;
}

// The only edits that pass: a weaker claim, that is another number, larger, or within the few ulps
// that rounding outward has left.
bool weaker_claim(const std::string& at, const json& before, const json& after) {
  if (!before.is_number() || !after.is_number()) return false;
  const double ratio = after.get<double>() / before.get<double>();
  for (const char* name : {"mu", "pure", "reveal", "tv"}) {
    if (at == std::string("/certificate/guarantee/") + name) return after >= before;
  }
  return (at == "/certificate/guarantee/epsilon" || at == "/certificate/guarantee/delta") &&
         ratio > 1 - 1e-12;
}

// When the digest is computed anew, also: another run that would keep the same promise. `verify`
// cannot know which run there was; the promise itself still follows from the numbers.
//   mechanism.tv_gap, iterations of a TV certificate: more of them, or less by no more than the 0.1
//   %
//     that the planner keeps for rounding
//   mechanism.start_gradient_norm, step_size: by an ulp, where the promise is not tight
//   mechanism.calibration: from one of the calibrations but gdp to another name that holds
//   software: any version, a backend that exists
bool same_promise(const std::string& at, const json& before, const json& after, bool tv,
                  bool whitened = false, bool metric = false) {
  const bool number = before.is_number() && after.is_number();
  const double ratio = number ? after.get<double>() / before.get<double>() : 0;
  // Noise was scaled to its share and its clip, whatever they were: the promise is their sum.
  for (const char* name :
       {"/mechanism/first_clip", "/mechanism/first_moment_share", "/mechanism/second_moment_share",
        "/mechanism/curvature_share", "/mechanism/clip_factor", "/mechanism/length_share",
        "/mechanism/gradient_evenness", "/constants/rows"}) {
    if (whitened && at == std::string("/certificate") + name) return number;
  }
  if (at == "/certificate/mechanism/query_mu" || at == "/certificate/mechanism/moments_mu") {
    return ratio < 1 + 1e-12;
  }
  if (at == "/certificate/mechanism/clip_factor") return metric && number;
  if (at == "/certificate/mechanism/tv_gap") return tv && ratio > 0.998;
  if (at == "/certificate/mechanism/iterations") return tv && ratio > 1;
  // The calibrations but gdp: what was set aside for noise is 1 % more than it costs.
  if (at == "/certificate/mechanism/beta") return std::fabs(ratio - 1) <= 1e-12;
  if (at == "/certificate/mechanism/start_gradient_norm") return std::fabs(ratio - 1) <= 1e-12;
  if (at == "/certificate/mechanism/ball") return std::fabs(ratio - 1) <= 1e-12;
  if (at == "/certificate/mechanism/step_size") return std::fabs(ratio - 1) <= 1e-12;
  if (at == "/certificate/mechanism/calibration") return before != "gdp" && after.is_string();
  if (at == "/certificate/software/version") return after.is_string();
  if (at == "/certificate/software/backend") return after == "cpu" || after == "cuda";
  return weaker_claim(at, before, after);
}

TEST(Verify, AcceptsWhatThePlannerMade) {
  for (const auto& example : testing::examples()) {
    const Verification result = verify(json::parse(to_json(example.release).dump()));
    EXPECT_TRUE(result.valid) << example.name << ": " << ::testing::PrintToString(result.failures);
    EXPECT_FALSE(result.void_run);
    EXPECT_GT(result.checks.size(), 40U);
  }
}

// Edits every leaf and counts what was tried; `allowed` says what may pass. In a release every
// `in_release`-th edit alone: where the digest stands against all of them alike.
template <class Seal, class Allowed>
void tamper(const json& file, const std::string& name, const char* part, Seal seal, Allowed allowed,
            std::size_t in_release = 1) {
  std::size_t tried = 0;
  support::Thinned sweep(97, in_release);
  for (const auto& at : leaves(file, part)) {
    for (const Edit& edit : edits_of(file.at(at))) {
      if (sweep.skips()) continue;  // before the edit is made and sealed, which costs as much
      const json changed = seal(edited(file, at, edit));
      if (changed == file) continue;  // the digest, computed anew
      const bool valid = verify(changed).valid;
      ++tried;
      EXPECT_TRUE(!valid || (!edit.remove && allowed(at.to_string(), file.at(at), edit.value)))
          << name << ": " << at.to_string() << " as " << edit.name << " passes";
    }
  }
  EXPECT_GT(tried, support::repeats(300 / in_release, std::size_t{2})) << name;
}

TEST(Verify, RejectsAnEditOfEveryLeafOfTheCertificate) {
  for (const std::size_t i : {1U, 4U, 17U}) {
    const auto& example = testing::examples()[i];
    tamper(
        to_json(example.release), example.name, "/certificate", [](const json& f) { return f; },
        weaker_claim);
  }
}

// The TV certificates and noise about a minimizer: what carries the promise besides the schedule,
// digest and all.
TEST(Verify, RejectsAnEditOfEveryLeafOfATvCertificate) {
  for (const std::size_t i : {6U, 7U, 8U, 9U, 10U, 14U, 15U, 16U, 18U}) {
    const auto& example = testing::examples()[i];
    // Without a Gaussian part any delta that the arithmetic resolves is kept.
    const auto keeps_delta = [&](const std::string& at, const json& after) {
      const Mechanism& mechanism = example.plan.candidate().mechanism;
      const double least = std::holds_alternative<PureOutputPerturbation>(mechanism) ? 1e-32
                           : std::holds_alternative<PureObjectivePerturbation>(mechanism)
                               ? 1e-24
                               : HUGE_VAL;
      return at == "/certificate/guarantee/delta" && after.is_number() && after > least;
    };
    tamper(
        to_json(example.release), example.name, "/certificate", [](const json& f) { return f; },
        [&](const std::string& at, const json& before, const json& after) {
          return keeps_delta(at, after) || weaker_claim(at, before, after);
        },
        5);
    tamper(to_json(example.release), example.name, "/certificate", resealed,
           [&](const std::string& at, const json& before, const json& after) {
             if (keeps_delta(at, after)) return true;
             // More noise in the slope leaves less to tell, and nothing else follows from it.
             if (at == "/certificate/mechanism/noise_scale" && after.is_number() &&
                 setting(example.plan.candidate().mechanism, "output_noise")) {
               return after > before;
             }
             if (at == "/certificate/mechanism/noise_rate" && after.is_number() &&
                 setting(example.plan.candidate().mechanism, "output_rate")) {
               return after < before;
             }
             // Another schedule that keeps the gap; which ones do not: below.
             for (const char* name :
                  {"step_size", "iterations", "proposals", "rounds", "residual", "gradients",
                   "tv_gap", "start_gradient_norm", "gradient_norm", "first_clip", "clip_factor"}) {
               if (at == std::string("/certificate/mechanism/") + name) return after.is_number();
             }
             return same_promise(at, before, after, true);
           });
  }
}

TEST(Verify, AcceptsEveryLossByEveryMechanismThatRunsIt) {
  for (const auto& example : testing::loss_examples()) {
    const json file = json::parse(to_json(example.release).dump());
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << example.name << ": " << ::testing::PrintToString(result.failures);
    const json& constants = file["certificate"]["constants"];
    const bool amount = example.plan.problem.loss.find("huber") != std::string::npos;
    EXPECT_EQ(constants.contains("label_bound"), amount) << example.name;
    EXPECT_EQ(constants["max_abs_residual"], 1) << example.name;
    EXPECT_FALSE(in_words(file["certificate"]).empty());
  }
}

// What is said of a label is part of the claim: the bound of an amount enters where its minimizer
// can be, and the file's own units follow from the range.
TEST(Verify, RejectsAnotherLabelOrLossEvenResealed) {
  support::Thinned sweep(7);
  for (const auto& example : testing::loss_examples()) {
    const json file = to_json(example.release);
    const std::string& loss = example.plan.problem.loss;
    const auto refused = [&](const char* at, const json& value) {
      if (sweep.skips()) return;
      json changed = file;
      changed.at(json::json_pointer(at)) = value;
      if (changed == file) return;
      EXPECT_FALSE(verify(resealed(changed)).valid) << example.name << ": " << at << " " << value;
    };
    for (const std::string_view other : loss_names()) {
      if (other == loss) continue;
      refused("/certificate/constants/loss", other);
      refused("/model/loss", other);
      json both = file;
      both["certificate"]["constants"]["loss"] = both["model"]["loss"] = other;
      EXPECT_FALSE(verify(resealed(both)).valid) << example.name << " as " << other;
    }
    if (loss == "smoothed-hinge") continue;
    const json& label = file["model"]["preprocessing"];
    for (const double factor : {0.0, 0.5, 2.0, -1.0, 1e300}) {
      for (const int end : {0, 1}) {
        json range = label["range"];
        range[static_cast<std::size_t>(end)] = factor * range[1].get<double>();
        refused("/model/preprocessing/range", range);
      }
      if (label.contains("tolerance"))
        refused("/model/preprocessing/tolerance", factor * label["tolerance"].get<double>());
      if (file["certificate"]["constants"].contains("label_bound"))
        refused("/certificate/constants/label_bound",
                factor * file["certificate"]["constants"]["label_bound"].get<double>());
    }
    for (const char* key : {"range", "tolerance", "counts"}) {
      if (!label.contains(key)) continue;
      json changed = file;
      changed["model"]["preprocessing"].erase(key);
      EXPECT_FALSE(verify(resealed(changed)).valid) << example.name << " without " << key;
    }
    json classes = file;
    classes["model"]["preprocessing"]["positive"] = "1";
    EXPECT_FALSE(verify(resealed(classes)).valid) << example.name << " with classes";
  }
}

// One of each kind of label, digest and all; and what is resealed as for the logistic loss.
TEST(Verify, RejectsAnEditOfEveryLeafOfAnAmountAndOfACount) {
  const auto& examples = testing::loss_examples();
  for (const char* name : {"huber, path", "poisson, proximal", "pseudo-huber, objective-pure",
                           "smoothed-hinge, output", "huber, dalalyan", "poisson, metric-path"}) {
    const auto found = std::ranges::find(examples, name, &testing::Example::name);
    ASSERT_NE(found, examples.end()) << name;
    const json file = to_json(found->release);
    const bool pure = std::string_view(name).ends_with("pure");
    tamper(
        file, name, "/certificate", [](const json& f) { return f; },
        [&](const std::string& at, const json& before, const json& after) {
          // Without a Gaussian part any delta that the arithmetic resolves is kept.
          if (pure && at == "/certificate/guarantee/delta" && after.is_number() && after > 1e-24)
            return true;
          return weaker_claim(at, before, after);
        },
        5);
    tamper(
        file, name, "/model", [](const json& f) { return f; },
        [](const std::string&, const json&, const json&) { return false; }, 5);
  }
  const auto& path = *std::ranges::find(examples, "huber, path", &testing::Example::name);
  tamper(to_json(path.release), path.name, "/certificate", resealed,
         [&](const std::string& at, const json& before, const json& after) {
           return same_promise(at, before, after, false);
         });
}

// Several classes: how many there are, and what each has, is part of the claim.
TEST(Verify, AcceptsSeveralClassesByEveryMechanismThatRunsThem) {
  for (const auto& example : testing::class_examples()) {
    const json file = json::parse(to_json(example.release).dump());
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << example.name << ": " << ::testing::PrintToString(result.failures);
    const json& constants = file["certificate"]["constants"];
    EXPECT_EQ(constants["loss"], "softmax-3") << example.name;
    EXPECT_EQ(constants["features"], 3 * example.release.model().schema.features()) << example.name;
    EXPECT_NEAR(constants["max_abs_residual"].get<double>(), std::sqrt(2.0), 1e-15);
    EXPECT_EQ(constants["curvature"], 0.5);
    EXPECT_FALSE(in_words(file["certificate"]).empty());
  }
}

TEST(Verify, RejectsOtherClassesEvenResealed) {
  for (const auto& example : testing::class_examples()) {
    const json file = to_json(example.release);
    const std::size_t d = example.release.model().schema.features();
    const auto refused = [&](const std::string& what, const auto& edit) {
      json changed = file;
      edit(changed);
      EXPECT_FALSE(verify(resealed(changed)).valid) << example.name << ": " << what;
    };
    for (const char* other : {"softmax-2", "softmax-4", "softmax-03", "softmax", "logistic"}) {
      refused(other, [&](json& f) { f["certificate"]["constants"]["loss"] = other; });
      refused(other, [&](json& f) { f["model"]["loss"] = other; });
      refused(std::string("both ") + other,
              [&](json& f) { f["certificate"]["constants"]["loss"] = f["model"]["loss"] = other; });
    }
    for (const std::size_t features : {std::size_t{1}, d, 2 * d, 3 * d + 1, 3 * (d + 1), 6 * d}) {
      if (features == 3 * d) continue;
      refused("features", [&](json& f) { f["certificate"]["constants"]["features"] = features; });
    }
    refused("a class less", [](json& f) { f["model"]["preprocessing"]["classes"].erase(2); });
    refused("a class more", [](json& f) { f["model"]["preprocessing"]["classes"].push_back("x"); });
    refused("another name", [](json& f) { f["model"]["preprocessing"]["classes"][0] = "x"; });
    refused("two of them", [](json& f) {
      f["model"]["preprocessing"].erase("classes");
      f["model"]["preprocessing"]["positive"] = "own";
    });
  }
}

TEST(Verify, RejectsAnEditOfEveryLeafOfSeveralClasses) {
  const auto& examples = testing::class_examples();
  for (const char* name : {"softmax, path", "softmax, proximal", "softmax, metric-path"}) {
    const auto found = std::ranges::find(examples, name, &testing::Example::name);
    ASSERT_NE(found, examples.end()) << name;
    const json file = to_json(found->release);
    tamper(
        file, name, "/certificate", [](const json& f) { return f; }, weaker_claim, 5);
    tamper(
        file, name, "/model", [](const json& f) { return f; },
        [](const std::string&, const json&, const json&) { return false; }, 5);
  }
  const auto& path = examples.front();
  tamper(to_json(path.release), path.name, "/certificate", resealed,
         [&](const std::string& at, const json& before, const json& after) {
           return same_promise(at, before, after, false);
         });
}

// Noise in the slope for one output, in the certificate of several: it costs more there.
TEST(Verify, RejectsTheNoiseOfOneOutputForSeveralClasses) {
  for (const auto& example : testing::loss_examples()) {
    const std::string_view name = name_of(example.plan.candidate().mechanism);
    if (!name.starts_with("objective")) continue;
    json file = to_json(example.release);
    file["certificate"]["constants"]["loss"] = "softmax-3";
    const std::uint64_t features = file["certificate"]["constants"]["features"];
    file["certificate"]["constants"]["features"] = 3 * features;
    const Verification found = verify(resealed(file));
    EXPECT_FALSE(found.valid);
    EXPECT_THAT(found.failures, ::testing::Contains(HasSubstr("guarantee.delta: claimed"))) << name;
  }
}

// A ball is in the settings or nowhere: what had none shows none, and none may be lent one.
TEST(Verify, HoldsABallAgainstItsNumbersAndItsModel) {
  const auto& examples = testing::examples();
  const json with = to_json(examples[17].release), without = to_json(examples[0].release);
  EXPECT_EQ(with["certificate"]["mechanism"]["ball"], 0.5);
  EXPECT_FALSE(without["certificate"]["mechanism"].contains("ball"));
  EXPECT_THAT(in_words(with["certificate"]), HasSubstr("in a ball of radius 0.5"));
  for (const auto& draw : examples[17].release.model().draws) EXPECT_TRUE(in_ball(draw, 0.5));
  for (const double ball : {0.0, 0.49, 0.51, 1.0, 1e300, -0.5}) {
    json changed = with;
    changed["certificate"]["mechanism"]["ball"] = ball;
    EXPECT_FALSE(verify(resealed(changed)).valid) << ball;
    json lent = without;
    lent["certificate"]["mechanism"]["ball"] = ball;
    EXPECT_FALSE(verify(resealed(lent)).valid) << ball;
  }
  // Where rounding is beyond all that noise hides.
  json huge = with;
  huge["certificate"]["mechanism"]["ball"] = 1e99;
  EXPECT_THAT(verify(resealed(huge)).failures,
              ::testing::ElementsAre(HasSubstr("certificate: `ball`: rounding moves a step")));
  json removed = with;
  removed["certificate"]["mechanism"].erase("ball");
  EXPECT_FALSE(verify(resealed(removed)).valid);
  // A coefficient on the grid, but outside of the ball.
  json outside = with;
  json& first = outside["model"]["coefficients"][0][0];
  first = first.get<double>() + 1;
  outside["model"]["original_units"] =
      model_json(LinearKind::model_from_json(outside["model"], "model"))["original_units"];
  const Verification found = verify(resealed(outside));
  EXPECT_FALSE(found.valid);
  EXPECT_THAT(found.failures, ::testing::ElementsAre(HasSubstr("in the ball of radius 0.5")));
}

// The squared loss: its constants are those of the ball, and without it there are none.
TEST(Verify, HoldsTheSquaredLossToItsBall) {
  for (const auto& example : testing::squared_examples()) {
    const json file = json::parse(to_json(example.release).dump());
    const Verification result = verify(file);
    EXPECT_TRUE(result.valid) << example.name << ": " << ::testing::PrintToString(result.failures);
    const json& constants = file["certificate"]["constants"];
    const double B = file["certificate"]["mechanism"]["ball"], Y = constants["label_bound"];
    const double R = example.plan.problem.full_row_norm_up();
    EXPECT_NEAR(constants["max_abs_residual"].get<double>(), R * B + Y, 1e-12);
    EXPECT_NEAR(constants["lipschitz"].get<double>(), R * (R * B + Y), 1e-12);
    const auto refused = [&](const char* at, const json& value) {
      json changed = file;
      changed.at(json::json_pointer(at)) = value;
      EXPECT_FALSE(verify(resealed(changed)).valid) << example.name << ": " << at << " " << value;
    };
    for (const double factor : {0.5, 0.999, 1.001, 2.0, 1e6}) {
      refused("/certificate/mechanism/ball", factor * B);
      refused("/certificate/constants/label_bound", factor * Y);
      refused("/certificate/constants/max_abs_residual", factor * (R * B + Y));
    }
    // A label bound that is lower in both places, as is what follows from it.
    json lower = file;
    json& label = lower["model"]["preprocessing"];
    label["tolerance"] = 2 * label["tolerance"].get<double>();
    lower["certificate"]["constants"]["label_bound"] = Y / 2;
    EXPECT_FALSE(verify(resealed(lower)).valid);
    json removed = file;
    removed["certificate"]["mechanism"].erase("ball");
    EXPECT_THAT(verify(resealed(removed)).failures,
                ::testing::Contains(HasSubstr("`model` squared: its slope")));
    json bounded = file;
    bounded["certificate"]["constants"]["loss"] = bounded["model"]["loss"] = "huber";
    EXPECT_FALSE(verify(resealed(bounded)).valid);
    tamper(
        file, example.name, "/certificate", [](const json& f) { return f; }, weaker_claim, 5);
    tamper(
        file, example.name, "/model", [](const json& f) { return f; },
        [](const std::string&, const json&, const json&) { return false; }, 5);
  }
  // Every other mechanism's file, renamed.
  for (const auto& example : testing::loss_examples()) {
    if (!example.name.starts_with("huber")) continue;
    json file = to_json(example.release);
    file["certificate"]["constants"]["loss"] = file["model"]["loss"] = "squared";
    const Verification found = verify(resealed(file));
    EXPECT_FALSE(found.valid) << example.name;
    EXPECT_THAT(found.failures, ::testing::Contains(HasSubstr("`model` squared: its slope")))
        << example.name;
  }
}

TEST(Verify, RejectsATvRunThatWasCutShort) {
  struct Cut {
    std::size_t example;
    const char* name;
    double factor;
  };
  for (const Cut& cut : {Cut{6, "iterations", 0.5}, Cut{6, "step_size", 2}, Cut{6, "tv_gap", 0.5},
                         Cut{7, "iterations", 0.5}, Cut{7, "tv_gap", 0.5}, Cut{7, "rounds", 0.1},
                         Cut{7, "residual", 1000}, Cut{8, "gradients", 0.5},
                         Cut{8, "proposals", 0.1}, Cut{8, "iterations", 0.5}, Cut{9, "rounds", 0.5},
                         Cut{9, "tv_gap", 0.01}, Cut{9, "start_gradient_norm", 1e4}}) {
    json file = to_json(testing::examples()[cut.example].release);
    json& value = file["certificate"]["mechanism"][cut.name];
    const double changed = cut.factor * value.get<double>();
    value = value.is_number_integer() ? json(static_cast<std::uint64_t>(std::ceil(changed)))
                                      : json(changed);
    EXPECT_FALSE(verify(resealed(file)).valid) << cut.example << ' ' << cut.name;
  }
}

// An edit of the certificate with a new digest is rejected too: the check does not rely on the
// digest.
TEST(Verify, RejectsAResealedEditThatStrengthensTheCertificate) {
  for (const std::size_t i : {0U, 3U, 5U, 11U, 13U, 17U}) {
    const auto& example = testing::examples()[i];
    const bool whitened = name_of(example.plan.candidate().mechanism) == Whitened::name;
    const bool metric = setting(example.plan.candidate().mechanism, "moments_mu").has_value();
    const bool tv = setting(example.plan.candidate().mechanism, "tv_gap").has_value();
    tamper(to_json(example.release), example.name, "/certificate", resealed,
           [&](const std::string& at, const json& before, const json& after) {
             return same_promise(at, before, after, tv, whitened, metric);
           });
  }
}

// Draws of families: each leaf of both parts; and with the digest computed anew, each number of the
// claim.
TEST(Verify, RejectsAnEditOfEveryLeafOfAFamily) {
  for (const FamilyRelease& release : testing::families()) {
    const json file = to_json(release);
    const std::string name(to_string(release.model().family));
    const Verification whole = verify(json::parse(file.dump()));
    EXPECT_TRUE(whole.valid) << name << ": " << ::testing::PrintToString(whole.failures);
    // Without a Gaussian part any delta that the parts add up to is kept.
    tamper(
        file, name, "/certificate", [](const json& f) { return f; }, weaker_claim, 5);
    tamper(
        file, name, "/model", [](const json& f) { return f; },
        [](const std::string&, const json&, const json&) { return false; }, 5);
    for (const char* claim : {"epsilon", "delta", "mu", "pure", "reveal", "tv"}) {
      json stronger = file;
      json& guarantee = stronger["certificate"]["guarantee"];
      json& value = guarantee[claim];
      if (value == 0) continue;
      // What is next to pure keeps every delta that a person asks for.
      if (std::string_view(claim) == "delta" && guarantee["mu"] == 0 &&
          guarantee["reveal"].get<double>() + guarantee["tv"].get<double>() <
              0.1 * value.get<double>())
        continue;
      value = value.get<double>() * 0.99;
      EXPECT_FALSE(verify(resealed(stronger)).valid) << name << ": " << claim;
    }
  }
}

// A certificate whose trim is of more levels than the model's draws have numbers reads none behind
// them.
TEST(Verify, RefusesATrimOfMoreLevelsThanTheDrawsHave) {
  for (const FamilyRelease& release : testing::families()) {
    for (const std::size_t levels : {2U, 100U}) {
      json file = to_json(release);
      json& constants = file["certificate"]["constants"];
      if (release.model().draws[0].size() == levels) continue;
      constants.erase("range");
      constants.erase("variance");
      constants["family"] = levels == 2 ? "bernoulli" : "categorical";
      constants["levels"] = levels;
      constants["prior"] = std::vector<double>(levels, 1.0);
      constants["trim"] = {1e-4};
      EXPECT_THAT(verify(resealed(file)).failures,
                  ::testing::Contains(::testing::StartsWith(
                      fmt::format("model.draws: {} off", release.model().draws.size()))));
    }
  }
}

// The certificate claims another constant than the model has: none of one that does not belong
// there.
TEST(Verify, NamesTheConstantThatIsNotTheModels) {
  const auto named = [](json file, const char* name, const json& claimed) {
    json& constants = file["certificate"]["constants"];
    const json of_model = constants.value(name, json());
    ASSERT_NE(claimed, of_model);
    constants[name] = claimed;
    EXPECT_THAT(verify(resealed(file)).failures,
                ::testing::Contains("constants." + std::string(name) + ": claimed " +
                                    claimed.dump() + ", the model has " + of_model.dump()));
  };
  const json file = to_json(testing::examples()[1].release);
  const json& constants = file["certificate"]["constants"];
  named(file, "features", constants["features"].get<std::uint64_t>() + 1);
  named(file, "row_norm", 0.5 * constants["row_norm"].get<double>());
  named(file, "intercept", !constants["intercept"].get<bool>());
  named(file, "loss", "smoothed-hinge");
  for (const auto& example : testing::loss_examples()) {
    const json of_loss = to_json(example.release);
    const std::string& loss = example.plan.problem.loss;
    if (loss == "huber") named(of_loss, "label_bound", 1e3);
    if (loss == "poisson") named(of_loss, "offset_bound", 0.25);
  }
  for (const FamilyRelease& release : testing::families()) {
    const json of_family = to_json(release);
    const FamilyProblem& p = release.certificate().problem;
    if (!p.has_levels()) named(of_family, "range", {p.lo, p.hi + 1});
    if (p.family == Family::bernoulli) named(of_family, "family", "categorical");
  }
}

TEST(Verify, RejectsAnEditOfEveryLeafOfTheModel) {
  const auto& example = testing::examples()[0];
  tamper(
      to_json(example.release), example.name, "/model", [](const json& f) { return f; },
      [](const std::string&, const json&, const json&) { return false; });
}

TEST(Verify, RejectsASchemaThatTheCertificateDoesNotSpeakOfEvenResealed) {
  const json file = to_json(testing::examples()[1].release);
  ASSERT_TRUE(verify(resealed(file)).valid);
  for (const char* name : {"row_norm", "intercept", "columns", "missing"}) {
    const json::json_pointer at = json::json_pointer("/model/preprocessing") / name;
    for (const Edit& edit : edits_of(file.at(at))) {
      const bool token = edit.value.is_string() || (edit.value.is_null() && !edit.remove);
      if (std::string(name) == "missing" && token) continue;  // another one, or none
      EXPECT_FALSE(verify(resealed(edited(file, at, edit))).valid) << name << " as " << edit.name;
    }
  }
  json fewer = file;  // consistent in itself, but not with the certificate
  LinearModel model = release_from_json(file, "test").model();
  model.schema.columns.pop_back();
  for (auto& draw : model.draws) draw.pop_back();
  fewer["model"] = model_json(model);
  EXPECT_FALSE(verify(resealed(fewer)).valid);

  json off_grid = file;
  off_grid["model"]["coefficients"][0][0] =
      file["model"]["coefficients"][0][0].get<double>() +
      0.25 * file["certificate"]["numerics"]["release_grid"].get<double>();
  const Verification result = verify(resealed(off_grid));
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(::testing::PrintToString(result.failures), HasSubstr("1 off the release grid"));
}

TEST(Verify, RejectsFieldsThatNobodyAskedFor) {
  const json file = to_json(testing::examples().front().release);
  for (const char* at :
       {"", "/model", "/certificate", "/certificate/guarantee", "/certificate/mechanism",
        "/certificate/constants", "/certificate/numerics", "/certificate/software"}) {
    json changed = file;
    changed.at(json::json_pointer(at))["note"] = "audited";
    EXPECT_FALSE(verify(resealed(changed)).valid) << at;
  }
  json more = file;
  more["certificate"]["assumptions"].push_back("none");
  EXPECT_FALSE(verify(resealed(more)).valid);
}

// A version is the one text of a certificate that nothing recomputes.
TEST(Verify, RejectsAVersionThatIsNoneEvenResealed) {
  const testing::TempDir folder;
  const json file = to_json(testing::examples().front().release);
  json changed = file;
  const auto set = [&](const std::string& version) -> const json& {
    changed["certificate"]["software"]["version"] = version;
    return changed = resealed(changed);
  };
  for (const char* version : {"0.1.0", "1.2.3.dev4+g5678", "10.0.0-rc1"})
    EXPECT_TRUE(verify(set(version)).valid) << version;
  for (const std::string& version :
       {std::string(), std::string("Smith, 39, nurse"), std::string("1.2.3\n39,nurse"),
        std::string("v1"), std::string(41, '1'), std::string("1.2.3 audited"),
        std::string("1.2.3\0x", 7)}) {
    EXPECT_FALSE(verify(set(version)).valid) << version;
    EXPECT_THROW(read_release(folder.write("model.json", changed.dump())), BadInput) << version;
  }
}

// jq, JavaScript and R write 1.0 as 1, -0.0 as 0, and blanks where they like.
TEST(Verify, HoldsWhateverProgramWroteTheNumbers) {
  const testing::TempDir folder;
  std::vector<json> files;
  for (const auto& example : testing::examples()) files.push_back(to_json(example.release));
  for (const auto& example : testing::loss_examples()) files.push_back(to_json(example.release));
  for (const json& file : files) {
    ASSERT_THAT(file["certificate"]["digest"].get<std::string>(),
                ::testing::StartsWith("blake2b-256-jcs:"));
    const std::string rewritten = canonical_text(file);  // as JSON.stringify has it
    const std::string path = folder.write("model.json", rewritten);
    const Verification result = verify(read_release_json(path));
    EXPECT_EQ(result.valid, verify(file).valid) << ::testing::PrintToString(result.failures);
    EXPECT_NO_THROW(untouched_json(rewritten, "model.json"));
    // A value that changed is another matter.
    json edited = json::parse(rewritten);
    json& first = edited["model"].contains("coefficients") ? edited["model"]["coefficients"]
                                                           : edited["model"]["draws"];
    while (!first.is_number()) {
      json inner = *first.begin();
      first = inner;
    }
    EXPECT_THROW(untouched_json(edited.dump(), "model.json"), BadInput);
  }
}

// Files from before digests of values.
TEST(Verify, ReadsDigestsOfSpellingAndSaysWhatRewritingDoesToThem) {
  const testing::TempDir folder;
  json file = to_json(testing::examples().front().release);
  file["certificate"]["digest"] = digest_of_spelling;
  file = resealed(file);
  ASSERT_TRUE(is_file_digest(file["certificate"]["digest"].get<std::string>()));
  EXPECT_THAT(file["certificate"]["digest"].get<std::string>(), Not(HasSubstr("jcs")));
  EXPECT_TRUE(verify(file).valid);
  EXPECT_NO_THROW(read_release(folder.write("model.json", file.dump(2))));
  const json rewritten = json::parse(canonical_text(file));
  const Verification result = verify(rewritten);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_THAT(result.failures[0], HasSubstr("certificate.digest: "));
  EXPECT_THAT(result.failures[0], HasSubstr("1.0 as 1"));
}

TEST(Verify, RejectsTheNamesOfVersion1) {
  json file = to_json(testing::examples().front().release);
  json& guarantee = file["certificate"]["guarantee"];
  guarantee["gdp_mu"] = guarantee["mu"];
  EXPECT_FALSE(verify(resealed(file)).valid);
  guarantee.erase("mu");
  EXPECT_FALSE(verify(resealed(file)).valid);
  json newer = to_json(testing::examples().front().release);
  newer["format"] = "gibbsite-release/1";
  EXPECT_FALSE(verify(resealed(newer)).valid);
}

TEST(Verify, AcceptsWeakerClaims) {
  const json file = to_json(testing::examples().front().release);
  for (const char* name : {"epsilon", "delta", "mu", "tv", "pure"}) {
    json changed = file;
    changed["certificate"]["guarantee"][name] =
        2 * file["certificate"]["guarantee"][name].get<double>();
    EXPECT_TRUE(verify(changed).valid) << name;
  }
}

// Answers that were released say what noise they had.
TEST(Verify, RejectsAnswersWithLessNoiseThanTheirShares) {
  const json file = to_json(testing::examples()[11].release);
  ASSERT_TRUE(verify(file).valid);
  const auto fails = [&](const auto& edit) {
    json changed = file;
    edit(changed["model"]);
    return !verify(resealed(changed)).valid;
  };
  for (const std::size_t i : {0U, 1U, 2U, 3U, 20U}) {
    EXPECT_TRUE(fails([&](json& model) {
      json& deviation = model["answers"][i]["deviation"];
      deviation = 0.999 * deviation.get<double>();
    })) << i;
    EXPECT_TRUE(fails([&](json& model) { model["answers"].erase(i); })) << i;
  }
  EXPECT_TRUE(fails([](json& model) {
    json& clip = model["answers"][2]["clip"];
    clip = 1.01 * clip.get<double>();
  }));
  // A clip that needs no noise, or next to none.
  for (const std::size_t i : {0U, 2U}) {
    for (const double clip : {-1.0, 0.0, 1e-9}) {
      EXPECT_TRUE(fails([&](json& model) {
        model["answers"][i]["clip"] = clip;
        model["answers"][i]["deviation"] = clip > 0 ? 1e-3 : 0.0;
      })) << i
          << " " << clip;
    }
  }
  EXPECT_TRUE(fails([](json& model) { model["answers"] = json::array(); }));
  EXPECT_TRUE(fails([](json& model) { model["answers"][0]["question"] = "rows"; }));
  EXPECT_TRUE(fails([](json& model) { model["answers"][0]["values"].erase(0); }));
  EXPECT_FALSE(fails([](json& model) { model.erase("answers"); })) << "they may be kept back";
}

// Gradients vouch for one another's clip.
void rejects_less_noise(const Dataset& data, const char* loss) {
  const Plan made = plan(glm(loss).constants(data.schema, 200), {.epsilon = 1, .delta = 1e-5},
                         {.mechanism = "whitened"});
  const auto backend = make_backend("reference");
  const json file =
      to_json(fit(glm(loss), data, made, *backend, Key::from_os(), {.release_answers = true}));
  ASSERT_TRUE(verify(file).valid);
  const auto fails = [&](const auto& edit) {
    json changed = file;
    edit(changed["model"]);
    return !verify(resealed(changed)).valid;
  };
  for (const std::size_t i : {0U, 1U, 2U, 3U}) {
    EXPECT_TRUE(fails([&](json& model) {
      json& deviation = model["answers"][i]["deviation"];
      deviation = 0.99 * deviation.get<double>();
    })) << i;
    EXPECT_TRUE(fails([&](json& model) { model["answers"].erase(i); })) << i;
  }
  std::vector<std::size_t> gradients;
  for (std::size_t i = 0; i < file["model"]["answers"].size(); ++i) {
    if (file["model"]["answers"][i]["question"] == "gradient") gradients.push_back(i);
  }
  ASSERT_GE(gradients.size(), 2U);
  for (const std::size_t i : {gradients[0], gradients[1]}) {
    EXPECT_TRUE(fails([&](json& model) {
      json& clip = model["answers"][i]["clip"];
      clip = 0.5 * clip.get<double>();
    })) << i;
  }
  EXPECT_TRUE(fails([&](json& model) {  // of all: above what the settings allow
    for (json& answer : model["answers"]) {
      if (answer["question"] != "gradient") continue;
      answer["clip"] = 1e3;
      answer["deviation"] = 1e9;
    }
  }));
  EXPECT_FALSE(fails([](json& model) { model.erase("answers"); })) << "they may be kept back";
}
TEST(Verify, RejectsAnswersOfTwoClassesWithLessNoiseThanTheirShares) {
  rejects_less_noise(support::people(200, 3, 5), "logistic");
}
TEST(Verify, RejectsAnswersOfAmountsWithLessNoiseThanTheirShares) {
  rejects_less_noise(support::amounts(200, 3, 5), "huber");
}
TEST(Verify, RejectsAnswersOfClassesWithLessNoiseThanTheirShares) {
  rejects_less_noise(support::class_people(200, 3, 4, 5), "softmax-4");
}

// A file of a small budget: lengths within the ends that the schema has, and what the second
// moments' share was for; another split of the budget leaves an answer with too little noise.
TEST(Verify, HoldsTheAnswersOfASmallBudgetToTheirShares) {
  int starts = 0, seconds = 0;
  for (const bool add_remove : {false, true}) {
    for (const bool bunched : {false, true}) {
      const Dataset plain = support::people(400, 4, 5);
      const Dataset data = bunched ? support::bunched(plain) : plain;
      Budget budget{.epsilon = add_remove ? 0.7 : 1.4, .delta = 1e-5, .rows_per_person = 2};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const Plan made =
          plan(glm("logistic").constants(data.schema, 400), budget, {.mechanism = "whitened"});
      const auto backend = make_backend("reference");
      const json file = to_json(
          fit(glm("logistic"), data, made, *backend, Key::from_os(), {.release_answers = true}));
      const Verification as_made = verify(file);
      ASSERT_TRUE(as_made.valid) << ::testing::PrintToString(as_made.failures);
      const json& answers = file["model"]["answers"];
      ASSERT_EQ(answers[0]["question"], "lengths");
      ASSERT_EQ(answers[1]["question"], "moments");
      const bool start = answers[2]["question"] == "start";
      (start ? starts : seconds) += 1;
      const auto fails = [&](const auto& edit) {
        json changed = file;
        edit(changed);
        return !verify(resealed(changed)).valid;
      };
      const auto scaled = [](json& number, double factor) {
        number = factor * number.get<double>();
      };
      for (const std::size_t i : {0U, 1U, 2U}) {
        const auto on_answer = [&](const auto& edit) {
          return fails([&](json& changed) { edit(changed["model"]["answers"], i); });
        };
        EXPECT_TRUE(
            on_answer([&](json& all, std::size_t at) { scaled(all[at]["deviation"], 0.99); }));
        EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all.erase(at); }));
        EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all.push_back(json(all[at])); }));
        EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all[at]["values"].erase(0); }));
        EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all[at]["at"].erase(0); }));
        EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { scaled(all[at]["clip"], 1.01); }));
      }
      // Ends that are not the schema's may be the rows'.
      EXPECT_TRUE(fails([&](json& changed) {
        json& lengths = changed["model"]["answers"][0];
        const double low = lengths["at"][0].get<double>(), high = lengths["at"][1].get<double>();
        lengths["at"] = {low + (high - low) / 4, high};
        scaled(lengths["clip"], 0.75);
        scaled(lengths["deviation"], 0.75);
      }));
      EXPECT_TRUE(
          fails([&](json& changed) { scaled(changed["model"]["answers"][0]["at"][0], 0.9); }));
      if (start) {
        EXPECT_TRUE(fails([](json& changed) { changed["model"]["answers"][2]["at"][0] = 0.5; }));
        EXPECT_TRUE(fails([&](json& changed) {  // both for one share
          changed["model"]["answers"].push_back(json(changed["model"]["answers"][1]));
        }));
      }
      for (const char* name : {"length_share", "second_moment_share", "gradient_evenness"}) {
        for (const double factor : {0.5, 1.01, 1.3}) {
          EXPECT_TRUE(fails([&](json& changed) {
            scaled(changed["certificate"]["mechanism"][name], factor);
          })) << name
              << factor;
        }
        for (const json& value : {json(-0.1), json(2.5), json(1e300), json(nullptr)}) {
          EXPECT_TRUE(fails([&](json& changed) {
            changed["certificate"]["mechanism"][name] = value;
            changed["model"].erase("answers");
          })) << name
              << value;
        }
      }
      EXPECT_TRUE(fails([](json& changed) {
        changed["certificate"]["mechanism"].erase("length_share");
        changed["model"].erase("answers");
      }));
      EXPECT_FALSE(fails([](json& changed) { changed["model"].erase("answers"); }));
    }
  }
  // Even rows get a start instead of second moments, but for bad luck.
  EXPECT_TRUE(starts > 0 || seconds > 0) << starts << " " << seconds;
}

// A file with intervals: its block, its information and its scores' moments have a share each, a
// clip and a noise.
TEST(Verify, HoldsTheAnswersOfIntervalsToTheirShares) {
  for (const bool add_remove : {false, true}) {
    const Dataset data = support::people(2000, 3, 5);
    Budget budget{.epsilon = 4, .delta = 1e-5, .rows_per_person = 2};
    if (add_remove) budget.adjacency = Adjacency::add_remove;
    const Plan made = plan(glm("logistic").constants(data.schema, 2000), budget,
                           {.mechanism = "whitened", .intervals = true});
    const auto backend = make_backend("reference");
    const json file = to_json(
        fit(glm("logistic"), data, made, *backend, Key::from_os(), {.release_answers = true}));
    const Verification as_made = verify(file);
    ASSERT_TRUE(as_made.valid) << ::testing::PrintToString(as_made.failures);
    // Too much noise leaves no estimates: not so here, but for bad luck.
    if (!file["model"].contains("estimates")) GTEST_SKIP() << "no estimates by chance";
    const json& answers = file["model"]["answers"];
    const std::size_t scores = answers.size() - 1, information = scores - 1, block = scores - 2;
    ASSERT_EQ(answers[block]["question"], "block");
    ASSERT_EQ(answers[information]["question"], "information");
    ASSERT_EQ(answers[scores]["question"], "scores");
    const auto fails = [&](const auto& edit) {
      json changed = file;
      edit(changed);
      return !verify(resealed(changed)).valid;
    };
    const auto scaled = [](json& number, double factor) { number = factor * number.get<double>(); };
    for (const std::size_t i : {block, information, scores}) {
      const auto on_answer = [&](const auto& edit) {
        return fails([&](json& changed) { edit(changed["model"]["answers"], i); });
      };
      EXPECT_TRUE(
          on_answer([&](json& all, std::size_t at) { scaled(all[at]["deviation"], 0.99); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) {
        scaled(all[at]["clip"], 0.5);
        scaled(all[at]["deviation"], 0.5);
      }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { scaled(all[at]["clip"], 1.5); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all.erase(at); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all.push_back(json(all[at])); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all[at]["values"].erase(0); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all[at]["at"].erase(0); }));
      EXPECT_TRUE(on_answer([&](json& all, std::size_t at) { all[at]["question"] = "gradient"; }));
    }
    // Another split of one budget: some answer has less noise than its share.
    for (const char* name : {"information_share", "block_share", "score_share"}) {
      for (const double factor : {0.5, 1.01, 1.3}) {
        EXPECT_TRUE(fails([&](json& changed) {
          scaled(changed["certificate"]["mechanism"][name], factor);
        })) << name
            << factor;
      }
      for (const json& value : {json(-0.1), json(0.0), json(1.0), json(1e300), json(nullptr)}) {
        EXPECT_TRUE(fails([&](json& changed) {
          changed["certificate"]["mechanism"][name] = value;
          changed["model"].erase("answers");
        })) << name
            << value;
      }
      EXPECT_TRUE(fails([&](json& changed) {
        changed["certificate"]["mechanism"].erase(name);
        changed["model"].erase("answers");
      })) << name;
    }
    EXPECT_TRUE(fails([&](json& changed) {  // estimates that nothing was asked for
      for (const char* name : {"information_share", "block_share", "score_share"})
        changed["certificate"]["mechanism"].erase(name);
    }));
    EXPECT_TRUE(fails([&](json& changed) {
      changed["certificate"]["mechanism"]["clip_factor"] = 1.5;
      changed["model"].erase("answers");
    }));
    EXPECT_TRUE(fails([](json& changed) { changed["model"]["estimates"]["rows"] = 200; }));
    EXPECT_FALSE(fails([](json& changed) { changed["model"].erase("answers"); }));
    // Nobody says whose a row is, so both of a person are taken for alike; not in files of before.
    EXPECT_EQ(file["model"]["estimates"].value("rows_alike", 1), 2);
    for (const json& value : {json(1), json(3), json(2.5), json("2")}) {
      EXPECT_TRUE(
          fails([&](json& changed) { changed["model"]["estimates"]["rows_alike"] = value; }));
    }
    EXPECT_FALSE(fails([](json& changed) { changed["model"]["estimates"].erase("rows_alike"); }));
    // No file of an older format has them.
    for (const char* format : {"gibbsite-release/1", "gibbsite-release/2"}) {
      EXPECT_TRUE(fails([&](json& changed) { changed["format"] = format; })) << format;
      EXPECT_TRUE(fails([&](json& changed) {
        changed["format"] = format;
        changed["model"].erase("answers");
        changed["model"].erase("estimates");
      })) << format;
    }
  }
}

// A file of two classes from before, whose intervals asked for no second moments of scores, holds
// what it did, and not with another split.
TEST(Verify, HoldsFormerIntervalsOfTwoClasses) {
  std::ifstream in(std::string(GIBBSITE_SOURCE_DIR) +
                   "/tests/golden/two-classes-without-scores.json");
  const json file = json::parse(in);
  ASSERT_TRUE(file["model"].contains("estimates"));
  ASSERT_FALSE(file["certificate"]["mechanism"].contains("score_share"));
  EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  json changed = file;
  changed["certificate"]["mechanism"]["score_share"] = 0.03;
  EXPECT_FALSE(verify(resealed(changed)).valid);
}

// With held slopes: the second moments of the scores have a share, the clip and a noise too.
TEST(Verify, HoldsTheScoresOfAmountsAndCountsToTheirShare) {
  for (const char* loss : {"huber", "poisson"}) {
    const bool counts = loss == std::string("poisson");
    const Dataset data = counts ? support::counts(2000, 3, 5) : support::amounts(2000, 3, 5);
    const Budget budget{.epsilon = 4, .delta = 1e-5, .rows_per_person = 2};
    const Plan made = plan(glm(loss).constants(data.schema, 2000), budget,
                           {.mechanism = "whitened", .intervals = true});
    const auto backend = make_backend("reference");
    const json file =
        to_json(fit(glm(loss), data, made, *backend, Key::from_os(), {.release_answers = true}));
    const Verification as_made = verify(file);
    ASSERT_TRUE(as_made.valid) << ::testing::PrintToString(as_made.failures);
    const json& answers = file["model"]["answers"];
    const std::size_t at = answers.size() - 1;
    ASSERT_EQ(answers[at]["question"], "scores");
    EXPECT_EQ(answers[at]["clip"], answers[at - 2]["clip"]);
    const auto fails = [&](const auto& edit) {
      json changed = file;
      edit(changed);
      return !verify(resealed(changed)).valid;
    };
    const auto on_answer = [&](const auto& edit) {
      return fails([&](json& changed) { edit(changed["model"]["answers"]); });
    };
    const auto scaled = [](json& number, double factor) { number = factor * number.get<double>(); };
    EXPECT_FALSE(fails([](json&) {}));
    EXPECT_TRUE(on_answer([&](json& all) { scaled(all[at]["deviation"], 0.99); }));
    EXPECT_TRUE(on_answer([&](json& all) {
      scaled(all[at]["clip"], 0.5);
      scaled(all[at]["deviation"], 0.25);
    }));
    EXPECT_TRUE(on_answer([&](json& all) { all.erase(at); }));
    EXPECT_TRUE(on_answer([&](json& all) { all.push_back(json(all[at])); }));
    EXPECT_TRUE(on_answer([&](json& all) { all[at]["values"].erase(0); }));
    EXPECT_TRUE(on_answer([&](json& all) { all[at]["question"] = "information"; }));
    for (const double factor : {0.5, 1.01, 1.3}) {
      EXPECT_TRUE(fails([&](json& changed) {
        scaled(changed["certificate"]["mechanism"]["score_share"], factor);
      })) << factor;
    }
    for (const json& value : {json(-0.1), json(0.0), json(1.0), json(nullptr)}) {
      EXPECT_TRUE(fails([&](json& changed) {
        changed["certificate"]["mechanism"]["score_share"] = value;
        changed["model"].erase("answers");
      })) << value;
    }
    EXPECT_TRUE(fails([](json& changed) {
      changed["certificate"]["mechanism"].erase("score_share");
      changed["model"].erase("answers");
    }));
  }
}

// An infeasible combination of kinds: a draw that started from the data passed off as a path.
// At a large epsilon the Gaussian part of delta vanishes; what computed normals can never reach
// does not.
TEST(Verify, RejectsADeltaBelowWhatTheNoiseCanDeliver) {
  for (const auto& example : testing::examples()) {
    if (testing::certificate_of(example)["mechanism"].value("calibration", "gdp") != "gdp")
      continue;
    json file = to_json(example.release);
    if (file["certificate"]["guarantee"].contains("void")) continue;
    file["certificate"]["guarantee"]["epsilon"] = 30;
    file["certificate"]["guarantee"]["delta"] = 1e-40;
    const Verification result = verify(file);
    EXPECT_FALSE(result.valid) << example.name;
    EXPECT_THAT(result.failures, ::testing::Contains(HasSubstr("guarantee.delta"))) << example.name;
  }
}

TEST(Verify, RejectsADalalyanRunDressedAsAPath) {
  json file = to_json(testing::examples()[4].release);
  const json path = to_json(testing::examples()[0].release);
  json& mechanism = file["certificate"]["mechanism"];
  mechanism["name"] = "path";
  mechanism.erase("tv_gap");
  mechanism.erase("start_gradient_norm");
  file["certificate"]["theorem"] = path["certificate"]["theorem"];
  EXPECT_FALSE(verify(resealed(file)).valid);
}

TEST(Verify, ASeededRunIsVoidHoweverItIsEdited) {
  const auto example = testing::make_example("seeded", testing::example_schema(false), 1000,
                                             {1.0, 1e-6, {}, 1, 1}, {}, {}, NoiseKind::philox);
  const json file = to_json(example.release);
  const Verification result = verify(file);
  EXPECT_FALSE(result.valid);
  EXPECT_TRUE(result.void_run);
  EXPECT_EQ(result.failures.size(), 1U) << ::testing::PrintToString(result.failures);
  support::Thinned sweep(41);
  for (const auto& at : leaves(file, "/certificate")) {
    for (const Edit& edit : edits_of(file.at(at))) {
      if (sweep.skips()) continue;
      EXPECT_FALSE(verify(resealed(edited(file, at, edit))).valid)
          << at.to_string() << " as " << edit.name;
    }
  }
}

// Random edits of the tree, fixed seed: verify never throws, and what it accepts differs from the
// original in nothing but the fields that may be weaker.
TEST(Verify, SurvivesRandomEdits) {
  std::mt19937 random(20240601);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<json> files;
  for (const auto& example : testing::examples()) files.push_back(to_json(example.release));
  const std::vector<json> values{nullptr,
                                 true,
                                 0,
                                 -1,
                                 1e308,
                                 5e-324,
                                 std::uint64_t{18446744073709551615U},
                                 "",
                                 "path",
                                 json::array(),
                                 json::object(),
                                 json::array({1}),
                                 {{"name", "x"}}};
  for (int round = 0; round < support::repeats(1000, 150); ++round) {
    const json& original = files[pick(files.size())];
    json file = original;
    for (std::size_t k = 1 + pick(3); k > 0; --k) {
      std::vector<json::json_pointer> all;
      collect_leaves(file, json::json_pointer(), all);
      json::json_pointer at = all[pick(all.size())];
      while (pick(3) == 0 && !at.parent_pointer().empty()) at = at.parent_pointer();
      if (at.empty()) break;  // the whole file is a leaf by now
      const std::size_t kind = pick(4);
      if (kind == 0) {
        file = edited(file, at, {"", {}, true});
      } else if (kind == 1) {
        file.at(at) = values[pick(values.size())];
      } else if (kind == 2) {
        file.at(at) = json(original.at(json::json_pointer(
            pick(2) == 0 ? "/certificate/constants" : "/model/preprocessing/columns")));
      } else {
        const json other = file.at(all[pick(all.size())]);
        file.at(at) = other;
      }
    }
    Verification result;
    ASSERT_NO_THROW(result = verify(file)) << file.dump();
    if (!result.valid) continue;
    for (const char* name : {"/certificate/guarantee/epsilon", "/certificate/guarantee/delta",
                             "/certificate/guarantee/mu", "/certificate/guarantee/tv",
                             "/certificate/guarantee/pure", "/certificate/guarantee/reveal"}) {
      const json::json_pointer at(name);
      file.at(at) = original.at(at);
    }
    EXPECT_EQ(file, original);
  }
  for (const json& file : values) EXPECT_FALSE(verify(file).valid);
}

TEST(ReadReleaseJson, SurvivesRandomBytesAndNamesTheFile) {
  const testing::TempDir folder;
  const std::string text = to_json(testing::examples().front().release).dump(1);
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string changed = text;
    for (int k = 0; k < 3; ++k) {
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    }
    if (round % 3 == 0) changed.resize(random() % changed.size());
    const std::string path = folder.write("model.json", changed);
    try {
      static_cast<void>(verify(read_release_json(path)));
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith(path));
    }
  }
}

TEST(ReadReleaseJson, RejectsWhatIsNoModelFile) {
  const testing::TempDir folder;
  const std::string good = to_json(testing::examples().front().release).dump();
  ASSERT_NO_THROW(read_release_json(folder.write("good.json", good)));
  const auto rejected = [&](const std::string& text, const std::string& why) {
    const std::string path = folder.write("model.json", text);
    try {
      read_release_json(path);
      ADD_FAILURE() << "accepted: " << text.substr(0, 60);
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  rejected("", "is empty");
  rejected("{", "is cut off or damaged (at line 1 of 1)");
  rejected("{\n\"a\": 1,\n", "(at line 2 of 2)");
  rejected("age,income\n39,>50K\n", "is no gibbsite model file, or its beginning is damaged");
  rejected("[]", "gibbsite-release/3");
  rejected("{\"format\": \"gibbsite-release/4\", \"model\": {}, \"certificate\": {}}",
           "gibbsite-release/3");
  rejected("{\"format\": \"gibbsite-release/1\", \"model\": {}}", "gibbsite-release/3");
  rejected(std::string(100000, '['), "nested too deeply");  // before its end is missed
  rejected(std::string(100000, '[') + std::string(100000, ']'), "nested too deeply");
  rejected(good.substr(0, good.size() - 1) + ", \"format\": \"gibbsite-release/3\"}", "twice");
  // The parser takes a NUL byte for the end of the text.
  const std::string nul(1, '\0');
  rejected(good + nul, "NUL byte at byte " + std::to_string(good.size()));
  rejected(good + "\n" + nul + good, "NUL byte");
  rejected(good + nul + "age,income\n39,>50K\n", "NUL byte");
  rejected(nul + good, "NUL byte at byte 0");
  rejected(good + good, "is cut off or damaged");
  // Digits that change no value, and no digest.
  const std::size_t number = good.find("\"row_norm\":1.5");
  ASSERT_NE(number, std::string::npos);
  rejected(std::string(good).insert(number + 14, std::string(70, '0')),
           "a number of more than 64 characters");
  EXPECT_THROW(read_release_json(folder.path()), BadInput);  // a folder
  EXPECT_THROW(read_release_json(folder.path("absent")), BadInput);
}

}  // namespace verify_test
}  // namespace gibbsite
