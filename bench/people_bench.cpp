// What counting people costs beside reading rows: CPU seconds and memory of the table of ids and of
// weights, on made-up ids.
//   bench_people [--rows 10000000] [--people 1000000]
// Rows come in a random order of people, the worst one for caches. Ids are texts of 10 characters.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include "data/person_ids.hpp"
#include "gibbsite/data/dataset.hpp"

namespace {

using namespace gibbsite;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::uint64_t mixed(std::uint64_t v) {  // SplitMix64
  v += 0x9e3779b97f4a7c15;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

// "p000001234" of a row.
std::string_view id_of(std::uint64_t row, std::uint64_t people, char (&text)[10]) {
  std::uint64_t person = mixed(row) % people;
  text[0] = 'p';
  for (int k = 9; k > 0; --k, person /= 10) text[k] = static_cast<char>('0' + person % 10);
  return {text, sizeof text};
}

void measure(std::uint64_t rows, std::uint64_t people) {
  char text[10];
  double begin = cpu_seconds();
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < rows; ++i) bytes += person_id(id_of(i, people, text)).size();
  const double spelled = cpu_seconds() - begin;

  Dataset data;
  data.schema.columns.push_back({.name = "id", .type = ColumnType::person});
  data.schema.columns.push_back({.name = "x", .type = ColumnType::number, .lo = 0, .hi = 1});
  data.schema.intercept = false;
  data.person.reserve(rows);
  const double before = peak_mib();
  auto ids = std::make_unique<PersonIds>();
  begin = cpu_seconds();
  for (std::uint64_t i = 0; i < rows; ++i)
    data.person.push_back(ids->place(person_id(id_of(i, people, text))));
  const double placed = cpu_seconds() - begin;
  const double of_rows = 4.0 * static_cast<double>(rows) / (1 << 20);
  fmt::print(
      "{:>11} rows of {:>9} people: {:.2f} s of CPU for ids to places ({:.0f} ns a row, of which "
      "{:.0f} to make and spell an id), {:.0f} MiB for the table of ids ({:.1f} bytes a person) "
      "beside {:.0f} for places\n",
      rows, ids->size(), placed, 1e9 * placed / static_cast<double>(rows),
      1e9 * spelled / static_cast<double>(rows), peak_mib() - before - of_rows,
      (peak_mib() - before - of_rows) * (1 << 20) / static_cast<double>(ids->size()), of_rows);
  if (bytes == 0) fmt::print("no ids\n");

  ids.reset();
  // Features that hold_people does not look at: one of no memory beside 4 bytes a row.
  data.dense().resize(rows);
  const double held = peak_mib();
  begin = cpu_seconds();
  data.hold_people(1);
  fmt::print("{:>11} weights: {:.2f} s of CPU, peak {:.0f} MiB ({:+.0f})\n", rows,
             cpu_seconds() - begin, peak_mib(), peak_mib() - held);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t rows = 10'000'000, people = 1'000'000;
  for (int k = 1; k + 1 < argc; k += 2) {
    std::uint64_t& value = std::string_view(argv[k]) == "--people" ? people : rows;
    std::from_chars(argv[k + 1], argv[k + 1] + std::strlen(argv[k + 1]), value);
  }
  measure(rows, people);
}
