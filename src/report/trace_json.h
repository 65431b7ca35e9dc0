// A trace as a part of a report.
#pragma once

#include <xflow/trace.h>

#include <nlohmann/json.hpp>

namespace xflow {

nlohmann::ordered_json json_of(const Trace& trace);
// The inverse. Throws nlohmann::ordered_json::exception for anything else.
Trace trace_of(const nlohmann::ordered_json& json);

}  // namespace xflow
