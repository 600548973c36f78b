// Schemas of public tables: what follows from exact counts, that the private table chooses nothing,
// and degenerate tables.
#include "gibbsite/run/public_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace public_schema_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<std::string> header{"person_id", "age", "work", "wage", "since", "income"};

// Ages 20 to 79, three kinds of work and a rare one, amounts of which half are 0, days of 2020.
std::string people(int rows, const std::string& more = "") {
  std::string out = "person_id,age,work,wage,since,income\n";
  for (int i = 0; i < rows; ++i) {
    const int month = 1 + i % 12, day = 1 + i % 28;
    out += std::to_string(i) + "," + std::to_string(20 + (i * 37) % 60) + "," +
           (i == 5       ? "rare"
            : i % 7 == 0 ? ""
            : i % 2 == 0 ? "state"
                         : "private") +
           "," + std::to_string(i % 2 == 0 ? 0 : 500 + (i * 7919) % 40'000) + ",2020-" +
           (month < 10 ? "0" : "") + std::to_string(month) + "-" + (day < 10 ? "0" : "") +
           std::to_string(day) + "," + (i % 4 == 0 ? ">50K" : "<=50K") + "\n";
  }
  return out + more;
}

SchemaShape shape_of(const std::vector<std::string>& names = header) {
  return schema_shape(names, "income", TwoClasses{.positive = ">50K"}, "private.csv");
}

struct Tables {
  testing::TempDir folder;
  std::string mine, other;
  explicit Tables(const std::string& is_public, const std::string& is_private = people(300))
      : mine(folder.write("private.csv", is_private)),
        other(folder.write("public.csv", is_public)) {}
  PublicSchema schema() const {  // NOLINT: thrown away where it throws
    return public_schema_of_file(shape_of(), mine, other);
  }
};

TEST(PublicSchema, SaysWhatThePublicTableHolds) {
  const Tables tables(people(3'000));
  const Schema schema = tables.schema().schema;
  schema.validate("schema");
  EXPECT_EQ(schema.columns[0].type, ColumnType::ignore);  // named like an id
  const Column& age = schema.columns[1];
  EXPECT_EQ(age.type, ColumnType::number);
  EXPECT_LE(age.lo, 20);
  EXPECT_GE(age.lo, 18);
  EXPECT_GE(age.hi, 79);
  EXPECT_LE(age.hi, 82);
  ASSERT_TRUE(age.typical);
  EXPECT_NEAR(age.typical->center, 49.5, .01);  // 50 of each of 60 ages
  EXPECT_NEAR(age.typical->spread, 17.32, .01);
  EXPECT_EQ(schema.columns[2].levels, (std::vector<std::string>{"private", "state"}));
  EXPECT_TRUE(schema.columns[2].other);
  EXPECT_TRUE(schema.columns[2].has_missing);
  EXPECT_EQ(schema.columns[3].scale, KnotScale::log);
  EXPECT_TRUE(schema.columns[4].is_date());
  EXPECT_FALSE(schema.columns[4].typical);
  ASSERT_TRUE(schema.from_public);
  EXPECT_EQ(schema.from_public->file, "public.csv");
  EXPECT_EQ(schema.from_public->sha256, sha256_of_file(tables.other));
  EXPECT_EQ(schema.from_public->rows, 3'000U);
}

// The numbers of FIPS 180-4's example.
TEST(PublicSchema, ADigestIsSha256) {
  const testing::TempDir folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_file(folder.write("none", "")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_THROW(static_cast<void>(sha256_of_file(folder.path("absent"))), BadInput);
}

// Whatever one person's row holds: no byte of the schema follows from it.
TEST(PublicSchema, NothingOfThePrivateTableChooses) {
  const std::string is_public = people(2'000);
  std::string before;
  for (const std::string row : {"7,30,state,0,2020-01-01,>50K\n", "7,1e9,only,-5e8,1900-01-01,?\n",
                                "x,,,,,\n", "7,\"1.234,5\",7,NaN,never,<=50K\n"}) {
    const Tables tables(is_public, people(299, row));
    const PublicSchema made = tables.schema();
    const std::string text = public_toml(made.counts, made.schema) + to_toml(made.schema);
    if (before.empty()) before = text;
    EXPECT_EQ(text, before) << row;
  }
}

TEST(PublicSchema, ItsFileReadsBack) {
  const Tables tables(people(3'000));
  const PublicSchema made = tables.schema();
  EXPECT_EQ(parse_schema(to_toml(made.schema), "s.toml").columns, made.schema.columns);
  const Schema back = parse_schema(public_toml(made.counts, made.schema), "s.toml");
  EXPECT_EQ(back.columns, made.schema.columns);
  EXPECT_EQ(back.from_public, made.schema.from_public);
  EXPECT_EQ(back.row_norm, made.schema.row_norm);
  EXPECT_EQ(back.intercept, made.schema.intercept);
  EXPECT_EQ(back.invalid, Invalid::middle);
}

TEST(PublicSchema, RefusesThePrivateTableItself) {
  const std::string text = people(300);
  const auto is_refused = ThrowsMessage<BadInput>(HasSubstr("is the private table itself"));
  EXPECT_THAT([&] { Tables(text, text).schema(); }, is_refused);
  const Tables tables(people(400));
  EXPECT_THAT([&] { public_schema_of_file(shape_of(), tables.mine, tables.mine); }, is_refused);
  const std::string link = tables.folder.path("link.csv");
  std::filesystem::create_symlink(tables.mine, link);
  EXPECT_THAT([&] { public_schema_of_file(shape_of(), tables.mine, link); }, is_refused);
  // As long, and another one.
  std::string other = text;
  other.back() = ' ';
  EXPECT_NO_THROW(Tables(other, text).schema());
}

TEST(PublicSchema, NeedsTheColumnsButTheLabel) {
  std::string text = people(300), less = "age,work,extra\n";
  for (int i = 0; i < 300; ++i) less += "30,state,1\n";
  EXPECT_THAT([&] { Tables(less).schema(); },
              ThrowsMessage<BadInput>(HasSubstr(
                  "public.csv: has no column 'wage', 'since', which the private table has")));
  // Neither its label nor an id is looked at.
  std::string bare = "wage,extra,age,work,since\n";
  for (int i = 0; i < 300; ++i)
    bare += std::to_string(i * i) + ",1," + std::to_string(20 + i % 50) + ",state,2020-01-01\n";
  const Schema schema = Tables(bare).schema().schema;
  EXPECT_EQ(schema.columns[1].name, "age");
  EXPECT_EQ(schema.columns[1].type, ColumnType::number);
}

TEST(PublicSchema, DegenerateTablesAreRefusedOrMakeASaneSchema) {
  const std::string names = "person_id,age,work,wage,since,income\n";
  const auto refused = [](const std::string& text, const std::string& why) {
    EXPECT_THAT([&] { Tables(text).schema(); }, ThrowsMessage<BadInput>(HasSubstr(why))) << text;
  };
  refused("", "public.csv");
  refused(names, "has no rows");
  refused(names + "1,30,state,10,2020-01-01,>50K\n", "has 1 row; ranges and levels take 10");
  std::string same = names, missing = names, ten = names;
  for (int i = 0; i < 100; ++i) same += "1,30,state,10,2020-01-01,>50K\n", missing += "1,,?,,NA,\n";
  refused(same, "none of its columns can be used ('age': nearly constant)");
  refused(missing, "none of its columns can be used");
  for (int i = 0; i < 10; ++i)
    ten += std::to_string(i) + "," + std::to_string(20 + i * i / 2) + "," +
           (i % 2 == 0 ? "state" : "private") + "," + std::to_string(i * i * 100) + ",2020-01-0" +
           std::to_string(i % 9 + 1) + ",>50K\n";
  const Schema schema = Tables(ten).schema().schema;
  schema.validate("schema");
  EXPECT_EQ(schema.columns[1].type, ColumnType::number);
  EXPECT_LE(schema.columns[1].lo, 20);
  EXPECT_GE(schema.columns[1].hi, 60);
  EXPECT_FALSE(schema.columns[1].typical);  // ten numbers say too little
  EXPECT_EQ(schema.columns[2].levels.size(), 2U);
}

// One row of a public table far off all others widens no range.
TEST(PublicSchema, AnOutlierIsHeldToTheRange) {
  const Schema schema = Tables(people(1'000, "1,1e9,state,1e12,2020-01-01,>50K\n")).schema().schema;
  EXPECT_LE(schema.columns[1].hi, 100);
  EXPECT_LE(schema.columns[3].hi, 50'000);
}

TEST(PublicSchema, FailsOnAFileThatIsNone) {
  const Tables tables(people(300));
  EXPECT_THROW(public_schema_of_file(shape_of(), tables.mine, tables.folder.path("absent.csv")),
               BadInput);
  EXPECT_THROW(public_schema_of_file(shape_of(), tables.mine, tables.folder.path()), BadInput);
}

}  // namespace public_schema_test
}  // namespace gibbsite
