#pragma once
// The alternatives of a variant of mechanisms, by their names.
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace gibbsite {

/// Calls visit(std::type_identity<M>{}) for every alternative M, in order.
template <class Visit, class... M>
void each_kind(std::type_identity<std::variant<M...>> /*of*/, Visit&& visit) {
  (visit(std::type_identity<M>{}), ...);
}

/// All names, in the order of the variant.
template <class Variant>
std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> out;
  each_kind(std::type_identity<Variant>{},
            [&]<class M>(std::type_identity<M>) { out.push_back(M::name); });
  return out;
}

/// The alternative of that name, its settings as they are where nothing is said; none of another.
template <class Variant>
std::optional<Variant> kind_named(std::string_view name) {
  std::optional<Variant> out;
  each_kind(std::type_identity<Variant>{}, [&]<class M>(std::type_identity<M>) {
    if (M::name == name) out = M{};
  });
  return out;
}

}  // namespace gibbsite
