// Runs the source text of a kernel on this CPU.
#pragma once

#include <fmt/format.h>

#include <string>

#include "src/kernels/kernel_source.h"

namespace xflow::testing {

// A function that runs all launches, block after block.
inline std::string run_text(const cost::SourceProgram& source, const std::string& name) {
  std::string text = fmt::format("extern \"C\" void {}_run(void* const* operands, void* const* results, void* const* scratch) {{\n", name);
  for (const cost::SourceLaunch& launch : source.launches) {
    text += fmt::format("  for (long long block = 0; block < {}; ++block) {}(block", launch.blocks, launch.function);
    for (const cost::SourceArgument& argument : launch.arguments) {
      const char* const array = argument.kind == cost::SourceArgument::Kind::operand  ? "operands"
                                : argument.kind == cost::SourceArgument::Kind::result ? "results"
                                                                                      : "scratch";
      text += fmt::format(", {}[{}]", array, argument.number);
    }
    text += ");\n";
  }
  return text + "}\n";
}

}  // namespace xflow::testing
