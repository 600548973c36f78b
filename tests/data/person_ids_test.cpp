// Ids and their places: the table of hashes, people looked up many at a time, and readers that wait
// for so many; ids whose spelling is plain beside those that are spelled step by step.
#include "data/person_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace person_ids_test {

using test::expect_bad_input;
using testing::arrow_numbers;
using testing::arrow_text;
using testing::ArrowTable;
using Places = std::vector<std::uint32_t>;

/// Places in the order in which hashes come, by a table that is not the one to be tested.
class OfOneAfterAnother {
 public:
  std::uint32_t place(const PersonIds::Hash& hash) {
    return places_.emplace(hash, static_cast<std::uint32_t>(places_.size())).first->second;
  }

 private:
  std::map<PersonIds::Hash, std::uint32_t> places_;
};

// Blocks of every size, with new people twice in one, slots that grow within one, and hashes that
// meet as they are cut. 100,000 people are more than 2 bytes of a place hold.
TEST(PersonIds, ArePlacedManyAtATimeAsOneAfterAnother) {
  const PersonIds::Key key{7, 1};
  for (const unsigned bits : {128U, 72U, 60U, 14U, 10U, 3U, 0U}) {
    SCOPED_TRACE(bits);
    PersonIds many(key, bits), one(key, bits);
    OfOneAfterAnother expected;
    std::mt19937_64 random(bits);
    const std::uint64_t people = bits < 20 ? 20'000 : 100'000;
    std::uint64_t next = 0;
    for (int turn = 0; next < people; ++turn) {
      constexpr std::array<std::size_t, 8> sizes{0, 1, 63, 64, 65, 128, 1000, 3};
      std::vector<PersonIds::Hash> hashes;
      Places wanted;
      for (std::size_t i = 0; i < sizes[static_cast<std::size_t>(turn) % sizes.size()]; ++i) {
        // New people, the one before, or any.
        const std::uint64_t choice = random() % 4;
        const std::uint64_t who = choice < 2 || next == 0 ? next++
                                  : choice == 2           ? next - 1
                                                          : random() % next;
        const std::string id = fmt::format("{}", who);
        hashes.push_back(many.hash_of(id));
        wanted.push_back(expected.place(hashes.back()));
        if (turn % 3 == 0) {
          ASSERT_EQ(one.place(id), wanted.back());
        }
      }
      if (turn % 3 != 0) {
        Places out(hashes.size());
        one.places(hashes, out);
        ASSERT_EQ(out, wanted);
      }
      Places out(hashes.size());
      many.places(hashes, out);
      ASSERT_EQ(out, wanted);
      ASSERT_EQ(one.size(), many.size());
    }
    if (bits == 128) {
      ASSERT_EQ(many.size(), next);
    }
    for (std::uint64_t who = 0; who < next; ++who) {
      const PersonIds::Hash hash = many.hash_of(fmt::format("{}", who));
      const std::uint32_t place = many.place(hash);
      ASSERT_EQ(place, expected.place(hash));
      ASSERT_EQ(many.hash(place), hash);
      ASSERT_EQ(many.second_half(place), hash[1]);
    }
  }
}

// Every bit of a hash tells people apart, in a slot's byte or behind it.
TEST(PersonIds, AreToldApartByEveryBit) {
  PersonIds ids;
  const PersonIds::Hash base = ids.hash_of("a");
  ASSERT_EQ(ids.place(base), 0U);
  for (unsigned bit = 0; bit < 128; ++bit) {
    PersonIds::Hash other = base;
    other[bit / 64] ^= std::uint64_t{1} << bit % 64;
    ASSERT_EQ(ids.place(other), bit + 1) << bit;
    ASSERT_EQ(ids.hash(bit + 1), other);
  }
  // Hashes of the ends, which are slots of the ends: an empty slot is all ones too.
  for (const std::uint64_t end : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    const std::uint32_t next = static_cast<std::uint32_t>(ids.size());
    ASSERT_EQ(ids.place(PersonIds::Hash{end, end}), next);
    ASSERT_EQ(ids.place(PersonIds::Hash{end, end}), next);
  }
}

TEST(PersonIds, TakeTwentyOneBytesOfMemory) {
  PersonIds ids;
  std::mt19937_64 random(1);
  const double page = 0x1p21;
  for (std::uint32_t place = 0; place < 1'500'000; ++place) {
    ASSERT_EQ(ids.place(PersonIds::Hash{random(), random()}), place);
    // To a page each of slots and of records.
    if (place % 1000 == 0) {
      ASSERT_LE(static_cast<double>(ids.bytes()), 21.0 * place + 2 * page);
    }
  }
}

// A blank behind a text is none of its id, and no text with one is plain.
TEST(PersonIds, ArePlainAsIfSpelledStepByStep) {
  constexpr std::array<std::string_view, 40> parts{
      "0",   "0",        "1",    "7",     "9",        "00",   ".",    ",",
      "'",   "_",        "-",    "+",     "e",        "E",    "a",    "z",
      "A",   "Z",        "p000", "x",     "i",        "n",    "In",   "inf",
      "nan", "infinity", "true", "False", "INFINITY", "NaN",  " ",    "t",
      "f",   "/",        "\xE9", "é",     "~",        "\x7f", "1234", "123e4567-e89b-12d3-"};
  const std::array<NumberText, 3> written{NumberText{}, NumberText{.decimal = ',', .thousands = {}},
                                          NumberText{.decimal = '.', .thousands = {",", "'", " "}}};
  std::mt19937_64 random(3);
  std::size_t plain = 0;
  std::string room;
  const auto check = [&](const std::string& text) {
    for (const NumberText& numbers : written) {
      room = "untouched";
      const std::string_view id = person_id(text, numbers, room);
      ASSERT_EQ(id, person_id(text + " ", numbers)) << text;
      ASSERT_EQ(id, person_id(text, numbers)) << text;
      plain += room == "untouched" ? 1U : 0U;
    }
  };
  for (int i = 0; i < 60'000; ++i) {
    std::string text;
    for (std::uint64_t k = random() % 6; k > 0; --k) text += parts[random() % parts.size()];
    check(text);
  }
  for (const char* const text : {"inf",
                                 "Inf",
                                 "INFINITY",
                                 "infinity",
                                 "nan",
                                 "NaN",
                                 "true",
                                 "TRUE",
                                 "False",
                                 "infinit",
                                 "infinityy",
                                 "truely",
                                 "f",
                                 "N",
                                 "0",
                                 "000",
                                 "007",
                                 "123e4567-e89b-12d3-a456-426614174000",
                                 "a23e4567-e89b-12d3-a456-426614174000",
                                 "A23E4567-E89B-12D3-A456-426614174000",
                                 ""})
    check(text);
  EXPECT_GT(plain, 30'000U);  // so both ways were compared
}

class PeopleInBlocks : public test::DataTest {
 public:
  static Schema schema() {
    return parse_schema(
        "label = 'y'\npositive = '1'\nnegative = '0'\ninvalid = 'middle'\n\n[columns]\n"
        "x = {type = 'number', range = [0, 1]}\nid = {type = 'person'}\n",
        "s.toml");
  }
  static ReadOptions holding() {
    ReadOptions out;
    out.holds_people = true;
    return out;
  }
  /// Ids of rows, some of nobody.
  static std::vector<std::optional<std::string>> ids(std::size_t rows, std::uint64_t people) {
    std::mt19937_64 random(rows);
    std::vector<std::optional<std::string>> out;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::uint64_t who = random() % people;
      if (random() % 9 == 0)
        out.emplace_back();
      else
        out.emplace_back(fmt::format("{}{}", who % 3 == 0 ? "é" : who % 3 == 1 ? "0" : "p", who));
    }
    return out;
  }
  static Places expected(const std::vector<std::optional<std::string>>& ids) {
    std::map<std::string, std::uint32_t> places;
    Places out;
    for (const auto& id : ids)
      out.push_back(
          id ? places.emplace(*id, static_cast<std::uint32_t>(places.size())).first->second
             : Dataset::nobody);
    return out;
  }
  static Dataset arrow(testing::ArrowColumn ids, std::size_t rows, std::size_t in_batch,
                       PersonIds* people = nullptr) {
    const std::vector<std::optional<double>> ones(rows, 1);
    const testing::ArrowColumn x = arrow_numbers<double>("x", "g", ones),
                               y = arrow_numbers<double>("y", "g", ones);
    std::vector<ArrowTable::Batch> batches;
    for (std::size_t first = 0; first < rows; first += in_batch) {
      const auto from = static_cast<std::int64_t>(first),
                 count = static_cast<std::int64_t>(std::min(in_batch, rows - first));
      batches.push_back({x.slice(from, count), ids.slice(from, count), y.slice(from, count)});
    }
    ArrowTable made(std::move(batches));
    ArrowArrayStream stream = made.stream();
    ReadOptions options = holding();
    options.people = people;
    return read_arrow(stream, schema(), options, {});
  }
};

TEST_F(PeopleInBlocks, HaveThePlacesOfTheirFirstRows) {
  for (const std::size_t rows : {1U, 2U, 63U, 64U, 65U, 127U, 128U, 129U, 191U, 5000U}) {
    SCOPED_TRACE(rows);
    for (const std::uint64_t people : {1U, 40U, 3000U}) {
      const auto of = ids(rows, people);
      const Places places = expected(of);
      std::string text = "x,id,y\n";
      for (const auto& id : of) text += fmt::format("0.5,{},1\n", id.value_or(""));
      ASSERT_EQ(read_csv(write("t.csv", text), schema(), holding()).person, places);
      ASSERT_EQ(arrow(arrow_text("id", "u", of), rows, rows).person, places);
      ASSERT_EQ(arrow(arrow_text("id", "u", of), rows, 100).person, places);
      // A dictionary, whose values are kept once they were met; and one too large for that.
      for (const std::size_t unused : {0U, 30'000U}) {
        testing::Texts values;
        std::map<std::string, std::int32_t> places_of;
        for (std::size_t k = 0; k < unused; ++k) values.emplace_back(fmt::format("unused{}", k));
        std::vector<std::optional<std::int32_t>> indices;
        for (const auto& id : of) {
          if (!id && rows % 2 == 0) {
            indices.emplace_back();
            continue;
          }
          const auto [at, is_new] =
              places_of.emplace(id.value_or("?"), static_cast<std::int32_t>(values.size()));
          if (is_new) values.push_back(id);
          indices.emplace_back(at->second);
        }
        testing::ArrowColumn coded = arrow_numbers<std::int32_t>("id", "i", indices);
        coded.dictionary = std::make_shared<testing::ArrowColumn>(arrow_text("", "u", values));
        ASSERT_EQ(arrow(coded, rows, rows).person, places) << unused;
        ASSERT_EQ(arrow(coded, rows, 77).person, places) << unused;
      }
    }
  }
}

// Readers of one table after another share a table of ids, and leave nobody waiting.
TEST_F(PeopleInBlocks, WaitForNoOtherReader) {
  PersonIds people;
  const auto first = ids(70, 50), second = ids(65, 90);
  auto all = first;
  all.insert(all.end(), second.begin(), second.end());
  const Places places = expected(all);
  Places found = arrow(arrow_text("id", "u", first), first.size(), 10, &people).person;
  std::string text = "x,id,y\n";
  for (const auto& id : second) text += fmt::format("0.5,{},1\n", id.value_or(""));
  ReadOptions options = holding();
  options.people = &people;
  const Dataset more = read_csv(write("t.csv", text), schema(), options);
  found.insert(found.end(), more.person.begin(), more.person.end());
  EXPECT_EQ(found, places);
}

// Rows are counted before they are weighed, ahead of which memory is asked: so many and one more.
TEST_F(PeopleInBlocks, HaveTheWeightsOfTheirCounts) {
  for (const std::size_t rows : {1U, 31U, 32U, 33U, 65U, 4000U}) {
    SCOPED_TRACE(rows);
    const auto of = ids(rows, rows / 3 + 1);
    Dataset data = arrow(arrow_text("id", "u", of), rows, 1000);
    const Places places = expected(of);
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const std::uint32_t place : places) ++counts[place];
    counts.erase(Dataset::nobody);
    if (counts.empty()) {
      expect_bad_input([&] { data.hold_people(2); }, {"nobody has a row"});
      continue;
    }
    data.hold_people(2);
    ASSERT_EQ(data.people, counts.size());
    for (std::size_t i = 0; i < rows; ++i)
      ASSERT_EQ(data.weight[i],
                places[i] == Dataset::nobody ? 0 : share_of_rows_down(2, counts.at(places[i])));
  }
}

}  // namespace person_ids_test
}  // namespace gibbsite
