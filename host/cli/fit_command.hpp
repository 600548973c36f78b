#pragma once
// What `fit` was asked for. fit.cpp fits a model of rows; fit_network.cpp and fit_family.cpp what
// takes no engine.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bought_schema.hpp"
#include "family.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/speed/speed.hpp"
#include "network.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace gibbsite::cli {

/// Throws BadInput.
ReadOptions::Cache cache_from_string(const std::string& name);

struct FitCommand {
  TableArguments table;
  PlanArguments plan;
  std::string schema, out, backend = "auto", design = "auto", checkpoint, cache = "auto",
                           ledger_path, release_counts;
  std::optional<std::uint64_t> seed;
  // What a schema is bought with, or comes from a public table with, in place of `schema`.
  LabelArguments label;
  std::string public_table;
  std::optional<double> schema_share, public_weight;
  bool quiet = false, progress = false, verbose = false, removes_cache = false, force = false;
  bool release_moments = false, all_effects = false, check = false;
  FamilyArguments family;
  // The columns of the cross table of `table`, which is released as a network. Else none.
  std::vector<std::string> columns;
  // Called with a network that was written, in place of words on it.
  std::function<void(const NetworkRelease&)> told;

  // Options that `fit` and `table` share, in the order of their help.
  void add_input(CLI::App& app, bool needed);
  void add_run(CLI::App& app);

  // What reading changed: how many warnings were printed, and a private report of every change.
  struct Checked {
    std::size_t warnings = 0;
    bool changed = false;
    std::string report = {};
  };

  void say(const std::string& text) const;
  // What --check ends with, said even with --quiet.
  void say_checked(const std::string& plan, const Checked& of) const;
  void run() const;
  // Whether there was a cache, at any rank: one after the other, as some may share a disk.
  [[nodiscard]] bool remove_all() const;
  [[nodiscard]] Checked checked(const Dataset& data, std::uint64_t rows) const;
  // The private report goes to stderr, behind all that may be published; of a table that reads as
  // it is written only if it is asked for.
  void tell_private(const Checked& of) const;
  // What ranks have mapped stays readable, and a rank that is ended from outside removes nothing
  // more. Where the file system does not let it go yet, CacheRemoval tries again.
  void remove_early() const;
  void fit() const;
  // Refuses --public-weight where nothing has such a weight.
  void require_public_of_model() const;
  // What several ranks cannot do, or would do several times.
  void require_of_ranks() const;
  // What every fit asks before it reads a row.
  void prepare() const;
  void require_places() const;
  [[nodiscard]] std::optional<Ledger> opened_ledger() const;
  void write_entered(const std::optional<Ledger>& ledger,
                     const std::function<void(Existing)>& write) const;
  [[nodiscard]] Key key() const { return seed ? Key::from_seed(*seed) : Key::from_os(); }
  // Refuses an engine for models that take none.
  void require_no_engine() const;
  static void warn_of_no_intervals();
  void fit_network_model() const;
  // Without a schema: what such a fit does not take, and the fit. A network has no label.
  void require_of_bought() const;
  // The schema: a file's, or what follows from a public table, which is told.
  [[nodiscard]] Schema given_schema() const;
  void fit_bought() const;
  // Writes it, and says what it is.
  void say_network(const NetworkRelease& release, const std::optional<Ledger>& ledger,
                   const std::string& before = {}) const;
  void fit_family_model(Family kind) const;
  void fit_covariance_model() const;
  // As the network of these two columns that it is.
  void fit_transitions() const;
  void say_family(const FamilyRelease& release, const std::optional<Ledger>& ledger,
                  const std::string& before = {}) const;
  // What the plan is made of, timed on the table itself.
  [[nodiscard]] static WorkTime measured_work(const Dataset& data, const Plan& made,
                                              Backend& engine_maker);
  // This rank's rows, and how many all have.
  [[nodiscard]] TableArguments::Share read(const Schema& domain, bool one_column = false) const;
  // How a run is watched: its bar, its ledger, and interrupts.
  [[nodiscard]] static FitOptions watched(Progress& bar, const std::optional<Ledger>& ledger);
  [[nodiscard]] Release fit_plan(const Model& model, const Dataset& data, const Plan& made,
                                 Backend& engine_maker, const std::optional<Ledger>& ledger,
                                 std::string& how) const;
  [[nodiscard]] double interval() const { return progress ? 1 : 5; }
  [[nodiscard]] std::string report(const Release& model) const;
};

}  // namespace gibbsite::cli
