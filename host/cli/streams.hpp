#pragma once
// Standard streams that cannot end a command halfway.
#include <exception>

namespace gibbsite::cli {

/// For the duration of a command, makes its standard streams safe to use.
///
/// - A stream that the caller closed is opened on /dev/null. Without that the next file that the
///   command opens, a ledger for example, would take the number of the stream and receive its text.
///   Standard input and output are opened so that using them is an error, as on a closed stream.
/// - Text that stderr cannot take is dropped: a warning that nobody can read ends no fit.
/// - A reader that leaves a pipe early (`gibbsite plan | head -1`) sends no SIGPIPE, which would
/// end
///   a fit between its ledger entry and its model. flush_output sees the error at the end.
class SafeStreams {
 public:
  SafeStreams();
  SafeStreams(const SafeStreams&) = delete;
  SafeStreams& operator=(const SafeStreams&) = delete;
  ~SafeStreams();

 private:
  void* held_stderr_ = nullptr;
  void (*held_pipe_)(int);
};

/// The reader of standard output left early, as `head` does. That is no error.
class ReaderLeft : public std::exception {};

/// Standard output could not be written, by this errno: throws ReaderLeft or BadInput.
[[noreturn]] void fail_output(int error);

/// From now on an exception that no frame catches (memory that runs out in a helper thread, for
/// example) ends the program with a line on stderr and status 2. Returns the handler before.
void (*say_last_words_at_the_end())();

/// Holds the streams so for the duration of a command.
class LastWords {
 public:
  LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

 private:
  void (*held_)();
};

}  // namespace gibbsite::cli
