#include "xflow/text.h"

#include "src/support/exceptions.h"
#include "src/support/printable.h"

namespace xflow {

Error error_of_exception() { return api::error_of_exception(); }

std::string printable(std::string_view text) { return onnx_io::printable(text); }
std::string printable_lines(std::string_view text) { return onnx_io::printable_lines(text); }
std::string printable_json(std::string_view json) { return onnx_io::printable_json(json); }

}  // namespace xflow
