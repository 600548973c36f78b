#pragma once
// What noise and ridge cost the mean loss of a released minimizer, on average, whatever the table
// (docs/theory/output.md, "What the noise costs").
#include <optional>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The mean loss of one draw over the table's n rows is on average at most noise + ridge B^2 above
/// that of any coefficients at a distance of at most B from the center.
struct ExcessLoss {
  double noise = 0;
  double ridge = 0;  ///< per squared length of encoded coefficients
};

/// The bound for output, output-pure, objective and objective-pure where n is public: none for
/// other mechanisms, under add/remove, of weighted rows and of people. Rounded up. Throws BadInput
/// on settings out of range.
std::optional<ExcessLoss> excess_loss_up(const Mechanism& mechanism, const Problem& problem,
                                         const Neighbors& who);

}  // namespace gibbsite
