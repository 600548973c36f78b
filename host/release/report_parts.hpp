#pragma once
// Sections of the page for others (report.cpp), each file's one or two.
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

namespace gibbsite {

inline constexpr std::size_t most_levels = 60;  // of a column's that are listed

/// What a certificate of either kind comes to.
struct ReportFacts {
  const Claims& claims;
  double guess = 100;  // percent
  std::uint64_t rows = 0;
  std::string basis;
  bool sharper = false;  // the guess is better than what the guarantee's four numbers say
};

/// The promise in words and as a bar. `words`: the certificate's (in_words).
void promise_section(Html& page, const ReportFacts& facts, const std::string& words);
/// The curve, the pairs (ε, δ) and the numbers behind them; nothing of a void model.
void parameters_section(Html& page, const ReportFacts& facts);
void unit_section(Html& page, const ReportFacts& facts);
/// `fitted`: what was fitted, a sentence.
void algorithm_section(Html& page, const ReportFacts& facts, const nlohmann::json& certificate,
                       const std::string& fitted);

/// has_label: of a model of rows. Else of a network, or of one column, whose numbers have no bins.
void dictionary_section(Html& page, const Schema& schema, bool has_label, bool has_bins = false);

void coefficients_section(Html& page, const LinearModel& model, const Certificate& certificate);
/// The table and forest plot of a model that has estimates.
void effects_part(Html& page, const LinearModel& model, std::uint64_t rows_per_person);
/// Pictures of the terms, the surest first. Whoever reads them sees released numbers alone.
void terms_part(Html& page, const LinearModel& model);
/// The estimates of a family's parameters.
void estimates_section(Html& page, const FamilyRelease& release);

/// The counts of a cross table and its margins, with intervals.
void counts_section(Html& page, const NetworkRelease& release);
/// The tables of a network. after_counts: below those that all of its tables together say.
void tables_section(Html& page, const NetworkModel& model, bool after_counts = false);

}  // namespace gibbsite
