#pragma once
// Texts for people in which the names of arguments stay typed, so that nobody has to find them
// again in the text.
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gibbsite {

/// The name of an argument of the library, such as rows_cap. The command line writes --rows-cap,
/// Python writes rows_cap.
struct Field {
  std::string name;
};

/// A word that people write in a file or type as it is, such as a key of the schema or a command.
struct Word {
  std::string text;
};

/// A place in a file; line 0 means the whole file.
struct FilePosition {
  std::string file;
  std::uint64_t line = 0;
};

/// One text as a list of typed pieces. The texts of files in it may hold anything: front ends
/// escape it (core/text.hpp) when they show it.
class Message {
 public:
  enum class Kind : char { text = 't', field = 'f', word = 'w', file = 'p' };
  struct Piece {
    Kind kind = Kind::text;
    std::string text;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  Message() = default;
  Message(std::string text) { append({Kind::text, std::move(text)}); }  // NOLINT
  Message(std::string_view text) : Message(std::string(text)) {}        // NOLINT
  Message(const char* text) : Message(std::string(text)) {}             // NOLINT
  Message(const Field& field) { append({Kind::field, field.name}); }    // NOLINT
  Message(const Word& word) { append({Kind::word, word.text}); }        // NOLINT
  Message(const FilePosition& at);                                      // NOLINT

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  void append(Piece piece);
  Message& operator+=(const Message& more);
  friend Message operator+(Message first, const Message& second) { return first += second; }
  friend bool operator==(const Message&, const Message&) = default;

  /// For users of the library: fields and words stand in backquotes.
  [[nodiscard]] std::string text() const;
  explicit operator std::string() const { return text(); }
  /// The name of each field and each word as it is.
  [[nodiscard]] std::string plain() const;
  /// What a front end shows: `write` gives the text of each piece that is not Kind::text.
  [[nodiscard]] std::string written(const std::function<std::string(const Piece&)>& write) const;

  /// Bytes for another process, and back.
  [[nodiscard]] std::string packed() const;
  [[nodiscard]] static Message unpacked(std::string_view bytes);

 private:
  std::vector<Piece> pieces_;
};

/// As text().
std::ostream& operator<<(std::ostream& out, const Message& message);

}  // namespace gibbsite
