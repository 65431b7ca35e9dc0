// Parts of a report as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "xflow/report.h"

namespace xflow {

std::string time_text(Nanoseconds time);
std::string signed_time(Nanoseconds time);  // with a minus where it is below 0
std::string bytes_text(std::uint64_t bytes);
std::string percent(double part);                          // "12.5 %" of 0.125
std::string counted(std::size_t count, const char* what);  // "1 device", "2 devices"
const char* stop_text(const SearchReport& search);         // empty if no search was begun
// "rounding: re-associates"; empty for built-in simplifications.
std::string numbers_of(const RuleCount& count);
// `time`: of the written model.
std::string text_of(const GapReport& gap, Nanoseconds time);
// "merge-products node 'q' (MatMul): a gain of 1.2 us is positive with a probability of 71.3 %".
std::string text_of(const UnsureRewrite& rewrite);
std::string text_of(const CleanUpReport& smaller);
std::string text_of(const BodyReport& body);
// "16 measured in 0.3 s, 211 known", and how many were not needed, of a device that measures.
std::string timed_kernels(const KernelReport& report);
std::string result_text(const OptimizeReport& report);

}  // namespace xflow
