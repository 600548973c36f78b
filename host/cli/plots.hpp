#pragma once
// Trace and rank plots of chains as SVG, by hand: nothing to install. Readable on white and on
// dark.
#include <span>
#include <string>
#include <vector>

#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite::cli {

/// One row for each of `parameters`: on the left the draws of each chain in their order, on the
/// right how often each chain's draws have which ranks among all (Vehtari et al. 2021, 4.1 and
/// figure 1), with the band that holds all bars of a row with a probability of at least 95 % when
/// chains agree and draws are independent (hypergeometric variance, Bonferroni). At most 8 chains
/// are drawn: those with the most uneven ranks. `names` and `summaries` are those of all parameters
/// [d]. `mark` stands right below the title. XML.
std::string chain_plots(const std::string& title, const std::string& mark, const Draws& draws,
                        std::span<const std::size_t> parameters,
                        const std::vector<std::string>& names,
                        const std::vector<Summary>& summaries);

}  // namespace gibbsite::cli
