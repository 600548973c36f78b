// Tables in folders called key=value, whose names give columns.
#include "data/partition.hpp"

#include <filesystem>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/data/shares.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace partition_test {

using test::expect_bad_input;
using test::expect_same;
using ::testing::ElementsAre;

class Partitions : public test::DataTest {
 public:
  Schema schema = parse_schema(
      "label='y'\npositive='1'\nmissing=''\n[columns]\n"
      "year = {type='number', range=[2020, 2030]}\n"
      "town = {type='category', levels=['north', 'far/out'], missing=''}\n"
      "x = {type='number', range=[0, 10]}\n",
      "s.toml");
  [[nodiscard]] std::string put(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    return write(name, text);
  }
  void make_table(const std::string& root) const {
    static_cast<void>(put(root + "/year=2021/town=far%2Fout/a.csv", "x,y\n1,1\n2,0\n"));
    static_cast<void>(put(root + "/year=2021/town=north/a.csv", "x,y\n3,1\n"));
    static_cast<void>(
        put(root + "/year=2029.5/town=__HIVE_DEFAULT_PARTITION__/b.csv", "x,y\n4,0\n"));
    static_cast<void>(put(root + "/_SUCCESS", ""));
    static_cast<void>(put(root + "/.hidden/a.csv", "z\n"));
  }
};

TEST_F(Partitions, GiveColumnsOfCsv) {
  make_table("t");
  const Dataset flat = read_csv(write("flat.csv",
                                      "year,town,x,y\n2021,far/out,1,1\n2021,far/out,2,0\n"
                                      "2021,north,3,1\n2029.5,,4,0\n"),
                                schema);
  expect_same(read_table(path("t"), schema), flat);
  expect_same(read_table(path("t") + "/", schema), flat);
  for (const std::size_t size : {2U, 3U})
    support::ThreadRanks::run(size, [&](Communicator& ranks) {
      const SharedTable shared(path("t"), schema, {}, ranks);
      const std::uint64_t first = 4 * ranks.rank() / size, last = 4 * (ranks.rank() + 1) / size;
      const Dataset part = shared.read({first, last});
      for (std::uint64_t i = first; i < last; ++i)
        for (std::size_t j = 0; j < flat.features(); ++j)
          ASSERT_EQ(part.view()(i - first, j), flat.view()(i, j)) << i << " " << j;
    });
  // Another name of a folder is another table.
  const Dataset cached = read_table(path("t"), schema, {.cache = ReadOptions::Cache::always});
  ASSERT_TRUE(cached.on_disk());
  std::filesystem::rename(path("t/year=2021/town=north"), path("t/year=2021/town=far"));
  expect_bad_input(
      [&] { (void)read_table(path("t"), schema, {.cache = ReadOptions::Cache::always}); },
      {"level 'far' is not in the schema"});
}

TEST_F(Partitions, GiveTheLabelAndNumbersWithADecimalComma) {
  static_cast<void>(put("l/y=1/w=2.5/a.csv", "x;z\n1,5;2\n"));
  static_cast<void>(put("l/y=0/w=1/a.csv", "x;z\n2;1\n"));
  const Schema s = parse_schema(
      "label='y'\npositive='1'\ndecimal=','\nintercept=false\n[columns]\nx = {type='number', "
      "range=[0, 2]}\nw = {type='number', range=[0, 5]}\nz = {type='ignore'}\n",
      "s.toml");
  const Dataset data = read_table(path("l"), s);
  EXPECT_EQ(data.y, (std::vector<float>{-1, 1}));
  EXPECT_THAT(data.dense(), ElementsAre(1, 0.2F, 0.75F, 0.5F));
}

TEST_F(Partitions, GiveColumnsOfArrowFiles) {
  struct Opener {
    ~Opener() { set_arrow_opener({}); }
  } const opener;
  std::vector<std::unique_ptr<testing::ArrowTable>> tables;
  set_arrow_opener([&](const std::string& file, const std::vector<std::string>& columns,
                       ArrowArrayStream* out) -> std::uint64_t {
    testing::ArrowTable::Batch batch;
    const double first = file.find("2021") != std::string::npos ? 1 : 4;
    const std::vector<testing::ArrowColumn> all{
        testing::arrow_numbers<double>("x", "g", {first, first + 1, std::nullopt}),
        testing::arrow_text("y", "u", {"1", "0", "1"})};
    for (const testing::ArrowColumn& column : all)
      if (columns.empty() || std::ranges::find(columns, column.name) != columns.end())
        batch.push_back(column);
    tables.push_back(std::make_unique<testing::ArrowTable>(
        std::vector<testing::ArrowTable::Batch>{batch, batch}));
    *out = tables.back()->stream();
    return 6;
  });
  static_cast<void>(put("p/year=2021/town=north/a.parquet", "x"));
  static_cast<void>(put("p/year=2022/town=__HIVE_DEFAULT_PARTITION__/a.parquet", "x"));
  std::string text = "year,town,x,y\n";
  for (int k = 0; k < 2; ++k) text += "2021,north,1,1\n2021,north,2,0\n2021,north,,1\n";
  for (int k = 0; k < 2; ++k) text += "2022,,4,1\n2022,,5,0\n2022,,,1\n";
  expect_same(read_table(path("p"), schema), read_csv(write("flat.csv", text), schema));
  for (const auto& table : tables) EXPECT_EQ(table->lent(), 0);
  static_cast<void>(put("q/x=1/a.parquet", "x"));
  expect_bad_input([&] { (void)read_table(path("q"), schema); },
                   {"a.parquet: column 'x' is in the file and in the name of its folder"});
}

TEST_F(Partitions, AreRefusedWhereTheyContradict) {
  make_table("t");
  static_cast<void>(put("t/year=2022/b.csv", "x,y\n1,1\n"));
  expect_bad_input([&] { (void)read_table(path("t"), schema); },
                   {"year=2022/b.csv: its folders give 'year' where", "'year'/'town'"});
  static_cast<void>(put("t/more.csv", "x,y\n1,1\n"));
  expect_bad_input([&] { (void)read_table(path("t"), schema); },
                   {"more.csv: lies beside folders called key=value"});
  static_cast<void>(put("u/year=1/town=2/a.csv", "x,town,y\n1,north,1\n"));
  expect_bad_input([&] { (void)read_table(path("u"), schema); },
                   {"a.csv:1: column 'town' is in the file and in the name of its folder"});
  static_cast<void>(put("v/year=2021/a.npy", "x"));
  expect_bad_input([&] { (void)read_table(path("v"), schema); },
                   {"a.npy: its folder's name gives a column"});
  static_cast<void>(put("w/year=2021/year=2022/a.csv", "x,y\n1,1\n"));
  expect_bad_input([&] { (void)read_table(path("w"), schema); },
                   {"two folders give column 'year'"});
  static_cast<void>(put("z/colour=red/a.csv", "x,y\n1,1\n"));
  expect_bad_input([&] { (void)read_table(path("z"), schema); },
                   {"column 'colour' is not in the schema"});
}

TEST_F(Partitions, HoldFilesThatNoneMayOverwrite) {
  make_table("t");
  EXPECT_TRUE(would_be_part(path("t/year=2021/town=north/model.json"), path("t")));
  EXPECT_TRUE(would_be_part(path("t/model.json"), path("t")));
  EXPECT_FALSE(would_be_part(path("model.json"), path("t")));
  EXPECT_EQ(parts_of(path("t")).size(), 3U);
}

}  // namespace partition_test
}  // namespace gibbsite
