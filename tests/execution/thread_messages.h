// Threads that stand for the processes of a run.
#pragma once

#include <xflow/run.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "src/execution/run_parts.h"

namespace xflow::testing {

// What the threads share.
struct ThreadNetwork {
  explicit ThreadNetwork(std::size_t count) : processes(count) {}
  std::size_t processes;
  std::mutex mutex;
  std::condition_variable changed;
  // Messages under way, by sender, receiver and tag. Each is delivered at the second question, so that the
  // order of arrivals differs from that of sends.
  std::map<std::tuple<std::size_t, std::size_t, int>, std::deque<std::string>> messages;
  std::size_t waiting = 0;  // at a barrier
  std::size_t barriers = 0;
  std::string broadcast;
  std::vector<std::string> aborted;
};

class ThreadMessages : public RunMessages {
 public:
  ThreadMessages(ThreadNetwork& network, std::size_t process) : network_(network), process_(process) {}

  std::size_t processes() const override { return network_.processes; }
  std::size_t process() const override { return process_; }

  std::size_t send(std::size_t to, int tag, const std::byte* bytes, std::size_t size) override {
    const std::lock_guard lock(network_.mutex);
    network_.messages[{process_, to, tag}].emplace_back(reinterpret_cast<const char*>(bytes), size);
    transfers_.push_back({});
    return transfers_.size() - 1;
  }
  std::size_t receive(std::size_t from, int tag, std::byte* bytes, std::size_t size) override {
    transfers_.push_back({from, tag, bytes, size, 0});
    return transfers_.size() - 1;
  }
  bool is_done(std::size_t transfer) override {
    Transfer& one = transfers_[transfer];
    if (++one.questions < 2) return false;
    if (one.bytes == nullptr) return true;
    const std::lock_guard lock(network_.mutex);
    auto& arrived = network_.messages[{one.from, process_, one.tag}];
    if (arrived.empty()) return false;
    std::memcpy(one.bytes, arrived.front().data(), std::min(one.size, arrived.front().size()));
    arrived.pop_front();
    return true;
  }

  void wait_for_all() override {
    std::unique_lock lock(network_.mutex);
    const std::size_t barrier = network_.barriers;
    if (++network_.waiting == network_.processes) {
      network_.waiting = 0;
      ++network_.barriers;
      network_.changed.notify_all();
    }
    network_.changed.wait(lock, [&] { return network_.barriers != barrier; });
  }
  std::string broadcast(std::size_t from, const std::string& text) override {
    if (from == process_) network_.broadcast = text;
    wait_for_all();
    std::string result = network_.broadcast;
    wait_for_all();
    return result;
  }

  void introduce(const std::string& device) override { device_ = device; }
  void tell(RunPhase phase, std::size_t /*part*/, Seconds /*most*/) override { kernels_ += phase == RunPhase::computing ? 1 : 0; }
  void abort(const Error& error) override {
    const std::lock_guard lock(network_.mutex);
    network_.aborted.push_back(device_ + ": " + error.text());
  }
  std::size_t kernels() const { return kernels_; }

 private:
  struct Transfer {
    std::size_t from = 0;
    int tag = 0;
    std::byte* bytes = nullptr;  // null: a message that was sent
    std::size_t size = 0;
    int questions = 0;
  };
  ThreadNetwork& network_;
  std::size_t process_;
  std::vector<Transfer> transfers_;
  std::string device_;
  std::size_t kernels_ = 0;
};

// The results of all processes.
inline std::vector<Result<RunResult>> run_in_threads(std::size_t processes, const std::string& path, const RunOptions& options) {
  ThreadNetwork network(processes);
  std::vector<Result<RunResult>> results(processes, fail(ErrorCode::internal, "not run"));
  std::vector<std::thread> threads;
  for (std::size_t process = 0; process < processes; ++process) {
    threads.emplace_back([&, process] {
      ThreadMessages messages(network, process);
      RunOptions own = options;
      own.messages = &messages;
      results[process] = execution::run_parts(path, own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace xflow::testing
