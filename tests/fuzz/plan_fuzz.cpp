// The multi-device configurations of any document are checked, with faults of one line; what has no fault is written and has none again.
#include "src/parallel/plan_check.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;
namespace onnx_io = xflow::onnx_io;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = onnx_io::Document::parse(std::string(xflow::fuzz::text_of(data, size)));
  if (!document) return 0;  // document_fuzz looks at the error
  const auto annotations = read_device_annotations(*document);
  if (!annotations) {
    xflow::fuzz::expect_message(annotations.error().message);
    return 0;
  }
  const xflow::PlanCheck check = xflow::parallel::check_annotations(*document, *annotations);
  for (const xflow::PlanFault& fault : check.faults) {
    xflow::fuzz::expect_message(fault.text);
    xflow::fuzz::expect_printable(fault.to_text());
  }
  if (!check.consistent() || annotations->empty()) return 0;
  const auto plan = xflow::parallel::annotated_document(*document, *annotations);
  expect(plan.has_value(), "annotations without a fault are written");
  const auto written = read_device_annotations(*plan);
  expect(written.has_value() && *written == *annotations, "they are read as they were");
  return 0;
}
