#include "src/cli/processes/processes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>

namespace xflow::cli {
namespace {

// Messages between threads that stand for processes.
struct Network {
  explicit Network(std::size_t processes) : arrived(processes) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<Messages::Message>> arrived;
};

class Place final : public Messages {
 public:
  Place(Network& network, std::size_t process) : network_(network), process_(process) {}
  std::size_t others() const override { return network_.arrived.size() - 1; }
  void send(std::size_t process, const std::string& text) override {
    const std::lock_guard lock(network_.mutex);
    network_.arrived[process].push_back({process_, text});
    network_.changed.notify_all();
  }
  Message receive() override {
    std::unique_lock lock(network_.mutex);
    auto& mine = network_.arrived[process_];
    network_.changed.wait(lock, [&] { return !mine.empty(); });
    Message message = std::move(mine.front());
    mine.pop_front();
    return message;
  }

 private:
  Network& network_;
  std::size_t process_;
};

// The first process and `others` that do `work`.
class Job {
 public:
  Job(std::size_t others, const GeneratorTask& work) : network_(others + 1) {
    for (std::size_t k = 1; k <= others; ++k) {
      threads_.emplace_back([this, k, work] {
        Place place(network_, k);
        serve(place, work);
      });
    }
    processes_ = std::make_unique<Processes>(std::make_unique<Place>(network_, 0));
  }
  ~Job() {
    processes_.reset();
    for (std::thread& t : threads_) t.join();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Result<std::map<std::size_t, std::string>> run(const std::vector<std::string>& tasks) {
    std::map<std::size_t, std::string> results;
    const GeneratorTask unused = [](const std::string&) -> Result<std::string> {
      return fail(ErrorCode::internal, "the first process works");
    };
    XFLOW_CHECK(processes_->run(tasks, unused, [&](std::size_t task, std::string result) -> Result<void> {
      if (!results.emplace(task, std::move(result)).second) return fail(ErrorCode::internal, "done twice");
      if (results.at(task) == "refuse") return fail(ErrorCode::io, "refused");
      return {};
    }));
    return results;
  }

 private:
  Network network_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Processes> processes_;
};

Result<std::string> echo(const std::string& task) { return task; }

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> tasks;
  for (std::size_t k = 0; k < count; ++k) tasks.push_back(fmt::format("task {}", k));
  return tasks;
}

TEST(Processes, DoEveryTaskOnce) {
  for (const std::size_t others : {1, 3}) {
    Job job(others, echo);
    for (const std::size_t count : {50, 2, 1, 0}) {
      const std::vector<std::string> tasks = numbered(count);
      const auto results = job.run(tasks);
      ASSERT_TRUE(results.has_value()) << results.error().text();
      ASSERT_EQ(results->size(), count);
      for (const auto& [k, result] : *results) EXPECT_EQ(result, tasks[k]);
    }
  }
}

TEST(Processes, TakeAndGiveTextsOfAnyCharacters) {
  Job job(2, echo);
  const std::vector<std::string> tasks = {"", "s", std::string("a\0b\n", 4), std::string(100000, 'x')};
  const auto results = job.run(tasks);
  ASSERT_TRUE(results.has_value()) << results.error().text();
  for (const auto& [k, result] : *results) EXPECT_EQ(result, tasks[k]);
}

TEST(Processes, GoOnWhileOneIsBusy) {
  constexpr std::size_t kTasks = 20;
  std::atomic<std::size_t> ended = 0;
  Job job(2, [&](const std::string& task) -> Result<std::string> {
    if (task == "task 0")
      while (ended != kTasks - 1) std::this_thread::yield();
    ++ended;
    return task;
  });
  const auto results = job.run(numbered(kTasks));
  ASSERT_TRUE(results.has_value()) << results.error().text();
  EXPECT_EQ(results->size(), kTasks);
}

TEST(Processes, EndAtTheFirstError) {
  std::atomic<int> count = 0;
  Job job(2, [&](const std::string& task) -> Result<std::string> {
    ++count;
    if (task == "task 3") return fail(ErrorCode::io, "cannot write: no space", "work/graphs-0-3");
    return task;
  });
  const auto results = job.run(numbered(1000));
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error(), (Error{ErrorCode::io, "cannot write: no space", "work/graphs-0-3"}));
  EXPECT_LT(count, 1000);
  EXPECT_TRUE(job.run(numbered(3)).has_value()) << "an answer of the first run is left";
}

TEST(Processes, EndWhereAResultIsRefused) {
  Job job(2, echo);
  const auto results = job.run({"a", "refuse", "b", "c"});
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().message, "refused");
  EXPECT_TRUE(job.run(numbered(3)).has_value());
}

TEST(Processes, AnswerWhereThereIsNoMemory) {
  Job job(2, [](const std::string&) -> Result<std::string> { throw std::bad_alloc(); });
  const auto results = job.run(numbered(5));
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().code, ErrorCode::limit);
}

}  // namespace
}  // namespace xflow::cli
