#include <memory>
#include <string_view>

#include "src/capi/handles.h"
#include "src/capi/options.h"

namespace xflow::capi {
namespace {

// Calls `call` with the context, or with a temporary one.
template <typename Body>
auto with_context(xflow_context* context, const Body& body) {
  if (context != nullptr) return body(context->context);
  Context temporary;
  return body(temporary);
}

// Gives a model and its report, or neither.
template <typename Report, typename Value>
void give_both(xflow_buffer** result, Report** report, Value value) {
  auto model = std::make_unique<xflow_buffer>(xflow_buffer{std::move(value.model)});
  give(report, std::move(value.report));
  if (result != nullptr) *result = model.release();
}

}  // namespace
}  // namespace xflow::capi

using xflow::Context;
using xflow::Result;
using xflow::capi::clear;
using xflow::capi::give;
using xflow::capi::give_text;
using xflow::capi::guarded;
using xflow::capi::require;
using xflow::capi::with_context;

xflow_status xflow_optimize(xflow_context* context, const void* model, size_t size, const xflow_options* options, xflow_buffer** result,
                            xflow_report** report, xflow_error** error) {
  clear(result);
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(model, "model"));
    XFLOW_TRY(const auto converted, xflow::capi::optimize_options(options, "xflow_optimize"));
    const std::string_view bytes(static_cast<const char*>(model), size);
    const auto progress = xflow::capi::progress_of(options);
    XFLOW_TRY(auto optimized, with_context(context, [&](Context& c) { return xflow::optimize(c, bytes, converted, progress); }));
    xflow::capi::give_both(result, report, std::move(optimized));
    return {};
  });
}

xflow_status xflow_optimize_file(xflow_context* context, const char* input, const char* output, const xflow_options* options,
                                 xflow_report** report, xflow_error** error) {
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(input, "input"));
    XFLOW_CHECK(require(output, "output"));
    XFLOW_TRY(const auto converted, xflow::capi::optimize_options(options, "xflow_optimize_file"));
    const auto progress = xflow::capi::progress_of(options);
    XFLOW_TRY(auto optimized,
              with_context(context, [&](Context& c) { return xflow::optimize_file(c, input, output, converted, progress); }));
    give(report, std::move(optimized));
    return {};
  });
}

xflow_status xflow_report_parse(const char* json, xflow_report** report, xflow_error** error) {
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(json, "json"));
    XFLOW_TRY(auto parsed, xflow::parse_report(json));
    give(report, std::move(parsed));
    return {};
  });
}

bool xflow_report_improved(const xflow_report* report) { return report != nullptr && report->report.improved; }
const char* xflow_report_reason(const xflow_report* report) { return report == nullptr ? "" : report->report.reason.c_str(); }
const char* xflow_report_device(const xflow_report* report) { return report == nullptr ? "" : report->report.device.c_str(); }
double xflow_report_nanoseconds_before(const xflow_report* report) {
  return report == nullptr ? 0 : report->report.predicted.before.count();
}
double xflow_report_nanoseconds_after(const xflow_report* report) { return report == nullptr ? 0 : report->report.predicted.after.count(); }
uint64_t xflow_report_nodes_before(const xflow_report* report) { return report == nullptr ? 0 : report->report.nodes.before; }
uint64_t xflow_report_nodes_after(const xflow_report* report) { return report == nullptr ? 0 : report->report.nodes.after; }
uint64_t xflow_report_states(const xflow_report* report) { return report == nullptr ? 0 : report->report.search.states; }
xflow_status xflow_report_text(const xflow_report* report, xflow_buffer** text, xflow_error** error) {
  return give_text(report, "report", text, error, [](const xflow_report& r) { return r.report.to_text(); });
}
xflow_status xflow_report_json(const xflow_report* report, xflow_buffer** json, xflow_error** error) {
  return give_text(report, "report", json, error, [](const xflow_report& r) { return r.report.to_json(); });
}
xflow_status xflow_report_html(const xflow_report* report, xflow_buffer** html, xflow_error** error) {
  return give_text(report, "report", html, error, [](const xflow_report& r) { return r.report.to_html(); });
}
void xflow_report_free(xflow_report* report) { delete report; }

xflow_status xflow_simplify(xflow_context* context, const void* model, size_t size, const xflow_options* options, xflow_buffer** result,
                            xflow_simplify_report** report, xflow_error** error) {
  clear(result);
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(model, "model"));
    XFLOW_TRY(const auto converted, xflow::capi::simplify_options(options, "xflow_simplify"));
    const std::string_view bytes(static_cast<const char*>(model), size);
    XFLOW_TRY(auto simplified, with_context(context, [&](Context& c) { return xflow::simplify(c, bytes, converted); }));
    xflow::capi::give_both(result, report, std::move(simplified));
    return {};
  });
}

xflow_status xflow_simplify_file(xflow_context* context, const char* input, const char* output, const xflow_options* options,
                                 xflow_simplify_report** report, xflow_error** error) {
  clear(report);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(input, "input"));
    XFLOW_CHECK(require(output, "output"));
    XFLOW_TRY(const auto converted, xflow::capi::simplify_options(options, "xflow_simplify_file"));
    XFLOW_TRY(auto simplified, with_context(context, [&](Context& c) { return xflow::simplify_file(c, input, output, converted); }));
    give(report, std::move(simplified));
    return {};
  });
}

bool xflow_simplify_report_simplified(const xflow_simplify_report* report) { return report != nullptr && report->report.simplified; }
const char* xflow_simplify_report_reason(const xflow_simplify_report* report) {
  return report == nullptr ? "" : report->report.reason.c_str();
}
uint64_t xflow_simplify_report_nodes_before(const xflow_simplify_report* report) {
  return report == nullptr ? 0 : report->report.nodes_before;
}
uint64_t xflow_simplify_report_nodes_after(const xflow_simplify_report* report) {
  return report == nullptr ? 0 : report->report.nodes_after;
}
xflow_status xflow_simplify_report_text(const xflow_simplify_report* report, xflow_buffer** text, xflow_error** error) {
  return give_text(report, "report", text, error, [](const xflow_simplify_report& r) { return r.report.to_text(); });
}
xflow_status xflow_simplify_report_json(const xflow_simplify_report* report, xflow_buffer** json, xflow_error** error) {
  return give_text(report, "report", json, error, [](const xflow_simplify_report& r) { return r.report.to_json(); });
}
void xflow_simplify_report_free(xflow_simplify_report* report) { delete report; }
