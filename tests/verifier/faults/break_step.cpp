#include <atomic>

#include "tests/verifier/faults/checks.h"

namespace xflow::verifier {
namespace {

constexpr int kNone = -1;
std::atomic<int> broken_now{kNone};

}  // namespace

void break_step(std::optional<Fault> fault) { broken_now = fault ? static_cast<int>(*fault) : kNone; }

bool broken(Fault fault) { return broken_now.load(std::memory_order_relaxed) == static_cast<int>(fault); }

}  // namespace xflow::verifier
