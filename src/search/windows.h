// Windows: connected parts of a graph, of bounded size, that are searched one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/ir/work_graph.h"

namespace xflow::search {

// Operations of a graph, each once. The first is the one from which the window was grown.
using Window = std::vector<ir::NodeId>;

// Windows of at most `size` operations that together contain every operation of the graph. A window grows
// breadth-first along operands and users, and across inputs and weights that several operations read, so
// that siblings are in one window. Windows overlap: only the half of a window that was reached first counts
// as covered. Deterministic.
std::vector<Window> windows_of(const ir::WorkGraph& graph, std::size_t size);

// Windows as those of windows_of, by their structure: lists of windows with equal signatures, that of the
// first operation first. They are grown from the same operations of each repetition, such as a layer of a
// network. The halves of the windows of a list that were reached first have no operation in common.
// Deterministic.
std::vector<std::vector<Window>> repeated_windows_of(const ir::WorkGraph& graph, std::size_t size);

// Parts of at most `size` operations that do not overlap and together are `within`, or all operations of the
// graph if it is empty. They grow as windows do. Deterministic.
std::vector<Window> parts_of(const ir::WorkGraph& graph, const Window& within, std::size_t size);

// The operations that read a value of the window or make one that it reads, each once, without those of the
// window.
Window neighbours_of(const ir::WorkGraph& graph, const Window& window);

// A hash of a window's structure: operators, attributes, types, how the operations are connected, and
// which values are read outside. Constants count by their types alone. Windows of equal structure whose
// operations are in the same order have equal signatures.
std::uint64_t signature_of(const ir::WorkGraph& graph, const Window& window);

}  // namespace xflow::search
