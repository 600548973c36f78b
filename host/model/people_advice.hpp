#pragma once
// What to do with a schema's column of people where rows are counted, each as one.
#include <string_view>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Advice behind "; ". A schema that was bought for people has no other unit: it is refused without
/// its column of people.
inline std::string_view rows_instead(const Schema& schema) {
  return schema.was_bought_for_people()
             ? "give a schema that was written without looking at the table, with that column as "
               "type = \"ignore\": this one was bought for people and has no other unit"
             : "give it type = \"ignore\" here";
}

}  // namespace gibbsite
