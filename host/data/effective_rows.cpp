#include "gibbsite/data/effective_rows.hpp"

#include <vector>

namespace gibbsite {

EffectiveRows effective_rows_of(const Dataset& data) {
  const Rows rows = data.view();
  std::vector<double> counts;
  if (data.people > 0 && data.person.size() == rows.rows) {
    counts.resize(data.people);
    for (std::size_t i = 0; i < rows.rows; ++i)
      if (data.person[i] != Dataset::nobody) counts[data.person[i]] += rows.weight_of(i);
  } else {
    for (std::size_t i = 0; i < rows.rows; ++i) counts.push_back(rows.weight_of(i));
  }
  EffectiveRows out{.units = static_cast<double>(counts.size())};
  for (const double w : counts) {
    out.sum += w;
    out.squares += w * w;
  }
  return out;
}

}  // namespace gibbsite
