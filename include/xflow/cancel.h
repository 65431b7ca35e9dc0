// Ending a call that runs in another thread, or that a signal interrupts.
#pragma once

#include <atomic>
#include <memory>

namespace xflow {

// Copies share one state: keep one, give another to the call (OptimizeOptions::cancel). All functions may be called from any thread, and
// from a signal handler. A token that was used stays used.
class CancellationToken {
 public:
  CancellationToken() : state_(std::make_shared<std::atomic<int>>(0)) {}

  // The search ends. The best graph that was found is checked, run against the original and written as ever.
  void finish() const noexcept { raise(kFinish); }
  // The call returns Error::limit, "cancelled", as soon as it can. Nothing is written.
  void stop() const noexcept { raise(kStop); }

  bool is_finishing() const noexcept { return state_->load(std::memory_order_relaxed) >= kFinish; }  // or stopping
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
