#include "src/cli/optimize_call.h"

#include <xflow/report.h>

#include "src/cli/interrupt.h"
#include "src/cli/option_names.h"

namespace xflow::cli {

Result<void> check_report(const OptimizeFiles& files, const OptimizeOptions& options) {
  if (files.report.empty()) return {};
  return check_report_path(files.report, files.input, files.output, options.output.save_as_external_data, options.input.allow_external);
}

ExitCode optimize_and_report(const OptimizeFiles& files, OptimizeOptions& options, const ModelOptions& model,
                             const PrintOptions& printing) {
  options.warning = warn;
  finish_on_signals(options.cancel);
  Result<OptimizeReport> result = fail(ErrorCode::internal, "not run");
  {
    ProgressLine line(printing.quiet);
    result = optimize_file(files.input, files.output, options, [&](const OptimizeProgress& p) { line.show(p.to_text()); });
  }
  if (!result) return report(result.error());
  result->command = files.command;
  const bool to_error = is_standard_output(files.output);
  print_report(*result, printing, to_error);
  if (!files.report.empty()) {
    const std::string text = is_page(files.report) ? result->to_html() : result->to_json();
    if (const auto written = write_report(files.report, with_option_names(text)); !written) return report(written.error());
  }
  return check_written(model, files.input, files.output, options.input.shapes, options.input.allow_external,
                       to_error || printing.json || printing.quiet);
}

}  // namespace xflow::cli
