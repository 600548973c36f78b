#pragma once
// `evaluate --epsilon`: figures that may be published.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "options.hpp"

namespace gibbsite::cli {

struct ReleasedEvaluation {
  std::optional<double> epsilon, delta;
  std::optional<std::uint64_t> bins, rows_cap, rows_per_person;
  std::string out, adjacency, ledger_path;

  void add_to(CLI::App& app);
  /// Whether one is asked for. Throws BadInput where it is not and another option of it was given.
  [[nodiscard]] bool asked() const;
  /// Evaluates the model of that text, read from the file `model`, on the table, and writes --out.
  void run(const std::string& text, const std::string& model, const TableArguments& table,
           std::optional<double> threshold, bool force, bool json) const;
};

}  // namespace gibbsite::cli
