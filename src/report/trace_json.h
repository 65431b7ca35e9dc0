// Traces and counts as parts of a report.
#pragma once

#include <xflow/trace.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace xflow {

nlohmann::ordered_json json_of(const Trace& trace);
// The inverse. Throws nlohmann::ordered_json::exception for anything else.
Trace trace_of(const nlohmann::ordered_json& json);

// A number that is whole and not negative. Throws nlohmann::ordered_json::exception for anything else.
std::uint64_t count_of(const nlohmann::ordered_json& json);

}  // namespace xflow
