#include "src/capi/handles.h"

const char* xflow_phase_name(xflow_phase phase) {
  switch (phase) {
    case XFLOW_PHASE_MEASURING:
      return xflow::to_string(xflow::Phase::measuring);
    case XFLOW_PHASE_SEARCHING:
      return xflow::to_string(xflow::Phase::searching);
    case XFLOW_PHASE_CHECKING:
      return xflow::to_string(xflow::Phase::checking);
    case XFLOW_PHASE_RUNNING:
      return xflow::to_string(xflow::Phase::running);
    case XFLOW_PHASE_RUNNING_A:
      return xflow::to_string(xflow::CheckPhase::running_a);
    case XFLOW_PHASE_RUNNING_B:
      return xflow::to_string(xflow::CheckPhase::running_b);
  }
  return "";
}

xflow_phase xflow_progress_phase(const xflow_progress* progress) { return progress == nullptr ? XFLOW_PHASE_MEASURING : progress->phase; }
double xflow_progress_fraction(const xflow_progress* progress) { return progress == nullptr ? 0 : progress->fraction; }
const char* xflow_progress_text(const xflow_progress* progress) { return progress == nullptr ? "" : progress->text.c_str(); }
uint64_t xflow_progress_states(const xflow_progress* progress) { return progress == nullptr ? 0 : progress->states; }
double xflow_progress_nanoseconds_before(const xflow_progress* progress) {
  return progress == nullptr ? 0 : progress->predicted.before.count();
}
double xflow_progress_nanoseconds_after(const xflow_progress* progress) {
  return progress == nullptr ? 0 : progress->predicted.after.count();
}
