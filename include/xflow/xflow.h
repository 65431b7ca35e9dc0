// The C interface of xflow, for C17 and C++. docs/c.md introduces it.
//
//   xflow_buffer* faster = NULL;
//   xflow_error* error = NULL;
//   if (xflow_optimize(NULL, model, size, NULL, &faster, NULL, &error) != XFLOW_STATUS_OK)
//     fprintf(stderr, "%s\n", xflow_error_text(error));
//   xflow_error_free(error);
//   xflow_buffer_free(faster);
//
// Rules that hold for all functions:
// - A function that can fail returns a status. `error` may be NULL; otherwise *error is NULL after success
//   and a new error after a failure, which the caller frees. No error is reported by errno,
//   and no C++ exception leaves a function.
// - Every handle that a function returns or stores belongs to the caller, who frees it by the function
//   xflow_*_free of its type. Freeing NULL does nothing. A result that is not wanted may be requested by
//   NULL; after a failure results are NULL.
// - Texts end with a zero. A `const char*` that a function returns belongs to its argument, or
//   to the library if there is no handle among the arguments.
// - A required argument that is NULL gives XFLOW_STATUS_INVALID_ARGUMENT, "model is NULL". Functions that
//   cannot fail return 0, false, or the empty text for NULL.
// - All state is in handles. Threads may use different handles at the same time, and may share a handle
//   whose type is const in the call.
// - Callbacks are called from the thread of the call, before it returns. They must not use its context,
//   leave by longjmp, or throw.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xflow/export.h>
#include <xflow/version.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Versions

// The version of this header. It is raised when functions are added; those that exist keep their meaning as
// long as the name of the library (its SONAME) stays. A program needs a library whose xflow_c_api_version()
// is at least this number.
#define XFLOW_C_API_VERSION 1

// Returns the XFLOW_C_API_VERSION of the library.
XFLOW_API int xflow_c_api_version(void);
// Returns the version of the library: "0.2.0".
XFLOW_API const char* xflow_version(void);

// ---- Errors

// The outcome of a call: success, or a kind of error. Functions document which of them they return.
typedef enum xflow_status {
  XFLOW_STATUS_OK = 0,                // success
  XFLOW_STATUS_UNREADABLE = 1,        // invalid input: truncated, not a protobuf, a cycle, a missing file
  XFLOW_STATUS_INVALID_ARGUMENT = 2,  // a meaningless request: NULL, an option out of range
  XFLOW_STATUS_ILL_TYPED = 3,         // operands or attributes do not fit the operator of a rule
  XFLOW_STATUS_SYNTAX = 4,            // a rule text does not parse; xflow_error_where is file:line:column
  XFLOW_STATUS_UNSUPPORTED = 5,       // a valid request that this build or this device cannot execute
  XFLOW_STATUS_IO = 6,                // the operating system refused an access
  XFLOW_STATUS_LIMIT = 7,             // a limit was reached: time, memory; "cancelled" after xflow_cancel_stop
  XFLOW_STATUS_NOT_PROVED = 8,        // a rule has no proof and therefore may not be applied
  XFLOW_STATUS_INTERNAL = 9           // a bug in xflow; please report it
} xflow_status;
// Returns "ok", "unreadable", "invalid_argument" and so on; "" for another number.
XFLOW_API const char* xflow_status_name(xflow_status status);

// Why a call failed.
typedef struct xflow_error xflow_error;
// Returns the kind of the error; XFLOW_STATUS_OK for NULL.
XFLOW_API xflow_status xflow_error_status(const xflow_error* error);
// Returns one lowercase line: what was found, what was expected, what to do.
XFLOW_API const char* xflow_error_message(const xflow_error* error);
// Returns the place: a file, node, rule or line:column; may be empty.
XFLOW_API const char* xflow_error_where(const xflow_error* error);
// Returns "where: message", or the message alone if there is no place.
XFLOW_API const char* xflow_error_text(const xflow_error* error);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_error_free(xflow_error* error);

// ---- Memory

// Bytes that a call returned: a model or a text.
typedef struct xflow_buffer xflow_buffer;
// Returns the bytes, with a zero behind the last. They live as long as the buffer.
XFLOW_API const char* xflow_buffer_data(const xflow_buffer* buffer);
// Returns the number of bytes, without the zero.
XFLOW_API size_t xflow_buffer_size(const xflow_buffer* buffer);
// Frees the bytes.
XFLOW_API void xflow_buffer_free(xflow_buffer* buffer);

// ---- Cancellation

// Ends calls early. A token cannot be reset: calls that get it later end at once.
typedef struct xflow_cancel xflow_cancel;
// Returns a new token, or NULL if there is no memory.
XFLOW_API xflow_cancel* xflow_cancel_new(void);
// Ends the call with the result so far (docs/library.md, *Cancellation*). May be called from any thread and
// from a signal handler, like xflow_cancel_stop.
XFLOW_API void xflow_cancel_finish(const xflow_cancel* cancel);
// Ends the call as soon as possible: XFLOW_STATUS_LIMIT, "cancelled". Nothing is written.
XFLOW_API void xflow_cancel_stop(const xflow_cancel* cancel);
// Frees the handle. Options that have the token keep its state, so it may be freed before they are.
XFLOW_API void xflow_cancel_free(xflow_cancel* cancel);

// ---- Progress

// What a call is doing.
typedef enum xflow_phase {
  XFLOW_PHASE_MEASURING = 0,  // optimise: timing kernels for the search
  XFLOW_PHASE_SEARCHING = 1,  // optimise
  XFLOW_PHASE_CHECKING = 2,   // optimise: comparing rewritten parts with the parts that they replace
  XFLOW_PHASE_RUNNING = 3,    // optimise: running whole models in pairs
  XFLOW_PHASE_RUNNING_A = 4,  // check: A runs on a set of inputs
  XFLOW_PHASE_RUNNING_B = 5   // check: B runs on the same set
} xflow_phase;
// Returns "measuring", "searching" and so on; "" for another number.
XFLOW_API const char* xflow_phase_name(xflow_phase phase);

// The state of a call, for a progress callback; it lives until the callback returns.
typedef struct xflow_progress xflow_progress;
// Returns what the call is doing.
XFLOW_API xflow_phase xflow_progress_phase(const xflow_progress* progress);
// Returns the used part of the phase's bound, from 0 to 1. An optimisation may end a phase before 1.
XFLOW_API double xflow_progress_fraction(const xflow_progress* progress);
// Returns one line of text.
XFLOW_API const char* xflow_progress_text(const xflow_progress* progress);
// Returns the number of graphs costed; 0 in a check.
XFLOW_API uint64_t xflow_progress_states(const xflow_progress* progress);
// Returns the predicted nanoseconds of one run of the original; 0 in a check.
XFLOW_API double xflow_progress_nanoseconds_before(const xflow_progress* progress);
// Returns the predicted nanoseconds of one run of the best graph so far; 0 in a check.
XFLOW_API double xflow_progress_nanoseconds_after(const xflow_progress* progress);

// Called a few times per second by xflow_optimize, xflow_optimize_file and xflow_check_files.
typedef void (*xflow_progress_callback)(const xflow_progress* progress, void* user);
// Called with one line of text for each warning of an optimisation.
typedef void (*xflow_warning_callback)(const char* line, void* user);

// ---- Options

// How a call works. Calls accept NULL for the defaults, and do not change the options. A call refuses
// options that it does not have: XFLOW_STATUS_INVALID_ARGUMENT, "xflow_simplify has no option 'gate'";
// docs/c.md, *Options*, says which call has which option.
//
// Setters copy their arguments. They return XFLOW_STATUS_INVALID_ARGUMENT for a value that is out of range,
// and then change nothing.
typedef struct xflow_options xflow_options;
// Returns the default options, or NULL if there is no memory.
XFLOW_API xflow_options* xflow_options_new(void);
// Frees options that no call uses.
XFLOW_API void xflow_options_free(xflow_options* options);

// Adds the sizes of an input, for costs and runs: `rank` sizes of at least 1. The model keeps its dynamic
// dimensions. An input may be named several times (InputOptions::shapes of <xflow/optimize.h>).
XFLOW_API xflow_status xflow_options_add_shape(xflow_options* options, const char* input, const int64_t* dims, size_t rank,
                                               xflow_error** error);
// Adds the sizes that the result declares for an input in place of dynamic ones, and takes no others:
// `rank` sizes of at least 1 (InputOptions::fixed_shapes of <xflow/optimize.h>). The call returns
// XFLOW_STATUS_INVALID_ARGUMENT for an input that the model does not have, and for sizes that contradict its
// own.
XFLOW_API xflow_status xflow_options_add_fixed_shape(xflow_options* options, const char* input, const int64_t* dims, size_t rank,
                                                     xflow_error** error);
// Adds a file of inputs for checks and runs: .npz, .pb, or a folder of .pb files.
XFLOW_API xflow_status xflow_options_add_input_file(xflow_options* options, const char* path, xflow_error** error);
// Adds a folder that may hold external data of a model (docs/files.md).
XFLOW_API xflow_status xflow_options_allow_external(xflow_options* options, const char* folder, xflow_error** error);
// Sets the file that takes external data, relative to the folder of the output (docs/files.md).
XFLOW_API xflow_status xflow_options_set_external_data(xflow_options* options, const char* name, xflow_error** error);

// Ends the search after this wall clock time without timing kernels. Default: 30 s if there is no budget.
XFLOW_API xflow_status xflow_options_set_search_seconds(xflow_options* options, double seconds, xflow_error** error);
// Ends the search when this number of graphs, at least 1, was costed. The search is then the same in every
// run with the same prices.
XFLOW_API xflow_status xflow_options_set_max_states(xflow_options* options, uint64_t states, xflow_error** error);
// Bytes that all constants may grow by: this fraction of the original's (at least 0; default 0.05), or
// `bytes` if that is more (default 64 KiB in an optimisation, otherwise 0).
XFLOW_API xflow_status xflow_options_set_max_growth(xflow_options* options, double fraction, uint64_t bytes, xflow_error** error);

// Leaves out rewrites of parts whose predicted gain is positive with a smaller probability than this one,
// which is above 0.5 and below 1 (docs/cost.md, *How sure a gain is*). Default: each gain counts.
XFLOW_API xflow_status xflow_options_set_confidence(xflow_options* options, double probability, xflow_error** error);

// How rewrites may change floating point results (docs/rules.md, *Floating point*).
typedef enum xflow_numerics {
  XFLOW_NUMERICS_EXACT = 0,     // the same bits of each element
  XFLOW_NUMERICS_ROUNDING = 1,  // the same up to rounding where inputs and results are finite (the default)
  XFLOW_NUMERICS_ANY = 2        // infinities and NaN may change as well; not in xflow_simplify
} xflow_numerics;
// Sets how rewrites may change floating point results.
XFLOW_API xflow_status xflow_options_set_numerics(xflow_options* options, xflow_numerics numerics, xflow_error** error);

// Sets the rules, as text (docs/rules.md), that replace the built-in ones. To use both, put the text of
// xflow_shipped_rules in front. Each rule is proved before it is applied; one that cannot be proved fails
// the call with XFLOW_STATUS_NOT_PROVED. Errors: also XFLOW_STATUS_SYNTAX, XFLOW_STATUS_ILL_TYPED.
XFLOW_API xflow_status xflow_options_set_rules(xflow_options* options, const char* text, xflow_error** error);
// Adds the name of a rule that is not applied.
XFLOW_API xflow_status xflow_options_skip_rule(xflow_options* options, const char* name, xflow_error** error);

// Sets the source of kernel times: "cpu", "cuda:N", "profile:FILE" (DeviceOptions::name of
// <xflow/device.h>). Default: the runner if there is one, otherwise the CPU.
XFLOW_API xflow_status xflow_options_set_device(xflow_options* options, const char* name, xflow_error** error);
// With a profile, prices kernels in float32 as the same kernels in `type`, "bf16", "fp16" or "fp8"
// (docs/cost.md). Default: their own type. A call refuses other types.
XFLOW_API xflow_status xflow_options_set_priced_as(xflow_options* options, const char* type, xflow_error** error);
// Sets the threads of one kernel, 1 to 1024. Default: 1.
XFLOW_API xflow_status xflow_options_set_threads(xflow_options* options, int threads, xflow_error** error);
// Sets the shell command of a program that runs models (docs/runner.md). Default: xflow runs them.
XFLOW_API xflow_status xflow_options_set_runner(xflow_options* options, const char* command, xflow_error** error);
// Sets the file of measured costs. Default: costs are kept in the context of the call.
XFLOW_API xflow_status xflow_options_set_cost_database(xflow_options* options, const char* path, xflow_error** error);

// Sets whether the result must be measured to be faster than the original. Default: true. If not, whole
// models are not run, and the predicted time decides.
XFLOW_API xflow_status xflow_options_set_gate(xflow_options* options, bool gate, xflow_error** error);
// Sets the wall clock for running whole models. Default: 60 s.
XFLOW_API xflow_status xflow_options_set_gate_seconds(xflow_options* options, double seconds, xflow_error** error);
// Sets whether a result is also written if it is smaller and not measured to be slower. Default: false.
XFLOW_API xflow_status xflow_options_set_accept_smaller(xflow_options* options, bool smaller, xflow_error** error);

// Sets the wall clock of the whole call; in xflow_verify_rules, of each rule. docs/c.md, *Options*, says
// what the calls do at the limit.
XFLOW_API xflow_status xflow_options_set_time_limit(xflow_options* options, double seconds, xflow_error** error);
// Sets the bytes of memory of the process at which the search ends, and of the largest tensor; 0: no limit.
// Default: half of the memory of the machine or of the control group.
XFLOW_API xflow_status xflow_options_set_max_memory(xflow_options* options, uint64_t bytes, xflow_error** error);
// Sets the seed of generated inputs. Default: 1.
XFLOW_API xflow_status xflow_options_set_seed(xflow_options* options, uint64_t seed, xflow_error** error);
// Sets the number of seeds for each choice of sizes in a check, at least 1. Default: 1.
XFLOW_API xflow_status xflow_options_set_runs(xflow_options* options, int runs, xflow_error** error);
// Sets the number of rules that are decided at a time, at least 1. It changes no verdict. Default: 1.
XFLOW_API xflow_status xflow_options_set_jobs(xflow_options* options, int jobs, xflow_error** error);
// Sets the token that ends the call early. NULL: none.
XFLOW_API xflow_status xflow_options_set_cancel(xflow_options* options, const xflow_cancel* cancel, xflow_error** error);
// Sets the progress callback and its last argument. NULL: none.
XFLOW_API xflow_status xflow_options_set_progress(xflow_options* options, xflow_progress_callback progress, void* user,
                                                  xflow_error** error);
// Sets the callback for warnings and its last argument. NULL: none.
XFLOW_API xflow_status xflow_options_set_warning(xflow_options* options, xflow_warning_callback warning, void* user, xflow_error** error);

// ---- Contexts

// Proved rules, measured costs and the open device, which calls share. One call at a time uses a context,
// and other calls wait. Calls accept NULL for a temporary one.
typedef struct xflow_context xflow_context;
// Returns a new context, or NULL if there is no memory.
XFLOW_API xflow_context* xflow_context_new(void);
// Frees a context that no call uses.
XFLOW_API void xflow_context_free(xflow_context* context);

// ---- Optimise

// What an optimisation did: rewrites, measurements, stop reasons.
typedef struct xflow_report xflow_report;

// Optimises the `size` bytes of an ONNX model. The result is the original, byte for byte, if nothing was
// gained. External data cannot be found from bytes: use xflow_optimize_file.
//
// Errors: unreadable (the model, a file of inputs), not_proved (a rule), invalid_argument (an option),
// unsupported (the device), limit ("cancelled" after xflow_cancel_stop).
XFLOW_API xflow_status xflow_optimize(xflow_context* context, const void* model, size_t size, const xflow_options* options,
                                      xflow_buffer** result, xflow_report** report, xflow_error** error);
// The same from file to file. `output` is replaced in one step, or left alone on any error; it gets a copy
// of `input` if nothing was gained. "-" is standard input or output. Errors: those of xflow_optimize; io;
// invalid_argument if `output` is external data of the model.
XFLOW_API xflow_status xflow_optimize_file(xflow_context* context, const char* input, const char* output, const xflow_options* options,
                                           xflow_report** report, xflow_error** error);

// Returns the report of the JSON that xflow_report_json wrote. Errors: invalid_argument for any other text.
XFLOW_API xflow_status xflow_report_parse(const char* json, xflow_report** report, xflow_error** error);
// Returns whether the result is faster. If not, it is the original, or with
// xflow_options_set_accept_smaller a smaller model.
XFLOW_API bool xflow_report_improved(const xflow_report* report);
// Returns why the original was kept; empty if improved.
XFLOW_API const char* xflow_report_reason(const xflow_report* report);
// Returns the device: "cpu: ..., 1 thread, oneDNN 2.6.3".
XFLOW_API const char* xflow_report_device(const xflow_report* report);
// Returns the predicted nanoseconds of one run of the original.
XFLOW_API double xflow_report_nanoseconds_before(const xflow_report* report);
// Returns the predicted nanoseconds of one run of the result, even if it was found slower.
XFLOW_API double xflow_report_nanoseconds_after(const xflow_report* report);
// Returns the number of nodes of the main graph in the original.
XFLOW_API uint64_t xflow_report_nodes_before(const xflow_report* report);
// Returns the number of nodes of the main graph in the result.
XFLOW_API uint64_t xflow_report_nodes_after(const xflow_report* report);
// Returns the number of graphs costed.
XFLOW_API uint64_t xflow_report_states(const xflow_report* report);
// Formats the report for people. Errors: invalid_argument (NULL), limit (memory).
XFLOW_API xflow_status xflow_report_text(const xflow_report* report, xflow_buffer** text, xflow_error** error);
// Formats the report for programs (docs/optimize-report.schema.json). Errors: as xflow_report_text.
XFLOW_API xflow_status xflow_report_json(const xflow_report* report, xflow_buffer** json, xflow_error** error);
// Formats the report as a page for browsers: one file of HTML and CSS that loads nothing. Errors: as
// xflow_report_text.
XFLOW_API xflow_status xflow_report_html(const xflow_report* report, xflow_buffer** html, xflow_error** error);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_report_free(xflow_report* report);

// ---- Simplify

// What a simplification did.
typedef struct xflow_simplify_report xflow_simplify_report;

// Removes needless nodes of a model without changing what it computes. Measures nothing. Errors: those of
// xflow_optimize but unsupported.
XFLOW_API xflow_status xflow_simplify(xflow_context* context, const void* model, size_t size, const xflow_options* options,
                                      xflow_buffer** result, xflow_simplify_report** report, xflow_error** error);
// The same from file to file, as xflow_optimize_file.
XFLOW_API xflow_status xflow_simplify_file(xflow_context* context, const char* input, const char* output, const xflow_options* options,
                                           xflow_simplify_report** report, xflow_error** error);

// Returns false if the result is the original, byte for byte.
XFLOW_API bool xflow_simplify_report_simplified(const xflow_simplify_report* report);
// Returns why the result is the original; empty if simplified.
XFLOW_API const char* xflow_simplify_report_reason(const xflow_simplify_report* report);
// Returns the number of nodes of the original, in all its graphs.
XFLOW_API uint64_t xflow_simplify_report_nodes_before(const xflow_simplify_report* report);
// Returns the number of nodes of the result, in all its graphs.
XFLOW_API uint64_t xflow_simplify_report_nodes_after(const xflow_simplify_report* report);
// Formats the report for people. Errors: invalid_argument (NULL), limit (memory).
XFLOW_API xflow_status xflow_simplify_report_text(const xflow_simplify_report* report, xflow_buffer** text, xflow_error** error);
// Formats the report for programs. Errors: as xflow_simplify_report_text.
XFLOW_API xflow_status xflow_simplify_report_json(const xflow_simplify_report* report, xflow_buffer** json, xflow_error** error);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_simplify_report_free(xflow_simplify_report* report);

// ---- Check

// What a comparison of two models found.
typedef struct xflow_check_report xflow_check_report;

// Compares the results of the models in the files `a` and `b` on inputs (check_files of <xflow/check.h> has
// the tolerances). Errors: unreadable, io (a model, or inputs that do not fit A); unsupported (a model that
// cannot be executed, a runner that does not start); invalid_argument (an option); limit (the time limit was
// reached, or the call was cancelled, before a difference was found and before all inputs were compared).
XFLOW_API xflow_status xflow_check_files(const char* a, const char* b, const xflow_options* options, xflow_check_report** report,
                                         xflow_error** error);
// Returns whether all outputs agree on all inputs.
XFLOW_API bool xflow_check_report_equal(const xflow_check_report* report);
// Returns one line about the worst output; empty if equal.
XFLOW_API const char* xflow_check_report_difference(const xflow_check_report* report);
// Formats the report for people. Errors: invalid_argument (NULL), limit (memory).
XFLOW_API xflow_status xflow_check_report_text(const xflow_check_report* report, xflow_buffer** text, xflow_error** error);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_check_report_free(xflow_check_report* report);

// ---- Verify

// What was decided of a rule or of two models (docs/proofs.md, docs/verify-models.md).
typedef enum xflow_verdict {
  XFLOW_VERDICT_PROVED = 0,     // both sides agree for all inputs and sizes
  XFLOW_VERDICT_REFUTED = 1,    // they differ on inputs that were evaluated
  XFLOW_VERDICT_UNKNOWN = 2,    // neither a proof nor a counterexample was found
  XFLOW_VERDICT_ILL_TYPED = 3,  // the source of a rule has no type for any sizes, or the target has none
  XFLOW_VERDICT_TIMEOUT = 4     // a limit was reached, or the call was cancelled
} xflow_verdict;
// Returns "proved", "refuted", "unknown", "ill-typed", "timeout"; "" for another number.
XFLOW_API const char* xflow_verdict_name(xflow_verdict verdict);

// What is known of the equality of two models.
typedef struct xflow_proof xflow_proof;

// Proves that the models in the files `a` and `b` compute the same, or refutes it by a run. Errors:
// unreadable, io (a model), invalid_argument (an option), limit ("cancelled").
XFLOW_API xflow_status xflow_verify_files(const char* a, const char* b, const xflow_options* options, xflow_proof** proof,
                                          xflow_error** error);
// Returns the verdict; XFLOW_VERDICT_UNKNOWN for NULL.
XFLOW_API xflow_verdict xflow_proof_verdict(const xflow_proof* proof);
// Returns whether the models are proved equal, and some constants differ by rounding.
XFLOW_API bool xflow_proof_is_up_to_rounding(const xflow_proof* proof);
// Returns one line about the difference; empty if the models are not refuted.
XFLOW_API const char* xflow_proof_difference(const xflow_proof* proof);
// Formats the proof for people. Errors: invalid_argument (NULL), limit (memory).
XFLOW_API xflow_status xflow_proof_text(const xflow_proof* proof, xflow_buffer** text, xflow_error** error);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_proof_free(xflow_proof* proof);

// The decisions of rules, in the order of the text.
typedef struct xflow_decisions xflow_decisions;

// Decides the rules of a text (docs/rules.md) for all shapes that their guards admit. Errors: syntax,
// ill_typed (the text), invalid_argument (an option), limit ("cancelled").
XFLOW_API xflow_status xflow_verify_rules(xflow_context* context, const char* rules, const xflow_options* options,
                                          xflow_decisions** decisions, xflow_error** error);
// Returns the text of the built-in rules. Errors: limit (memory).
XFLOW_API xflow_status xflow_shipped_rules(xflow_buffer** text, xflow_error** error);
// Returns the number of rules.
XFLOW_API size_t xflow_decisions_size(const xflow_decisions* decisions);
// Returns the name of a rule by number; "" if there is none.
XFLOW_API const char* xflow_decisions_rule(const xflow_decisions* decisions, size_t number);
// Returns the verdict of a rule by number; XFLOW_VERDICT_UNKNOWN if there is none.
XFLOW_API xflow_verdict xflow_decisions_verdict(const xflow_decisions* decisions, size_t number);
// Returns the counterexample of a refuted rule, or the open question of one that is not decided; otherwise
// "".
XFLOW_API const char* xflow_decisions_detail(const xflow_decisions* decisions, size_t number);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_decisions_free(xflow_decisions* decisions);

// ---- Devices

// This CPU, then the GPUs.
typedef struct xflow_devices xflow_devices;

// Lists the devices. Unusable ones have a reason. Errors: limit (memory).
XFLOW_API xflow_status xflow_devices_list(xflow_devices** devices, xflow_error** error);
// Returns the number of devices.
XFLOW_API size_t xflow_devices_size(const xflow_devices* devices);
// Returns the name of a device by number, for xflow_options_set_device; "" if there is none.
XFLOW_API const char* xflow_devices_name(const xflow_devices* devices, size_t number);
// Returns hardware and kernel libraries, or why the device cannot be used; "" if there is none.
XFLOW_API const char* xflow_devices_text(const xflow_devices* devices, size_t number);
// Returns whether a device can be used.
XFLOW_API bool xflow_devices_is_usable(const xflow_devices* devices, size_t number);
// Frees the handle and the texts that belong to it.
XFLOW_API void xflow_devices_free(xflow_devices* devices);

#ifdef __cplusplus
}
#endif
