#pragma once
// How many numbers a bought schema's questions have: what the model layer lists and the mechanism
// counts.
#include <cstddef>
#include <cstdint>

namespace gibbsite {

/// Which classes of cells are counted, and which rules read the counts. Files of before have the
/// first (numbers in one form, and dates that are no numbers), those that know only dates of
/// ISO 8601 and only public marks of missing cells, or those that have no more of a column with
/// one frequent number than that number.
inline constexpr std::uint64_t first_questions = 1, iso_questions = 2, lone_questions = 3,
                               newest_questions = 4;

/// Classes of a column's cells (model/bought_schema.hpp lists them).
constexpr std::uint64_t cell_classes_of(std::uint64_t questions) {
  return questions == first_questions ? 121 : questions == iso_questions ? 355 : 367;
}

/// How often a range is asked about again, and in how many bins.
inline constexpr std::size_t refinements = 2, refined_bins = 64;

}  // namespace gibbsite
