// Handles of the C interface that free themselves, and what its tests share.
#pragma once

#include <gtest/gtest.h>
#include <xflow/xflow.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/api/relu_model.h"
#include "tests/onnx/model_builder.h"

namespace xflow {

struct Free {
  void operator()(xflow_error* handle) const { xflow_error_free(handle); }
  void operator()(xflow_buffer* handle) const { xflow_buffer_free(handle); }
  void operator()(xflow_cancel* handle) const { xflow_cancel_free(handle); }
  void operator()(xflow_options* handle) const { xflow_options_free(handle); }
  void operator()(xflow_context* handle) const { xflow_context_free(handle); }
  void operator()(xflow_report* handle) const { xflow_report_free(handle); }
  void operator()(xflow_simplify_report* handle) const { xflow_simplify_report_free(handle); }
  void operator()(xflow_check_report* handle) const { xflow_check_report_free(handle); }
  void operator()(xflow_proof* handle) const { xflow_proof_free(handle); }
  void operator()(xflow_decisions* handle) const { xflow_decisions_free(handle); }
  void operator()(xflow_devices* handle) const { xflow_devices_free(handle); }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, Free>;

// What a call returned and stored.
template <typename Handle>
struct Returned {
  xflow_status status = XFLOW_STATUS_INTERNAL;
  Owned<Handle> value;
  Owned<xflow_error> error;

  std::string text() const { return xflow_error_text(error.get()); }
};

// Calls `call(&value, &error)`. Values of an earlier call must be overwritten, after an error too.
template <typename Handle, typename Call>
Returned<Handle> returned(const Call& call) {
  auto* const stale = reinterpret_cast<Handle*>(0x10);
  auto* const stale_error = reinterpret_cast<xflow_error*>(0x10);
  Handle* value = stale;
  xflow_error* error = stale_error;
  Returned<Handle> result;
  result.status = call(&value, &error);
  EXPECT_NE(value, stale);
  EXPECT_NE(error, stale_error);
  if (value == stale || error == stale_error) return result;
  result.value.reset(value);
  result.error.reset(error);
  EXPECT_EQ(error == nullptr, result.status == XFLOW_STATUS_OK);
  EXPECT_EQ(value == nullptr, result.status != XFLOW_STATUS_OK);
  EXPECT_EQ(xflow_error_status(error), result.status);
  return result;
}

// The status of a setter. Its message is `message`, or empty after success.
template <typename Call>
xflow_status status_of_setter(const std::string& message, const Call& call) {
  xflow_error* error = reinterpret_cast<xflow_error*>(0x10);
  const xflow_status status = call(&error);
  EXPECT_EQ(xflow_error_message(error), message);
  EXPECT_EQ(xflow_error_status(error), status);
  xflow_error_free(error);
  EXPECT_EQ(call(nullptr), status) << "no error is requested";
  return status;
}

inline std::string string_of(const xflow_buffer* buffer) { return {xflow_buffer_data(buffer), xflow_buffer_size(buffer)}; }

// A new folder.
inline std::filesystem::path capi_folder(const char* name) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

// y = Erf(x) + Erf(x) for x: float32[64], in three nodes of which two are enough.
inline std::string erf_model() {
  using onnx_io::testing::float_info, onnx_io::testing::node;
  onnx_io::testing::GraphParts parts;
  parts.nodes = {node("Erf", "first", {"x"}, {"a"}), node("Erf", "second", {"x"}, {"b"}), node("Add", "sum", {"a", "b"}, {"y"})};
  parts.inputs = {float_info("x", {64})};
  parts.outputs = {float_info("y", {64})};
  return onnx_io::testing::model_of(parts);
}

}  // namespace xflow
