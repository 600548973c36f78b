#include "gibbsite/ledger/ledger.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "core/digest.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/budget.hpp"
#include "gibbsite/version.hpp"
#include "ledger/database.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::system_clock;

constexpr std::int64_t application_id = 0x67696262;  // "gibb"
constexpr std::int64_t form = 1;
constexpr std::string_view terms_table =
    "CREATE TABLE terms(id TEXT NOT NULL, created TEXT NOT NULL, epsilon TEXT NOT NULL, delta "
    "TEXT "
    "NOT NULL, adjacency TEXT NOT NULL, rows_per_person TEXT NOT NULL, mu_squared TEXT NOT NULL, "
    "reveal TEXT NOT NULL, tv TEXT NOT NULL, software TEXT NOT NULL) STRICT";
constexpr std::string_view entry_table =
    "CREATE TABLE entry(number INTEGER PRIMARY KEY, time TEXT NOT NULL, command TEXT NOT NULL, "
    "mu_squared TEXT NOT NULL, reveal TEXT NOT NULL, tv TEXT NOT NULL, key_hash TEXT NOT NULL "
    "UNIQUE, digest TEXT NOT NULL UNIQUE, chain TEXT NOT NULL) STRICT";
constexpr auto clock_slack = std::chrono::seconds(60);

std::string utc(Clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::time_point_cast<std::chrono::seconds>(time)));
}

// Contents of a row in one text: a length before each, so that no two rows share one.
class Contents {
 public:
  Contents& add(std::string_view text) {
    text_ += fmt::format("{} {} ", text.size(), text);
    return *this;
  }
  Contents& add(const PrivacyCost& charge) {
    return add(charge.mu_squared.text()).add(charge.delta0.text()).add(charge.tv.text());
  }
  [[nodiscard]] std::string digest() const { return digest_of(text_); }

 private:
  std::string text_;
};

// Rows of a person as the file has them; earlier programs refuse the word.
constexpr std::string_view any_rows_text = "any";
std::string rows_text(const Neighbors& who) {
  return of_people(who) ? std::string(any_rows_text) : std::to_string(who.rows_per_person);
}

std::string chain_of(const LedgerTerms& t) {
  return Contents()
      .add("gibbsite-ledger/1")
      .add(t.id)
      .add(t.created)
      .add(fmt::format("{}", t.epsilon))
      .add(fmt::format("{}", t.delta))
      .add(to_string(t.who.adjacency))
      .add(rows_text(t.who))
      .add(t.caps)
      .digest();
}

std::string chain_of(const std::string& before, const LedgerEntry& e) {
  return Contents()
      .add(before)
      .add(std::to_string(e.number))
      .add(e.time)
      .add(e.command)
      .add(e.charge)
      .add(e.key_hash)
      .add(e.digest)
      .digest();
}

std::string chain_of(const LedgerState& state) {
  return state.entries.empty() ? chain_of(state.terms) : state.entries.back().chain;
}

[[noreturn]] void refuse_edited(const std::string& path, const std::string& what) {
  throw BadInput(
      fmt::format("{}: {} was edited or damaged; restore the file from a copy that has every "
                  "entry, or end it",
                  path, what));
}

double number_of(const std::string& path, const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);  // of no locale
  if (error != std::errc{} || stop != end) refuse_edited(path, "a number");
  return value;
}

PrivacyCost charge_of(const std::string& path, const Statement& row, int column) {
  try {
    return {Decimal::of(row.text(column)), Decimal::of(row.text(column + 1)),
            Decimal::of(row.text(column + 2))};
  } catch (const BadInput&) {
    refuse_edited(path, "an amount");
  }
}

// A text of a row; this program writes none that is longer.
std::string short_text(const std::string& path, const Statement& row, int column) {
  constexpr std::size_t longest = 128;
  std::string text = row.text(column);
  if (text.size() > longest) refuse_edited(path, "a text (it is too long)");
  return text;
}

LedgerTerms terms_of(Database& file) {
  const std::string& path = file.path();
  Statement row(file,
                "SELECT id, created, epsilon, delta, adjacency, rows_per_person, mu_squared, "
                "reveal, tv, software FROM terms");
  if (!row.step()) refuse_edited(path, "its table of terms");
  for (int column = 0; column < 10; ++column) static_cast<void>(short_text(path, row, column));
  LedgerTerms out;
  out.id = row.text(0);
  out.created = row.text(1);
  out.epsilon = number_of(path, row.text(2));
  out.delta = number_of(path, row.text(3));
  if (row.text(4) != to_string(Adjacency::replace_one) &&
      row.text(4) != to_string(Adjacency::add_remove)) {
    refuse_edited(path, "its adjacency");
  }
  out.who = {adjacency_from_string(row.text(4)), any_rows};
  if (row.text(5) != any_rows_text) {
    const double rows = number_of(path, row.text(5));
    if (!(rows >= 1 && rows <= 0x1p53)) refuse_edited(path, "its number of rows per person");
    out.who.rows_per_person = static_cast<std::uint64_t>(rows);
  }
  out.caps = charge_of(path, row, 6);
  if (row.step() || !(delta_up(out.guarantee(), out.epsilon) <= out.delta)) {
    refuse_edited(path, "its table of terms");
  }
  return out;
}

// SQLite reads as many pages as the header counts: what is behind them would travel unread.
void require_no_tail(Database& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file.path(), error);
  const auto number = [&](const char* pragma) {
    return static_cast<std::uint64_t>(number_of(file.path(), file.text(pragma)));
  };
  if (!error && bytes > number("PRAGMA page_count") * number("PRAGMA page_size")) {
    refuse_edited(file.path(), "its end");
  }
}

// All of it, within a transaction.
LedgerState state_of(Database& file) {
  const std::string& path = file.path();
  const auto pragma = [&](const char* name) {
    return file.text(std::string("PRAGMA ").append(name));
  };
  if (pragma("application_id") != std::to_string(application_id)) {
    throw BadInput(path + ": is no ledger; give a file that was made as a ledger");
  }
  if (pragma("user_version") != std::to_string(form)) {
    throw BadInput(
        fmt::format("{}: is a ledger of form {}, this program reads {}; use a newer "
                    "one",
                    path, pragma("user_version"), form));
  }
  // ANALYZE is free to leave what it counted.
  Statement schema(
      file,
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND NOT (type = 'table' AND "
      "name LIKE 'sqlite\\_stat%' ESCAPE '\\') ORDER BY name DESC");
  for (const std::string_view table : {terms_table, entry_table}) {
    if (!schema.step() || schema.text(0) != table) refuse_edited(path, "the form of its tables");
  }
  if (schema.step()) refuse_edited(path, "the form of its tables");
  if (pragma("quick_check(1)") != "ok") refuse_edited(path, "a page");
  require_no_tail(file);

  LedgerState out{terms_of(file), {}};
  Statement row(file,
                "SELECT number, time, command, key_hash, digest, chain, mu_squared, reveal, tv "
                "FROM entry ORDER BY number");
  std::string chain = chain_of(out.terms);
  while (row.step()) {
    LedgerEntry e{static_cast<std::uint64_t>(row.integer(0)),
                  short_text(path, row, 1),
                  short_text(path, row, 2),
                  charge_of(path, row, 6),
                  short_text(path, row, 3),
                  short_text(path, row, 4),
                  short_text(path, row, 5)};
    chain = chain_of(chain, e);
    if (e.number != out.entries.size() + 1 || e.chain != chain) {
      refuse_edited(path, fmt::format("entry {}", out.entries.size() + 1));
    }
    out.entries.push_back(std::move(e));
  }
  if (!within(out.spent(), out.terms.caps)) refuse_edited(path, "a cap (more is spent)");
  return out;
}

void require_plain_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw BadInput(path + ": there is no such ledger; make one first");
  }
  if (!S_ISREG(info.st_mode)) throw BadInput(path + ": is no file; give a ledger");
  if (info.st_nlink > 1) {
    // SQLite's lock and journal go by the name.
    throw BadInput(path + ": is a file of several names (hard links); leave it one");
  }
}

// A lock that the system takes away when its holder ends. SQLite's locks are of one file each: two
// copies of a ledger do not see each other's.
class FileLock {
 public:
  // Waits for that long; throws BadInput "LEDGER: ..." if another program keeps it.
  FileLock(const std::string& file, const std::string& ledger, std::chrono::milliseconds patience) {
    using Steady = std::chrono::steady_clock;
    fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd_ < 0) return;
    for (const auto until = Steady::now() + patience;;) {
      held_ = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
      if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) return;
      if (Steady::now() >= until) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::close(fd_);
    throw BadInput(fmt::format(
        "{}: is locked by another program, which may use a copy of it; try again when it is done",
        ledger));
  }
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // False if the file cannot be opened, or its file system has no locks.
  [[nodiscard]] bool held() const { return held_; }

 private:
  int fd_ = -1;
  bool held_ = false;
};

// How far this machine's user last saw each ledger: "ENTRIES CHAIN" in a file of its id. It is
// locked as long as this object lives, from before it is read until after it is written: a second
// copy of the ledger waits, and then finds that it is the older one.
class Memory {
 public:
  Memory(const std::string& path, const LedgerOptions& options, const std::string& id)
      : folder_(options.memory) {
    const auto variable = [](const char* name) {
      const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): none sets it
      return std::string(value == nullptr ? "" : value);
    };
    // From another folder a relative one would be another memory: XDG has it ignored.
    if (folder_.empty() && variable("XDG_STATE_HOME").starts_with('/')) {
      folder_ = variable("XDG_STATE_HOME") + "/gibbsite/ledgers";
    } else if (folder_.empty() && variable("HOME").starts_with('/')) {
      folder_ = variable("HOME") + "/.local/state/gibbsite/ledgers";
    }
    const bool legal = id.size() == 32 && id.find_first_not_of("0123456789abcdef") == id.npos;
    if (folder_.empty() || !legal) return;
    file_ = folder_ + "/" + id;
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    lock_.emplace(file_ + ".lock", path, options.patience);
  }

  // Whether two copies of a ledger that are used at the same time wait for each other.
  [[nodiscard]] bool locked() const { return lock_ && lock_->held(); }

  // What another user saw of a ledger cannot be compared with, so nothing is entered beside it. To
  // take it for nothing would let an older copy pass.
  void require_readable(const std::string& path) const {
    std::error_code ignored;
    if (file_.empty() || !fs::exists(file_, ignored) || std::ifstream(file_)) return;
    throw BadInput(fmt::format(
        "{}: what this machine saw of it last, {}, cannot be read; enter as the user who did", path,
        file_));
  }

  void require_no_rollback(const std::string& path, const LedgerState& state) const {
    const auto seen = remembered(path);
    if (!seen) return;
    const auto& [entries, chain] = *seen;
    const bool there = entries <= state.entries.size();
    const std::string here = !there        ? ""
                             : entries > 0 ? state.entries[entries - 1].chain
                                           : chain_of(state.terms);
    if (here == chain) return;
    throw BadInput(fmt::format(
        "{}: {}: this is an older copy, or another of its copies was used; go on with the one "
        "that has every entry (what this machine saw last is in {})",
        path,
        there ? fmt::format("its entry {} is not the one that was seen here", entries)
              : fmt::format("it has {} entries, {} were seen here", state.entries.size(), entries),
        file_));
  }

  // Called while the file is locked, so that the last one to write it saw the most. It never runs
  // ahead of the file; it lags where it cannot be written.
  bool note(const LedgerState& state) const {
    if (file_.empty()) return false;
    try {
      fs::create_directories(folder_);
      write_file_atomically(file_, fmt::format("{} {}\n", state.entries.size(), chain_of(state)),
                            private_file);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  // Where it is behind: another writer was killed before it noted.
  void catch_up(const std::string& path, const LedgerState& state) const {
    const auto seen = remembered(path);
    if (!seen || seen->first < state.entries.size()) note(state);
  }

 private:
  // Damage is refused: to take it for nothing would let an older copy pass.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::string>> remembered(
      const std::string& path) const {
    std::error_code error;
    const auto status = fs::status(file_, error);
    if (file_.empty() || !fs::exists(status)) return std::nullopt;
    if (fs::is_regular_file(status)) {
      std::ifstream file(file_);
      if (!file) return std::nullopt;  // another user's; require_readable is for entries
      std::uint64_t entries = 0;
      std::string chain, more;
      if (file >> entries >> chain && !(file >> more)) return std::pair(entries, chain);
    }
    throw BadInput(
        fmt::format("{}: what this machine saw of it last, {}, is damaged; make sure that this "
                    "is "
                    "the copy that has every entry, then remove that file",
                    path, file_));
  }

  std::string folder_, file_;
  std::optional<FileLock> lock_;
};

// What a release does not fit into, the first amount that is short.
std::string shortage(const PrivacyCost& charge, const LedgerState& state) {
  const PrivacyCost left = state.left();
  const auto amount = [](const Decimal& x) {
    return fmt::format("{:.6g}", static_cast<double>(x.wide()));
  };
  const auto line = [&](const char* what, const Decimal& asked, const Decimal& rest,
                        const Decimal& cap) {
    return fmt::format("this release takes {} of {}, {} of {} is left", amount(asked), what,
                       amount(rest), amount(cap));
  };
  if (charge.mu_squared > left.mu_squared) {
    return line("mu^2", charge.mu_squared, left.mu_squared, state.terms.caps.mu_squared);
  }
  if (charge.delta0 > left.delta0) {
    return line("reveal", charge.delta0, left.delta0, state.terms.caps.delta0);
  }
  return line("tv", charge.tv, left.tv, state.terms.caps.tv);
}

// Behind the command of a release that took all of a ledger.
constexpr std::string_view of_all = " (whole ledger)";

struct Entering {
  PrivacyCost charge;
  bool whole = false;
};

// What the release is charged, if there is room for it.
Entering require_room_in(const std::string& path, const LedgerState& state,
                         const Guarantee& guarantee, const std::optional<Guarantee>& own) {
  const Neighbors &ours = state.terms.who, &theirs = guarantee.who;
  if (of_people(ours) && !of_people(theirs)) {
    throw BadInput(format_message(
        "{}: counts people, whatever rows they have, and this release protects {} row(s) of a "
        "person: it promises nothing to whoever has more; give another ledger, or a schema whose "
        "ids are {{type = \"person\"}}",
        path, theirs.rows_per_person));
  }
  if (of_people(theirs) && !of_people(ours)) {
    throw BadInput(format_message(
        "{}: counts rows, {} of a person, and this release people, whatever rows they have: a row "
        "that goes from one person to another would be two of its people; give a ledger of people "
        "(create it with {})",
        path, ours.rows_per_person, Field{"people"}));
  }
  if (ours != theirs) {
    throw BadInput(format_message(
        "{}: counts {} neighbors of {} row(s) a person, this release protects {} ones of {}; "
        "give another ledger, or those {} and {}",
        path, to_string(ours.adjacency), rows_text(ours), to_string(theirs.adjacency),
        rows_text(theirs), Field{"adjacency"}, Field{"rows_per_person"}));
  }
  const PrivacyCost charge = privacy_cost_up(guarantee);
  // Caps, not left_of: nothing is subtracted where it decides.
  if (within(state.spent() + charge, state.terms.caps)) return {charge};
  // Nothing was released before and nothing will be after: no release is chosen by another one, and
  // this one keeps to the ledger's epsilon and delta on its own.
  const LedgerTerms& terms = state.terms;
  if (state.entries.empty() && own && own->who == terms.who &&
      delta_up(*own, terms.epsilon) <= terms.delta) {
    return {terms.caps, true};
  }
  throw BudgetSpent(fmt::format("{}: {}", path, shortage(charge, state)));
}

// A journal of its own file, deleted at the commit; synced as far as disks go.
Database& with_journal(Database& file) {
  if (file.text("PRAGMA journal_mode=DELETE") != "delete") {
    throw BadInput(file.path() +
                   ": its journal is of another kind and in use; close what has it open");
  }
  file.execute("PRAGMA synchronous=EXTRA");
  return file;
}

// The id of a ledger, which never changes. The transaction ends here: a program that waits for the
// memory with a transaction open would keep the memory's holder from its commit.
std::string id_of(Database& file) {
  const Transaction transaction(file, "BEGIN");
  return state_of(file).terms.id;
}

void require_id(const std::string& path, const LedgerState& state, const std::string& id) {
  if (state.terms.id != id) throw BadInput(path + ": was replaced meanwhile; try again");
}

// A ledger and its memory locked for an entry, as it is and no older than what was seen here.
struct Locked {
  Locked(const std::string& path, const LedgerOptions& options)
      : file(path, Database::Mode::write, options.patience),
        id(id_of(with_journal(file))),
        memory(path, options, id),
        transaction(file, "BEGIN IMMEDIATE"),
        state(state_of(file)) {
    require_id(path, state, id);
    memory.require_no_rollback(path, state);
  }

  Database file;
  const std::string id;
  const Memory memory;
  Transaction transaction;
  const LedgerState state;
};

// Never before the last entry's.
std::string time_of_entry(const std::string& path, const LedgerState& state,
                          Clock::time_point now) {
  std::string time = utc(now);
  if (state.entries.empty()) return time;
  const std::string& last = state.entries.back().time;
  if (utc(now + clock_slack) < last) {
    throw BadInput(
        fmt::format("{}: its last entry is of {}, the clock says {}: set the clock, or wait", path,
                    last, time));
  }
  return std::max(time, last);
}

// After a commit, under a lock again: others may have entered since, and must not be forgotten.
void note_what_is_there(Database& file, const Memory& memory) {
  try {
    Transaction transaction(file, "BEGIN");
    memory.note(state_of(file));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is entered; the memory lags
  }
}

}  // namespace

bool LedgerState::is_whole() const {
  return entries.size() == 1 && entries[0].command.ends_with(of_all);
}

double LedgerState::tv_left() const { return round_down(left().tv.wide()); }

PrivacyCost LedgerState::spent() const {
  PrivacyCost out;
  for (const LedgerEntry& entry : entries) out = out + entry.charge;
  return out;
}

double tv_left(const Ledger* ledger) { return ledger == nullptr ? 1 : ledger->read().tv_left(); }

Ledger::Ledger(std::string path, LedgerOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  require_plain_file(path_);
}

Ledger Ledger::create(const std::string& path, double epsilon, double delta, const Neighbors& who,
                      const DeltaShares& shares, LedgerOptions options) {
  const std::uint64_t rows = of_people(who) ? 1 : who.rows_per_person;
  Budget{epsilon, delta, who.adjacency, rows}.validate();
  LedgerTerms terms{{}, utc(options.clock()), epsilon, delta, caps_down(epsilon, delta, shares),
                    who};
  if (sodium_init() < 0) throw BadInput("libsodium: does not start; install it again");
  std::array<unsigned char, 16> id{};
  randombytes_buf(id.data(), id.size());
  for (const unsigned char byte : id) terms.id += fmt::format("{:02x}", byte);

  // SQLite would play them back into the new one.
  for (const char* const suffix : {"-journal", "-wal"}) {
    std::error_code error;
    if (!fs::exists(path + suffix, error)) continue;
    throw BadInput(fmt::format(
        "{}: {}{} is what was left of another of that name; give another name, or remove it", path,
        path, suffix));
  }
  Temporary place(path, Temporary::Kind::file, 0600);
  {
    Database file(place.name(), Database::Mode::create, options.patience);
    file.execute("PRAGMA synchronous=EXTRA");
    Transaction transaction(file, "BEGIN EXCLUSIVE");
    file.execute(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", application_id, form));
    file.execute(std::string(terms_table));
    file.execute(std::string(entry_table));
    Statement insert(file, "INSERT INTO terms VALUES(?,?,?,?,?,?,?,?,?,?)");
    insert.bind(terms.id).bind(terms.created).bind(fmt::format("{}", epsilon));
    insert.bind(fmt::format("{}", delta)).bind(to_string(who.adjacency));
    insert.bind(rows_text(who)).bind(terms.caps.mu_squared.text());
    insert.bind(terms.caps.delta0.text()).bind(terms.caps.tv.text()).bind(GIBBSITE_VERSION);
    static_cast<void>(insert.step());
    transaction.commit();
  }
  if (const int error = place.rename(Existing::kept); error != 0) {
    throw CannotWrite(path,
                      error == EEXIST ? "is there already"
                                      : "cannot write: " + std::generic_category().message(error),
                      "give another name: a ledger is never replaced", error);
  }
  Memory(path, options, terms.id).note({terms, {}});
  return Ledger(path, std::move(options));
}

LedgerState Ledger::read() const {
  require_plain_file(path_);
  // One that can be written to, where it may: what a killed writer left is rolled back by it.
  const bool writable = ::access(path_.c_str(), W_OK) == 0;
  Database file(path_, writable ? Database::Mode::write : Database::Mode::read, options_.patience);
  const std::string id = id_of(file);
  const Memory memory(path_, options_, id);
  Transaction transaction(file, "BEGIN");
  LedgerState state = state_of(file);
  require_id(path_, state, id);
  memory.require_no_rollback(path_, state);
  memory.catch_up(path_, state);
  return state;
}

bool Ledger::require_room(const Guarantee& guarantee, const std::optional<Guarantee>& own) const {
  require_plain_file(path_);
  Locked now(path_, options_);
  const bool is_whole = require_room_in(path_, now.state, guarantee, own).whole;
  static_cast<void>(time_of_entry(path_, now.state, options_.clock()));
  // Into the journal and back: what cannot be written is found before the work.
  now.file.execute(fmt::format("PRAGMA user_version={}", form));
  return is_whole;
}

std::uint64_t Ledger::enter(const Release& release) const {
  require_plain_file(path_);
  Locked now(path_, options_);
  const LedgerState& state = now.state;
  const Entering entering = require_room_in(path_, state, release.guarantee, release.own);
  for (const LedgerEntry& entry : state.entries) {
    const bool same_file = entry.digest == release.digest;
    if (!same_file && entry.key_hash != release.key_hash) continue;
    throw BadInput(fmt::format(
        "{}: {} is entry {} of {} already; noise serves once: run it again with a new key, "
        "without "
        "its checkpoint",
        path_, same_file ? "this very release" : "what the noise key of this release made",
        entry.number, entry.time));
  }
  LedgerEntry entry{state.entries.size() + 1,
                    time_of_entry(path_, state, options_.clock()),
                    release.command + std::string(entering.whole ? of_all : ""),
                    entering.charge,
                    release.key_hash,
                    release.digest,
                    {}};
  entry.chain = chain_of(chain_of(state), entry);
  Statement insert(now.file, "INSERT INTO entry VALUES(?,?,?,?,?,?,?,?,?)");
  insert.bind(static_cast<std::int64_t>(entry.number)).bind(entry.time).bind(entry.command);
  insert.bind(entry.charge.mu_squared.text()).bind(entry.charge.delta0.text());
  insert.bind(entry.charge.tv.text()).bind(entry.key_hash).bind(entry.digest).bind(entry.chain);
  static_cast<void>(insert.step());
  now.memory.require_readable(path_);
  now.transaction.commit();
  note_what_is_there(now.file, now.memory);
  return entry.number;
}

bool Ledger::has_memory() const {
  const std::string id = read().terms.id;
  const Memory memory(path_, options_, id);
  Database file(path_, Database::Mode::read, options_.patience);
  Transaction transaction(file, "BEGIN");
  const LedgerState state = state_of(file);
  require_id(path_, state, id);
  memory.require_no_rollback(path_, state);
  return memory.locked() && memory.note(state);
}

}  // namespace gibbsite
