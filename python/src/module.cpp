// The module xflow_onnx._core: the C++ interface for the Python sources beside it, which users call.
#include <nanobind/stl/string.h>

#include "call.h"

namespace xflow_python {
namespace {

const char* code_of(xflow::ErrorCode code) {
  switch (code) {
    case xflow::ErrorCode::unreadable:
      return "unreadable";
    case xflow::ErrorCode::invalid_argument:
      return "invalid_argument";
    case xflow::ErrorCode::ill_typed:
      return "ill_typed";
    case xflow::ErrorCode::syntax:
      return "syntax";
    case xflow::ErrorCode::unsupported:
      return "unsupported";
    case xflow::ErrorCode::io:
      return "io";
    case xflow::ErrorCode::limit:
      return "limit";
    case xflow::ErrorCode::not_proved:
      return "not_proved";
    case xflow::ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

void translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Failure& failure) {
    const nb::object type = nb::module_::import_("xflow_onnx._error").attr("Error");
    const nb::object error = type(failure.error.message, code_of(failure.error.code), failure.error.where);
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace
}  // namespace xflow_python

NB_MODULE(_core, module) {
  nanobind::register_exception_translator(xflow_python::translate);
  using xflow::CancellationToken;
  module.attr("version") = XFLOW_VERSION;
  nanobind::class_<CancellationToken>(module, "CancellationToken",
                                      "Cancels a call from another thread or from its progress function. It cannot be reset.")
      .def(nanobind::init<>())
      .def("finish", &CancellationToken::finish, "Ends the call with the result so far.")
      .def("stop", &CancellationToken::stop, "Ends the call as soon as possible; it raises Error with code limit.")
      .def_prop_ro("is_finishing", &CancellationToken::is_finishing, "True after finish() or stop().")
      .def_prop_ro("is_stopping", &CancellationToken::is_stopping, "True after stop().");
  xflow_python::bind_rules(module);
  xflow_python::bind_device(module);
  xflow_python::bind_optimize(module);
  xflow_python::bind_check(module);
  xflow_python::bind_verify_models(module);
}
