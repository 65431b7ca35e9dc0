// Plans: operations on tensors of known shapes as arithmetic on elements, made from the operators' index
// notation.
#pragma once

#include <xflow/error.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/egraph/numbers.h"
#include "src/ir/graph.h"
#include "src/ops/expr.h"

namespace xflow::generator {

// An element of an operand that an element of the result is computed from.
struct ElementPlace {
  std::uint16_t operand = 0;
  std::uint16_t offset = 0;  // row-major
  friend bool operator==(const ElementPlace&, const ElementPlace&) = default;
};

// A step of a formula, which runs on a stack of numbers.
struct FormulaStep {
  enum class Kind : std::uint8_t { literal, read, apply };
  Kind kind = Kind::literal;
  ir::Rational literal;
  Pair residues;  // of the literal
  ElementPlace place;
  ops::Function function{};
};

// Computes the elements of one output: as sums of products if the operator is such a sum, otherwise by
// formulas.
struct ElementPlan {
  // A term of a sum: coefficient * a * b; without b: coefficient * a; with neither: coefficient.
  struct Product {
    ElementPlace a;
    ElementPlace b;
    friend bool operator==(const Product&, const Product&) = default;
  };
  struct Scaled {
    ElementPlace a;
    ElementPlace b;
    std::uint8_t factors = 0;  // number of factors among a and b
    ir::Rational coefficient;
    std::uint32_t first = 0;  // the coefficient modulo the first prime
    std::uint32_t second = 0;
    friend bool operator==(const Scaled&, const Scaled&) = default;
  };
  struct Scale {
    ir::Rational value;
    Pair residues;
  };
  // The terms of a sum: indices into the lists below.
  struct Terms {
    std::uint32_t products = 0;
    std::uint32_t plain = 0;
    std::uint32_t scaled = 0;
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  struct Pattern {
    Terms begin;
    Terms end;
  };
  // A row has the terms of a pattern with each place moved by `shift[operand]` elements. Most elements of a
  // convolution share one pattern.
  struct Row {
    std::uint32_t pattern = 0;
    std::array<std::uint16_t, 4> shift{};  // by operand; 0 for operands after the second
  };

  static constexpr std::size_t kMostDepth = 24;  // the maximum stack depth of a formula

  // What all formulas compute: anything, the maximum of some elements, or the maximum of these and 0.
  enum class Maximum : std::uint8_t { no, of_elements, with_zero };

  std::vector<std::int64_t> dims;
  bool is_sum = true;
  // is_sum: one row per element. A maximum also has one row per element, of plain places.
  std::vector<Row> rows;
  std::vector<Pattern> patterns;
  std::vector<Product> products;    // a * b
  std::vector<ElementPlace> plain;  // a
  std::vector<Scaled> scaled;
  std::optional<Scale> scale;  // factor of every sum; then all terms are plain
  // Not is_sum: the formula of element k is steps[ends[k - 1], ends[k]) and leaves one number on the stack.
  std::vector<std::uint32_t> ends;
  std::vector<FormulaStep> steps;
  Maximum maximum = Maximum::no;

  bool is_relu = false;             // every element is the maximum of the operand's same element and 0
  std::uint32_t most_products = 0;  // maximum of a row
  std::uint32_t most_plain = 0;
  std::vector<std::uint32_t> operand_elements;

  // The offset of a place in a row.
  std::size_t place(const Row& row, const ElementPlace& p) const {
    return std::size_t{p.offset} + row.shift[std::min<std::size_t>(p.operand, 3)];
  }
  std::size_t elements() const { return is_sum ? rows.size() : ends.size(); }

  // Makes the plans of the outputs of an operation with these attributes on operands of these shapes
  // (float32). Error::ill_typed as the operator's type rule; Error::unsupported for operations that are no
  // arithmetic of reals (casts, integer tensors), for more than 65,535 elements, and for formulas deeper
  // than kMostDepth.
  static Result<std::vector<ElementPlan>> make(ir::OperatorId op, const ir::Attributes& attributes,
                                               std::span<const std::vector<std::int64_t>> operands);
};

}  // namespace xflow::generator
