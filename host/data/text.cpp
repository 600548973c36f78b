#include "data/text.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace gibbsite {

std::string composed(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  if (size < 0) return std::string(text);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(out, &std::free);
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

}  // namespace gibbsite
