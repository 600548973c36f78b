#include "ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/ledger/ledger_json.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/rdp.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

double rough(const Decimal& x) { return static_cast<double>(x.wide()); }

std::string person(const Neighbors& who) {
  if (of_people(who))
    return fmt::format("{} neighbors, a person with any rows", to_string(who.adjacency));
  return fmt::format("{} neighbors, {} row{} a person", to_string(who.adjacency),
                     who.rows_per_person, who.rows_per_person == 1 ? "" : "s");
}

std::string guarantee_words(const LedgerTerms& terms) {
  return wrapped(fmt::format(
      "The guarantee is the cap's: all that is ever released through this ledger, together, is "
      "({}, {})-differentially private ({}).",
      terms.epsilon, terms.delta, person(terms.who)));
}

std::string shown_state(const std::string& path, const LedgerState& state) {
  const PrivacyCost spent = state.spent(), left = state.left(), &caps = state.terms.caps;
  std::vector<std::vector<std::string>> amounts{{"", "spent", "left", "cap"}};
  // What may be spent is rounded down; the guarantee is the epsilon and delta below.
  const auto add = [&](const char* name, Decimal PrivacyCost::*amount, double unit = 1) {
    amounts.push_back({name, text_up(rough(spent.*amount) * unit),
                       text_down(rough(left.*amount) * unit),
                       text_down(rough(caps.*amount) * unit)});
  };
  add("mu^2", &PrivacyCost::mu_squared);
  add("reveal", &PrivacyCost::delta0);
  add("tv", &PrivacyCost::tv);
  add("zCDP rho", &PrivacyCost::mu_squared, 0.5);
  std::string out =
      fmt::format("{}: {} release{} since {}\n\n{}\n{}", shown(path), state.entries.size(),
                  state.entries.size() == 1 ? "" : "s", shown(state.terms.created), table(amounts),
                  guarantee_words(state.terms));
  if (state.is_whole()) {
    out += wrapped(
        "One release took all of it: it keeps to that epsilon and delta by its own certificate, "
        "which says what holds at other ones.");
  }
  const Guarantee so_far = guarantee_of(spent, state.terms.who);
  if (const double delta = delta_up(so_far, state.terms.epsilon);
      !state.entries.empty() && !state.is_whole()) {
    out +=
        wrapped(fmt::format("What is spent so far (delta {} at that epsilon) is information and no "
                            "guarantee: releases were chosen in the light of earlier ones.",
                            text_up(delta, 2)));
  }
  if (state.entries.empty()) return out;
  std::vector<std::vector<std::string>> lines{
      {"", "time", "command", "mu", "reveal", "tv", "digest"}};
  for (const LedgerEntry& e : state.entries) {
    lines.push_back({std::to_string(e.number), e.time, e.command,
                     text_up(std::sqrt(rough(e.charge.mu_squared))),
                     text_up(rough(e.charge.delta0), 2), text_up(rough(e.charge.tv), 2),
                     e.digest.substr(0, e.digest.find(':') + 13)});
  }
  return out + "\n" + table(lines);
}

struct LedgerCommand {
  std::string path, adjacency = "replace-one", out;
  std::optional<double> epsilon, delta, rho, delta0_share, tv_share;
  std::optional<std::uint64_t> rows_per_person;
  bool people = false, json = false, force = false;

  void create() const {
    DeltaShares shares;
    shares.delta0 = delta0_share.value_or(shares.delta0);
    shares.tv = tv_share.value_or(shares.tv);
    const Ledger made = Ledger::create(
        path, epsilon ? *epsilon : epsilon_of_rho(shares), *delta,
        {adjacency_from_string(adjacency), people ? any_rows : rows_per_person.value_or(1)},
        shares);
    const LedgerState state = made.read();
    fmt::print("{}\nNext:\n  gibbsite fit --ledger {} ...\n", shown_state(path, state), path);
    warn_without_memory(made);
  }

  // That the cap of mu^2 is 2 rho, rounded down.
  [[nodiscard]] double epsilon_of_rho(const DeltaShares& shares) const {
    Budget{.delta = *delta}.validate();
    // A larger delta than the caps' own, by rounding: its epsilon is less.
    const double rest = (1 - shares.delta0 - shares.tv) * *delta * (1 + 1e-14);
    const double found = rest > 0 ? budget_epsilon_down(rho_mu_down(*rho), rest) : 0;
    if (found > 0) return found;
    throw BadInput(fmt::format(
        "--rho: allows less than --delta {} alone does; give a smaller --delta", *delta));
  }

  void show() const {
    const Ledger ledger(path);
    const LedgerState state = ledger.read();
    fmt::print("{}", json ? to_json(state).dump(2) + "\n" : shown_state(path, state));
    warn_without_memory(ledger);
  }

  void export_to() const {
    require_other_file(out, path, "the ledger");
    require_new(out, force);
    const std::string text = to_json(Ledger(path).read()).dump(2) + "\n";
    write_new(out, force,
              [&](Existing existing) { write_file_atomically(out, text, public_file, existing); });
    fmt::print("Written: {}\n", StandardOutput::named(out));
  }

  static void warn_without_memory(const Ledger& ledger) {
    if (ledger.has_memory()) return;
    fmt::print(stderr,
               "gibbsite: warning: {}: an older copy of it would not be noticed: this user has no "
               "folder to remember it in; set XDG_STATE_HOME to one that can be written to\n",
               ledger.path());
  }
};

void define_ledger(CLI::App& app) {
  const auto command = std::make_shared<LedgerCommand>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* purpose) {
    CLI::App* sub = app.add_subcommand(name, purpose);
    sub->add_option("ledger", command->path, "the ledger's file")->type_name("FILE")->required();
    return sub;
  };
  CLI::App* create = add("create", "Make one; its caps never change");
  auto* const of_all =
      add_number(*create, "--epsilon", command->epsilon, "of everything that will be released")
          ->required();
  create
      ->add_option_function<std::string>(
          "--rho",
          [command, of_all](const std::string& text) {
            command->rho = parse_number(text, "--rho");
            of_all->required(false);  // asked for after all options are read
          },
          "in place of --epsilon: zCDP of everything that will be released")
      ->type_name("NUMBER")
      ->excludes(of_all);
  add_number(*create, "--delta", command->delta, "of everything that will be released")->required();
  create
      ->add_option("--adjacency", command->adjacency,
                   "replace-one (default) or add-remove: which releases it takes")
      ->type_name("NAME");
  add_count(*create, "--rows-per-person", command->rows_per_person,
            "rows that one person may have: which releases it takes");
  create
      ->add_flag(
          "--people", command->people,
          "count people, whatever rows they have: it takes fits with a column of people alone")
      ->excludes("--rows-per-person");
  add_number(*create, "--reveal-share", command->delta0_share,
             "part of delta for releases with a delta of their own (default 0.05)");
  add_number(*create, "--tv-share", command->tv_share,
             "part of delta for gaps of total variation (default 0.05)");
  create->callback([command] { command->create(); });

  CLI::App* show = add("show", "Cap, spent, left, and every release");
  show->add_flag("--json", command->json, "what export writes");
  show->callback([command] { command->show(); });

  CLI::App* write = add("export", "Write it as JSON, to be shown to others");
  add_output(*write, "--out", command->out, "the JSON file; - is standard output")->required();
  add_force(*write, command->force);
  write->callback([command] { command->export_to(); });
}

const Register ledger_command{{7, "ledger", "Keep account of all releases about the same people",
                               "gibbsite ledger create people.ledger --epsilon 2 --delta 1e-6",
                               define_ledger}};

}  // namespace

std::string entered_line(const Ledger& ledger) {
  try {
    const LedgerState state = ledger.read();
    const double share = rough(state.left().mu_squared) / rough(state.terms.caps.mu_squared);
    return fmt::format("Entered: in {}, {} % of its mu^2 is left\n", ledger.path(),
                       text_down(100 * share, 3));
  } catch (const Error&) {  // the release is out: that the ledger is locked now is no failure
    return fmt::format("Entered: in {}\n", ledger.path());
  }
}

void write_entered(const std::string& out, bool force, const std::optional<Ledger>& ledger,
                   const std::function<void(Existing)>& write, const std::string& and_then) {
  try {
    write_new(out, force, write);
  } catch (const Error&) {
    if (ledger) {
      fmt::print(stderr,
                 "gibbsite: warning: --ledger: {} holds this release though it was not written: "
                 "its budget is spent{}\n",
                 ledger->path(), and_then);
    }
    throw;
  }
}

void require_not_of_ledger(const std::string& out, const std::string& ledger, const char* option) {
  require_other_file(out, ledger, "--ledger", option);
  // A file of that name would be taken for the ledger's journal, and removed.
  namespace fs = std::filesystem;
  const auto whole = [](const std::string& path) {
    std::error_code ignored;
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored).string();
  };
  for (const char* const suffix : {"-journal", "-wal", "-shm"}) {
    if (out.empty() || (whole(out) != whole(ledger) + suffix)) continue;
    throw BadInput(
        fmt::format("{}: {} is the name of the journal of --ledger; give another", option, out));
  }
}

}  // namespace gibbsite::cli
