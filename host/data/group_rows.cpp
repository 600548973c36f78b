#include "gibbsite/data/group_rows.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "data/encoder.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite {

void group_rows(Dataset& data, std::span<const std::optional<std::string>> ids,
                std::span<const std::uint32_t> rows) {
  Schema of_ids;  // as if they were the cells of a table of one number, which no row has
  of_ids.label_name = "label";
  of_ids.label = TwoClasses{.positive = "1"};
  of_ids.text = data.schema.text;
  of_ids.invalid = Invalid::middle;
  of_ids.columns = {{.name = "groups", .type = ColumnType::person},
                    {.name = "number", .type = ColumnType::number}};
  ReadOptions options;
  options.may_be_empty = options.holds_people = true;
  CellEncoder reader(of_ids, options, nullptr, [] { return Message("groups"); });
  reader.leave_unlabeled();
  const Encoding& id = reader.encodings().front();
  for (const std::optional<std::string>& text : ids) {
    text ? reader.set(id, std::string_view(*text)) : reader.set_null(id);
    reader.end_row();
  }
  const std::vector<std::uint32_t> people_of_ids = reader.finish().person;
  std::vector<std::uint32_t> places(rows.size());
  std::ranges::transform(rows, places.begin(), [&](std::uint32_t row) {
    if (row >= people_of_ids.size())
      throw BadInput("groups: a place is beyond the ids; count them from 0");
    return people_of_ids[row];
  });
  data.group(places);
}

}  // namespace gibbsite
