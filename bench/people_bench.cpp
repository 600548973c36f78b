// What counting people costs beside reading rows: CPU seconds and memory of the table of ids and of
// weights, on made-up ids.
//   bench_people [--rows 10000000] [--people 1000000]
// Rows come in a random order of people, the worst one for caches. Ids are texts of 10 characters.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <string_view>

#include "data/encoder.hpp"
#include "data/person_ids.hpp"
#include "gibbsite/data/dataset.hpp"

namespace {

using namespace gibbsite;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
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

struct Read {
  Dataset data;
  double seconds = 0;
};

// Rows of a number, a label and an id, which is ignored without `ids`.
Read read(std::uint64_t rows, std::uint64_t people, PersonIds* ids) {
  Schema schema;
  schema.label_name = "y";
  schema.label = TwoClasses{.positive = "1", .negative = "0"};
  schema.intercept = false;
  schema.columns.push_back({.name = "x", .type = ColumnType::number, .lo = 0, .hi = 1});
  schema.columns.push_back(
      {.name = "id", .type = ids != nullptr ? ColumnType::person : ColumnType::ignore});
  ReadOptions options;
  options.holds_people = true;
  options.people = ids;
  CellEncoder encoder(schema, options, nullptr, [] { return Message("made up"); });
  encoder.expect(rows);
  const Encoding &number = encoder.encodings()[0], &id = encoder.encodings()[1];
  char text[10];
  const double begin = cpu_seconds();
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::string_view cell = id_of(i, people, text);
    bytes += static_cast<unsigned char>(cell[9]);
    encoder.set(number, 0.5);
    if (ids != nullptr) encoder.set(id, cell);
    encoder.set_label(i % 2 == 0 ? 1.0 : 0.0);
    encoder.end_row();
  }
  if (bytes == 0) fmt::print("no ids\n");
  Dataset data = encoder.finish();
  return {std::move(data), cpu_seconds() - begin};
}

void measure(std::uint64_t rows, std::uint64_t people) {
  const auto each = [&](double seconds) { return 1e9 * seconds / static_cast<double>(rows); };
  const double plain = read(rows, people, nullptr).seconds;
  PersonIds ids;
  Read with = read(rows, people, &ids);
  const double placed = with.seconds - plain;
  fmt::print(
      "{} rows of {} people, beside {:.1f} s of CPU to make and read the rest of a row:\n"
      "  ids to places: {:.1f} s ({:.0f} ns a row), {:.1f} MB for the table of ids ({:.1f} bytes a "
      "person) beside {:.0f} MB of places\n",
      rows, ids.size(), plain, placed, each(placed), static_cast<double>(ids.bytes()) * 1e-6,
      static_cast<double>(ids.bytes()) / static_cast<double>(ids.size()),
      4e-6 * static_cast<double>(rows));
  const double held = peak_mb(), begin = cpu_seconds();
  with.data.hold_people(1);
  const double weighed = cpu_seconds() - begin;
  fmt::print("  weights: {:.1f} s ({:.0f} ns a row); both {:.1f} s; peak {:.0f} MB ({:+.0f})\n",
             weighed, each(weighed), placed + weighed, peak_mb(), peak_mb() - held);
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
