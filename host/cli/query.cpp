#include "gibbsite/release/query.hpp"

#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "family.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct QueryCommand {
  std::string model, utilities;
  std::vector<std::string> expectations, events;

  void run() const {
    const FamilyRelease release = read_family(model);
    const std::size_t draws = release.model().draws.size();
    if (expectations.empty() && events.empty() && utilities.empty()) {
      fmt::print("{}", family_report(release));
      return;
    }
    const auto with_error = [&](const Answer& answer) {
      return draws > 1 ? fmt::format("{:.4g} ± {:.2g}", answer.value, two_sided_95 * answer.error)
                       : fmt::format("{:.4g} (one draw)", answer.value);
    };
    for (const auto& name : expectations) {
      fmt::print("expectation of {}: {}\n", shown(name), with_error(expectation(release, name)));
    }
    for (const auto& event : events) {
      fmt::print("probability of {}: {}\n", shown(event), with_error(probability(release, event)));
    }
    if (!utilities.empty()) respond(release);
  }

 private:
  void respond(const FamilyRelease& release) const {
    const BestResponse best = best_response(release, read_utilities(utilities));
    std::vector<std::vector<std::string>> lines{{"", "response", "expected utility"}};
    for (const Response& one : best.ranked) {
      lines.push_back(
          {lines.size() == 1 ? "→" : " ", one.name, fmt::format("{:.4g}", one.utility)});
    }
    fmt::print(
        "{}worse than the best for the released posterior by at most {:.2g}, 95 % of the "
        "time, for want of more draws than {}\n",
        table(lines), best.regret, release.model().draws.size());
  }
};

void define_query(CLI::App& app) {
  const auto command = std::make_shared<QueryCommand>();
  app.add_option("--model", command->model, "file of draws that fit wrote")
      ->type_name("FILE")
      ->required();
  app.add_option("--expectation", command->expectations,
                 "average of a parameter over the draws: a level's share, or rate, time or mean")
      ->type_name("NAME");
  app.add_option("--probability", command->events,
                 "share of the draws for which it holds: 'yes > 0.3', 'rate <= 2', 'yes > no'")
      ->type_name("EVENT");
  app.add_option(
         "--utilities", command->utilities,
         "CSV response,OUTCOME,...: the best response to a new person's value; outcomes are "
         "levels, or lower ends of intervals")
      ->type_name("FILE");
  app.callback([command] { command->run(); });
}

const Register query_command{{4, "query", "Ask released draws of a family; costs no privacy",
                              "gibbsite query --model draws.json --probability 'yes > 0.3'",
                              define_query}};

}  // namespace
}  // namespace gibbsite::cli
