// Writes the parts of a plan that splits operators, as xflow split does.
#pragma once

#include <xflow/error.h>

#include <string>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::api {

// Writes a model for each device and stage, and their manifest, to a folder that is empty or does not exist.
// `path` is the file of the model. Errors: those of parallel::parts_of; unsupported for an operation that
// cannot be exported; io.
Result<void> write_plan_folder(const std::string& path, const onnx_io::LiftedModel& lifted, parallel::SplitModel& model,
                               const parallel::SplitPlan& plan, const parallel::DeviceCluster& cluster, const std::string& folder);

}  // namespace xflow::api
