// When a decision has to end: at a moment, or when the caller says so.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace xflow::verifier {

class Deadline {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  Deadline() = default;  // never
  explicit Deadline(Moment moment) : moment_(moment) {}
  // `stop` is asked at every step: true ends it, too.
  Deadline(Moment moment, std::function<bool()> stop)
      : moment_(moment), stop_(std::make_shared<const std::function<bool()>>(std::move(stop))) {}

  bool can_stop() const { return stop_ != nullptr; }  // the caller may end it before the moment
  bool is_never() const { return moment_ == Moment::max() && stop_ == nullptr; }
  bool is_over() const {
    return (moment_ != Moment::max() && std::chrono::steady_clock::now() > moment_) || (stop_ != nullptr && (*stop_)());
  }
  Moment moment() const { return moment_; }
  friend bool operator==(const Deadline&, const Deadline&) = default;

 private:
  Moment moment_ = Moment::max();
  std::shared_ptr<const std::function<bool()>> stop_;
};

}  // namespace xflow::verifier
