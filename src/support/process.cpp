#include "src/support/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

extern "C" char** environ;

namespace xflow::cost::runner {
namespace {

constexpr std::size_t kKeptErrors = 4096;  // bytes of standard error
constexpr double kFarewell = 2;            // seconds
constexpr double kBetweenLooks = 0.1;      // seconds between two calls of stop_
constexpr double kBetweenMemoryLooks = 0.5;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string reason(int error) { return std::generic_category().message(error); }

// Blocks SIGPIPE for the calling thread within its scope. Writing to a closed pipe raises SIGPIPE, and the
// program that uses this library may handle it in its own way.
class WithoutBrokenPipes {
 public:
  WithoutBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutBrokenPipes() {
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipes(const WithoutBrokenPipes&) = delete;
  WithoutBrokenPipes& operator=(const WithoutBrokenPipes&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

// The last line with text.
std::string last_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const auto start = text.find_last_of("\r\n");
  std::string line(start == std::string_view::npos ? text : text.substr(start + 1));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';  // terminals obey control characters
  return line;
}

// Fields of /proc/NUMBER/stat (proc(5)).
struct ProcessState {
  pid_t group = 0;
  std::uint64_t resident_pages = 0;
};

// Nothing if the process has gone.
std::optional<ProcessState> read_state(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The second field is a name in parentheses, which may contain any character.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState state;
  constexpr int kGroup = 5;
  constexpr int kResident = 24;
  std::string skipped;
  for (int field = 3; field < kGroup; ++field) fields >> skipped;
  fields >> state.group;
  for (int field = kGroup + 1; field < kResident; ++field) fields >> skipped;
  std::int64_t pages = 0;
  if (!(fields >> pages)) return std::nullopt;
  state.resident_pages = static_cast<std::uint64_t>(std::max<std::int64_t>(pages, 0));
  return state;
}

}  // namespace

void Process::close_pipe(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

Result<std::unique_ptr<Process>> Process::start(const std::string& command) {
  std::array<std::array<int, 2>, 3> pairs{};  // input, output, errors: {read end, write end}
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (pipe2(pairs[k].data(), O_CLOEXEC) == 0) continue;
    const int error = errno;
    for (std::size_t open = 0; open < k; ++open)
      for (const int end : pairs[open]) close(end);
    return fail(ErrorCode::io, "cannot make a pipe: " + reason(error));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pairs[0][0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pairs[1][1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pairs[2][1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = command;
  const std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
  pid_t id = 0;
  const int error = posix_spawn(&id, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pairs[0][0]);
  close(pairs[1][1]);
  close(pairs[2][1]);
  Pipes pipes{pairs[0][1], pairs[1][0], pairs[2][0]};
  if (error != 0) {
    for (int* end : {&pipes.input, &pipes.output, &pipes.errors}) close_pipe(*end);
    return fail(ErrorCode::io, "cannot start a process: " + reason(error));
  }
  for (const int end : {pipes.input, pipes.output, pipes.errors}) fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
  std::unique_ptr<Process> process(new Process(id, pipes));
  process->start_guard();
  return process;
}

// Starts a process that waits for the end of a pipe and then kills the group. The pipe ends whichever way
// this process ends. PR_SET_PDEATHSIG is no alternative: it reaches the shell alone, and it fires when the
// thread that started the shell ends. Without a guard a runner ends when its input does.
void Process::start_guard() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = fmt::format("read -r word || kill -9 -{}", id_);
  const std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
  const int error = posix_spawn(&guard_, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  lifeline_ = ends[1];
  if (error == 0) return;
  guard_ = 0;
  close_pipe(lifeline_);
}

// Must be called before the number of the group can be given to another process.
void Process::end_guard() {
  if (guard_ == 0) return;
  kill(guard_, SIGKILL);
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard_ = 0;
  close_pipe(lifeline_);
}

Process::~Process() {
  close_pipe(pipes_.input);
  const double deadline = now() + kFarewell;
  while (!failed_ && !has_ended() && now() < deadline) {
    keep_errors();
    const timespec moment{0, 2'000'000};
    nanosleep(&moment, nullptr);
  }
  reap();
  close_pipe(pipes_.output);
  close_pipe(pipes_.errors);
}

// The child stays a zombie, so that its number is not given to another process.
bool Process::has_ended() const {
  siginfo_t info{};
  const int found = waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
  return found != 0 || info.si_pid == id_;
}

// Kills the rest of the group. Returns the status of waitpid, or -1 if the host program has already
// collected it.
int Process::reap() {
  end_guard();
  if (id_ == 0) return -1;
  kill(-id_, SIGKILL);
  int status = -1;
  while (waitpid(id_, &status, 0) < 0) {
    if (errno == EINTR) continue;
    status = -1;
    break;
  }
  id_ = 0;
  return status;
}

void Process::keep_errors() {
  std::array<char, 4096> buffer{};
  while (pipes_.errors >= 0) {
    const ssize_t count = ::read(pipes_.errors, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) close_pipe(pipes_.errors);
    if (count <= 0) break;
    errors_.append(buffer.data(), static_cast<std::size_t>(count));
    if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  }
}

Unexpected Process::died() {
  failed_ = true;
  const double deadline = now() + kFarewell;
  while (!has_ended() && now() < deadline) {
    const timespec moment{0, 2'000'000};
    nanosleep(&moment, nullptr);
  }
  const bool ended = has_ended();
  const int status = reap();
  keep_errors();
  std::string how = "it closed its output";
  if (ended && status >= 0 && WIFEXITED(status)) how = fmt::format("it ended with exit status {}", WEXITSTATUS(status));
  if (ended && status >= 0 && WIFSIGNALED(status))
    how = fmt::format("it was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  const std::string said = last_line(errors_);
  return fail(ErrorCode::io, said.empty() ? how : how + ": " + said);
}

std::uint64_t Process::resident_bytes() const {
  if (id_ == 0) return 0;
  std::uint64_t pages = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto state = read_state(entry->path());
    if (state && state->group == id_) pages += state->resident_pages;
  }
  return pages * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
}

Result<void> Process::check_memory() {
  if (!bytes_left_ || now() - memory_asked_ < kBetweenMemoryLooks) return {};
  const std::uint64_t used = resident_bytes();
  const std::uint64_t left = bytes_left_();
  memory_asked_ = now();
  if (used <= left) return {};
  failed_ = true;
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return fail(ErrorCode::limit,
              fmt::format("it holds {} MiB of memory, more than the {} MiB that are left", used / kMebibyte, left / kMebibyte));
}

void Process::hurry(Deadline& deadline) const {
  const double end = now() + hurried_seconds_;
  if (end < deadline.time && hurry_ && hurry_()) deadline = {end, hurried_seconds_, true};
}

Result<void> Process::wait_for(int descriptor, short event, Deadline& deadline) {
  while (true) {
    hurry(deadline);
    const double left = deadline.time - now();
    std::array<pollfd, 2> polled = {pollfd{descriptor, event, 0}, pollfd{pipes_.errors, POLLIN, 0}};
    const double wait = stop_ || hurry_ || bytes_left_ ? std::min(left, kBetweenLooks) : left;
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(std::clamp(std::ceil(wait * 1000), 0.0, 1e6)));
    if (ready < 0 && errno != EINTR) return fail(ErrorCode::io, "cannot wait for it: " + reason(errno));
    if (ready > 0 && polled[1].revents != 0) keep_errors();
    XFLOW_CHECK(check_memory());
    if (ready > 0 && polled[0].revents != 0) return {};
    if (stop_ && stop_()) {
      failed_ = true;
      return fail(ErrorCode::limit, "waiting for it was stopped");
    }
    if (now() < deadline.time) continue;
    failed_ = true;
    keep_errors();
    const std::string said = last_line(errors_);
    return fail(ErrorCode::limit, fmt::format("it did not answer within {:g} s{}{}", deadline.seconds,
                                              deadline.hurried ? " of an interruption" : "", said.empty() ? "" : ": " + said));
  }
}

Result<void> Process::write(std::string_view bytes, double seconds) {
  if (failed_) return fail(ErrorCode::io, "it has ended");
  const WithoutBrokenPipes quiet;
  Deadline deadline{now() + seconds, seconds};
  while (!bytes.empty()) {
    XFLOW_CHECK(wait_for(pipes_.input, POLLOUT, deadline));
    const ssize_t count = ::write(pipes_.input, bytes.data(), std::min<std::size_t>(bytes.size(), 1U << 20U));
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return died();
  }
  return {};
}

Result<void> Process::read(std::span<char> bytes, double seconds) {
  if (failed_) return fail(ErrorCode::io, "it has ended");
  Deadline deadline{now() + seconds, seconds};
  while (!bytes.empty()) {
    XFLOW_CHECK(wait_for(pipes_.output, POLLIN, deadline));
    const ssize_t count = ::read(pipes_.output, bytes.data(), bytes.size());
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return died();
  }
  return {};
}

}  // namespace xflow::cost::runner
