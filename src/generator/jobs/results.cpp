#include "src/generator/jobs/results.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "src/verifier/proof/prove_rules.h"

namespace xflow::generator {

Result<void> unless_cancelled(const GenerateOptions& options) {
  if (options.cancel.is_finishing()) return fail(ErrorCode::limit, "cancelled");
  return {};
}

verifier::Options verifying(const GenerateOptions& options) {
  verifier::Options result;
  result.deadline = verifier::Deadline(
      verifier::Deadline::Moment::max(), [cancel = options.cancel] { return cancel.is_finishing(); }, false);
  return result;
}

Result<void> write_results(const GenerateOptions& options, const Checkpoint& checkpoint, const std::string& directed,
                           const std::string& equations, const std::string& report, int jobs) {
  const std::string folder = checkpoint.path("results");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, fmt::format("cannot make the folder: {}", error.message()), folder);
  XFLOW_CHECK(checkpoint.write("results/" + options.name + ".json", report));
  std::vector<std::string> names = {options.name + ".json"};
  for (const auto& [place, text] : {std::pair(std::string(), &directed), std::pair(std::string("equations/"), &equations)}) {
    if (text->find("\nrule ") == std::string::npos) continue;
    const std::string from = fmt::format("{}/{}", folder, place);
    const std::string to = fmt::format("{}/{}", options.out, place);
    std::filesystem::create_directories(from, error);
    std::filesystem::create_directories(to, error);
    if (error) return fail(ErrorCode::io, fmt::format("cannot make the folder: {}", error.message()), to);
    XFLOW_CHECK(checkpoint.write(fmt::format("results/{}{}.rules", place, options.name), *text));
    const auto renewed = verifier::renew_records(from, verifying(options), jobs);
    XFLOW_CHECK(unless_cancelled(options));
    XFLOW_CHECK(renewed);
    for (const char* suffix : {".proofs", ".rules"}) names.push_back(fmt::format("{}{}{}", place, options.name, suffix));
  }
  for (const std::string& name : names) {
    const std::string to = fmt::format("{}/{}", options.out, name);
    std::filesystem::rename(fmt::format("{}/{}", folder, name), to, error);
    if (error) return fail(ErrorCode::io, fmt::format("cannot write: {}", error.message()), to);
  }
  return {};
}

}  // namespace xflow::generator
