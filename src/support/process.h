// A child process with pipes to its standard input and output.
#pragma once

#include <sys/types.h>
#include <xflow/result.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/support/channel.h"

namespace xflow::cost::runner {

// Used by one thread at a time. The signals of the calling process stay as they are: that a child is gone is an error, not SIGPIPE.
class Process final : public Channel {
 public:
  // Starts a command of the shell, in a process group of its own. Error::io with the reason of the operating system.
  // The group is killed when the calling process ends in whatever way.
  static Result<std::unique_ptr<Process>> start(const std::string& command);
  // Closes the child's input, which should end it; kills the group if that does not help within two seconds, or after an error at once.
  ~Process() override;

  // All bytes, in at most `seconds`. Errors: io, "it ended with exit status 1: MESSAGE" with the last line that the child wrote to its
  // standard error; limit, "it did not answer within 60 s". After an error the process is of no use any more.
  Result<void> write(std::string_view bytes, double seconds) override;
  Result<void> read(std::span<char> bytes, double seconds) override;
  // Asked ten times a second while it is waited for: true is Error::limit, "waiting for it was stopped". Null: never.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

 private:
  struct Pipes {
    int input = -1;  // of the child: we write
    int output = -1;
    int errors = -1;
  };

  explicit Process(pid_t id, Pipes pipes) : id_(id), pipes_(pipes) {}
  void start_guard();
  void end_guard();
  // Waits until `descriptor` is ready; keeps what the child writes to its standard error meanwhile.
  Result<void> wait_for(int descriptor, short event, double deadline, double seconds);
  void keep_errors();
  Unexpected died();
  bool has_ended() const;
  int reap();
  static void close_pipe(int& descriptor);

  pid_t id_;
  Pipes pipes_;
  std::string errors_;  // the end of what the child wrote to its standard error
  bool failed_ = false;
  std::function<bool()> stop_;
  pid_t guard_ = 0;    // a process that kills the group when this one is gone
  int lifeline_ = -1;  // which it sees by this pipe
};

}  // namespace xflow::cost::runner
