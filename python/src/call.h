// How the functions of the module call the library: in a thread of its own, without Python's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <xflow/all.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace xflow_python {

namespace nb = nanobind;

// An Error of the library on its way to Python, where it becomes an xflow_onnx.Error.
struct Failure {
  xflow::Error error;
};

// The value of a result. Throws its error as a Failure.
template <typename T>
T value_of(xflow::Result<T> result) {
  if (!result) throw Failure{std::move(result.error())};
  return std::move(*result);
}

// What a Ctrl-C does to a call.
enum class OnInterrupt {
  stop,    // the call ends, and KeyboardInterrupt is raised
  finish,  // the call returns its best result so far; the next Ctrl-C stops it
};

// A call in progress. Functions of the caller (a progress function, a device) run in it by `in_python`.
class Call {
 public:
  explicit Call(xflow::CancellationToken token) : token_(std::move(token)) {}

  // The value of `work`, which runs in another thread. Signals are handled meanwhile. Throws the exception
  // that a signal or a function of the caller raised, or the error of `work` as a Failure.
  template <typename Work>
  auto run(OnInterrupt on_interrupt, const Work& work) {
    on_interrupt_ = on_interrupt;
    std::optional<decltype(work())> result;
    std::thread thread([&] {
      result.emplace(work());
      const std::lock_guard lock(mutex_);
      done_ = true;
      ended_.notify_all();
    });
    wait();
    thread.join();
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
    return value_of(std::move(*result));
  }

  // Runs `function` with Python's lock. An exception ends the call, which then raises it. The result is
  // false if there was one.
  template <typename Function>
  bool in_python(const Function& function) {
    const nb::gil_scoped_acquire lock;
    if (raised_) return false;
    try {
      function();
      return true;
    } catch (...) {
      raise(std::current_exception());
      return false;
    }
  }

 private:
  // Until `done_`.
  void wait();
  void handle_signals();
  // Keeps the first exception. Python's lock is held.
  void raise(std::exception_ptr exception);

  xflow::CancellationToken token_;
  OnInterrupt on_interrupt_ = OnInterrupt::stop;
  bool interrupted_ = false;
  std::exception_ptr raised_;  // with Python's lock only
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

// The parts of the module.
void bind_rules(nb::module_& module);
void bind_device(nb::module_& module);
void bind_optimize(nb::module_& module);
void bind_check(nb::module_& module);
void bind_verify_models(nb::module_& module);

// A device of the caller, written in Python. `call` lives as long as the device is used.
std::shared_ptr<xflow::Device> device_of(nb::object object, Call& call);

}  // namespace xflow_python
