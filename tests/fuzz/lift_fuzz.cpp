// Any document is lifted or a clean error; lowered as it was lifted, every node that is not dropped is written back.
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;
namespace onnx_io = xflow::onnx_io;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = onnx_io::Document::parse(std::string(xflow::fuzz::text_of(data, size)));
  if (!document) return 0;  // document_fuzz looks at the error
  xflow::ir::Arena arena;
  const auto model = lift(*document, arena, {.infer = true});
  if (!model) {
    xflow::fuzz::expect_message(model.error().message);
    return 0;
  }
  expect(model->output_count == document->main().outputs.size(), "every output is lifted");
  const onnx_io::Fold fold = [](xflow::ir::ValueId) -> xflow::Result<xflow::ir::Constant> {
    return xflow::fail(xflow::ErrorCode::unsupported, "no constants are computed here");
  };
  const auto lowered = lower(*document, *model, arena, model->graph, {}, fold);
  if (!lowered) {
    xflow::fuzz::expect_message(lowered.error().message);
    return 0;
  }
  const auto written = write_bytes(*document, lowered->edits);
  expect(written.has_value(), "what was lowered can be written");
  const auto reparsed = onnx_io::Document::parse(*written);
  if (!reparsed) std::fprintf(stderr, "%s\n", reparsed.error().message.c_str());
  expect(reparsed.has_value(), "what was written is read again");
  expect(reparsed->main().outputs.size() == document->main().outputs.size(), "no output is lost");
  return 0;
}
