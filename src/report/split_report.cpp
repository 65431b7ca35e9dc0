#include <fmt/format.h>

#include <algorithm>

#include "src/report/report_text.h"
#include "src/support/printable.h"
#include "xflow/split.h"

namespace xflow {

std::string PartManifest::to_text() const {
  std::string text = fmt::format("{} on {} of cluster {}\n", counted(parts.size(), "part"), counted(devices.size(), "device"),
                                 onnx_io::printable(cluster));
  text += fmt::format("\n{:>4}  {:<16}{:>7}{:>15}{:>17}  {}\n", "part", "device", "nodes", "model inputs", "tensors received", "file");
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const PartDescription& part = parts[k];
    const auto received = std::ranges::count_if(part.inputs, [](const PartTensor& tensor) { return tensor.part.has_value(); });
    text += fmt::format("{:>4}  {:<16}{:>7}{:>15}{:>17}  {}\n", k, onnx_io::printable(devices[part.device]), part.nodes,
                        part.inputs.size() - static_cast<std::size_t>(received), received, part.file);
  }
  if (copied > 0 || left_out > 0) text += '\n';
  if (copied > 0) text += fmt::format("copied      {} of constants that several parts read\n", counted(copied, "node"));
  if (left_out > 0)
    text += fmt::format("left out    {} with results that are known before a run or not needed\n", counted(left_out, "node"));
  return text;
}

}  // namespace xflow
