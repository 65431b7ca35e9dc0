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

// Used by one thread at a time. Does not change the signal handlers of the calling process: writing to a
// child that has ended is an error, not SIGPIPE.
class Process final : public Channel {
 public:
  // Starts a shell command in its own process group. The group is killed when the calling process ends for
  // whatever reason. Errors: io, with the reason given by the operating system.
  static Result<std::unique_ptr<Process>> start(const std::string& command);
  // Closes the child's input, which should end the child. Kills the group after two seconds, or at once if
  // an error occurred before.
  ~Process() override;

  // Transfers all bytes within `seconds`. Errors: io, "it ended with exit status 1: MESSAGE" with the last
  // line that the child wrote to its standard error; limit, "it did not answer within 60 s". The process
  // must not be used after an error.
  Result<void> write(std::string_view bytes, double seconds) override;
  Result<void> read(std::span<char> bytes, double seconds) override;
  // `stop` is called ten times a second while waiting for the child. If it returns true, waiting ends with
  // Error::limit, "waiting for it was stopped". Null: never.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  // `hurry` is called likewise. Once it returns true, the child has `seconds` for the current transfer and
  // for each later one, if that is less than what the caller gives it. Null: never.
  void hurry_when(std::function<bool()> hurry, double seconds) {
    hurry_ = std::move(hurry);
    hurried_seconds_ = seconds;
  }
  // `bytes_left` is called twice a second while waiting for the child. If the group holds more bytes of
  // memory than it returns, waiting ends with Error::limit, "it holds 800 MiB of memory, more than the 512
  // MiB that are left". Null: no bound.
  void bound_memory(std::function<std::uint64_t()> bytes_left) { bytes_left_ = std::move(bytes_left); }
  // Resident bytes of the processes in the group; shared pages count once per process. 0 if unknown.
  std::uint64_t resident_bytes() const;

 private:
  struct Pipes {
    int input = -1;  // of the child: this process writes to it
    int output = -1;
    int errors = -1;
  };

  // The end of a transfer.
  struct Deadline {
    double time;
    double seconds;        // from the start of the transfer, or from the time at which hurry_ was first true
    bool hurried = false;  // whether it is the latter
  };

  explicit Process(pid_t id, Pipes pipes) : id_(id), pipes_(pipes) {}
  void start_guard();
  void end_guard();
  // Waits until `descriptor` is ready. Collects what the child writes to its standard error meanwhile.
  Result<void> wait_for(int descriptor, short event, Deadline& deadline);
  void hurry(Deadline& deadline) const;
  void keep_errors();
  // Error::limit if the group holds more memory than bound_memory allows.
  Result<void> check_memory();
  Unexpected died();
  bool has_ended() const;
  int reap();
  static void close_pipe(int& descriptor);

  pid_t id_;
  Pipes pipes_;
  std::string errors_;  // the last bytes of the child's standard error
  bool failed_ = false;
  std::function<bool()> stop_;
  std::function<bool()> hurry_;
  double hurried_seconds_ = 0;
  std::function<std::uint64_t()> bytes_left_;
  double memory_asked_ = 0;  // time of the last check, in seconds
  pid_t guard_ = 0;          // a process that kills the group when this process is gone
  int lifeline_ = -1;        // write end of the pipe that the guard reads
};

}  // namespace xflow::cost::runner
