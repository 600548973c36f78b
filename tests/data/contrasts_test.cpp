// Contrasts against what the encoder makes of cells: every row that a schema can encode is
// reproduced from its coordinates, and a category keeps all levels only where a row needs that.
#include "gibbsite/model/contrasts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string_view>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/row_encoder.hpp"

namespace gibbsite {
namespace contrasts_test {

// What the encoder makes of a row; none where it refuses it.
std::optional<std::vector<float>> encoded(const Schema& schema, std::string_view cell) {
  try {
    RowEncoder rows(schema);
    rows.add(std::array<std::string_view, 3>{"0.25", cell, "x"}, "1");
    const Dataset data = rows.finish();
    std::vector<float> out(data.features());
    data.view().for_each(0, [&](std::size_t j, float v) { out[j] = v; });
    return out;
  } catch (const BadInput&) {
    return {};
  }
}

double distance_back(const ContrastBasis& contrasts, const std::vector<float>& row) {
  const std::size_t d = contrasts.features, k = contrasts.coordinates;
  std::vector<double> y(k, 0.0);
  double farthest = 0;
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = 0; i < k; ++i) {
      y[i] += contrasts.basis[j * k + i] * static_cast<double>(row[j]);
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    double back = 0;
    for (std::size_t i = 0; i < k; ++i) back += contrasts.basis[j * k + i] * y[i];
    farthest = std::max(farthest, std::fabs(back - static_cast<double>(row[j])));
  }
  return farthest;
}

TEST(ContrastsOfRows, ReproduceEveryRowThatCanBeEncoded) {
  int schemas = 0, with_contrasts = 0, rows = 0;
  for (const Invalid invalid : {Invalid::refuse, Invalid::middle}) {
    for (const bool other : {false, true}) {
      for (const bool unlisted : {false, true}) {
        for (const char* of_table : {"", "?", "north"}) {
          for (const char* of_column : {"", "?", "north"}) {
            Schema schema;
            schema.label_name = "y";
            schema.label = TwoClasses{.positive = "1"};
            schema.row_norm = 2;
            schema.intercept = true;
            schema.invalid = invalid;
            schema.text.has_missing = *of_table != '\0';
            schema.text.missing = of_table;
            Column town{"town", ColumnType::category, 0, 1, {"north", "south", "west"}, other};
            town.has_missing = *of_column != '\0';
            town.missing = of_column;
            if (unlisted) town.unlisted = "south";
            schema.columns = {{"age", ColumnType::number, 0, 1, {}, false},
                              town,
                              {"one", ColumnType::category, 0, 1, {"x"}, false}};
            const ContrastBasis contrasts = contrast_basis(schema);
            const bool claimed = always_has_level(schema, schema.columns[1]);
            bool always = true;
            for (const char* cell : {"north", "south", "west", "east", "?", ""}) {
              const auto row = encoded(schema, cell);
              if (!row) continue;
              EXPECT_LT(distance_back(contrasts, *row), 1e-12)
                  << cell << " missing " << of_table << "," << of_column << " other " << other
                  << " unlisted " << unlisted << " middle " << (invalid == Invalid::middle);
              float levels = 0;
              for (std::size_t j = 1; j + 2 < row->size(); ++j) levels += (*row)[j];
              always = always && levels == 1;
              ++rows;
            }
            EXPECT_EQ(claimed, always)
                << "missing " << of_table << "," << of_column << " other " << other << " unlisted "
                << unlisted << " middle " << (invalid == Invalid::middle);
            ++schemas;
            with_contrasts += claimed ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_EQ(schemas, 72);
  EXPECT_GT(with_contrasts, 20);
  EXPECT_LT(with_contrasts, 60);
  EXPECT_GT(rows, 250);
}

}  // namespace contrasts_test
}  // namespace gibbsite
