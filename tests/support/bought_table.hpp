#pragma once
// A table of which only the names of columns are known, as runs that buy its schema take it.
#include <functional>
#include <string>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite::support {

struct BoughtTable {
  testing::TempDir folder;
  std::string path;
  SchemaShape shape;
  TableCells cells;

  /// `label`: "" of a table without one.
  BoughtTable(const std::vector<std::string>& names, const std::string& label, const Label& target,
              const std::string& text)
      : path(folder.write("t.csv", text)), shape(schema_shape(names, label, target, "t.csv")) {
    count();
  }
  /// A family's column alone.
  BoughtTable(const std::vector<std::string>& names, const std::string& column,
              const std::string& text)
      : path(folder.write("t.csv", text)), shape(family_shape(names, column, "t.csv")) {
    count();
  }
  [[nodiscard]] Dataset read(const Schema& schema) const {
    ReadOptions options;
    if (!shape.shape.label.empty()) return read_csv(path, schema, options);
    options.labels = ReadOptions::Labels::optional;
    options.ignore_extra_columns = true;
    return read_csv(path, schema, options);
  }
  [[nodiscard]] TableToBuy table() const {
    return {.shape = shape, .cells = cells, .source = path, .read = [this](const Schema& schema) {
              return read(schema);
            }};
  }

 private:
  void count() { cells = count_cells(path, shape.asked); }
};

}  // namespace gibbsite::support
