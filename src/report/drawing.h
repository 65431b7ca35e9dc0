// Pictures of parts of a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "xflow/report.h"

namespace xflow::report {

// The nodes as a directed graph in the language DOT of Graphviz. Values are edges; a value that comes from
// or leaves to elsewhere has a small node of its own.
std::string dot_of(std::span<const PartNode> nodes);

// The nodes as lines of text: "Conv 'conv1': x, w -> y".
std::vector<std::string> lines_of(std::span<const PartNode> nodes);

// The pictures of graphs in DOT, drawn by the program dot of Graphviz: elements of HTML in the order of the
// graphs. Empty if that program is not there, fails, or draws another number of pictures.
std::vector<std::string> pictures_of(const std::vector<std::string>& graphs);

}  // namespace xflow::report
