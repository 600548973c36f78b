// The input is a checkpoint without its digest, which is put behind it; when its first byte is
// 0xff, what follows is the whole file. What is read is written again to the same bytes.
#include <sodium.h>

#include <array>

#include "folder.hpp"
#include "run/run_plan.hpp"

void gibbsite::fuzz::run(std::string_view in) {
  static File file;
  static const Folder folder;
  std::string bytes(in);
  if (in.starts_with('\xff')) {
    bytes.erase(0, 1);
  } else {
    std::array<unsigned char, 32> digest{};
    crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<const unsigned char*>(in.data()), in.size(), nullptr, 0);
    bytes.append(digest.begin(), digest.end());
  }
  const std::string& path = file.holding(bytes);
  accepts([&] {
    const Checkpoint checkpoint = read_checkpoint(path);
    const std::string copy = folder.path("copy");
    write_checkpoint(copy, checkpoint);
    require(folder.read("copy") == bytes, "a checkpoint that does not read back");
  });
}
