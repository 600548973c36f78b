#pragma once
// Options that several sub-commands share.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/file.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "gibbsite/run/request_text.hpp"
#include "gibbsite/speed/speed.hpp"

namespace gibbsite::cli {

/// For how long `fit` measures a step before it samples; some steps are longer.
inline constexpr double fit_measured_seconds = 0.1;

/// "--epsilon, --delta: are missing; give them, such as --epsilon 1 --delta 1e-6" of the names of
/// options, or of files that stand alone. `command` tells what a file of --out is called.
std::string missing_words(std::span<const std::string> names, const std::string& command = "");
/// Throws BadInput with missing_words if one of the options is not given.
void require_given(std::span<const std::pair<const char*, bool>> options);

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& help);
/// Numbers with commas between.
CLI::Option* add_numbers(CLI::App& app, const std::string& name, std::vector<double>& values,
                         const std::string& help);
CLI::Option* add_numbers(CLI::App& app, const std::string& name,
                         std::optional<std::vector<double>>& values, const std::string& help);
CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                       const std::string& help, std::uint64_t least = 1);

/// Throws BadInput when `out`, the file of `option`, is the same file as `input`, that of `name`,
/// which it would replace, or is or would be a part of that table.
void require_other_file(const std::string& out, const std::string& input, const std::string& name,
                        const char* option = "--out");
/// Throws BadInput when that file cannot be written: said before the long work, not after it.
void require_writable(const std::string& path, const char* option);

CLI::Option* add_force(CLI::App& app, bool& force);
/// --quiet and --progress, one of them.
void add_progress(CLI::App& app, bool& quiet, bool& progress, const std::string& help_of_quiet);
/// Throws BadInput when `out` is a file or a link to one and may not be replaced; a device or a
/// pipe may always be written to.
void require_new(const std::string& out, bool force, const char* option = "--out");
/// Writes by `write`, which keeps what has come since require_new; throws as above where something
/// has.
void write_new(const std::string& out, bool force, const std::function<void(Existing)>& write,
               const char* option = "--out");

/// Where rows come from.
struct TableArguments {
  std::string data, labels;

  void add_to(CLI::App& app, bool required);
  /// Reads it with those options (label_path and the stop flag are filled in here).
  [[nodiscard]] Dataset read(const Schema& schema, ReadOptions options) const;
  /// The rows of this rank, and how many all have; of one process all of them.
  struct Share {
    Dataset data;
    std::uint64_t rows = 0;
  };
  [[nodiscard]] Share read_share(const Schema& schema, ReadOptions options) const;

 private:
  void complete(ReadOptions& options) const;
};

/// What a plan counts of a table that was just read: its rows, or its people, who are then held to
/// so many rows each, over all ranks, which all call it together.
std::uint64_t counted(TableArguments::Share& share, std::uint64_t rows_per_person);

/// A request as options fill it in.
struct PlanArguments : PlanRequest {
  /// `budget_needed`: whether a command makes sense without --epsilon and --delta. `epsilons`:
  /// where several may be given, with commas between; `epsilon` is not filled in then.
  void add_to(CLI::App& app, bool budget_needed = true, std::vector<double>* epsilons = nullptr);
  /// The parts of it that every release has: --epsilon and --delta, and who is protected.
  void add_budget_to(CLI::App& app, bool needed, std::vector<double>* epsilons = nullptr);
  void add_neighbors_to(CLI::App& app);
  /// Adds --positive-share to commands that say what a plan is expected to learn.
  void add_positive_share_to(CLI::App& app);
  [[nodiscard]] Budget budget() const { return budget_of(*this); }
  /// The wishes of a command that takes linear models alone; throws BadInput on another one.
  [[nodiscard]] PlanOptions plan_options() const;
};

/// A table and its schema, or the public shape itself.
struct ShapeArguments {
  TableArguments table;
  std::string schema;
  std::optional<std::uint64_t> rows, features, classes;
  std::optional<double> row_norm;
  bool intercept = false;

  void add_to(CLI::App& app);
  /// Whether it is a table. Throws BadInput when it is neither, both or half of one; under
  /// --rows-cap the shape needs no --rows.
  [[nodiscard]] bool of_table(const PlanArguments& plan) const;
  /// The space of a shape that is no table, for a loss of that name.
  [[nodiscard]] FeatureSpace space(const std::string& model) const;
};

}  // namespace gibbsite::cli
