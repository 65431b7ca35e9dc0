// The time limit of a decision: a point in time, a callback of the caller, or both. A deadline that is over
// stays over.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace xflow::verifier {

class Deadline {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  Deadline() = default;  // no limit
  explicit Deadline(Moment moment) : moment_(moment) {}
  // `stop` is called at each check. If it returns true, the deadline is over before `moment`, too.
  // `interrupts`: also a running query of Z3. Such queries run in another thread, whose processor time is
  // not part of the time of a decision.
  Deadline(Moment moment, std::function<bool()> stop, bool interrupts = true)
      : moment_(moment), stop_(std::make_shared<Stop>(std::move(stop), interrupts)) {}

  bool can_interrupt() const { return stop_ != nullptr && stop_->interrupts(); }
  bool is_never() const { return moment_ == Moment::max() && stop_ == nullptr; }
  bool is_over() const {
    return (moment_ != Moment::max() && std::chrono::steady_clock::now() > moment_) || (stop_ != nullptr && stop_->is_over());
  }
  Moment moment() const { return moment_; }
  friend bool operator==(const Deadline&, const Deadline&) = default;

 private:
  class Stop {
   public:
    Stop(std::function<bool()> stop, bool interrupts) : stop_(std::move(stop)), interrupts_(interrupts) {}
    bool interrupts() const { return interrupts_; }
    bool is_over() {
      if (!over_ && stop_()) over_ = true;
      return over_;
    }

   private:
    std::function<bool()> stop_;
    bool interrupts_;
    std::atomic<bool> over_ = false;
  };

  Moment moment_ = Moment::max();
  std::shared_ptr<Stop> stop_;
};

}  // namespace xflow::verifier
