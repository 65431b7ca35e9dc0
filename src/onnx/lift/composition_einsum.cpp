#include <algorithm>
#include <cctype>
#include <map>

#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::ValueId;

namespace {

// An equation such as "bij,bjk->bik": one letter per dimension, no ellipsis, no letter twice in one operand.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Result<Equation> parse_equation(std::string text, std::size_t operands) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    equation.operands.push_back(left.substr(0, comma));
    left.erase(0, comma + 1);
  }
  std::map<char, int> counts;
  for (const std::string& letters : equation.operands) {
    for (const char c : letters) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) return fail(ErrorCode::unsupported, "Einsum: an ellipsis");
      ++counts[c];
      if (std::count(letters.begin(), letters.end(), c) > 1) return fail(ErrorCode::unsupported, "Einsum: a diagonal");
    }
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
  } else {
    for (const auto& [letter, count] : counts)  // alphabetical
      if (count == 1) equation.result += letter;
  }
  for (const char c : equation.result) {
    if (counts[c] == 0 || std::count(equation.result.begin(), equation.result.end(), c) > 1)
      return fail(ErrorCode::unsupported, "Einsum: an equation that is none");
  }
  if (equation.operands.size() != operands) return fail(ErrorCode::unsupported, "Einsum: an equation of other operands");
  return equation;
}

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

// Returns the letters of `from` for which `keep` holds, in their order.
template <typename Keep>
std::string chosen(const std::string& from, const Keep& keep) {
  std::string result;
  for (const char c : from)
    if (keep(c)) result += c;
  return result;
}

class Einsum {
 public:
  explicit Einsum(const NodeView& node) : make_(node) {}

  CompositionValues run(const NodeView& node, const Equation& equation) {
    for (std::size_t k = 0; k < equation.operands.size(); ++k) {
      const ir::TensorType& type = node.input_type(k);
      if (!type.ranked || type.rank() != equation.operands[k].size())
        return fail(ErrorCode::unsupported, "Einsum: a rank that is not known");
      for (std::size_t axis = 0; axis < type.rank(); ++axis) {
        const auto [known, is_new] = sizes_.emplace(equation.operands[k][axis], type.shape[axis]);
        if (!is_new && !(known->second == type.shape[axis]))
          return fail(ErrorCode::unsupported, "Einsum: sizes that are not known to be equal");
      }
    }
    ValueId value = summed(node.operand(0), equation, 0);
    std::string letters = letters_;
    for (std::size_t k = 1; k < equation.operands.size(); ++k) {
      const ValueId other = summed(node.operand(k), equation, k);
      value = product(value, letters, other, letters_, needed_after(equation, k), letters);
    }
    if (letters == equation.result) return make_.finish({equation.operands.size() == 1 ? make_.op("identity", {value}) : value});
    return make_.finish({transposed(value, letters, equation.result)});
  }

 private:
  // Returns the letters of the result and of the operands after k.
  static std::string needed_after(const Equation& equation, std::size_t k) {
    std::string needed = equation.result;
    for (std::size_t i = k + 1; i < equation.operands.size(); ++i) needed += equation.operands[i];
    return needed;
  }

  // Sums operand k over the dimensions that no other operand and not the result has. Stores the remaining
  // letters in letters_.
  ValueId summed(ValueId v, const Equation& equation, std::size_t k) {
    std::string others = equation.result;
    for (std::size_t i = 0; i < equation.operands.size(); ++i)
      if (i != k) others += equation.operands[i];
    const std::string& letters = equation.operands[k];
    letters_ = chosen(letters, [&](char c) { return has(others, c); });
    std::vector<Poly> axes;
    for (std::size_t axis = 0; axis < letters.size(); ++axis)
      if (!has(others, letters[axis])) axes.emplace_back(static_cast<std::int64_t>(axis));
    return axes.empty() ? v : make_.op("reduce_sum", {v}, {{"axes", axes}, {"keep_dims", Poly(0)}});
  }

  ValueId transposed(ValueId v, const std::string& from, const std::string& to) {
    if (from == to) return v;
    std::vector<Poly> perm;
    for (const char c : to) perm.emplace_back(static_cast<std::int64_t>(from.find(c)));
    return make_.op("transpose", {v}, {{"perm", std::move(perm)}});
  }

  std::vector<Poly> shape_of(const std::string& letters) const {
    std::vector<Poly> shape;
    for (const char c : letters) shape.push_back(sizes_.at(c));
    return shape;
  }
  Poly count_of(const std::string& letters) const { return ir::element_count(shape_of(letters)); }

  // Computes a b, summed over the common letters that are not needed, as a matrix product. Common letters
  // that are needed are the batch.
  ValueId product(ValueId a, const std::string& in_a, ValueId b, const std::string& in_b, const std::string& needed, std::string& letters) {
    const std::string batch = chosen(in_a, [&](char c) { return has(in_b, c) && has(needed, c); });
    const std::string inner = chosen(in_a, [&](char c) { return has(in_b, c) && !has(needed, c); });
    const std::string rows = chosen(in_a, [&](char c) { return !has(in_b, c); });
    const std::string columns = chosen(in_b, [&](char c) { return !has(in_a, c); });
    const ValueId x = matrix(transposed(a, in_a, batch + rows + inner), batch, rows, inner);
    const ValueId y = matrix(transposed(b, in_b, batch + inner + columns), batch, inner, columns);
    const ValueId z = make_.op("matmul", {x, y});
    letters = batch + rows + columns;
    return rows.size() == 1 && columns.size() == 1 ? z : make_.reshape(z, shape_of(letters));
  }

  // Reshapes v[batch..., first..., second...] so that `first` and `second` are one dimension each.
  ValueId matrix(ValueId v, const std::string& batch, const std::string& first, const std::string& second) {
    if (first.size() == 1 && second.size() == 1) return v;
    std::vector<Poly> shape = shape_of(batch);
    shape.push_back(count_of(first));
    shape.push_back(count_of(second));
    return make_.reshape(v, std::move(shape));
  }

  CompositionMaker make_;
  std::map<char, Poly> sizes_;
  std::string letters_;
};

}  // namespace

// Lifts Einsum as transposes, sums over dimensions of one operand alone, and matrix products from left to
// right.
CompositionValues lift_einsum(const NodeView& node) {
  if (node.input_count() == 0) return fail(ErrorCode::unsupported, "Einsum: no operands");
  XFLOW_TRY(const Equation equation, parse_equation(node.word("equation", ""), node.input_count()));
  return Einsum(node).run(node, equation);
}

}  // namespace xflow::onnx_io
