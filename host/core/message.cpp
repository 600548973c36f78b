#include "gibbsite/core/message.hpp"

#include <charconv>
#include <ostream>

namespace gibbsite {

Message::Message(const FilePosition& at) {
  append({Kind::file, at.file});
  if (at.line > 0) append({Kind::text, ":" + std::to_string(at.line)});
}

void Message::append(Piece piece) {
  if (piece.text.empty()) return;
  if (piece.kind == Kind::text && !pieces_.empty() && pieces_.back().kind == Kind::text) {
    pieces_.back().text += piece.text;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

Message& Message::operator+=(const Message& more) {
  const std::vector<Piece> pieces = more.pieces_;  // it may be this one
  for (const Piece& piece : pieces) append(piece);
  return *this;
}

std::string Message::written(const std::function<std::string(const Piece&)>& write) const {
  std::string out;
  for (const Piece& piece : pieces_) out += piece.kind == Kind::text ? piece.text : write(piece);
  return out;
}

std::string Message::text() const {
  return written([](const Piece& piece) {
    return piece.kind == Kind::file ? piece.text : '`' + piece.text + '`';
  });
}

std::string Message::plain() const {
  return written([](const Piece& piece) { return piece.text; });
}

std::string Message::packed() const {
  std::string out;
  for (const Piece& piece : pieces_) {
    out += static_cast<char>(piece.kind);
    out += std::to_string(piece.text.size()) + ':' + piece.text;
  }
  return out;
}

Message Message::unpacked(std::string_view bytes) {
  Message out;
  while (!bytes.empty()) {
    const auto kind = static_cast<Kind>(bytes.front());
    std::size_t size = 0;
    const char* const end = bytes.data() + bytes.size();
    const auto [stop, error] = std::from_chars(bytes.data() + 1, end, size);
    if (error != std::errc{} || stop == end || size > static_cast<std::size_t>(end - stop - 1)) {
      break;  // no peer of this version sends it
    }
    out.append({kind, std::string(stop + 1, size)});
    bytes = {stop + 1 + size, static_cast<std::size_t>(end - stop - 1) - size};
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const Message& message) {
  return out << message.text();
}

}  // namespace gibbsite
