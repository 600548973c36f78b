#pragma once
// fmt::format for messages: fields, words, places in files and other messages keep their type.
#include <fmt/format.h>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "gibbsite/core/message.hpp"

namespace gibbsite {

/// What fmt has written of a message, and the typed pieces with their places in it.
struct MessageBuffer {
  fmt::memory_buffer text;
  std::vector<std::pair<std::size_t, Message>> typed;
};

/// Stands for a typed argument in fmt's list: fmt writes nothing for it and its place is noted.
struct TypedArgument {
  Message message;
  MessageBuffer* buffer;
};

template <class T>
inline constexpr bool is_typed = std::is_same_v<T, Field> || std::is_same_v<T, Word> ||
                                 std::is_same_v<T, FilePosition> || std::is_same_v<T, Message>;

template <class T>
using FormatArgument = std::conditional_t<is_typed<T>, TypedArgument, T>;

template <class T>
decltype(auto) format_argument(const T& value, MessageBuffer& buffer) {
  if constexpr (is_typed<T>) {
    return TypedArgument{Message(value), &buffer};
  } else {
    static_cast<void>(buffer);
    return (value);
  }
}

}  // namespace gibbsite

template <>
struct fmt::formatter<gibbsite::TypedArgument> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const gibbsite::TypedArgument& argument, Context& context) const {
    gibbsite::MessageBuffer& buffer = *argument.buffer;
    buffer.typed.emplace_back(buffer.text.size(), argument.message);
    return context.out();
  }
};

namespace gibbsite {

/// "{}" takes Field, Word, FilePosition and Message beside all that fmt takes.
template <class... Args>
Message format_message(fmt::format_string<FormatArgument<Args>...> format, const Args&... args) {
  MessageBuffer buffer;
  fmt::vformat_to(fmt::appender(buffer.text), fmt::string_view(format),
                  fmt::make_format_args(format_argument(args, buffer)...));
  const std::string_view text(buffer.text.data(), buffer.text.size());
  Message out;
  std::size_t from = 0;
  for (const auto& [at, message] : buffer.typed) {
    out += text.substr(from, at - from);
    out += message;
    from = at;
  }
  return out += text.substr(from);
}

}  // namespace gibbsite
