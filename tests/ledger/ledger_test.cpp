#include "gibbsite/ledger/ledger.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/digest.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/ledger/ledger_json.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace ledger_test {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class LedgerFile : public ::testing::Test {
 protected:
  [[nodiscard]] LedgerOptions options(std::chrono::milliseconds patience = 10s) const {
    return {patience, folder.path("memory"), [this] { return now; }};
  }
  [[nodiscard]] Ledger made(const char* name = "people.ledger", double epsilon = 1) const {
    return Ledger::create(folder.path(name), epsilon, 1e-6, {}, {}, options());
  }
  [[nodiscard]] static Ledger::Release release(double mu, const std::string& number) {
    return {"fit path", {.mu = mu, .tv = 1e-15}, "key " + number, "digest " + number};
  }
  void sql(const std::string& name, const std::string& text) const {
    sqlite3* file = nullptr;
    ASSERT_EQ(sqlite3_open(folder.path(name).c_str(), &file), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(file, text.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << text << ": " << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(file);
  }
  /// One line that begins with the file's path and says `what`.
  static void expect_refused(const std::function<void()>& act, const std::string& path,
                             const std::string& what) {
    try {
      act();
      ADD_FAILURE() << "not refused: " << what;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith(path + ": "));
      EXPECT_THAT(error.what(), HasSubstr(what));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }

  testing::TempDir folder;
  std::chrono::system_clock::time_point now = std::chrono::system_clock::from_time_t(1'800'000'000);
};

TEST_F(LedgerFile, EntersUntilTheCapAndNoFurther) {
  const Ledger ledger = made();
  EXPECT_EQ(ledger.read().terms.created, "2027-01-15T08:00:00Z");
  const double mu = ledger.read().terms.guarantee().mu;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(ledger.enter(release(mu * 0.499, std::to_string(i))), static_cast<unsigned>(i));
    now += 1h;
  }
  try {
    static_cast<void>(ledger.enter(release(mu * 0.1, "5")));
    FAIL();
  } catch (const BudgetSpent& spent) {
    EXPECT_EQ(spent.status(), Status::budget_spent);
    EXPECT_THAT(spent.what(), HasSubstr("people.ledger: this release takes "));
    EXPECT_THAT(spent.what(), HasSubstr(" of mu^2, "));
  }
  EXPECT_THROW(ledger.require_room({.mu = mu * 0.1}), BudgetSpent);
  EXPECT_THROW(ledger.require_room({.mu = 1e-9, .tv = 1e-7}), BudgetSpent);
  EXPECT_THROW(ledger.require_room({.mu = 1e-9, .delta0 = 1e-7}), BudgetSpent);
  ledger.require_room({.mu = mu * 0.05});
  const LedgerState state = ledger.read();
  ASSERT_EQ(state.entries.size(), 4U);
  EXPECT_EQ(state.entries[3].time, "2027-01-15T11:00:00Z");
  EXPECT_EQ(state.entries[3].digest, "digest 4");
  EXPECT_TRUE(within(state.spent(), state.terms.caps));
  EXPECT_LE(delta_up(state.terms.guarantee(), 1), 1e-6);
  // Its journal is gone, its rights are its owner's.
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("memory", "people.ledger"));
  struct stat info {};
  ASSERT_EQ(stat(ledger.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(LedgerFile, NoKeyAndNoReleaseServesTwice) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "1"))); }, ledger.path(),
                 "this very release is entry 1 of 2027-01-15T08:00:00Z already");
  Ledger::Release other = release(0.01, "2");
  other.key_hash = "key 1";
  expect_refused([&] { static_cast<void>(ledger.enter(other)); }, ledger.path(),
                 "what the noise key of this release made is entry 1");
  other = release(0.01, "2");
  other.digest = "digest 1";
  expect_refused([&] { static_cast<void>(ledger.enter(other)); }, ledger.path(),
                 "this very release");
  EXPECT_EQ(ledger.read().entries.size(), 1U);
}

TEST_F(LedgerFile, ProtectsOneKindOfNeighbors) {
  const Ledger ledger = made();
  for (const Neighbors& who : {Neighbors{Adjacency::add_remove, 1}, Neighbors{{}, 2}}) {
    Ledger::Release other = release(0.01, "1");
    other.guarantee.who = who;
    expect_refused([&] { static_cast<void>(ledger.enter(other)); }, ledger.path(),
                   "counts replace-one neighbors of 1 row(s) a person");
    expect_refused([&] { ledger.require_room(other.guarantee); }, ledger.path(), "give another");
  }
  Ledger::Release pure = release(0.01, "1");
  pure.guarantee.epsilon0 = 0.1;
  EXPECT_THROW(static_cast<void>(ledger.enter(pure)), BadInput);
  EXPECT_TRUE(ledger.read().entries.empty());
}

// Rows of a person protect nobody who has more, and a row that goes from one person to another is a
// change of two people: neither may be added to the other.
TEST_F(LedgerFile, PeopleAndRowsAreNotAdded) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    const std::string name = std::string(to_string(adjacency));
    const Neighbors rows{adjacency, 1}, people{adjacency, any_rows};
    const Ledger of_rows = Ledger::create(folder.path(name), 1, 1e-6, rows, {}, options());
    const Ledger of_people =
        Ledger::create(folder.path(name + "p"), 1, 1e-6, people, {}, options());
    EXPECT_EQ(of_people.read().terms.who, people);
    EXPECT_EQ(to_json(of_people.read())["guarantee"]["unit"], "person");
    EXPECT_FALSE(to_json(of_rows.read())["guarantee"].contains("unit"));
    Ledger::Release one = release(0.01, "1"), more = release(0.01, "2");
    one.guarantee.who = rows;
    more.guarantee.who = people;
    EXPECT_EQ(of_rows.enter(one), 1U);
    EXPECT_EQ(of_people.enter(more), 1U);  // k is in its price
    expect_refused([&] { static_cast<void>(of_people.enter(release(0.01, "3"))); },
                   of_people.path(), "counts people, whatever rows they have");
    expect_refused([&] { of_people.require_room(one.guarantee); }, of_people.path(),
                   "it promises nothing to whoever has more");
    expect_refused([&] { static_cast<void>(of_rows.enter(more)); }, of_rows.path(),
                   "counts rows, 1 of a person, and this release people");
    for (const Adjacency other : {Adjacency::replace_one, Adjacency::add_remove}) {
      if (other == adjacency) continue;
      more.guarantee.who = {other, any_rows};
      expect_refused([&] { of_people.require_room(more.guarantee); }, of_people.path(),
                     "neighbors");
    }
    EXPECT_EQ(of_people.read().entries.size(), 1U);
    EXPECT_EQ(of_rows.read().entries.size(), 1U);
    EXPECT_THROW(static_cast<void>(
                     compose_up(std::vector{Guarantee{.who = rows}, Guarantee{.who = people}})),
                 BadInput);
    // Who it protects is in its chain.
    sql(name, "UPDATE terms SET rows_per_person = 'any'");
    expect_refused([&] { static_cast<void>(of_rows.read()); }, of_rows.path(), "edited or damaged");
    sql(name + "p", "UPDATE terms SET rows_per_person = '1'");
    expect_refused([&] { static_cast<void>(of_people.read()); }, of_people.path(),
                   "edited or damaged");
  }
}

TEST_F(LedgerFile, AClockThatRunsBackwardsIsRefusedBeyondAMinute) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  now -= 59s;
  EXPECT_EQ(ledger.enter(release(0.01, "2")), 2U);
  EXPECT_EQ(ledger.read().entries[1].time, "2027-01-15T08:00:00Z");  // never before the one before
  now -= 2s;
  expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "3"))); }, ledger.path(),
                 "its last entry is of 2027-01-15T08:00:00Z, the clock says 2027-01-15T07:58:59Z");
  EXPECT_EQ(ledger.read().entries.size(), 2U);
}

TEST_F(LedgerFile, IsNeverReplacedAndTermsAreChecked) {
  const Ledger ledger = made();
  const std::string before = folder.read("people.ledger");
  try {
    static_cast<void>(made());
    FAIL();
  } catch (const CannotWrite& error) {
    EXPECT_EQ(error.error, EEXIST);
  }
  EXPECT_EQ(folder.read("people.ledger"), before);
  EXPECT_THROW(Ledger::create(folder.path("x"), 0, 1e-6, {}), BadInput);
  EXPECT_THROW(Ledger::create(folder.path("x"), 1, 0.7, {}), BadInput);
  EXPECT_THROW(Ledger::create(folder.path("x"), 1, 1e-6, {{}, 0}), BadInput);
  EXPECT_THROW(Ledger::create(folder.path("no/x"), 1, 1e-6, {}), BadInput);
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("memory", "people.ledger"));
}

TEST_F(LedgerFile, WhatIsNoLedgerIsRefused) {
  const auto refused = [&](const std::string& name, const std::string& what) {
    expect_refused([&] { static_cast<void>(Ledger(folder.path(name), options()).read()); },
                   folder.path(name), what);
  };
  refused("nothing", "there is no such ledger");
  folder.write("empty", "");
  refused("empty", "is no ledger");
  folder.write("text", std::string(5000, 'x'));
  refused("text", "is no ledger");
  sql("foreign", "CREATE TABLE entry(x)");
  refused("foreign", "is no ledger");
  std::filesystem::create_directory(folder.path("folder"));
  refused("folder", "is no file");
  const Ledger ledger = made();
  std::filesystem::create_hard_link(ledger.path(), folder.path("second"));
  refused("second", "several names");
  refused("people.ledger", "several names");
  std::filesystem::remove(folder.path("second"));
  EXPECT_NO_THROW(static_cast<void>(ledger.read()));
  // SQLite does not read behind its last page.
  const std::string whole = folder.read("people.ledger");
  for (const std::string& tail : {std::string("x"), std::string(4096, '\0'), whole}) {
    folder.write("people.ledger", whole + tail);
    refused("people.ledger", "its end was edited or damaged");
  }
  folder.write("people.ledger", whole);
  sql("people.ledger", "PRAGMA user_version=2");
  refused("people.ledger", "is a ledger of form 2, this program reads 1");
}

TEST_F(LedgerFile, ACutFileIsRefusedWhereverItEnds) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  const std::string whole = folder.read("people.ledger");
  for (std::size_t size = 0; size < whole.size(); size += 509) {
    folder.write("people.ledger", whole.substr(0, size));
    EXPECT_THROW(static_cast<void>(ledger.read()), BadInput) << size;
    EXPECT_THROW(static_cast<void>(ledger.enter(release(0.01, "2"))), BadInput) << size;
  }
  folder.write("people.ledger", whole);
  EXPECT_EQ(ledger.read().entries.size(), 1U);
}

// Bits of the file that say something may not be changed unseen; a few say nothing.
TEST_F(LedgerFile, NoFlippedByteChangesWhatItSays) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  static_cast<void>(ledger.enter(release(0.02, "2")));
  std::filesystem::remove_all(folder.path("memory"));
  const LedgerState truth = ledger.read();
  std::string bytes = folder.read("people.ledger");
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); at += support::repeats<std::size_t>(23, 97)) {
    const char was = bytes[at];
    bytes[at] = static_cast<char>(was ^ (1 << (at % 8)));
    folder.write("people.ledger", bytes);
    try {
      const LedgerState state = ledger.read();
      ASSERT_EQ(state.spent(), truth.spent()) << at;
      ASSERT_EQ(state.terms.caps, truth.terms.caps) << at;
      ASSERT_EQ(state.entries.size(), 2U) << at;
      ASSERT_EQ(state.entries[0].key_hash, "key 1") << at;
    } catch (const BadInput&) {
      ++refused;
    }
    bytes[at] = was;
  }
  EXPECT_GT(refused, 5U);
}

TEST_F(LedgerFile, EveryEditOfARowIsSeen) {
  const Ledger ledger = made();
  for (const char* number : {"1", "2", "3"}) {
    static_cast<void>(ledger.enter(release(0.01, number)));
  }
  std::filesystem::remove_all(folder.path("memory"));
  folder.write("memory", "");  // nor can a new one be made
  const std::string whole = folder.read("people.ledger");
  const auto refused = [&](const std::string& edit) {
    sql("people.ledger", edit);
    expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(),
                   "was edited or damaged");
    expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "4"))); }, ledger.path(),
                   "was edited or damaged");
    folder.write("people.ledger", whole);
  };
  for (const char* column :
       {"time", "command", "mu_squared", "reveal", "tv", "key_hash", "digest", "chain"}) {
    refused(std::string("UPDATE entry SET ") + column + " = '0.5' WHERE number = 2");
    refused(std::string("UPDATE entry SET ") + column + " = 'x' WHERE number = 2");
  }
  refused("UPDATE entry SET number = 7 WHERE number = 3");
  refused("UPDATE entry SET number = -7 WHERE number = 3");
  refused("DELETE FROM entry WHERE number = 2");
  refused("DELETE FROM entry WHERE number = 1");
  for (const char* column : {"id", "created", "epsilon", "delta", "adjacency", "rows_per_person",
                             "mu_squared", "reveal", "tv"}) {
    refused(std::string("UPDATE terms SET ") + column + " = '0.001'");
    refused(std::string("UPDATE terms SET ") + column + " = 'x'");
  }
  refused("UPDATE terms SET adjacency = 'add-remove'");
  refused("UPDATE terms SET rows_per_person = '2'");
  refused("UPDATE terms SET rows_per_person = '-1'");
  refused("DELETE FROM terms");
  refused("INSERT INTO terms SELECT * FROM terms");
  refused("CREATE TABLE more(x)");
  refused("CREATE TRIGGER t BEFORE INSERT ON entry BEGIN DELETE FROM entry; END");
  refused("CREATE VIEW v AS SELECT 1");
  refused(
      "PRAGMA writable_schema=1; INSERT INTO sqlite_schema VALUES('trigger', 'sqlite_t', "
      "'entry', 0, 'CREATE TRIGGER sqlite_t AFTER INSERT ON entry BEGIN SELECT 1; END')");
  sql("people.ledger", "ANALYZE");
  EXPECT_EQ(ledger.read().entries.size(), 3U);
  // The software's name alone says nothing.
  sql("people.ledger", "UPDATE terms SET software = 'x'");
  EXPECT_EQ(ledger.read().entries.size(), 3U);
  // Without its last entry it is a whole ledger, of before: only memory notices.
  sql("people.ledger", "DELETE FROM entry WHERE number = 3");
  EXPECT_EQ(ledger.read().entries.size(), 2U);
}

// One who can recompute the chain can write what they like, but no ledger that claims what it has
// not: caps below what is spent, or above its epsilon and delta.
TEST_F(LedgerFile, ACapBelowWhatIsSpentIsRefused) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.1, "1")));
  const LedgerState state = ledger.read();
  std::filesystem::remove_all(folder.path("memory"));
  folder.write("memory", "");  // nor can a new one be made
  const auto chained = [](const std::vector<std::string>& row) {
    std::string text;
    for (const std::string& cell : row) {
      text += std::to_string(cell.size()).append(" ").append(cell).append(" ");
    }
    return digest_of(text);
  };
  const auto forge = [&](const std::string& cap) {
    const LedgerTerms& t = state.terms;
    const LedgerEntry& e = state.entries[0];
    const std::string first =
        chained({"gibbsite-ledger/1", t.id, t.created, "1", "1e-06", "replace-one", "1", cap,
                 t.caps.delta0.text(), t.caps.tv.text()});
    const std::string chain =
        chained({first, "1", e.time, e.command, e.charge.mu_squared.text(), e.charge.delta0.text(),
                 e.charge.tv.text(), e.key_hash, e.digest});
    sql("people.ledger",
        "UPDATE terms SET mu_squared = '" + cap + "'; UPDATE entry SET chain = '" + chain + "'");
  };
  forge(state.terms.caps.mu_squared.text());
  EXPECT_EQ(ledger.read().entries[0].chain, state.entries[0].chain);  // the forger knows the trade
  forge("0.02");
  EXPECT_EQ(ledger.read().entries.size(), 1U);
  forge("0.009");
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(), "more is spent");
  forge("1");
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(), "its table of terms");
}

TEST_F(LedgerFile, CopiesThatAreOlderAreNoticedWhereTheMemoryIs) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  const std::string old = folder.read("people.ledger");
  static_cast<void>(ledger.enter(release(0.01, "2")));
  const std::string current = folder.read("people.ledger");
  // Rolled back.
  folder.write("people.ledger", old);
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(),
                 "it has 1 entries, 2 were seen here");
  expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "3"))); }, ledger.path(),
                 "this is an older copy");
  // A copy that goes its own way on another machine, and comes back as long as ours.
  const LedgerOptions elsewhere{10s, folder.path("elsewhere"), options().clock};
  EXPECT_EQ(Ledger(ledger.path(), elsewhere).enter(release(0.01, "4")), 2U);
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(),
                 "its entry 2 is not the one that was seen here");
  // Where nothing is remembered nothing can be noticed: docs/how-to/ledger.md says so.
  EXPECT_NO_THROW(static_cast<void>(Ledger(ledger.path(), elsewhere).read()));
  folder.write("people.ledger", current);
  EXPECT_EQ(ledger.read().entries.size(), 2U);
  // Moved or copied, whole: it is the same ledger.
  std::filesystem::rename(ledger.path(), folder.path("moved"));
  const Ledger moved(folder.path("moved"), options());
  EXPECT_EQ(moved.enter(release(0.01, "3")), 3U);
  EXPECT_TRUE(moved.has_memory());
  folder.write("file", "");
  const LedgerOptions nowhere{10s, folder.path("file/below"), options().clock};
  EXPECT_FALSE(Ledger(moved.path(), nowhere).has_memory());
}

// Two writers, or one that is killed after its commit, may leave a memory that lags.
TEST_F(LedgerFile, AMemoryThatLagsCatchesUpWhenTheLedgerIsRead) {
  const Ledger ledger = made();
  const std::string note = "memory/" + ledger.read().terms.id;
  static_cast<void>(ledger.enter(release(0.01, "1")));
  const std::string old = folder.read("people.ledger"), old_note = folder.read(note);
  static_cast<void>(ledger.enter(release(0.01, "2")));
  const std::string current_note = folder.read(note);
  ASSERT_NE(current_note, old_note);
  folder.write(note, old_note);
  EXPECT_EQ(ledger.read().entries.size(), 2U);
  EXPECT_EQ(folder.read(note), current_note);
  folder.write("people.ledger", old);
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(), "2 were seen here");
}

TEST_F(LedgerFile, ADamagedMemoryIsNotTakenForNone) {
  const Ledger ledger = made();
  const std::string note = "memory/" + ledger.read().terms.id;
  for (const char* text : {"", "\n", "garbage", "99999999999999999999 x", "3", "0 x 1"}) {
    folder.write(note, text);
    expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(), "is damaged");
  }
  std::filesystem::remove(folder.path(note));
  ASSERT_EQ(mkfifo(folder.path(note).c_str(), 0600), 0);  // which nobody writes to
  expect_refused([&] { static_cast<void>(ledger.read()); }, ledger.path(), "is damaged");
  std::filesystem::remove(folder.path(note));
  EXPECT_NO_THROW(static_cast<void>(ledger.read()));
}

TEST_F(LedgerFile, ARelativeStateFolderIsNone) {
  const char* const home = getenv("HOME");
  const std::string was = home == nullptr ? "" : home;
  setenv("XDG_STATE_HOME", "relative", 1);
  setenv("HOME", "relative", 1);
  LedgerOptions unset = options();
  unset.memory = "";
  const Ledger ledger = Ledger::create(folder.path("l"), 1, 1e-6, {}, {}, unset);
  EXPECT_FALSE(ledger.has_memory());
  EXPECT_FALSE(std::filesystem::exists("relative"));
  unsetenv("XDG_STATE_HOME");
  was.empty() ? unsetenv("HOME") : setenv("HOME", was.c_str(), 1);
}

// Hours of work come between the look and the entry.
TEST_F(LedgerFile, ALookFindsWhatTheEntryWouldStumbleOn) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  const std::string before = folder.read("people.ledger");
  ledger.require_room({.mu = 0.01});
  EXPECT_EQ(folder.read("people.ledger"), before);
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("memory", "people.ledger"));
  const auto refused = [&](const std::string& what) {
    const Ledger hasty(ledger.path(), options(50ms));
    expect_refused([&] { hasty.require_room({.mu = 0.01}); }, ledger.path(), what);
  };
  now -= 1h;
  refused("its last entry is of 2027-01-15T08:00:00Z");
  now += 1h;
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(ledger.path().c_str(), &file), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(file, "PRAGMA journal_mode=wal; SELECT * FROM entry", nullptr, nullptr, nullptr),
      SQLITE_OK);
  refused("is locked by another program");
  sqlite3_close(file);
  ledger.require_room({.mu = 0.01});
  // The folder, where the journal has to go.
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  ASSERT_EQ(chmod(ledger.path().c_str(), 0666), 0);
  const bool is_root = geteuid() == 0;  // whom no right stops
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  refused("cannot be written to; make it and its folder writable");
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  EXPECT_EQ(ledger.read().entries.size(), 1U);
}

// A journal would be played back into whatever bears its name.
TEST_F(LedgerFile, IsNotMadeBesideAnothersJournal) {
  for (const char* suffix : {"-journal", "-wal"}) {
    folder.write(std::string("people.ledger").append(suffix), "x");
    expect_refused([&] { static_cast<void>(made()); }, folder.path("people.ledger"),
                   "is what was left of another");
    std::filesystem::remove(folder.path("people.ledger") + suffix);
  }
  EXPECT_NO_THROW(static_cast<void>(made()));
}

// An older copy would pass if what another user saw of the ledger counted as nothing.
TEST_F(LedgerFile, NothingIsEnteredBesideAMemoryThatCannotBeRead) {
  const Ledger ledger = made();
  static_cast<void>(ledger.enter(release(0.01, "1")));
  const auto barred = [](const std::string& path, mode_t folder_mode, mode_t file_mode) {
    ASSERT_EQ(chmod(path.c_str(), folder_mode), 0);
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      if (file.is_directory()) continue;
      ASSERT_EQ(chmod(file.path().c_str(), file_mode), 0);
    }
  };
  barred(folder.path(), 0777, 0666);
  barred(folder.path("memory"), 0777, 0000);
  const bool is_root = geteuid() == 0;  // whom no right stops
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "2"))); }, ledger.path(),
                 "cannot be read; enter as the user who did");
  EXPECT_EQ(ledger.read().entries.size(), 1U);
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  barred(folder.path("memory"), 0700, 0600);
  EXPECT_NO_THROW(static_cast<void>(ledger.enter(release(0.01, "2"))));
}

TEST_F(LedgerFile, ALockIsWaitedForAndThenNamed) {
  const Ledger ledger = made();
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(ledger.path().c_str(), &file), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(file, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Ledger hasty(ledger.path(), options(50ms));
  expect_refused([&] { static_cast<void>(hasty.enter(release(0.01, "1"))); }, ledger.path(),
                 "is locked by another program");
  expect_refused([&] { static_cast<void>(hasty.read()); }, ledger.path(), "is locked");
  sqlite3_close(file);
  EXPECT_EQ(hasty.enter(release(0.01, "1")), 1U);
  // Read by another all along, which an entry has to wait for.
  ASSERT_EQ(sqlite3_open(ledger.path().c_str(), &file), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(file, "BEGIN; SELECT * FROM entry", nullptr, nullptr, nullptr), SQLITE_OK);
  expect_refused([&] { static_cast<void>(hasty.enter(release(0.01, "2"))); }, ledger.path(),
                 "is locked");
  EXPECT_EQ(hasty.read().entries.size(), 1U);
  sqlite3_close(file);
  EXPECT_EQ(hasty.read().entries.size(), 1U);
}

TEST_F(LedgerFile, OneThatCannotBeWrittenCanBeRead) {
  const Ledger ledger = made();
  const std::string root = folder.path();
  ASSERT_EQ(chmod(root.c_str(), 0555), 0);
  ASSERT_EQ(chmod(ledger.path().c_str(), 0444), 0);
  const bool is_root = geteuid() == 0;  // whom no right stops
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  EXPECT_TRUE(ledger.read().entries.empty());
  expect_refused([&] { static_cast<void>(ledger.enter(release(0.01, "1"))); }, ledger.path(),
                 "cannot be written to");
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  ASSERT_EQ(chmod(root.c_str(), 0700), 0);
  EXPECT_TRUE(ledger.read().entries.empty());
}

TEST_F(LedgerFile, EightProcessesDoNotBothTakeTheLastOfIt) {
  const Ledger ledger = made();
  const double mu = ledger.read().terms.guarantee().mu;
  const double each = mu / std::sqrt(10.5);  // ten fit, of 24
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      int taken = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          static_cast<void>(ledger.enter(release(each, std::to_string(10 * child + i))));
          ++taken;
        } catch (const BudgetSpent&) {
        } catch (...) {
          _exit(100);
        }
      }
      _exit(taken);
    }
    children.push_back(pid);
  }
  int taken = 0;
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LE(WEXITSTATUS(status), 3);
    taken += WEXITSTATUS(status);
  }
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(ledger.read().entries.size(), 10U);
}

// Caps have a part of delta each. One release at the ledger's own epsilon and delta is beyond the
// cap of mu, and fits all the same, alone.
TEST_F(LedgerFile, HoldsOneReleaseOfAllThatItPromises) {
  const Ledger ledger = made();
  const LedgerTerms terms = ledger.read().terms;
  const double mu = gdp_mu_down(terms.epsilon, 0.999 * terms.delta);
  Ledger::Release whole = release(mu * (1 + 1e-9), "1");
  EXPECT_GT(mu, terms.guarantee().mu);
  EXPECT_THROW(static_cast<void>(ledger.enter(whole)), BudgetSpent);  // its own is not known
  const auto with_own = [&](const Guarantee& own) {
    whole.own = own;
    return whole;
  };
  EXPECT_THROW(static_cast<void>(ledger.enter(
                   with_own({.mu = gdp_mu_down(terms.epsilon, terms.delta) * (1 + 1e-6)}))),
               BudgetSpent);
  EXPECT_THROW(static_cast<void>(ledger.enter(with_own({.mu = mu, .delta0 = terms.delta}))),
               BudgetSpent);
  EXPECT_THROW(
      static_cast<void>(ledger.enter(with_own({.mu = mu, .who = {Adjacency::add_remove, 1}}))),
      BudgetSpent);
  // After another release, however small, the choice may follow from it: caps alone count.
  {
    const Ledger other = made("other");
    static_cast<void>(other.enter(release(1e-3, "2")));
    EXPECT_THROW(static_cast<void>(other.enter(with_own({.mu = mu}))), BudgetSpent);
    EXPECT_THROW(other.require_room(whole.guarantee, whole.own), BudgetSpent);
  }
  EXPECT_NO_THROW(ledger.require_room(whole.guarantee, Guarantee{.mu = mu}));
  EXPECT_EQ(ledger.enter(with_own({.mu = mu})), 1U);
  const LedgerState state = ledger.read();
  EXPECT_TRUE(state.is_whole());
  EXPECT_EQ(state.spent(), terms.caps);
  EXPECT_EQ(state.left(), PrivacyCost{});
  EXPECT_THROW(static_cast<void>(ledger.enter(release(1e-9, "3"))), BudgetSpent);
  Ledger::Release second = release(1e-9, "4");
  second.own = second.guarantee;
  EXPECT_THROW(static_cast<void>(ledger.enter(second)), BudgetSpent);
}

// SQLite locks one file: what keeps two copies apart is the memory's own lock.
TEST_F(LedgerFile, TwoCopiesAtTheSameTimeDoNotBothTakeTheLastOfIt) {
  for (int round = 0; round < 20; ++round) {
    const std::string name = "a" + std::to_string(round);
    const Ledger ledger = made(name.c_str());
    const std::string copy = folder.path("b" + std::to_string(round));
    std::filesystem::copy_file(ledger.path(), copy);
    const double each = 0.8 * ledger.read().terms.guarantee().mu;  // one fits, two do not
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (const std::string& path : {ledger.path(), copy}) {
      const pid_t pid = fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        char go = 0;
        close(start[1]);
        static_cast<void>(::read(start[0], &go, 1));  // until all are there
        try {
          const Ledger mine(path, options());
          mine.require_room({.mu = each, .tv = 1e-15});
          static_cast<void>(mine.enter(release(each, path)));
          _exit(1);
        } catch (const BadInput&) {
          _exit(0);
        }
      }
      children.push_back(pid);
    }
    close(start[0]);
    close(start[1]);
    int taken = 0;
    for (const pid_t pid : children) {
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      ASSERT_TRUE(WIFEXITED(status));
      taken += WEXITSTATUS(status);
    }
    EXPECT_EQ(taken, 1) << round;
  }
}

TEST_F(LedgerFile, AMemoryThatIsHeldIsWaitedForAndThenNamed) {
  const Ledger ledger = made();
  const std::string lock = folder.path("memory/" + ledger.read().terms.id + ".lock");
  const int held = open(lock.c_str(), O_RDWR);
  ASSERT_GE(held, 0);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const Ledger hasty(ledger.path(), options(50ms));
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { static_cast<void>(hasty.read()); },
           [&] { static_cast<void>(hasty.enter(release(0.01, "1"))); },
           [&] { hasty.require_room({.mu = 0.01, .tv = 1e-15}); },
           [&] { static_cast<void>(hasty.has_memory()); }})
    expect_refused(act, ledger.path(), "which may use a copy of it");
  close(held);
  EXPECT_EQ(hasty.enter(release(0.01, "1")), 1U);
}

}  // namespace ledger_test
}  // namespace gibbsite
