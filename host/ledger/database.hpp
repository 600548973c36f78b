#pragma once
// SQLite, as far as a ledger goes.
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gibbsite {

/// An open file. Errors are BadInput "FILE: ...".
class Database {
 public:
  enum class Mode { create, write, read };
  Database(std::string path, Mode mode, std::chrono::milliseconds patience);

  void execute(const std::string& sql);
  [[nodiscard]] std::string text(const std::string& sql);  ///< of one row and column
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  [[noreturn]] void fail() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Rolled back unless it was committed.
class Transaction {
 public:
  Transaction(Database& database, const char* begin) : database_(database) {
    database_.execute(begin);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() {
    database_.execute("COMMIT");
    open_ = false;
  }

 private:
  Database& database_;
  bool open_ = true;
};

class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  /// Binds the next parameter.
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t value);
  /// Whether there is another row.
  bool step();
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(handle_.get(), column);
  }

 private:
  struct Finish {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finish> handle_;
  int bound_ = 0;
};

}  // namespace gibbsite
