#include "gibbsite/core/error.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/text.hpp"

namespace gibbsite {

namespace {

Message line_of(const Message& about, const Message& wrong, const Message& hint) {
  Message out = about;
  for (const auto& [between, part] : {std::pair{": ", &wrong}, {"; ", &hint}}) {
    if (part->empty()) continue;
    if (!out.empty()) out += between;
    out += *part;
  }
  return out;
}

[[noreturn]] void must(const Name& name, const std::string& what, double got) {
  throw BadInput(name.message(), fmt::format("must be {}, got {}", what, got), "give one");
}

}  // namespace

Error::Error(Status status, const Message& about, const Message& wrong, const Message& hint)
    : std::runtime_error(shown(line_of(about, wrong, hint).text())),
      status_(status),
      parts_(std::make_shared<Parts>(Parts{line_of(about, wrong, hint), about, wrong, hint})) {}

Message Name::message() const {
  return is_field_ ? Message(Field{std::string(text_)}) : Message(text_);
}

std::string Error::field() const {
  for (const Message::Piece& piece : about().pieces())
    if (piece.kind == Message::Kind::field) return piece.text;
  return "";
}

void require_finite_positive(double value, const Name& name) {
  if (!(std::isfinite(value) && value > 0)) must(name, "a finite number above 0", value);
}

void require_finite_nonnegative(double value, const Name& name) {
  if (!(std::isfinite(value) && value >= 0)) must(name, "a finite number, 0 or above", value);
}

void require_between(double value, double lo, double hi, const Name& name) {
  if (value > lo && value < hi) return;
  throw BadInput(name.message(),
                 fmt::format("must lie strictly between {} and {}, got {}", lo, hi, value),
                 "give one");
}

void require_at_least(double value, double lo, const Name& name) {
  if (!(value >= lo)) must(name, fmt::format("at least {}", lo), value);
}

}  // namespace gibbsite
