// Questions to a released file: a network, draws of a family, effects of a model.
#include "gibbsite/release/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "command.hpp"
#include "family.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/hypothesis.hpp"
#include "gibbsite/release/joint_test.hpp"
#include "gibbsite/release/network_decision.hpp"
#include "gibbsite/release/network_query.hpp"
#include "gibbsite/release/query_json.hpp"
#include "network.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct QueryCommand {
  std::string model, utilities, release_counts;
  std::vector<std::string> expectations, events, questions, effects;
  EffectClasses classes;

  bool json = false, force = false;

  void run() const {
    const std::string text = read_release_text(model);
    if (!release_counts.empty()) {
      write_counts(text);
      if (questions.empty() && events.empty()) return;
    }
    std::vector<std::string> asked = questions;
    asked.insert(asked.end(), events.begin(), events.end());
    if (!effects.empty()) {
      if (!asked.empty() || !expectations.empty() || !utilities.empty())
        throw BadInput("--effect: is asked of a model of rows, the rest of others; ask one kind");
      return ask_effects(parse_release(text, model));
    }
    if (!classes.of.empty() || !classes.against.empty())
      throw BadInput("--class: goes with --effect; give one, or leave it out");
    if (holds<GraphicalKind>(text, model)) {
      if (!expectations.empty()) {
        throw BadInput(
            fmt::format("--expectation: has no meaning with {}, which holds a network; ask it "
                        "\"P(column = level | column = level)\"",
                        model));
      }
      const NetworkRelease release = parse_release<GraphicalKind>(text, model);
      if (!utilities.empty()) return decide(release.model(), asked);
      return json ? print_json(release.model(), asked) : print(release.model(), asked);
    }
    if (holds<LinearKind>(text, model))
      throw BadInput(fmt::format(
          "--effect: is missing; {} holds a model of rows, which is asked about an effect, as in "
          "--effect \"column=level\"",
          model));
    const FamilyRelease release = parse_release<ConjugateKind>(text, model);
    if (json) throw BadInput("--json: has no meaning with draws of a family; leave it out");
    ask(release, asked);
  }

 private:
  void write_counts(const std::string& text) const {
    if (!holds<GraphicalKind>(text, model))
      throw BadInput(fmt::format("--release-counts: {} holds no network; leave it out", model));
    require_other_file(release_counts, model, "--model", "--release-counts");
    require_new(release_counts, force, "--release-counts");
    require_writable(release_counts, "--release-counts");
    const std::string lines = counts_csv(parse_release<GraphicalKind>(text, model).model());
    write_new(
        release_counts, force,
        [&](Existing existing) {
          write_file_atomically(release_counts, lines, public_file, existing);
        },
        "--release-counts");
  }
  // A text that names no column is refused for that.
  void require_class(const LinearModel& of, const std::string& effect) const {
    const Classes* const several = std::get_if<Classes>(&of.schema.label);
    if (several == nullptr || !classes.of.empty()) return;
    if (!hypothesis_of(of.schema, effect, classes).empty()) return;
    (void)parse_effect(of, effect, {.of = several->names.front(), .against = ""});
    throw BadInput("--class: is missing; name the class whose score --effect is about");
  }
  void ask_effects(const Release& release) const {
    const LinearModel& of = release.model();
    if (!of.estimates) {
      throw BadInput(fmt::format(
          "{}: has no estimates, so --effect has nothing to tell; fit with --intervals", model));
    }
    const EffectTable words = effect_table(of);
    nlohmann::json out = nlohmann::json::array();
    bool has_tests = false;
    for (const std::string& effect : effects) {
      require_class(of, effect);
      if (json) {
        out.push_back(effect_json(of, effect, classes));
        continue;
      }
      if (const auto test = ask_column(of, effect, classes)) {
        has_tests = true;
        const std::string of_class =
            classes.of.empty()
                ? ""
                : fmt::format(" for {}{}", shown(classes.of),
                              classes.against.empty() ? "" : " against " + shown(classes.against));
        fmt::print("{}, {}{}: {}\n", shown(effect), hypothesis_of(of.schema, effect, classes),
                   of_class, joint_test_text(*test));
        continue;
      }
      const EffectEstimate is = ask_effect(of, effect, classes);
      const auto ratio = [](double value) { return std::exp(value); };
      fmt::print("{}: {:+.4g}, standard error {:.2g}, 95 % interval {:+.4g} to {:+.4g}, p-value {}",
                 shown(effect), is.estimate, is.standard_error, is.lower, is.upper,
                 p_value_text(is.p_value));
      if (!words.ratio.empty()) {
        fmt::print(", {} {:.3g} ({:.3g} to {:.3g})", words.ratio, ratio(is.estimate),
                   ratio(is.lower), ratio(is.upper));
      }
      if (is.hidden) fmt::print(", hidden by noise");
      if (is.collinear) fmt::print("; {}", collinear_meaning);
      fmt::print("\n");
    }
    if (json) {
      fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    if (has_tests) fmt::print("{}", wrapped(std::string(column_test_meaning)));
    fmt::print("{}",
               wrapped(interval_meaning_of(of, release.certificate().claimed.who.rows_per_person)));
  }

  // Over draws.
  struct Asked {
    double mean = 0, low = 0, high = 0;
  };
  static Asked over_draws(const NetworkModel& of, const NetworkQuestion& question) {
    const std::vector<double> all = answer(of, question);
    const auto [low, high] = std::ranges::minmax(all);
    return {std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()), low,
            high};
  }
  static void warn_of(const NetworkModel& of, const NetworkQuestion& question) {
    for (const std::string& line : question_warnings(of, question)) warn(line);
  }
  // How far the answer of a tree may be from that of the rows, where that is known; of other
  // networks how far the noise of the column's own table takes a share, about 95 % of the time.
  static std::string noise_words(const NetworkModel& of, const NetworkQuestion& question,
                                 double probability) {
    if (of.tree) {
      const std::optional<double> reach = question_reach(of, question);
      if (!reach) return "";
      const bool joint = asked_columns(of.network, question).size() > 2;
      return fmt::format(" ± {}{}", text_up(*reach, 2),
                         joint ? ", what is known of pairs allows" : "");
    }
    const std::optional<double> noise = question_noise(of, question);
    if (!noise) return "";
    return fmt::format(" ± {} by privacy's noise{}", text_up(two_sided_95 * *noise, 2),
                       probability > 2 * *noise ? "" : ", for which it is small");
  }
  static void print(const NetworkModel& of, const std::vector<std::string>& asked) {
    fmt::print("{}", weighted_words(of.schema));
    if (asked.empty()) {
      fmt::print("{}", network_report(of));
      return;
    }
    for (const std::string& question : asked) {
      const NetworkQuestion parsed = parse_question(of, question);
      warn_of(of, parsed);
      const Asked one = over_draws(of, parsed);
      fmt::print("{} = {:.4g}{}{}\n", shown(question), one.mean, noise_words(of, parsed, one.mean),
                 of.tables.size() == 1 ? ""
                                       : fmt::format(" (from {:.4g} to {:.4g} over {} draws)",
                                                     one.low, one.high, of.tables.size()));
    }
  }
  static void print_json(const NetworkModel& of, const std::vector<std::string>& asked) {
    nlohmann::json out = nlohmann::json::array();
    for (const std::string& question : asked) {
      const NetworkQuestion parsed = parse_question(of, question);
      warn_of(of, parsed);
      out.push_back(question_json(of, parsed));
    }
    if (asked.empty()) {
      const std::vector<std::string> names = of.names();
      for (std::size_t k = 0; k < names.size(); ++k) {
        std::vector<std::string> parents;
        for (const std::uint32_t parent : of.network.parents[k]) parents.push_back(names[parent]);
        out.push_back({{"column", names[k]},
                       {"levels", of.level_names(k)},
                       {"parents", parents},
                       {"cells", of.network.cells(k)}});
        if (!of.noise.empty()) out.back()["noise"] = of.noise[k];
      }
    }
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  void decide(const NetworkModel& of, const std::vector<std::string>& asked) const {
    if (json) throw BadInput("--json: has no meaning with --utilities; leave it out");
    if (asked.empty()) {
      throw BadInput(
          "--utilities: of a network needs the column of its outcomes; ask \"P(column)\" or "
          "\"P(column | column = level)\"");
    }
    const UtilityTable table_of = read_utilities(utilities);
    for (const std::string& question : asked) {
      const NetworkQuestion parsed = parse_outcome(of, question);
      warn_of(of, parsed);
      const NetworkDecision best = best_response(of, parsed, table_of);
      fmt::print("{}\n{}{}\n", shown(question), response_table(best.ranked), certainty_of(best));
    }
  }
  static std::string response_table(const std::vector<Response>& ranked) {
    std::vector<std::vector<std::string>> lines{{"", "response", "expected utility", "behind"}};
    for (const Response& one : ranked) {
      const bool first = lines.size() == 1;
      lines.push_back({first ? "→" : " ", one.name, fmt::format("{:.4g}", one.utility),
                       first ? "" : fmt::format("{:.4g}", ranked.front().utility - one.utility)});
    }
    return table(lines);
  }
  static std::string certainty_of(const NetworkDecision& best) {
    if (!best.regret)
      return "whether the table's own shares turn it is not known: this question has no ±";
    if (best.rival.empty()) {
      return "what is not known does not turn it: it is the best wherever the table's own shares are "
             "within their ± (each is in 95 of 100 releases)";
    }
    return fmt::format(
        "what is not known may turn it: where the table's own shares are within their ± (each is in 95 of "
        "100 releases), {} may be better, by at most {}",
        shown(best.rival), text_up(*best.regret, 2));
  }

  void ask(const FamilyRelease& release, const std::vector<std::string>& asked) const {
    const std::size_t draws = release.model().draws.size();
    if (expectations.empty() && asked.empty() && utilities.empty()) {
      fmt::print("{}", family_report(release));
      return;
    }
    const bool trimmed = release.certificate().problem.trim.has_value();
    const auto with_error = [&](const Answer& answer) {
      if (answer.error > 0) {
        return fmt::format("{:.4g} ± {:.2g}", answer.value, two_sided_95 * answer.error);
      }
      return fmt::format("{:.4g}{}", answer.value, trimmed && draws == 1 ? " (one draw)" : "");
    };
    for (const auto& name : expectations) {
      fmt::print("expectation of {}: {}\n", shown(name), with_error(expectation(release, name)));
    }
    for (const auto& event : asked) {
      fmt::print("probability of {}: {}\n", shown(event), with_error(probability(release, event)));
    }
    if (!utilities.empty()) respond(release);
    if (const std::string missing = missing_meaning(release); !missing.empty())
      fmt::print("{}", wrapped(missing));
    if (trimmed && (!expectations.empty() || !asked.empty()))
      fmt::print(
          "{}",
          wrapped(fmt::format(
              "of the released posterior, whose draws are cut to the bounds of --trim; ± is for "
              "the number of draws alone. What is known of the people, with 95 % intervals: "
              "gibbsite query --model {}",
              model)));
  }

  void respond(const FamilyRelease& release) const {
    const BestResponse best = best_response(release, read_utilities(utilities));
    fmt::print("{}", response_table(best.ranked));
    if (best.regret) {
      fmt::print(
          "worse than the best for the released posterior by at most {:.2g}, 95 % of the time, for "
          "want of more draws than {}\n",
          *best.regret, release.model().draws.size());
    }
  }
};

void define_query(CLI::App& app) {
  const auto command = std::make_shared<QueryCommand>();
  app.add_option("--model", command->model, "model, network or draws of a family that fit wrote")
      ->type_name("FILE")
      ->required();
  app.add_option(
         "--expectation", command->expectations,
         "a parameter: a level's share, or rate, time or mean; of trimmed draws their average")
      ->type_name("NAME");
  app.add_option("--probability", command->events,
                 "how probable it is: 'yes > 0.3', 'rate <= 2', 'yes > no'; of a network "
                 "'P(income = >50K | sex = Female, age >= 40)'")
      ->type_name("EVENT")
      ->allow_extra_args(false);
  app.add_option("--effect", command->effects,
                 "of a model fitted with --intervals: a linear combination of columns and levels, "
                 "such as 'age*10 - sex=Male', with its interval, p-value and odds ratio; or a "
                 "whole column, such as education: a test of all of its levels")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_option("--class", command->classes.of,
                 "with --effect, of several classes: the class whose score is asked about")
      ->type_name("NAME");
  app.add_option("--against", command->classes.against,
                 "with --class: the class it is set against; default: the mean of all")
      ->type_name("NAME");
  app.add_option(
         "--utilities", command->utilities,
         "CSV response,OUTCOME,...: the best response to a new person's value; outcomes are "
         "levels, or lower ends of intervals; of a network ask \"P(column | column = level)\"")
      ->type_name("FILE");
  app.add_option("questions", command->questions, "the same without the option; any number")
      ->type_name("EVENT");
  add_output(app, "--release-counts", command->release_counts,
             "of a network: write its noisy counts with their deviations, as CSV");
  add_force(app, command->force);
  app.add_flag("--json", command->json, "of a network, or with --effect: print JSON");
  app.callback([command] { command->run(); });
}

const Register query_command{
    {4, "query", "Ask a released model, network, or draws of a family; costs no privacy",
     "gibbsite query --model network.json 'P(income = >50K | sex = Female)'", define_query}};

}  // namespace
}  // namespace gibbsite::cli
