// A child process with pipes to its standard input and output.
#pragma once

#include <sys/types.h>
#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
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
  // Asked twice a second while it is waited for. If its group holds more bytes of memory than this gives, waiting ends with Error::limit,
  // "it holds 800 MiB of memory, more than the 512 MiB that are left". Null: no bound.
  void bound_memory(std::function<std::uint64_t()> bytes_left) { bytes_left_ = std::move(bytes_left); }
  // Bytes of memory that the processes of its group hold now; what they share counts for each. 0 where that is unknown.
  std::uint64_t resident_bytes() const;

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
  // Error::limit if its group holds too much memory.
  Result<void> check_memory();
  Unexpected died();
  bool has_ended() const;
  int reap();
  static void close_pipe(int& descriptor);

  pid_t id_;
  Pipes pipes_;
  std::string errors_;  // the end of what the child wrote to its standard error
  bool failed_ = false;
  std::function<bool()> stop_;
  std::function<std::uint64_t()> bytes_left_;
  double memory_asked_ = 0;  // when, in seconds
  pid_t guard_ = 0;          // a process that kills the group when this one is gone
  int lifeline_ = -1;        // which it sees by this pipe
};

}  // namespace xflow::cost::runner
