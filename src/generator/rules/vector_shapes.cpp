#include "src/generator/rules/vector_shapes.h"

#include <algorithm>
#include <utility>

#include "src/rules/rule_parts.h"

namespace xflow::generator {
namespace {

using rules::Expression;

Expression ones(const char* name) { return rules::named(Expression::Kind::ones, name); }

// The dimensions of one pixel, or of one window, that follow.
void add_ones(Generalisation generalisation, const char* spatial, std::vector<Expression>& dims) {
  if (has_enumerated_windows(generalisation)) {
    dims.insert(dims.end(), 2, rules::number(1));
  } else {
    dims.push_back(ones(spatial));
  }
}

}  // namespace

bool is_vector(TensorKind kind, const std::vector<Parts>& dims) {
  const auto is_one = [&](std::size_t k) { return dims[k] == Parts{kOnePart}; };
  if (kind == TensorKind::matrix) return dims.size() == 2 && is_one(0) && !is_one(1);
  return dims.size() == 4 && is_one(0) && !is_one(1) && is_one(2) && is_one(3);
}

bool has_leading_ones(TensorKind kind, Generalisation generalisation) {
  if (generalisation == Generalisation::open || generalisation == Generalisation::axes) return false;
  return kind == TensorKind::image || generalisation != Generalisation::matrices;
}

std::vector<Expression> vector_dims(TensorKind kind, Generalisation generalisation, Expression size, bool leading_ones,
                                    const char* spatial) {
  std::vector<Expression> dims;
  dims.push_back(leading_ones ? ones(kLeadingOnes) : rules::number(1));
  dims.push_back(std::move(size));
  if (kind == TensorKind::image) add_ones(generalisation, spatial, dims);
  return dims;
}

Expression kernel_numbers(Generalisation generalisation, Expression size) {
  std::vector<Expression> dims = rules::both(std::move(size), rules::number(1));
  add_ones(generalisation, "W", dims);
  return rules::list(std::move(dims));
}

}  // namespace xflow::generator
