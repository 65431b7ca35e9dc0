// Visits of the parts of a lower bound, by several threads.
//
// The search takes the visits in its own order. Meanwhile other threads visit the parts that come next, each
// in a workspace of its own. A visit depends on the original, the part and the limits alone, so it does not
// matter which thread makes it. The calling thread makes the visits that no other thread has begun, and
// those that the rest of the budget ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "src/search/search_run.h"

namespace xflow::search {

class Search::PartVisits {
 public:
  // Starts the threads of Options::threads. The search must outlive the object.
  explicit PartVisits(Search& search);
  ~PartVisits() { end(); }
  PartVisits(const PartVisits&) = delete;
  PartVisits& operator=(const PartVisits&) = delete;

  // Announces a part that the search will take, after those announced before.
  void plan(const Window& part, std::uint64_t key);
  // The visit of a part, with at most `most` graphs costed.
  PartVisit take(const Window& part, std::uint64_t key, std::uint64_t most);
  // Ends and joins the threads.
  void end();

 private:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  // A search that visits parts, in one thread.
  class Visitor {
   public:
    // `tools` may be empty: then it uses those of `search`.
    Visitor(Search& search, ThreadTools tools, std::function<bool()> ended);
    PartVisit visit(const Window& part, std::uint64_t most);
    // Drops the search, whose state is unknown after an exception. The next visit makes another one.
    void reset() { search_ = nullptr; }

   private:
    ThreadTools tools_;
    Options options_;
    std::function<bool()> ended_;
    std::shared_ptr<ir::Symbols> symbols_;  // its own
    std::unique_ptr<Search> search_;        // made by the first visit
    Search& of_;
  };
  struct Task {
    enum class State : std::uint8_t { waiting, running, done, taken };
    Window part;
    State state = State::waiting;
    PartVisit visit;
  };

  void work(Visitor& visitor);
  // The first part that waits, if its visit may be needed; null otherwise.
  Task* next();
  void run(Task& task, Visitor& visitor, std::unique_lock<std::mutex>& lock);

  Search& search_;
  std::uint32_t polls_ = 0;
  std::vector<std::unique_ptr<Visitor>> visitors_;  // the first is that of the calling thread
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::unordered_map<std::uint64_t, Task> tasks_;  // by key
  std::deque<Task*> waiting_;                      // in the order of the search
  std::uint64_t ahead_ = 0;                        // graphs of the visits that were not taken yet
  std::uint64_t room_ = 0;                         // most of them before the threads wait
  std::vector<std::thread> threads_;
};

}  // namespace xflow::search
