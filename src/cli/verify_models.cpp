#include "src/cli/verify_models.h"

#include <fmt/format.h>
#include <xflow/text.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace xflow::cli {
namespace {

bool is_model(const std::string& path) { return path.ends_with(".onnx"); }

nlohmann::ordered_json to_json(const ModelProof& proof) {
  nlohmann::ordered_json json;
  json["verdict"] = to_string(proof.verdict);
  json["up_to_rounding"] = proof.is_up_to_rounding();
  json["seconds"] = proof.time.count();
  json["difference"] = proof.difference;
  json["inputs"] = proof.inputs;
  json["not_run"] = proof.not_run;
  json["outputs"] = nlohmann::ordered_json::array();
  for (const ModelProof::Output& output : proof.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"verdict", to_string(output.verdict)}, {"error", output.error}, {"allowed", output.allowed}});
  json["parts"] = nlohmann::ordered_json::array();
  for (const ModelProof::Part& part : proof.parts)
    json["parts"].push_back({{"a", part.value_a},
                             {"b", part.value_b},
                             {"operations_a", part.operations_a},
                             {"operations_b", part.operations_b},
                             {"verdict", to_string(part.verdict)},
                             {"open", part.open},
                             {"seconds", part.time.count()}});
  json["constants"] = nlohmann::ordered_json::array();
  for (const ModelProof::Constant& constant : proof.constants)
    json["constants"].push_back({{"a", constant.value_a},
                                 {"b", constant.value_b},
                                 {"difference", constant.difference},
                                 {"allowed", constant.allowed},
                                 {"magnitude", constant.magnitude}});
  json["assumed"] = proof.assumed;
  return json;
}

}  // namespace

bool are_two_models(const std::vector<std::string>& arguments) { return arguments.size() == 2 && std::ranges::all_of(arguments, is_model); }

ExitCode verify_two_models(const std::string& a, const std::string& b, VerifyModelsOptions options, const PrintOptions& printing) {
  const auto proof = [&] {
    ProgressLine line(printing.quiet);
    options.progress = [&](const VerifyModelsProgress& progress) { line.show(progress.to_text()); };
    return verify_files(a, b, options);
  }();
  if (!proof) return report(proof.error());
  if (!printing.quiet) print(printing.json ? printable_json(to_json(*proof).dump(2)) + "\n" : proof->to_text());
  return proof->verdict == Verdict::proved ? ExitCode::done : ExitCode::negative;
}

}  // namespace xflow::cli
