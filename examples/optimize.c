// Optimises a model from C: optimize MODEL.onnx OUT.onnx. Ctrl-C ends the search, and the best result so far is written.
#include <signal.h>
#include <stdio.h>
#include <xflow/xflow.h>

static const xflow_cancel* interrupted;

static void finish(int number) {
  (void)number;
  xflow_cancel_finish(interrupted);
}

static void show(const xflow_progress* progress, void* user) {
  unsigned* lines = user;
  ++*lines;
  fprintf(stderr, "%s\n", xflow_progress_text(progress));
}

// Prints an error, if there is one, and returns the exit code.
static int ended(xflow_status status, xflow_error* error) {
  if (status != XFLOW_STATUS_OK) fprintf(stderr, "%s: %s\n", xflow_status_name(status), xflow_error_text(error));
  xflow_error_free(error);
  return status == XFLOW_STATUS_OK ? 0 : 1;
}

static int optimize(const char* input, const char* output, const xflow_options* options) {
  xflow_report* report = NULL;
  xflow_error* error = NULL;
  const xflow_status status = xflow_optimize_file(NULL, input, output, options, &report, &error);
  if (status != XFLOW_STATUS_OK) return ended(status, error);
  printf("%llu nodes -> %llu nodes, %s%s\n", (unsigned long long)xflow_report_nodes_before(report),
         (unsigned long long)xflow_report_nodes_after(report),
         xflow_report_improved(report) ? "faster" : "the original: ", xflow_report_reason(report));
  xflow_report_free(report);

  xflow_check_report* check = NULL;
  const xflow_status checked = xflow_check_files(input, output, NULL, &check, &error);
  if (checked == XFLOW_STATUS_OK) printf("results: %s\n", xflow_check_report_equal(check) ? "equal" : xflow_check_report_difference(check));
  xflow_check_report_free(check);
  return ended(checked, error);
}

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s MODEL.onnx OUT.onnx\n", arguments[0]);
    return 64;
  }
  xflow_cancel* cancel = xflow_cancel_new();
  xflow_options* options = xflow_options_new();
  interrupted = cancel;
  signal(SIGINT, finish);

  unsigned lines = 0;
  xflow_error* error = NULL;
  int result = 1;
  if (xflow_options_set_cancel(options, cancel, &error) == XFLOW_STATUS_OK &&
      xflow_options_set_device(options, "cpu", &error) == XFLOW_STATUS_OK &&
      xflow_options_set_max_states(options, 100, &error) == XFLOW_STATUS_OK &&
      xflow_options_set_gate(options, false, &error) == XFLOW_STATUS_OK &&  // predict, do not run
      xflow_options_set_progress(options, show, &lines, &error) == XFLOW_STATUS_OK) {
    result = optimize(arguments[1], arguments[2], options);
  } else {
    ended(xflow_error_status(error), error);
  }
  signal(SIGINT, SIG_DFL);
  interrupted = NULL;
  xflow_options_free(options);
  xflow_cancel_free(cancel);
  return result;
}
