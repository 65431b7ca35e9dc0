// A trace as a part of a report.
#pragma once

#include <xflow/trace.h>

#include <nlohmann/json.hpp>

namespace xflow {

nlohmann::ordered_json json_of(const Trace& trace);

}  // namespace xflow
