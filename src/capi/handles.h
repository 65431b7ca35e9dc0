// The handles of the C interface, and the way from Result<T> to a status.
#pragma once

#include <xflow/cancel.h>
#include <xflow/check.h>
#include <xflow/context.h>
#include <xflow/device.h>
#include <xflow/error.h>
#include <xflow/optimize.h>
#include <xflow/simplify.h>
#include <xflow/verify.h>
#include <xflow/verify_models.h>
#include <xflow/xflow.h>

#include <string>
#include <utility>
#include <vector>

struct xflow_error {
  xflow::Error error;
  std::string text;
};

struct xflow_buffer {
  std::string bytes;
};

struct xflow_cancel {
  xflow::CancellationToken token;
};

struct xflow_progress {
  xflow_phase phase;
  double fraction;
  std::string text;
  std::uint64_t states;
  xflow::PredictedTimes predicted;
};

struct xflow_context {
  xflow::Context context;
};

struct xflow_report {
  xflow::OptimizeReport report;
};

struct xflow_simplify_report {
  xflow::SimplifyReport report;
};

struct xflow_check_report {
  xflow::CheckReport report;
};

struct xflow_proof {
  xflow::ModelProof proof;
};

struct xflow_decisions {
  struct Decision {
    std::string rule;
    xflow_verdict verdict;
    std::string detail;
  };
  std::vector<Decision> decisions;
};

struct xflow_devices {
  std::vector<xflow::DeviceDescription> devices;
};

namespace xflow::capi {

// Stores `error` in *to, unless `to` is NULL, and returns its status.
xflow_status failed(xflow_error** to, Error error) noexcept;
// The same for the exception that is being handled.
xflow_status failed_by_exception(xflow_error** to) noexcept;

// The status of the Result<void> that `work` returns; its error or exception goes to *error.
template <typename Work>
xflow_status guarded(xflow_error** error, const Work& work) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Result<void> result = work();
    return result ? XFLOW_STATUS_OK : failed(error, std::move(result.error()));
  } catch (...) {
    return failed_by_exception(error);
  }
}

// Errors: invalid_argument, "NAME is NULL".
Result<void> require(const void* argument, const char* name);

// Makes a handle, or NULL if there is no memory.
template <typename Handle>
Handle* made() noexcept {
  try {
    return new Handle();
  } catch (...) {
    return nullptr;
  }
}

// Sets a result, unless it is not wanted.
template <typename Handle>
void clear(Handle** result) {
  if (result != nullptr) *result = nullptr;
}
template <typename Handle, typename Value>
void give(Handle** result, Value&& value) {
  if (result != nullptr) *result = new Handle{std::forward<Value>(value)};
}

// Gives the text that `format` makes of the handle.
template <typename Handle, typename Format>
xflow_status give_text(const Handle* handle, const char* name, xflow_buffer** text, xflow_error** error, const Format& format) noexcept {
  clear(text);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(handle, name));
    give(text, format(*handle));
    return {};
  });
}

xflow_verdict verdict_of(Verdict verdict);

}  // namespace xflow::capi
