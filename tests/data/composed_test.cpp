// One text however its accents are typed: levels, classes, marks of missing cells and names of
// columns, from text and from Arrow.
#include "data/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace composed_test {

using test::expect_bad_input;

// Zürich and größe, with one letter of two bytes and as a letter and a mark behind it.
constexpr const char *one = "Z\u00fcrich", *two = "Zu\u0308rich";
constexpr const char *size_one = "gr\u00f6\u00dfe", *size_two = "gro\u0308\u00dfe";

class Composed : public test::DataTest {
 public:
  /// Every text of the schema is typed as `accents` says, by one letter or by two.
  static Schema schema(bool accents) {
    const std::string city = accents ? one : two, size = accents ? size_one : size_two;
    return parse_schema("label = '" + size + "'\npositive = '" + city + "'\nnegative = 'no'\n" +
                            "missing = 'n\u00e9ant'\n[columns]\n'" + city +
                            "' = {type = 'category', levels = ['Bern', '" + city + "']}\n" +
                            "n = {type = 'number', range = [0, 9], missing = 'v" +
                            (accents ? "\u00f6" : "o\u0308") + "id'}\n",
                        "s.toml");
  }
};

TEST(ComposedText, IsTheSameForBothSpellings) {
  EXPECT_EQ(composed(two), one);
  EXPECT_EQ(composed(one), one);
  EXPECT_EQ(composed("plain"), "plain");
  EXPECT_EQ(composed(""), "");
  // Hangul, a singleton, and marks that are put in order.
  EXPECT_EQ(composed("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(composed("\u212b"), "\u00c5");
  EXPECT_EQ(composed("q\u0307\u0323"), composed("q\u0323\u0307"));
  // No compatibility: a ligature is no two letters, and half-width letters stay.
  EXPECT_EQ(composed("\ufb01"), "\ufb01");
  for (const std::string bytes : {"\xe9t\xe9", "\xff", "a\xcc", "\xed\xa0\x80"})
    EXPECT_EQ(composed(bytes), bytes);
  const std::string zero("e\xcc\x81\0e", 5);
  EXPECT_EQ(composed(zero), std::string("\u00e9\0e", 4));
}

TEST_F(Composed, TextsReadAlikeFromEverySource) {
  for (const bool accents : {true, false}) {
    const Schema s = schema(accents);
    for (const bool cells : {true, false}) {
      SCOPED_TRACE(fmt::format("schema {}, table {}", accents, cells));
      const std::string city = cells ? one : two, size = cells ? size_one : size_two,
                        mark = cells ? "v\u00f6id" : "vo\u0308id";
      const std::string text = city + ",n," + size + "\n" + city + ",3,no\nBern," + mark + "," +
                               city + "\n" + city + ",9," + city + "\n";
      const Dataset csv = read_csv(write("t.csv", text), s);
      EXPECT_EQ(csv.y, (std::vector<float>{-1, 1, 1}));
      EXPECT_EQ(csv.counts.columns[1].missing, 1U);
      EXPECT_EQ(csv.counts.unlisted_labels, 0U);
      const Rows rows = csv.view();
      EXPECT_EQ(rows(0, 1), 1.0F);
      EXPECT_EQ(rows(1, 0), 1.0F);
      EXPECT_EQ(rows(2, 1), 1.0F);
      testing::ArrowTable table({testing::ArrowTable::Batch{
          testing::arrow_text(city, "u", {city, "Bern", city}),
          testing::arrow_numbers<double>("n", "g", {3, std::nullopt, 9}),
          testing::arrow_text(size, "u", {"no", city, city})}});
      ArrowArrayStream stream = table.stream();
      const Dataset arrow = read_arrow(stream, s);
      EXPECT_EQ(arrow.dense(), csv.dense());
      EXPECT_EQ(arrow.y, csv.y);
    }
  }
}

// What is listed as it stands goes first, so no table of before reads otherwise.
TEST_F(Composed, BothSpellingsMayBeListed) {
  const Schema s = parse_schema(std::string("label = 'y'\nclasses = ['") + one + "', '" + two +
                                    "', 'b']\n[columns]\na = {type = 'category', levels = ['" +
                                    two + "', '" + one + "']}\n",
                                "s.toml");
  const Dataset data = read_csv(
      write("t.csv", std::string("a,y\n") + one + "," + two + "\n" + two + "," + one + "\n"), s);
  EXPECT_EQ(data.y, (std::vector<float>{1, 0}));
  const Rows rows = data.view();
  EXPECT_EQ(rows(0, 1), 1.0F);
  EXPECT_EQ(rows(1, 0), 1.0F);
}

TEST_F(Composed, OtherTextIsRefusedAsBefore) {
  const auto read = [&](const std::string &rows) {
    return read_csv(write("t.csv", std::string(one) + ",n," + size_one + "\n" + rows),
                    schema(true));
  };
  expect_bad_input([&] { read("Zurich,1,no\n"); }, {"t.csv:2", "Zurich"});
  expect_bad_input([&] { read("Z\xfcrich,1,no\n"); }, {"t.csv:2", "UTF-8"});
  // A column that stands there in both spellings is one too many.
  expect_bad_input(
      [&] {
        read_csv(write("t.csv", std::string(one) + "," + two + ",n," + size_one + "\n"),
                 schema(true));
      },
      {"t.csv:1", "column"});
}

TEST_F(Composed, MarksOfMissingLabels) {
  const Schema s = parse_schema(
      "label = 'y'\nclasses = ['a', 'b', 'c']\ninvalid = 'middle'\nmissing = 'n\u00e9ant'\n"
      "[columns]\nx = {type = 'number', range = [0, 1]}\n",
      "s.toml");
  const Dataset data =
      read_csv(write("t.csv", "x,y\n0,a\n0,ne\u0301ant\n0,n\u00e9ant\n0,odd\n"), s);
  EXPECT_EQ(data.counts.invalid_labels, 2U);
  EXPECT_EQ(data.counts.unlisted_labels, 1U);
}

}  // namespace composed_test
}  // namespace gibbsite
