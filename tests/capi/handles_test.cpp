// Versions, errors, and what functions do with NULL.
#include "src/capi/handles.h"

#include <xflow/error.h>

#include <string>

#include "tests/capi/calls.h"

namespace xflow {
namespace {

TEST(CVersion, IsThatOfTheHeader) {
  EXPECT_EQ(xflow_c_api_version(), XFLOW_C_API_VERSION);
  EXPECT_STREQ(xflow_version(), XFLOW_VERSION);
}

TEST(CNames, AreThoseOfTheCppInterface) {
  EXPECT_STREQ(xflow_status_name(XFLOW_STATUS_OK), "ok");
  EXPECT_STREQ(xflow_status_name(XFLOW_STATUS_NOT_PROVED), "not_proved");
  EXPECT_STREQ(xflow_phase_name(XFLOW_PHASE_RUNNING_B), "running B");
  EXPECT_STREQ(xflow_verdict_name(XFLOW_VERDICT_ILL_TYPED), "ill-typed");
  for (int k = XFLOW_STATUS_OK; k <= XFLOW_STATUS_INTERNAL; ++k) EXPECT_STRNE(xflow_status_name(static_cast<xflow_status>(k)), "") << k;
  for (int k = XFLOW_PHASE_MEASURING; k <= XFLOW_PHASE_RUNNING_B; ++k) EXPECT_STRNE(xflow_phase_name(static_cast<xflow_phase>(k)), "") << k;
  for (int k = XFLOW_VERDICT_PROVED; k <= XFLOW_VERDICT_TIMEOUT; ++k)
    EXPECT_STRNE(xflow_verdict_name(static_cast<xflow_verdict>(k)), "") << k;
  EXPECT_STREQ(xflow_status_name(static_cast<xflow_status>(15)), "");
  EXPECT_STREQ(xflow_phase_name(static_cast<xflow_phase>(7)), "");
  EXPECT_STREQ(xflow_verdict_name(static_cast<xflow_verdict>(7)), "");
}

// The status and the texts of the error that `work` ends with.
template <typename Work>
std::string ended(xflow_status expected, const Work& work) {
  xflow_error* error = nullptr;
  EXPECT_EQ(capi::guarded(&error, work), expected);
  EXPECT_EQ(xflow_error_status(error), expected);
  EXPECT_EQ(capi::guarded(nullptr, work), expected) << "no error is requested";
  std::string text = std::string(xflow_error_message(error)) + "|" + xflow_error_where(error) + "|" + xflow_error_text(error);
  xflow_error_free(error);
  return text;
}

TEST(CErrors, HaveTheCodeOfTheError) {
  const std::pair<ErrorCode, xflow_status> all[] = {{ErrorCode::unreadable, XFLOW_STATUS_UNREADABLE},
                                                    {ErrorCode::invalid_argument, XFLOW_STATUS_INVALID_ARGUMENT},
                                                    {ErrorCode::ill_typed, XFLOW_STATUS_ILL_TYPED},
                                                    {ErrorCode::syntax, XFLOW_STATUS_SYNTAX},
                                                    {ErrorCode::unsupported, XFLOW_STATUS_UNSUPPORTED},
                                                    {ErrorCode::io, XFLOW_STATUS_IO},
                                                    {ErrorCode::limit, XFLOW_STATUS_LIMIT},
                                                    {ErrorCode::not_proved, XFLOW_STATUS_NOT_PROVED},
                                                    {ErrorCode::internal, XFLOW_STATUS_INTERNAL}};
  for (const auto& [code, status] : all) {
    EXPECT_EQ(ended(status, [code = code]() -> Result<void> { return fail(code, "message", "place"); }), "message|place|place: message");
    EXPECT_EQ(ended(status, [code = code]() -> Result<void> { return fail(code, "message"); }), "message||message");
  }
}

TEST(CErrors, OfExceptionsDoNotLeaveACall) {
  EXPECT_EQ(ended(XFLOW_STATUS_LIMIT, []() -> Result<void> { throw std::bad_alloc(); }), "out of memory||out of memory");
  EXPECT_EQ(ended(XFLOW_STATUS_INTERNAL, []() -> Result<void> { throw 1; }),
            "this is a bug in xflow, please report it with the model||this is a bug in xflow, please report it with the model");
}

TEST(CErrors, AreNullAfterSuccess) {
  xflow_error* error = reinterpret_cast<xflow_error*>(0x10);
  EXPECT_EQ(capi::guarded(&error, []() -> Result<void> { return {}; }), XFLOW_STATUS_OK);
  EXPECT_EQ(error, nullptr);
}

TEST(CNull, IsFreedAndAsked) {
  xflow_error_free(nullptr);
  xflow_buffer_free(nullptr);
  xflow_cancel_finish(nullptr);
  xflow_cancel_stop(nullptr);
  xflow_cancel_free(nullptr);
  xflow_options_free(nullptr);
  xflow_context_free(nullptr);
  xflow_report_free(nullptr);
  xflow_simplify_report_free(nullptr);
  xflow_check_report_free(nullptr);
  xflow_proof_free(nullptr);
  xflow_decisions_free(nullptr);
  xflow_devices_free(nullptr);
  EXPECT_EQ(xflow_error_status(nullptr), XFLOW_STATUS_OK);
  for (const char* text :
       {xflow_error_message(nullptr), xflow_error_where(nullptr), xflow_error_text(nullptr), xflow_buffer_data(nullptr),
        xflow_progress_text(nullptr), xflow_report_reason(nullptr), xflow_report_device(nullptr), xflow_simplify_report_reason(nullptr),
        xflow_check_report_difference(nullptr), xflow_proof_difference(nullptr), xflow_decisions_rule(nullptr, 0),
        xflow_decisions_detail(nullptr, 0), xflow_devices_name(nullptr, 0), xflow_devices_text(nullptr, 0)})
    EXPECT_STREQ(text, "");
  EXPECT_EQ(xflow_buffer_size(nullptr), 0U);
  EXPECT_EQ(xflow_progress_phase(nullptr), XFLOW_PHASE_MEASURING);
  EXPECT_EQ(xflow_progress_fraction(nullptr), 0);
  EXPECT_EQ(xflow_progress_states(nullptr), 0U);
  EXPECT_EQ(xflow_progress_nanoseconds_before(nullptr), 0);
  EXPECT_EQ(xflow_progress_nanoseconds_after(nullptr), 0);
  EXPECT_FALSE(xflow_report_improved(nullptr));
  EXPECT_EQ(xflow_report_nanoseconds_before(nullptr), 0);
  EXPECT_EQ(xflow_report_nanoseconds_after(nullptr), 0);
  EXPECT_EQ(xflow_report_nodes_before(nullptr), 0U);
  EXPECT_EQ(xflow_report_nodes_after(nullptr), 0U);
  EXPECT_EQ(xflow_report_states(nullptr), 0U);
  EXPECT_FALSE(xflow_simplify_report_simplified(nullptr));
  EXPECT_EQ(xflow_simplify_report_nodes_before(nullptr), 0U);
  EXPECT_EQ(xflow_simplify_report_nodes_after(nullptr), 0U);
  EXPECT_FALSE(xflow_check_report_equal(nullptr));
  EXPECT_EQ(xflow_proof_verdict(nullptr), XFLOW_VERDICT_UNKNOWN);
  EXPECT_FALSE(xflow_proof_is_up_to_rounding(nullptr));
  EXPECT_EQ(xflow_decisions_size(nullptr), 0U);
  EXPECT_EQ(xflow_decisions_verdict(nullptr, 0), XFLOW_VERDICT_UNKNOWN);
  EXPECT_EQ(xflow_devices_size(nullptr), 0U);
  EXPECT_FALSE(xflow_devices_is_usable(nullptr, 0));
}

// The text of the error for an argument that is NULL.
template <typename Handle, typename Call>
std::string missing(const Call& call) {
  const auto result = returned<Handle>(call);
  EXPECT_EQ(result.status, XFLOW_STATUS_INVALID_ARGUMENT);
  return result.text();
}

TEST(CNull, IsNoArgument) {
  EXPECT_EQ(
      missing<xflow_report>([](auto report, auto error) { return xflow_optimize(nullptr, nullptr, 0, nullptr, nullptr, report, error); }),
      "model is NULL");
  EXPECT_EQ(
      missing<xflow_report>([](auto report, auto error) { return xflow_optimize_file(nullptr, nullptr, "b", nullptr, report, error); }),
      "input is NULL");
  EXPECT_EQ(
      missing<xflow_report>([](auto report, auto error) { return xflow_optimize_file(nullptr, "a", nullptr, nullptr, report, error); }),
      "output is NULL");
  EXPECT_EQ(missing<xflow_report>([](auto report, auto error) { return xflow_report_parse(nullptr, report, error); }), "json is NULL");
  EXPECT_EQ(
      missing<xflow_buffer>([](auto result, auto error) { return xflow_simplify(nullptr, nullptr, 0, nullptr, result, nullptr, error); }),
      "model is NULL");
  EXPECT_EQ(missing<xflow_simplify_report>(
                [](auto report, auto error) { return xflow_simplify_file(nullptr, nullptr, "b", nullptr, report, error); }),
            "input is NULL");
  EXPECT_EQ(missing<xflow_simplify_report>(
                [](auto report, auto error) { return xflow_simplify_file(nullptr, "a", nullptr, nullptr, report, error); }),
            "output is NULL");
  EXPECT_EQ(missing<xflow_check_report>([](auto report, auto error) { return xflow_check_files(nullptr, "b", nullptr, report, error); }),
            "a is NULL");
  EXPECT_EQ(missing<xflow_check_report>([](auto report, auto error) { return xflow_check_files("a", nullptr, nullptr, report, error); }),
            "b is NULL");
  EXPECT_EQ(missing<xflow_proof>([](auto proof, auto error) { return xflow_verify_files(nullptr, "b", nullptr, proof, error); }),
            "a is NULL");
  EXPECT_EQ(missing<xflow_proof>([](auto proof, auto error) { return xflow_verify_files("a", nullptr, nullptr, proof, error); }),
            "b is NULL");
  EXPECT_EQ(
      missing<xflow_decisions>([](auto decisions, auto error) { return xflow_verify_rules(nullptr, nullptr, nullptr, decisions, error); }),
      "rules is NULL");
}

TEST(CNull, HasNoText) {
  using Format = xflow_status (*)(xflow_buffer**, xflow_error**);
  const Format of_reports[] = {
      [](auto text, auto error) { return xflow_report_text(nullptr, text, error); },
      [](auto text, auto error) { return xflow_report_json(nullptr, text, error); },
      [](auto text, auto error) { return xflow_report_html(nullptr, text, error); },
      [](auto text, auto error) { return xflow_simplify_report_text(nullptr, text, error); },
      [](auto text, auto error) { return xflow_simplify_report_json(nullptr, text, error); },
      [](auto text, auto error) { return xflow_check_report_text(nullptr, text, error); },
  };
  for (const Format format : of_reports) EXPECT_EQ(missing<xflow_buffer>(format), "report is NULL");
  EXPECT_EQ(missing<xflow_buffer>([](auto text, auto error) { return xflow_proof_text(nullptr, text, error); }), "proof is NULL");
}

}  // namespace
}  // namespace xflow
