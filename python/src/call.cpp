#include "call.h"

#include <chrono>

namespace xflow_python {

void Call::wait() {
  const nb::gil_scoped_release release;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; })) {
    lock.unlock();
    {
      const nb::gil_scoped_acquire acquire;
      handle_signals();
    }
    lock.lock();
  }
}

void Call::handle_signals() {
  if (PyErr_CheckSignals() == 0) return;
  const nb::python_error error;
  const bool finishes = on_interrupt_ == OnInterrupt::finish && !interrupted_ && error.matches(PyExc_KeyboardInterrupt);
  if (!finishes) return raise(std::make_exception_ptr(error));
  interrupted_ = true;
  token_.finish();
}

void Call::raise(std::exception_ptr exception) {
  if (!raised_) raised_ = std::move(exception);
  token_.stop();
}

}  // namespace xflow_python
