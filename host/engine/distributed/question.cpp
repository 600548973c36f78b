#include "engine/distributed/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/distributed/questions.hpp"
#include "engine/remote/wire.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::distributed {
namespace {

[[noreturn]] void refuse() {
  throw BadInput("shares: the question is not one of these rows; run the same gibbsite everywhere");
}

}  // namespace

Question Question::row(std::size_t c) const {
  Question out{of, 1, number, {}, second, own, agreed, of_second};
  const std::size_t size = first.size() / rows;
  const auto begin = first.begin() + static_cast<std::ptrdiff_t>(c * size);
  out.first.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
  return out;
}

sharded::Mark Question::mark() const {
  sharded::Mark out(rows << 1 | std::uint64_t{agreed});
  for (const char v : of->name) out.add(static_cast<std::uint64_t>(v));
  out.add(number);
  out.add(std::uint64_t{first.size()});
  out.add(std::span<const double>(first));
  out.add((of_second ? *of_second : mark_of_second()).value());
  return out;
}
sharded::Mark Question::mark_of_second() const {
  sharded::Mark out(second.size());
  out.add(std::span<const double>(second));
  return out;
}

std::string Question::bytes() const {
  return remote::Writer()
      .add_all(of->name)
      .add(rows)
      .add(number)
      .add_all(first)
      .add_all(second)
      .take();
}

Question Question::parse(std::string_view bytes) {
  Question q;
  std::string name;
  remote::Reader(bytes)
      .get_all(name)
      .get(q.rows)
      .get(q.number)
      .get_all(q.first)
      .get_all(q.second)
      .end();
  const auto found =
      std::ranges::find_if(known(), [&](const Declared* of) { return of->name == name; });
  if (found == known().end()) refuse();
  q.of = *found;
  return q;
}

std::vector<const Declared*>& known() {
  static std::vector<const Declared*> all(all_questions.begin(), all_questions.end());
  return all;
}

void require_asked(const RowSums& rows, const Question& q) {
  if (!q.of->fits(rows, q)) refuse();
}
void require_asked(const RowSums& rows, const Question& q, std::size_t size) {
  require_asked(rows, q);
  if (q.of->size(rows, q) != size) refuse();
}

void add_share(Added added, std::span<const double> of_share, std::span<double> out) {
  if (added == Added::first) {
    if (of_share[0] != 0 && (out[0] == 0 || of_share[0] < out[0]))
      std::ranges::copy(of_share, out.begin());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isnan(out[i])) continue;
    if (std::isnan(of_share[i]) || of_share[i] > out[i]) out[i] = of_share[i];
  }
}

}  // namespace gibbsite::distributed
