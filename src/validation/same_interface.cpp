#include "src/validation/same_interface.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace xflow::api {

using onnx_io::DeclaredType;

namespace {

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

// Returns true if no tensor can have both types.
bool contradict(const DeclaredType& a, const DeclaredType& b) {
  if (a.kind == DeclaredType::Kind::missing || b.kind == DeclaredType::Kind::missing) return false;
  if (a.kind != b.kind || a.data_type_number != b.data_type_number) return true;
  if (!a.ranked || !b.ranked) return false;
  if (a.dims.size() != b.dims.size()) return true;
  for (std::size_t k = 0; k < a.dims.size(); ++k) {
    const auto fixed = [](const onnx_io::Dimension& d) { return d.kind == onnx_io::Dimension::Kind::value && d.value >= 0; };
    if (fixed(a.dims[k]) && fixed(b.dims[k]) && a.dims[k].value != b.dims[k].value) return true;
  }
  return false;
}

struct Port {
  std::string_view name;
  const DeclaredType* type;
};

// Refuses, with one line, the first difference in the number, order or types of the ports.
Acceptance same_ports(std::string_view kind, const std::vector<Port>& a, const std::vector<Port>& b) {
  if (a.size() != b.size()) return refused(fmt::format("A has {} {}{}, B has {}", a.size(), kind, plural(a.size()), b.size()));
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].name != b[k].name) return refused(fmt::format("{} {} is '{}' in A and '{}' in B", kind, k, a[k].name, b[k].name));
  for (std::size_t k = 0; k < a.size(); ++k)
    if (contradict(*a[k].type, *b[k].type))
      return refused(fmt::format("{} '{}' is {} in A and {} in B", kind, a[k].name, a[k].type->text(), b[k].type->text()));
  return accepted();
}

}  // namespace

Acceptance same_interface(const Runnable& a, const Runnable& b) {
  const auto inputs = [](const Runnable& model) {
    std::vector<Port> ports;
    for (const NamedInput& input : model.required()) ports.push_back({input.name, &model.declared_input(input.name)});
    return ports;
  };
  const auto outputs = [](const Runnable& model) {
    std::vector<Port> ports;
    for (const onnx_io::ValueInfo& output : model.document().main().outputs) ports.push_back({output.name, &output.type});
    return ports;
  };
  if (Acceptance same = same_ports("input", inputs(a), inputs(b)); !same) return same;
  return same_ports("output", outputs(a), outputs(b));
}

}  // namespace xflow::api
