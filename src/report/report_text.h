// Parts of a report as text.
#pragma once

#include <cstdint>
#include <string>

#include "xflow/report.h"

namespace xflow {

std::string time_text(Nanoseconds time);
std::string bytes_text(std::uint64_t bytes);
const char* stop_text(const SearchReport& search);  // empty if no search was begun
// "rounding: re-associates"; empty for built-in simplifications.
std::string numbers_of(const RuleCount& count);
// `time`: of the written model.
std::string text_of(const GapReport& gap, Nanoseconds time);
std::string text_of(const CleanUpReport& smaller);
std::string text_of(const BodyReport& body);
std::string result_text(const OptimizeReport& report);

}  // namespace xflow
