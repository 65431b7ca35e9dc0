#include "src/capi/handles.h"

#include <new>

namespace {

// Given out where there is no memory for another error.
const xflow_error& out_of_memory() {
  static const xflow_error error{{xflow::ErrorCode::limit, "out of memory", {}}, "out of memory"};
  return error;
}

xflow_status status_of(xflow::ErrorCode code) {
  switch (code) {
    case xflow::ErrorCode::unreadable:
      return XFLOW_STATUS_UNREADABLE;
    case xflow::ErrorCode::invalid_argument:
      return XFLOW_STATUS_INVALID_ARGUMENT;
    case xflow::ErrorCode::ill_typed:
      return XFLOW_STATUS_ILL_TYPED;
    case xflow::ErrorCode::syntax:
      return XFLOW_STATUS_SYNTAX;
    case xflow::ErrorCode::unsupported:
      return XFLOW_STATUS_UNSUPPORTED;
    case xflow::ErrorCode::io:
      return XFLOW_STATUS_IO;
    case xflow::ErrorCode::limit:
      return XFLOW_STATUS_LIMIT;
    case xflow::ErrorCode::not_proved:
      return XFLOW_STATUS_NOT_PROVED;
    case xflow::ErrorCode::internal:
      return XFLOW_STATUS_INTERNAL;
  }
  return XFLOW_STATUS_INTERNAL;
}

}  // namespace

namespace xflow::capi {

xflow_status failed(xflow_error** to, Error error) noexcept {
  const xflow_status status = status_of(error.code);
  if (to == nullptr) return status;
  try {
    std::string text = error.text();
    *to = new xflow_error{std::move(error), std::move(text)};
  } catch (...) {
    *to = const_cast<xflow_error*>(&out_of_memory());
    return XFLOW_STATUS_LIMIT;
  }
  return status;
}

xflow_status failed_by_exception(xflow_error** to) noexcept {
  try {
    return failed(to, error_of_exception());
  } catch (...) {
    if (to != nullptr) *to = const_cast<xflow_error*>(&out_of_memory());
    return XFLOW_STATUS_LIMIT;
  }
}

Result<void> require(const void* argument, const char* name) {
  if (argument == nullptr) return fail(ErrorCode::invalid_argument, std::string(name) + " is NULL");
  return {};
}

xflow_verdict verdict_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return XFLOW_VERDICT_PROVED;
    case Verdict::refuted:
      return XFLOW_VERDICT_REFUTED;
    case Verdict::unknown:
      return XFLOW_VERDICT_UNKNOWN;
    case Verdict::ill_typed:
      return XFLOW_VERDICT_ILL_TYPED;
    case Verdict::timeout:
      return XFLOW_VERDICT_TIMEOUT;
  }
  return XFLOW_VERDICT_UNKNOWN;
}

}  // namespace xflow::capi

int xflow_c_api_version(void) { return XFLOW_C_API_VERSION; }

const char* xflow_version(void) { return XFLOW_VERSION; }

const char* xflow_status_name(xflow_status status) {
  switch (status) {
    case XFLOW_STATUS_OK:
      return "ok";
    case XFLOW_STATUS_UNREADABLE:
      return "unreadable";
    case XFLOW_STATUS_INVALID_ARGUMENT:
      return "invalid_argument";
    case XFLOW_STATUS_ILL_TYPED:
      return "ill_typed";
    case XFLOW_STATUS_SYNTAX:
      return "syntax";
    case XFLOW_STATUS_UNSUPPORTED:
      return "unsupported";
    case XFLOW_STATUS_IO:
      return "io";
    case XFLOW_STATUS_LIMIT:
      return "limit";
    case XFLOW_STATUS_NOT_PROVED:
      return "not_proved";
    case XFLOW_STATUS_INTERNAL:
      return "internal";
  }
  return "";
}

xflow_status xflow_error_status(const xflow_error* error) { return error == nullptr ? XFLOW_STATUS_OK : status_of(error->error.code); }
const char* xflow_error_message(const xflow_error* error) { return error == nullptr ? "" : error->error.message.c_str(); }
const char* xflow_error_where(const xflow_error* error) { return error == nullptr ? "" : error->error.where.c_str(); }
const char* xflow_error_text(const xflow_error* error) { return error == nullptr ? "" : error->text.c_str(); }
void xflow_error_free(xflow_error* error) {
  if (error != &out_of_memory()) delete error;
}

const char* xflow_buffer_data(const xflow_buffer* buffer) { return buffer == nullptr ? "" : buffer->bytes.c_str(); }
size_t xflow_buffer_size(const xflow_buffer* buffer) { return buffer == nullptr ? 0 : buffer->bytes.size(); }
void xflow_buffer_free(xflow_buffer* buffer) { delete buffer; }

xflow_cancel* xflow_cancel_new(void) { return xflow::capi::made<xflow_cancel>(); }
void xflow_cancel_finish(const xflow_cancel* cancel) {
  if (cancel != nullptr) cancel->token.finish();
}
void xflow_cancel_stop(const xflow_cancel* cancel) {
  if (cancel != nullptr) cancel->token.stop();
}
void xflow_cancel_free(xflow_cancel* cancel) { delete cancel; }

xflow_context* xflow_context_new(void) { return xflow::capi::made<xflow_context>(); }
void xflow_context_free(xflow_context* context) { delete context; }
