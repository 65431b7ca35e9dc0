// Faults: steps of the method that a test build breaks one at a time, to check that a test notices
// (tests/verifier/faults).
#pragma once

#include <cstdint>

namespace xflow::verifier {

enum class Fault : std::uint16_t {
#define XFLOW_FAULT(name, what) name,
#include "src/verifier/faults.def"
#undef XFLOW_FAULT
};

#ifdef XFLOW_FAULTS
// True if the step is broken in the current run.
bool broken(Fault fault);
#else
// The library has no faults: the result is a constant, so code that depends on it is not compiled in.
consteval bool broken(Fault) { return false; }
#endif

}  // namespace xflow::verifier
