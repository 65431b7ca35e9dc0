#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "src/cli/processes/mpi_workers.h"
#include "src/cli/processes/run_processes.h"
#include "src/cli/processes/watchdog.h"

namespace xflow::cli {
namespace {

// mpirun sends it when another process has ended, a second before it kills this one.
volatile std::sig_atomic_t has_to_end = 0;

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::size_t count_processes() {
  int number = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &number);
  return static_cast<std::size_t>(number);
}

std::size_t number_of_process() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return static_cast<std::size_t>(number);
}

// Exchanges beats with the other processes in a thread of its own, over messages of its own.
class Heartbeat {
 public:
  explicit Heartbeat(std::size_t processes, std::size_t process)
      : watchdog_(processes, process, kPatience, seconds_now()), process_(process), sends_(processes, MPI_REQUEST_NULL), sent_(processes) {
    MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
    thread_ = std::thread([this] { watch(); });
  }
  ~Heartbeat() { MPI_Comm_free(&messages_); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // All processes call it, when nothing can hang any more.
  void stop() {
    is_over_ = true;
    thread_.join();
    MPI_Barrier(messages_);
    receive();
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(messages_);
    receive();
  }

  void introduce(const std::string& device) {
    const std::lock_guard lock(mutex_);
    device.copy(device_.data(), device_.size() - 1);
  }
  void tell(RunPhase phase, std::size_t part, Seconds most) {
    due_.store(seconds_now() + kPatience.count() + most.count(), std::memory_order_relaxed);
    part_.store(part, std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_relaxed);
  }
  Beat beat() const {
    const std::lock_guard lock(mutex_);
    return {phase_.load(std::memory_order_relaxed), part_.load(std::memory_order_relaxed), device_};
  }

 private:
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr double kInterval = 0.2;  // seconds between beats
  static constexpr double kGap = 1;         // seconds between looks after which this process itself was stopped

  void watch() {
    double last = 0;
    double ending = 0;
    double before = seconds_now();
    bool was_stopped = false;
    while (!is_over_) {
      receive();
      const double now = seconds_now();
      if (now - before > kGap) {
        watchdog_.resume(now);
        due_.store(now + kPatience.count(), std::memory_order_relaxed);
        was_stopped = true;
      }
      before = now;
      if (now - last >= kInterval) {
        last = now;
        send();
      }
      if (const auto complaint = watchdog_.complaint(beat(), due_.load(std::memory_order_relaxed), now)) end(*complaint);
      if (has_to_end != 0) {
        if (ending == 0) ending = now;
        if (now - ending > 2.5 * kInterval) {
          // The others have said of a stopped process that it does not answer.
          const auto lost = was_stopped ? std::nullopt : watchdog_.lost(2 * kInterval, now);
          if (lost) std::fprintf(stderr, "xflow: %s\n", lost->c_str());
          std::_Exit(128 + SIGTERM);
        }
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  [[noreturn]] static void end(const std::string& message) {
    std::fprintf(stderr, "xflow: %s\n", message.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    std::_Exit(3);
  }

  // A process that does not receive gets no further beat.
  void send() {
    for (std::size_t other = 0; other < sends_.size(); ++other) {
      int is_sent = 0;
      if (other == process_) continue;
      MPI_Test(&sends_[other], &is_sent, MPI_STATUS_IGNORE);
      if (is_sent == 0) continue;
      sent_[other] = beat();
      MPI_Isend(&sent_[other], sizeof(Beat), MPI_BYTE, static_cast<int>(other), 0, messages_, &sends_[other]);
    }
  }

  void receive() {
    for (;;) {
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, messages_, &there, &status);
      if (there == 0) return;
      Beat beat;
      MPI_Recv(&beat, sizeof(Beat), MPI_BYTE, status.MPI_SOURCE, 0, messages_, MPI_STATUS_IGNORE);
      watchdog_.heard(static_cast<std::size_t>(status.MPI_SOURCE), beat, seconds_now());
    }
  }

  Watchdog watchdog_;  // of the thread
  std::size_t process_;
  MPI_Comm messages_ = MPI_COMM_NULL;
  std::vector<MPI_Request> sends_;  // by process
  std::vector<Beat> sent_;          // by process
  mutable std::mutex mutex_;
  std::array<char, 64> device_ = {};
  std::atomic<RunPhase> phase_ = RunPhase::preparing;
  std::atomic<std::uint64_t> part_ = 0;
  std::atomic<double> due_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// MPI itself, once per process.
class Mpi {
 public:
  Mpi() { MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided_); }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  bool has_threads() const { return provided_ == MPI_THREAD_MULTIPLE; }

 private:
  int provided_ = 0;
};

// An error of MPI itself ends all processes with MPI's own message.
class MpiRun final : public RunMessages {
 public:
  explicit MpiRun(std::unique_ptr<Mpi> mpi) : mpi_(std::move(mpi)), heartbeat_(count_processes(), number_of_process()) {
    std::signal(SIGTERM, [](int) { has_to_end = 1; });
  }
  ~MpiRun() override {
    MPI_Barrier(MPI_COMM_WORLD);
    heartbeat_.stop();
  }

  std::size_t processes() const override { return count_processes(); }
  std::size_t process() const override { return number_of_process(); }

  std::size_t send(std::size_t to, int tag, const std::byte* bytes, std::size_t size) override {
    return start(size, [&](std::size_t offset, int length, MPI_Request* request) {
      MPI_Isend(bytes + offset, length, MPI_BYTE, static_cast<int>(to), tag, MPI_COMM_WORLD, request);
    });
  }
  std::size_t receive(std::size_t from, int tag, std::byte* bytes, std::size_t size) override {
    return start(size, [&](std::size_t offset, int length, MPI_Request* request) {
      MPI_Irecv(bytes + offset, length, MPI_BYTE, static_cast<int>(from), tag, MPI_COMM_WORLD, request);
    });
  }
  bool is_done(std::size_t transfer) override {
    std::vector<MPI_Request>& requests = transfers_[transfer];
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done == 0) return false;
    requests.clear();
    free_.push_back(transfer);
    return true;
  }

  void wait_for_all() override { MPI_Barrier(MPI_COMM_WORLD); }
  std::string broadcast(std::size_t from, const std::string& text) override {
    std::string result = from == process() ? text : std::string();
    std::uint64_t size = result.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, static_cast<int>(from), MPI_COMM_WORLD);
    result.resize(size);
    for (std::size_t at = 0; at < size; at += kMostBytes)
      MPI_Bcast(result.data() + at, static_cast<int>(std::min(kMostBytes, size - at)), MPI_BYTE, static_cast<int>(from), MPI_COMM_WORLD);
    return result;
  }

  void introduce(const std::string& device) override { heartbeat_.introduce(device); }
  void tell(RunPhase phase, std::size_t part, Seconds most) override { heartbeat_.tell(phase, part, most); }

  void abort(const Error& error) override {
    const Beat beat = heartbeat_.beat();
    std::fprintf(stderr, "xflow: %s%s ended: %s\n", name_of_process(process(), beat).c_str(), work_of(beat).c_str(), error.text().c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    std::_Exit(3);
  }

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;  // of one message; MPI counts in int

  // Larger tensors are several messages, which arrive in order.
  template <typename Start>
  std::size_t start(std::size_t size, const Start& start_one) {
    std::size_t transfer = transfers_.size();
    if (free_.empty()) {
      transfers_.emplace_back();
    } else {
      transfer = free_.back();
      free_.pop_back();
    }
    std::size_t offset = 0;
    do {
      const std::size_t length = std::min<std::size_t>(kMostBytes, size - offset);
      transfers_[transfer].push_back(MPI_REQUEST_NULL);
      start_one(offset, static_cast<int>(length), &transfers_[transfer].back());
      offset += length;
    } while (offset < size);
    return transfer;
  }

  std::unique_ptr<Mpi> mpi_;  // ends last
  Heartbeat heartbeat_;
  std::vector<std::vector<MPI_Request>> transfers_;
  std::vector<std::size_t> free_;
};

}  // namespace

Result<std::unique_ptr<RunMessages>> join_run() {
  const MpiPlace place = mpi_place();
  auto mpi = std::make_unique<Mpi>();
  if (count_processes() != place.processes)
    return fail(ErrorCode::unsupported,
                fmt::format("mpirun started {} processes, but each finds only {}; use the mpirun of the MPI that xflow was built with",
                            place.processes, count_processes()));
  if (!mpi->has_threads())
    return fail(ErrorCode::unsupported, "this MPI does not serve several threads of a process (MPI_THREAD_MULTIPLE)");
  return std::unique_ptr<RunMessages>(std::make_unique<MpiRun>(std::move(mpi)));
}

}  // namespace xflow::cli
