// Tables made of tables, dense and sparse, in memory and mapped.
#include "gibbsite/data/reshape.hpp"

#include <memory>

#include "support.hpp"

namespace gibbsite {
namespace reshape_test {

using test::expect_bad_input;
using ::testing::ElementsAre;
using Numbers = std::vector<float>;

// Rows without intercept; labels +1, -1, +1 ...
Dataset table(const std::vector<Numbers>& rows, bool sparse) {
  Dataset out;
  out.schema.label_name = "y";
  out.schema.label = TwoClasses{.positive = std::string("1")};
  for (std::size_t j = 0; j < rows[0].size(); ++j)
    out.schema.columns.push_back({.name = "x" + std::to_string(j), .type = ColumnType::number});
  if (sparse) out.storage = SparseTable{};
  for (const Numbers& x : rows) {
    if (sparse) {
      for (std::uint32_t j = 0; j < x.size(); ++j) {
        if (x[j] == 0) continue;
        out.sparse().feature.push_back(j);
        out.sparse().value.push_back(x[j]);
      }
      out.sparse().begin.push_back(out.sparse().value.size());
    } else {
      out.dense().insert(out.dense().end(), x.begin(), x.end());
    }
    out.y.push_back(out.y.size() % 2 == 0 ? 1.0F : -1.0F);
  }
  return out;
}
const std::vector<Numbers> four{{1, 2, 3}, {0, 0, 4}, {0, 0, 0}, {5, 0, 6}};

// Every entry, by the view that engines are given.
std::vector<Numbers> rows_of(const Dataset& data) {
  const Rows x = data.view();
  if (x.rows > 0) {
    EXPECT_NO_THROW(x.validate());
  }
  std::vector<Numbers> out(x.rows, Numbers(x.cols));
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t j = 0; j < x.cols; ++j) out[i][j] = x(i, j);
  return out;
}

// A table whose rows look as if they were in the pages of a mapped file. `kept` owns them and must
// outlive it.
Dataset mapped(const Dataset& kept) {
  Dataset out = kept;
  out.storage = std::make_shared<const Rows>(kept.view());
  return out;
}

TEST(SelectRows, CopiesThemInOrderWithLabelsAndOffsets) {
  const std::vector<std::size_t> rows{3, 0, 2, 3};
  for (const bool sparse : {false, true}) {
    Dataset data = table(four, sparse);
    data.counts.clipped_rows = 2;
    for (const Dataset& from : {data, mapped(data)}) {
      const Dataset part = select_rows(from, rows);
      EXPECT_EQ(rows_of(part), (std::vector<Numbers>{four[3], four[0], four[2], four[3]}));
      EXPECT_EQ(part.view().is_sparse(), sparse);
      EXPECT_FALSE(part.on_disk());
      EXPECT_EQ(part.schema, data.schema);
      EXPECT_THAT(part.y, ElementsAre(-1, 1, 1, -1));
      EXPECT_TRUE(part.offset.empty());
      EXPECT_EQ(part.counts.clipped_rows, 0U);
    }
    data.offset = {-1, -2, -3, -4};
    EXPECT_THAT(select_rows(data, rows).offset, ElementsAre(-4, -1, -3, -4));
    data.y.clear();
    EXPECT_FALSE(select_rows(data, rows).labeled());
    EXPECT_EQ(select_rows(data, {}).rows(), 0U);
    const std::vector<std::size_t> beyond{4};
    expect_bad_input([&] { select_rows(data, beyond); },
                     {"data: has no row 4", "give one below 4"});
  }
}

TEST(WithRow, ReplacesOneAndKeepsTheOthers) {
  for (const bool sparse : {false, true}) {
    Dataset data = table(four, sparse);
    data.counts.clipped_rows = 2;
    data.offset = {-1, -2, -3, -4};
    for (const Numbers& x : {Numbers{0, 7, 0}, Numbers{0, 0, 0}, Numbers{8, 9, 7}}) {
      for (std::size_t i = 0; i < 4; ++i) {
        std::vector<Numbers> expected = four;
        expected[i] = x;
        std::vector<float> labels{1, -1, 1, -1};
        labels[i] = 3;
        const Dataset other = with_row(data, i, x, 3);
        EXPECT_EQ(rows_of(other), expected);
        EXPECT_EQ(other.view().is_sparse(), sparse);
        EXPECT_EQ(other.y, labels);
        EXPECT_EQ(other.offset, data.offset);
        EXPECT_EQ(other.counts.clipped_rows, 2U);
        EXPECT_EQ(rows_of(data), four);
      }
    }
    const Numbers x{1, 1, 1}, more{1, 1, 1, 1};
    expect_bad_input([&] { with_row(data, 4, x, 1); }, {"data: has no row 4", "give one below 4"});
    expect_bad_input([&] { with_row(data, 0, more, 1); }, {"row: 4 numbers for 3 features"});
    expect_bad_input([&] { with_row(mapped(data), 0, x, 1); }, {"data: ", "fits there"});
    data.y.clear();
    expect_bad_input([&] { with_row(data, 0, x, 1); }, {"data: has no labels"});
  }
}

TEST(AppendRow, GoesBehindTheRowsThatAreThere) {
  for (const bool sparse : {false, true}) {
    Dataset data = table({four[0]}, sparse);
    for (std::size_t i = 1; i < 4; ++i) append_row(data, four[i], 2);
    EXPECT_EQ(rows_of(data), four);
    EXPECT_EQ(data.view().is_sparse(), sparse);
    EXPECT_THAT(data.y, ElementsAre(1, 2, 2, 2));
    const Numbers less{1, 1};
    expect_bad_input([&] { append_row(data, less, 1); }, {"row: 2 numbers for 3 features"});
    Dataset on_disk = mapped(data), unlabeled = data, with_offsets = data;
    expect_bad_input([&] { append_row(on_disk, four[0], 1); }, {"data: ", "fits there"});
    unlabeled.y.clear();
    expect_bad_input([&] { append_row(unlabeled, four[0], 1); }, {"data: has no labels"});
    with_offsets.offset = {0, 0, 0, 0};
    expect_bad_input([&] { append_row(with_offsets, four[0], 1); }, {"data: has an exposure"});
    EXPECT_EQ(rows_of(data), four);
  }
  Dataset none;
  none.schema = table(four, false).schema;
  for (const Numbers& x : four) append_row(none, x, 1);
  EXPECT_EQ(rows_of(none), four);
  EXPECT_TRUE(none.view().is_sparse());
}

// A number, a category of two levels, one of two and "(other)", a number: 1 + 2 + 3 + 1 features.
Schema mixed() {
  Schema out;
  out.label_name = "y";
  out.label = Classes{{"a", "b", "c"}, {1, 2, 3}};
  out.row_norm = 0.5;
  out.network.emplace();
  out.columns = {{.name = "age", .type = ColumnType::number},
                 {.name = "sex", .type = ColumnType::category, .levels = {"m", "f"}},
                 {.name = "job", .type = ColumnType::category, .levels = {"p", "q"}, .other = true},
                 {.name = "pay", .type = ColumnType::number}};
  return out;
}
const std::vector<Numbers> people{
    {0.25F, 1, 0, 1, 0, 0, 0.75F}, {0.5F, 0, 1, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 1, 0.125F}};

TEST(WithCategoryAsLabel, LeavesItsFeaturesOutAndAddsAnIntercept) {
  for (const bool sparse : {false, true}) {
    for (const bool intercept : {false, true}) {
      std::vector<Numbers> rows = people;
      for (Numbers& x : rows)
        if (intercept) x.push_back(1);
      Dataset data = table(rows, sparse);
      data.schema = mixed();
      data.schema.intercept = intercept;
      data.counts.clipped_rows = 2;
      for (const Dataset& from : {data, mapped(data)}) {
        // The second of two levels is the positive class.
        const Dataset sex = with_category_as_label(from, "sex");
        EXPECT_EQ(rows_of(sex),
                  (std::vector<Numbers>{
                      {0.25F, 1, 0, 0, 0.75F, 1}, {0.5F, 0, 1, 0, 0, 1}, {0, 0, 0, 1, 0.125F, 1}}));
        EXPECT_THAT(sex.y, ElementsAre(-1, 1, -1));
        EXPECT_FALSE(sex.view().is_sparse());
        EXPECT_EQ(sex.counts.clipped_rows, 0U);
        EXPECT_EQ(sex.schema.label_name, "sex");
        EXPECT_EQ(sex.schema.label, Label(TwoClasses{.positive = "f"}));
        EXPECT_TRUE(sex.schema.intercept);
        EXPECT_FALSE(sex.schema.network);
        EXPECT_GE(sex.schema.row_norm, sex.schema.max_unclipped_norm());
        EXPECT_NO_THROW(sex.schema.validate("schema"));
        // The first of more levels is the positive class; "(other)" counts as a level.
        const Dataset job = with_category_as_label(from, "job");
        EXPECT_EQ(rows_of(job),
                  (std::vector<Numbers>{
                      {0.25F, 1, 0, 0.75F, 1}, {0.5F, 0, 1, 0, 1}, {0, 0, 0, 0.125F, 1}}));
        EXPECT_THAT(job.y, ElementsAre(1, -1, -1));
        EXPECT_EQ(std::get<TwoClasses>(job.schema.label).positive, "p");
      }
    }
  }
}

TEST(WithCategoryAsLabel, SaysWhatCannotBeOne) {
  Dataset data = table(people, false);
  data.schema = mixed();
  for (const char* const name : {"age", "nobody", "y"}) {
    expect_bad_input([&] { with_category_as_label(data, name); },
                     {"`target`: ", name, "is no category"});
  }
  Dataset counted = data;
  counted.schema.columns.push_back(
      {.name = "years", .type = ColumnType::exposure, .lo = 1, .hi = 2});
  expect_bad_input([&] { with_category_as_label(counted, "sex"); }, {"data: has an exposure"});
  Dataset alone = data;
  alone.schema.columns = {data.schema.columns[1]};
  expect_bad_input([&] { with_category_as_label(alone, "sex"); }, {"`target`: is the only column"});
}

TEST(ClassesPresent, AreThoseThatALabelIsOf) {
  Dataset data = table(four, true);
  EXPECT_THAT(classes_present(data), ElementsAre(true, true));
  data.y = {1, 1, 1, 1};
  EXPECT_THAT(classes_present(data), ElementsAre(false, true));
  data.y = {-1, -1, -1, -1};
  EXPECT_THAT(classes_present(data), ElementsAre(true, false));
  data.schema = mixed();
  data.y = {2, 0, 2, 0};
  EXPECT_THAT(classes_present(data), ElementsAre(true, false, true));
  data.y.clear();
  EXPECT_THAT(classes_present(data), ElementsAre(false, false, false));
  data.schema.label = Amount{};
  expect_bad_input([&] { classes_present(data); }, {"data: its label is ", "classes"});
}

}  // namespace reshape_test
}  // namespace gibbsite
