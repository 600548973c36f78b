#include "ledger/database.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

std::string what_to_do(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "is locked by another program; try again when it is done";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "cannot be written to; make it and its folder writable";
    case SQLITE_CANTOPEN:
      return "cannot be opened, or its journal beside it cannot; check the file and its folder";
    case SQLITE_CORRUPT:
      return "is damaged or cut short; restore it from a copy that has every entry, or end it";
    case SQLITE_NOTADB:
      return "is no ledger; give a file that was made as a ledger";
    case SQLITE_FULL:
      return "cannot be written: the disk is full; free space";
    default:
      return "";
  }
}

}  // namespace

Database::Database(std::string path, Mode mode, std::chrono::milliseconds patience)
    : path_(std::move(path)) {
  sqlite3* handle = nullptr;
  const int flags = mode == Mode::create  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : mode == Mode::write ? SQLITE_OPEN_READWRITE
                                          : SQLITE_OPEN_READONLY;
  // Absolute: ":memory:" and "file:..." mean other things to SQLite.
  const int code = sqlite3_open_v2(std::filesystem::absolute(path_).c_str(), &handle,
                                   flags | SQLITE_OPEN_PRIVATECACHE, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) throw BadInput(path_ + ": SQLite has no memory; use a machine with more");
  if (code != SQLITE_OK) fail();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  // Nothing of a file that somebody else made is run.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

void Database::fail() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  const std::string advice = what_to_do(code);
  throw BadInput(advice.empty() ? fmt::format("{}: {} (SQLite {}); check the disk and try again",
                                              path_, sqlite3_errmsg(handle_.get()), code)
                                : fmt::format("{}: {}", path_, advice));
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::string Database::text(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) database_.fail();
}

Statement& Statement::bind(std::string_view text) {
  if (sqlite3_bind_text(handle_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                        SQLITE_TRANSIENT) != SQLITE_OK) {
    database_.fail();
  }
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  if (sqlite3_bind_int64(handle_.get(), ++bound_, value) != SQLITE_OK) database_.fail();
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
  return code == SQLITE_ROW;
}

std::string Statement::text(int column) const {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return text == nullptr
             ? ""
             : std::string(text,
                           static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

}  // namespace gibbsite
