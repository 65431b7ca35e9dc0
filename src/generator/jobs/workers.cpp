#include "src/generator/jobs/workers.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace xflow::generator {

Result<void> Threads::run(const std::vector<std::string>& tasks, const GeneratorTask& work,
                          const std::function<Result<void>(std::size_t task, std::string result)>& done) {
  std::mutex mutex;
  std::condition_variable ready;
  std::deque<std::pair<std::size_t, Result<std::string>>> results;
  std::size_t next = 0;
  bool stop = false;
  const auto thread = [&] {
    for (;;) {
      std::size_t k = 0;
      {
        const std::lock_guard lock(mutex);
        if (stop || next == tasks.size()) return;
        k = next++;
      }
      Result<std::string> result = work(tasks[k]);
      const std::lock_guard lock(mutex);
      results.emplace_back(k, std::move(result));
      ready.notify_one();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(jobs_));
  for (int k = 0; k < jobs_; ++k) threads.emplace_back(thread);
  Result<void> outcome;
  for (std::size_t count = 0; count < tasks.size() && outcome; ++count) {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return !results.empty(); });
    auto [k, result] = std::move(results.front());
    results.pop_front();
    lock.unlock();
    outcome = result ? done(k, *std::move(result)) : Result<void>(fail(result.error()));
  }
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  for (std::thread& t : threads) t.join();
  return outcome;
}

Result<void> Threads::for_each(std::size_t count, const std::function<Result<void>(std::size_t k)>& work) {
  std::mutex mutex;
  std::size_t next = 0;
  Result<void> outcome;
  const auto thread = [&] {
    for (;;) {
      std::size_t k = 0;
      {
        const std::lock_guard lock(mutex);
        if (!outcome || next == count) return;
        k = next++;
      }
      Result<void> result = work(k);
      const std::lock_guard lock(mutex);
      if (outcome && !result) outcome = std::move(result);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(jobs_));
  for (int k = 0; k < jobs_; ++k) threads.emplace_back(thread);
  for (std::thread& t : threads) t.join();
  return outcome;
}

}  // namespace xflow::generator
