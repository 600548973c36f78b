#include "run_command.hpp"

int main(int argc, char** argv) { return gibbsite::cli::run_command(argc, argv); }
