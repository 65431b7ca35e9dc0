// Cancels a call from another thread or a signal handler.
#pragma once

#include <atomic>
#include <memory>

namespace xflow {

// Copies share one state: keep one copy and pass another to the call (OptimizeOptions::cancel). All
// functions may be called from any thread and from a signal handler. A token cannot be reset: calls that get
// it later end at once.
class CancellationToken {
 public:
  CancellationToken() : state_(std::make_shared<std::atomic<int>>(0)) {}

  // Ends the call with the result so far. The options of each call say what that is: optimize ends the
  // search, and checks, runs and writes the best graph so far as usual.
  void finish() const noexcept { raise(kFinish); }
  // Ends the call as soon as possible. It returns ErrorCode::limit, "cancelled", and writes nothing.
  void stop() const noexcept { raise(kStop); }

  // True after finish() or stop().
  bool is_finishing() const noexcept { return state_->load(std::memory_order_relaxed) >= kFinish; }
  // True after stop().
  bool is_stopping() const noexcept { return state_->load(std::memory_order_relaxed) >= kStop; }

 private:
  static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may use it");
  static constexpr int kFinish = 1;
  static constexpr int kStop = 2;

  void raise(int to) const noexcept {
    int now = state_->load(std::memory_order_relaxed);
    while (now < to && !state_->compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  }

  std::shared_ptr<std::atomic<int>> state_;
};

}  // namespace xflow
