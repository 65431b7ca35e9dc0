#include "tests/onnx/onnx_runtime.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "tests/onnx/model_builder.h"
#include "tests/places.h"

namespace xflow::onnx_io::testing {

std::string disagreements(const std::vector<ModelPair>& pairs) {
  const TemporaryFolder folder;
  const std::string list = folder.file("pairs");
  const std::string log = folder.file("log");
  std::ofstream out(list);
  for (const ModelPair& pair : pairs) out << pair.before << '\t' << pair.after << '\t' << pair.inputs << '\n';
  out.close();
  const std::string command =
      fmt::format("{} {}/tests/onnx/compare_models.py {} > {} 2>&1", places::testenv_python(), places::repository(), list, log);
  const int status = std::system(command.c_str());
  const std::string text = read_all(log);
  return status != 0 && text.empty() ? fmt::format("compare_models.py ended with {}", status) : text;
}

}  // namespace xflow::onnx_io::testing
