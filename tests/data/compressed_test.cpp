// Text that gzip and zstd compressed: the rows of the same text, whole and by parts and ranks, and
// files that are cut off, damaged or bombs.
#include "data/compressed.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/data/shares.hpp"
#include "support.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace compressed_test {

using test::expect_bad_input;
using test::expect_same;

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 5));
  return out;
}

std::string table(int first, int last) {
  std::string out = "x,c,y\n";
  for (int i = first; i < last; ++i)
    out += fmt::format("{},\"{}\",{}\n", i % 97, i % 3 == 0 ? "a\nb" : "c", i % 2);
  return out;
}

class CompressedText : public test::DataTest {
 public:
  Schema schema = parse_schema(
      "label='y'\npositive='1'\n[columns]\nx = {type='number', range=[0, 90]}\n"
      "c = {type='category', levels=[\"a\\nb\"], other=true}\n",
      "s.toml");
  /// As each of so many ranks reads its part of them.
  void expect_shares(const std::string& name, const Dataset& whole, std::size_t size) const {
    support::ThreadRanks::run(size, [&](Communicator& ranks) {
      const SharedTable shared(name, schema, {}, ranks);
      ASSERT_EQ(shared.rows(), whole.rows());
      const std::uint64_t first = whole.rows() * ranks.rank() / size,
                          last = whole.rows() * (ranks.rank() + 1) / size;
      const Dataset part = shared.read({first, last});
      ASSERT_EQ(part.rows(), last - first);
      for (std::uint64_t i = first; i < last; ++i) {
        ASSERT_EQ(part.y[i - first], whole.y[i]);
        for (std::size_t j = 0; j < whole.features(); ++j)
          ASSERT_EQ(part.view()(i - first, j), whole.view()(i, j));
      }
    });
  }
};

TEST_F(CompressedText, IsTheSameTable) {
  const std::string text = table(0, 40000);
  const Dataset whole = read_table(write("t.csv", text), schema);
  ASSERT_EQ(whole.rows(), 40000U);
  expect_same(read_table(write("t.csv.gz", gzip(text)), schema), whole);
  expect_same(read_table(write("t.csv.zst", zstd(text)), schema), whole);
  expect_same(read_table(write("named.csv", gzip(text)), schema), whole);  // by its bytes
  // Members and frames one behind another are one text.
  const std::string a = text.substr(0, 70001), b = text.substr(70001);
  expect_same(read_table(write("two.csv.gz", gzip(a) + gzip("") + gzip(b)), schema), whole);
  expect_same(read_table(write("two.csv.zst", zstd(a) + zstd(b)), schema), whole);
  EXPECT_EQ(schema_template(path("t.csv.gz")), schema_template(path("t.csv")));
}

TEST_F(CompressedText, OfLibsvmIsTheSameTable) {
  const std::string text = "1 1:3 2:0\n0 1:4\n1 2:1\n";
  Schema numbers = parse_schema(
      "label='y'\npositive='1'\n[columns]\nx = {type='number', range=[0, 9], count=2}\n", "s.toml");
  expect_same(read_table(write("t.svm.gz", gzip(text)), numbers),
              read_table(write("t.svm", text), numbers));
  std::filesystem::create_directory(path("parts"));
  static_cast<void>(write("parts/a.svm.gz", gzip(text)));
  expect_bad_input([&] { (void)read_table(path("parts"), numbers); },
                   {"a.svm.gz: is compressed LIBSVM text", "decompress it first"});
}

TEST_F(CompressedText, IsReadByPartsAndByRanks) {
  std::filesystem::create_directory(path("parts"));
  std::filesystem::create_directory(path("plain"));
  for (int k = 0; k < 3; ++k) {
    const std::string text = table(700 * k, 700 * (k + 1));
    static_cast<void>(write(fmt::format("plain/part-{}.csv", k), text));
    static_cast<void>(write(fmt::format("parts/part-{}.csv.gz", k), gzip(text)));
  }
  const Dataset whole = read_table(path("plain"), schema);
  ASSERT_EQ(whole.rows(), 2100U);
  expect_same(read_table(path("parts"), schema), whole);
  for (const std::size_t size : {1U, 2U, 5U}) expect_shares(path("parts"), whole, size);
  const std::string all = table(0, 2100);
  const Dataset one = read_table(write("t.csv", all), schema);
  for (const std::size_t size : {2U, 3U}) expect_shares(write("t.csv.zst", zstd(all)), one, size);
  static_cast<void>(write("parts/part-3.csv", table(0, 2)));
  expect_bad_input([&] { (void)read_table(path("parts"), schema); },
                   {"part-3.csv: is no part of a table of .csv.gz files"});
}

TEST_F(CompressedText, GoesToACacheAsOtherTextDoes) {
  const std::string file = write("t.csv.gz", gzip(table(0, 3000)));
  const Dataset whole = read_table(file, schema);
  const Dataset made = read_table(file, schema, {.cache = ReadOptions::Cache::always});
  ASSERT_TRUE(made.on_disk());
  const Dataset used = read_table(file, schema, {.cache = ReadOptions::Cache::automatic});
  ASSERT_TRUE(used.on_disk());
  for (std::uint64_t i = 0; i < 3000; ++i)
    for (std::size_t j = 0; j < whole.features(); ++j)
      ASSERT_EQ(used.view()(i, j), whole.view()(i, j));
  EXPECT_EQ(used.y, whole.y);
}

TEST_F(CompressedText, IsRefusedWhereItIsDamaged) {
  const std::string text = table(0, 20000);
  for (const bool is_gzip : {true, false}) {
    const std::string good = is_gzip ? gzip(text) : zstd(text);
    const auto refused = [&](const std::string& bytes, const std::string& what) {
      expect_bad_input([&] { (void)read_table(write("bad.csv", bytes), schema); },
                       {"bad.csv: ", what});
    };
    refused(good.substr(0, good.size() / 2), "cut off");
    refused(good.substr(0, good.size() - 1), "cut off");
    refused(good + "rubbish\n", "other bytes follow");
    refused(good + std::string(16, '\0'), "other bytes follow");
    std::string damaged = good;
    damaged[good.size() / 2] = static_cast<char>(damaged[good.size() / 2] ^ 0x55);
    EXPECT_THROW((void)read_table(write("bad.csv", damaged), schema), BadInput);
    refused(is_gzip ? gzip("") : zstd(""), "holds no text");
    refused(is_gzip ? gzip(good) : zstd(good), "is compressed");
    refused(is_gzip ? gzip("PAR1....") : zstd("PAR1...."), "is a Parquet file");
  }
  expect_bad_input([&] { (void)read_table(write("m.RData", gzip("RDX3\n")), schema); },
                   {"is of R"});
  expect_bad_input([&] { (void)read_schema(write("s.toml.gz", gzip("label = 'y'\n"))); },
                   {"is compressed"});
}

// What a few bytes become is not kept: a cell, a line and a header are bounded.
TEST_F(CompressedText, BombsEndInOneLine) {
  const auto refused = [&](const std::string& head, char of, std::size_t count,
                           const std::string& what) {
    expect_bad_input(
        [&] {
          (void)read_table(write("bomb.csv.zst", zstd(head + std::string(count, of))), schema);
        },
        {"bomb.csv.zst:", what});
  };
  refused("x,c,y\n1,\"", 'a', 20'000'000, "longer than 1 MiB");
  refused("x", ',', 20'000'000, "more than 2^24 cells");
  refused("x,c,y\n1", ',', 20'000'000, "more than 2^24 cells");
  refused("x,c,y\n", '\n', 20'000'000, "no rows");
}

}  // namespace compressed_test
}  // namespace gibbsite
