#pragma once
// What the page for others says of a release (report.cpp), each file's part of it. What is added
// refers to the release, which outlives the page.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/schema.hpp"
#include "release/html.hpp"
#include "release/page_template.hpp"

namespace gibbsite {

inline constexpr std::size_t most_levels = 60;  // of a column's that are listed

/// What a certificate of any kind comes to.
struct ReportFacts {
  const Claims& claims;
  double guess = 100;  // percent
  std::uint64_t rows = 0;
  std::string basis;
  bool sharper = false;  // the guess is better than what the guarantee's four numbers say
};

/// What all kinds have: promise, unit, parameters, algorithm. `words`: the certificate's
/// (in_words).
void add_guarantee(PageFacts& page, const ReportFacts& facts, const nlohmann::json& certificate,
                   const std::string& words);
/// A linear model, and its effects or coefficients.
void add_coefficients(PageFacts& page, const LinearModel& model, const Certificate& certificate);
/// The table and forest plot of a model that has estimates.
void add_effects(PageFacts& page, const LinearModel& model, std::uint64_t rows_per_person);
/// The estimates of a family's parameters.
void add_estimates(PageFacts& page, const FamilyRelease& release);
/// The tables of a network.
void add_network(PageFacts& page, const NetworkRelease& release);
/// The counts of a cross table and its margins, with intervals.
void add_counts(PageFacts& page, const NetworkRelease& release);

/// What the label may hold, and what becomes of other cells.
void label_rules(Html& page, const Schema& schema);
/// has_bins: numbers are read into bins, as by a network.
void dictionary_table(Html& page, const Schema& schema, bool has_bins, const Markup& caption);
/// Pictures of the terms, the surest first. Whoever reads them sees released numbers alone.
void terms_part(Html& page, const LinearModel& model);

}  // namespace gibbsite
