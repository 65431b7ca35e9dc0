// Checks all multi-device configurations of a document.
#pragma once

#include <xflow/check_plan.h>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"

namespace xflow::parallel {

// Returns what check_plan reports. `annotations` are those of the document.
PlanCheck check_annotations(const onnx_io::Document& document, const onnx_io::DeviceAnnotations& annotations);

// Adds annotations to a document (with_device_annotations) and checks them. Errors: invalid_argument with
// the first fault of a configuration that is added, such as uneven shards; those of with_device_annotations
// and Document::parse.
Result<onnx_io::Document> annotated_document(const onnx_io::Document& document, const onnx_io::DeviceAnnotations& annotations);

}  // namespace xflow::parallel
