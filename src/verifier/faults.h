// Steps of the method that a test build breaks on purpose, one at a time, to see that a test notices (tests/verifier/faults).
#pragma once

#include <cstdint>

namespace xflow::verifier {

enum class Fault : std::uint16_t {
#define XFLOW_FAULT(name, what) name,
#include "src/verifier/faults.def"
#undef XFLOW_FAULT
};

#ifdef XFLOW_FAULTS
// Whether this step is broken now.
bool broken(Fault fault);
#else
// Nothing is ever broken in the library: what depends on it is not even compiled into code.
consteval bool broken(Fault) { return false; }
#endif

}  // namespace xflow::verifier
