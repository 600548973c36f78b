#pragma once
// `schema --epsilon`: a schema bought with privacy budget.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/run/public_schema.hpp"

namespace gibbsite::cli {

/// Columns of a bought schema that say how rows count.
struct CountingArguments {
  std::string person, weight, weight_range, exposure, exposure_range;

  void add_to(CLI::App& app, const std::string& of);
  /// The first option that was given, or null.
  [[nodiscard]] const char* said() const;
  /// Throws BadInput where a column lacks its range or a range its column, or is none.
  [[nodiscard]] CountingColumns columns() const;
};

/// The label of a bought schema, by the names of a schema's keys, and how rows count.
struct LabelArguments {
  std::string label, positive, classes, range;
  std::optional<double> tolerance;
  bool counts = false;
  std::vector<std::string> date_parts;  ///< "hired=year,month"
  CountingArguments counting;

  /// `of` stands before the help of each option but --label, whose help it gives too.
  void add_to(CLI::App& app, const std::string& of, const std::string& help);
  /// The first option beside --label that was given, or null.
  [[nodiscard]] const char* said() const;
  /// What the column holds. Throws BadInput where nothing, or two things, are said of it.
  [[nodiscard]] Label target() const;
  /// The shape of a table whose columns are these, the label apart. Throws BadInput.
  [[nodiscard]] SchemaShape shape(const std::vector<std::string>& header, const Label& target,
                                  const std::string& source) const;
};

/// A line for each column: what the schema takes it for, and what was found.
std::string bought_table(const BoughtSchema& bought, const Schema& schema);

/// Whose table a schema follows from, and that nothing protects people in it.
std::string public_words(const Schema& schema);

/// The schema of a private table's columns by a public table, neither of which is the other. Of the
/// private one the header is read, and its cells where both may be one table in two formats.
PublicSchema public_schema_of(const std::string& data, const LabelArguments& label,
                              const std::string& public_table);

/// What a fit that buys its schema would see and keep, of one budget: public numbers alone.
std::string bought_plan_words(const BoughtFitPlan& plan);

struct SchemaPurchase {
  std::optional<double> epsilon, delta;
  std::optional<std::uint64_t> rows_per_person, rows_cap;
  LabelArguments label;
  std::string out, ledger_path, public_table, adjacency;
  bool force = false;

  void add_to(CLI::App& app);
  /// Whether one is asked for. Throws BadInput if it is not and another option of it was given.
  [[nodiscard]] bool asked() const;
  /// Throws BadInput on what cannot be read or written, before anything is read.
  void require_places(const std::string& table) const;
  /// Buys the schema of the table and writes --out and its certificate beside it. `is_header`: a
  /// person says that the first line is names.
  void run(const std::string& table, bool is_header) const;

 private:
  [[nodiscard]] Budget budget() const;
  [[nodiscard]] std::vector<std::string> names_of(const std::string& table, bool is_header) const;
  void run_public(const std::string& table, const std::vector<std::string>& header) const;
};

}  // namespace gibbsite::cli
