#include "run_command.hpp"
#include "streams.hpp"

namespace {
// Before the statics of any other file: they need memory too.
constexpr int first = 101;
[[gnu::constructor(first)]] void prepare() { gibbsite::cli::say_last_words_at_the_end(); }
}  // namespace

int main(int argc, char** argv) { return gibbsite::cli::run_command(argc, argv); }
