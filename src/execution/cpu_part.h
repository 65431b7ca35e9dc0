// A part that the CPU executor runs.
#pragma once

#include <memory>
#include <string>

#include "src/devices/cpu/program.h"
#include "src/execution/part_engine.h"
#include "src/onnx/lift/lift.h"

namespace xflow::execution {

// `model` must outlive the result.
std::unique_ptr<PartEngine> cpu_part(cost::cpu::Program program, const onnx_io::LiftedModel& model, std::string path);

}  // namespace xflow::execution
