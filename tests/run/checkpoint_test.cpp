#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>
#include <limits>

#include "core/key_access.hpp"
#include "gibbsite/core/error.hpp"
#include "run/run_plan.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace checkpoint_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TempDir;

class CheckpointFile : public ::testing::Test {
 protected:
  std::string error_of(const std::string& bytes) {
    try {
      read_checkpoint(folder.write("edited", bytes));
    } catch (const BadInput& e) {
      return e.what();
    }
    return "no error";
  }
  TempDir folder;
  const ::testing::Matcher<std::string> not_whole =
      AllOf(StartsWith(folder.path("edited")), HasSubstr("not a whole gibbsite checkpoint"));

  Checkpoint some{KeyAccess::take(Key::from_os()),
                  std::string("\0fingerprint\xff", 13),
                  {1.5, -0.0, 1e-310, 4, std::numeric_limits<double>::infinity(), 6},
                  {7, ~std::uint64_t{0}}};
};

TEST_F(CheckpointFile, ReadsBackWhatWasWritten) {
  const std::string path = folder.path("c");
  for (const bool certified : {true, false}) {
    if (!certified) some.key = StreamKey::from_seed(3);
    write_checkpoint(path, some);
    const Checkpoint back = read_checkpoint(path);
    EXPECT_EQ(back.key.kind, some.key.kind);
    EXPECT_EQ(back.key.bytes, some.key.bytes);
    EXPECT_EQ(back.fingerprint, some.fingerprint);
    EXPECT_EQ(back.step, some.step);
    EXPECT_EQ(std::memcmp(back.theta.data(), some.theta.data(), 6 * sizeof(double)), 0);
  }
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(CheckpointFile, CutShortOrEditedIsRefused) {
  write_checkpoint(folder.path("c"), some);
  const std::string bytes = folder.read("c");
  EXPECT_EQ(error_of(bytes), "no error");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_THAT(error_of(bytes.substr(0, size)), not_whole) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string edited = bytes;
    edited[at] = static_cast<char>(edited[at] ^ 1);
    ASSERT_THAT(error_of(edited), not_whole) << at;
  }
  EXPECT_THAT(error_of(bytes + "x"), not_whole);
  EXPECT_THAT(error_of("age,income\n1,2\n"), not_whole);
}

// A right digest over sizes that are not: no huge allocation, no read past the end.
TEST_F(CheckpointFile, ForgedSizesAreRefused) {
  write_checkpoint(folder.path("c"), some);
  const std::string bytes = folder.read("c");
  const std::size_t start = std::string("gibbsite-checkpoint/1\n").size();
  const std::size_t fingerprint = start + 4 + 32;
  const std::size_t chains = fingerprint + 8 + 13, width = chains + 8 + 16;
  const auto forge = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string forged = bytes.substr(0, bytes.size() - 32);
    std::memcpy(&forged[at], &value, size);
    unsigned char digest[32];
    crypto_generichash(digest, 32, reinterpret_cast<const unsigned char*>(forged.data()),
                       forged.size(), nullptr, 0);
    return forged.append(reinterpret_cast<const char*>(digest), 32);
  };
  EXPECT_EQ(error_of(forge(chains, 2, 8)), "no error");  // the offsets are right
  EXPECT_EQ(error_of(forge(width, 3, 8)), "no error");
  EXPECT_THAT(error_of(forge(start, 2, 4)), not_whole);  // a third kind of noise
  for (const std::size_t at : {fingerprint, chains, width}) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32,
                                      std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      EXPECT_THAT(error_of(forge(at, value, 8)), not_whole) << at << " " << value;
    }
  }
}

// Zeros are what a forgotten key has; no system gives them (2^-256). A seed of 0 is one like
// others.
TEST_F(CheckpointFile, AKeyOfZerosIsRefusedUnlessItIsASeed) {
  some.key = StreamKey(NoiseKind::chacha20, {});
  write_checkpoint(folder.path("edited"), some);
  EXPECT_THAT(error_of(folder.read("edited")), HasSubstr("its key is all zeros"));
  some.key = StreamKey::from_seed(0);
  write_checkpoint(folder.path("edited"), some);
  EXPECT_EQ(error_of(folder.read("edited")), "no error");
}

// No run has none; what follows their number would not be read back.
TEST_F(CheckpointFile, WithoutChainsIsRefused) {
  std::string bytes =
      "gibbsite-checkpoint/1\n" + std::string(4 + 32 + 8 + 8, '\0') + "\5" + std::string(7, '\0');
  unsigned char digest[32];
  crypto_generichash(digest, 32, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                     nullptr, 0);
  EXPECT_THAT(error_of(bytes.append(reinterpret_cast<const char*>(digest), 32)), not_whole);
}

// The key is in each of these.
TEST_F(CheckpointFile, RemovingTakesWhatKilledWritersLeftAndWhatALinkPointsTo) {
  write_checkpoint(folder.path("c"), some);
  folder.write("c.tmp-1-0", folder.read("c"));
  discard_checkpoint(folder.path("c"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
  discard_checkpoint(folder.path("c"));  // nothing there

  std::filesystem::create_symlink("target", folder.path("link"));
  folder.write("target", "");
  write_checkpoint(folder.path("link"), some);
  folder.write("target.tmp-1-0", folder.read("target"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"link", "target", "target.tmp-1-0"}));
  discard_checkpoint(folder.path("link"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{});

  std::filesystem::create_directory(folder.path("d"));
  folder.write("d/x", "");
  try {
    discard_checkpoint(folder.path("d"));
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), AllOf(StartsWith(folder.path("d") + ": this checkpoint cannot be"),
                                HasSubstr("noise key")));
  }
}

TEST_F(CheckpointFile, MissingFileAndFolderSayWhy) {
  for (const std::string& path : {folder.path("absent"), folder.path(), folder.path("c/under")}) {
    try {
      read_checkpoint(path);
      FAIL() << path;
    } catch (const BadInput& e) {
      EXPECT_THAT(e.what(), AllOf(StartsWith(path + ": cannot read the checkpoint: "),
                                  HasSubstr("; make it readable, or remove it")));
    }
  }
}

}  // namespace checkpoint_test
}  // namespace gibbsite
