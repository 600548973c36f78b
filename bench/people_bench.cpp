// What counting people costs beside reading rows: seconds and memory of the table of ids and of
// weights, on made-up ids.
//   bench_people [--rows 10000000] [--people 1000000] [--threads 0]
// Rows come in a random order of people, the worst one for caches. Ids are texts of 10 characters.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "data/encoder.hpp"
#include "data/person_ids.hpp"
#include "gibbsite/data/dataset.hpp"

namespace {

using namespace gibbsite;

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds by the clock, and of CPU of all threads.
struct Seconds {
  double clock = 0, cpu = 0;
  static Seconds now() {
    return {seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
  }
  Seconds operator-(const Seconds& of) const { return {clock - of.clock, cpu - of.cpu}; }
  Seconds operator+(const Seconds& of) const { return {clock + of.clock, cpu + of.cpu}; }
  [[nodiscard]] std::string text(double rows) const {
    return fmt::format("{:.1f} s by the clock, {:.1f} of CPU ({:.0f} and {:.0f} ns a row)", clock,
                       cpu, 1e9 * clock / rows, 1e9 * cpu / rows);
  }
};

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
  Seconds seconds;
};

// Rows of a number, a label and an id, which is ignored without `ids`.
Read read(std::uint64_t rows, std::uint64_t people, std::uint64_t threads, PersonIds* ids) {
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
  options.threads = threads;
  CellEncoder encoder(schema, options, nullptr, [] { return Message("made up"); });
  encoder.expect(rows);
  const Encoding &number = encoder.encodings()[0], &id = encoder.encodings()[1];
  char text[10];
  const Seconds begin = Seconds::now();
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
  return {std::move(data), Seconds::now() - begin};
}

void measure(std::uint64_t rows, std::uint64_t people, std::uint64_t threads) {
  const auto count = static_cast<double>(rows);
  const Seconds plain = read(rows, people, threads, nullptr).seconds;
  PersonIds ids;
  Read with = read(rows, people, threads, &ids);
  const Seconds placed = with.seconds - plain;
  fmt::print(
      "{} rows of {} people, beside {} to make and read the rest of a row:\n"
      "  ids to places: {}, {:.1f} MB for the table of ids ({:.1f} bytes a person) beside {:.0f} MB "
      "of places\n",
      rows, ids.size(), plain.text(count), placed.text(count),
      static_cast<double>(ids.bytes()) * 1e-6,
      static_cast<double>(ids.bytes()) / static_cast<double>(ids.size()), 4e-6 * count);
  const double held = peak_mb();
  const Seconds begin = Seconds::now();
  with.data.hold_people(1);
  const Seconds weighed = Seconds::now() - begin;
  fmt::print("  weights: {}\n  both: {}; peak {:.0f} MB ({:+.0f})\n", weighed.text(count),
             (placed + weighed).text(count), peak_mb(), peak_mb() - held);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t rows = 10'000'000, people = 1'000'000, threads = 0;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view name(argv[k]);
    std::uint64_t& value = name == "--people" ? people : name == "--threads" ? threads : rows;
    std::from_chars(argv[k + 1], argv[k + 1] + std::strlen(argv[k + 1]), value);
  }
  measure(rows, people, threads);
}
