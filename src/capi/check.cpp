#include "src/capi/handles.h"
#include "src/capi/options.h"

using xflow::Result;
using xflow::capi::clear;
using xflow::capi::give;
using xflow::capi::give_text;
using xflow::capi::guarded;
using xflow::capi::require;

xflow_status xflow_check_files(const char* a, const char* b, const xflow_options* options, xflow_check_report** report,
                               xflow_error** error) {
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(a, "a"));
    XFLOW_CHECK(require(b, "b"));
    XFLOW_TRY(const auto converted, xflow::capi::check_options(options, "xflow_check_files"));
    XFLOW_TRY(auto checked, xflow::check_files(a, b, converted));
    give(report, std::move(checked));
    return {};
  });
}

bool xflow_check_report_equal(const xflow_check_report* report) { return report != nullptr && report->report.equal; }
const char* xflow_check_report_difference(const xflow_check_report* report) {
  return report == nullptr ? "" : report->report.difference.c_str();
}
xflow_status xflow_check_report_text(const xflow_check_report* report, xflow_buffer** text, xflow_error** error) {
  return give_text(report, "report", text, error, [](const xflow_check_report& r) { return r.report.to_text(); });
}
void xflow_check_report_free(xflow_check_report* report) { delete report; }
