#pragma once
// The whole command line, for the program and for the Python package's command of the same name.

namespace gibbsite::cli {

/// Runs the sub-command argv[1]; errors are one line on stderr each. Returns the exit status
/// (docs/reference/command-line.md). SIGINT and SIGTERM may have lost their handlers afterwards.
int run_command(int argc, char** argv);

}  // namespace gibbsite::cli
