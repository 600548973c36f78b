#pragma once
// CSV text through libcsv.
#include <string>
#include <vector>

namespace gibbsite {

/// The cells of the header line; nothing behind it is looked at. Throws BadInput on a missing or
/// empty file, malformed quotes or a name that is given twice.
std::vector<std::string> read_csv_header(const std::string& path);

}  // namespace gibbsite
