#pragma once
// What `sample` shows of a run: a file, a table and lines for people, JSON for programs.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gibbsite/posterior/diagnostics.hpp"
#include "gibbsite/posterior/draws_file.hpp"
#include "gibbsite/posterior/posterior.hpp"

namespace gibbsite::cli {

/// Probabilities of the summaries' quantiles, in this order.
inline constexpr double shown_quantiles[] = {0.05, 0.5, 0.95};

/// A run, its parameters [d] and the folder of its draws; lives no longer than what it refers to.
struct SampleReport {
  const PosteriorDraws& drawn;
  const DrawsFacts& facts;
  const std::vector<std::string>& features;  ///< as the schema names them
  const std::vector<std::string>& columns;   ///< as the files of draws do
  const std::vector<Summary>& summaries;
  const std::string& out;
  const std::vector<double>& mode;  ///< [d], or none where it was not asked for

  /// A line for each parameter.
  [[nodiscard]] std::string csv() const;
  /// The table of the first 20 in `order`, or of all in their own.
  [[nodiscard]] std::string table(std::vector<std::size_t> order) const;
  /// How it went and how fast.
  [[nodiscard]] std::string speed() const;
  /// What was written and how to read it.
  [[nodiscard]] std::string reading(const std::vector<std::string>& files) const;
  /// `text` is the verdict's.
  [[nodiscard]] nlohmann::json json(bool usable, const std::string& text,
                                    const std::vector<std::string>& files) const;

 private:
  [[nodiscard]] double least_bulk() const;
  [[nodiscard]] double transitions() const;
  [[nodiscard]] double gradients() const;
  [[nodiscard]] double acceptance() const;
  [[nodiscard]] bool is_controlled() const { return !drawn.controlled_mean.empty(); }
};

}  // namespace gibbsite::cli
