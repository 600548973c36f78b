#pragma once
// Events of a network's columns as people write them, such as "age >= 40": of questions, and of
// rules that everybody knows.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// Reads a text front to back. Names may hold any sign, so they are looked for, not cut out.
class EventReader {
 public:
  /// `what` is what messages begin with, `form` what they end with where the form is another.
  /// Events end before one of the signs `ends`, or with the text where that is empty.
  EventReader(const Schema& columns, std::string_view text, std::string what, std::string form,
              std::string_view ends);

  /// Throws BadInput.
  LevelEvent event();
  /// Events with commas between them. Those of one column become one: they hold together.
  std::vector<LevelEvent> events();
  /// A column alone. Throws BadInput.
  std::uint32_t column();
  /// Goes past a word that comes next, and blanks.
  bool take(std::string_view word);
  void skip();
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_form(const std::string& what) const;

 private:
  [[noreturn]] void refuse_unknown(const std::string& column) const;
  [[nodiscard]] std::string piece(std::string_view ends) const;
  template <class Follows>
  std::optional<std::uint32_t> name(const std::vector<std::string>& names, const Follows& follows);
  std::uint32_t level(std::uint32_t column, const std::vector<std::string>& levels,
                      std::string_view ends);
  [[nodiscard]] std::optional<std::uint32_t> bin_of_number(std::uint32_t column,
                                                           const std::string& text) const;
  std::vector<std::uint32_t> compared(std::uint32_t column, std::string_view sign);

  const Schema& columns_;
  std::string what_, form_;
  std::string_view ends_, rest_;
  std::vector<std::string> names_;
};

/// How many multiples of 10^-decimals lie below x, from 0 on and negative below it: cells of a
/// column with `decimals` are those. With x itself, if it is one, where `with_x`.
double cells_below(const Column& column, double x, bool with_x);
/// The first of these names, and how many there are.
std::string listed_names(const std::vector<std::string>& names);
/// Adds an event: one of a column that is there already holds together with it.
void add_event(LevelEvent event, std::vector<LevelEvent>& to);

}  // namespace gibbsite
