// Tensors with values, the inputs and outputs of evaluation.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/ir/constant.h"
#include "src/ir/rational.h"
#include "src/ir/type.h"

namespace xflow::eval {

// Elements that are exact rationals, infinite, or undefined (a result without an exact value, such as 1/0).
// Only src/eval/rational.h includes the number library.
class RationalElements;

// Elements of a prime field: residues in [0, prime), or kUndefinedResidue for undefined values (1/0).
struct ResidueElements {
  std::uint32_t prime = 0;
  std::vector<std::uint32_t> residues;
  friend bool operator==(const ResidueElements&, const ResidueElements&) = default;
};
inline constexpr std::uint32_t kUndefinedResidue = 0xFFFFFFFF;

// A dense row-major tensor. `data_type` is its type in the graph. `elements` depends on the type and the
// evaluation:
// - floating types: double or float. Narrower types are widened, so that a reference keeps more digits than
//   the type has.
// - floating types in exact evaluation: rationals or residues.
// - integers and booleans: int64 (uint64 as its 64 bits).
// - floating types of at most 8 bits: their bits as int64.
// - strings.
// - a constant in its stored form.
struct Tensor {
  using Elements = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int64_t>, std::shared_ptr<const RationalElements>,
                                ResidueElements, std::vector<std::string>, ir::Constant>;

  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  Elements elements;

  std::uint64_t count() const;  // product of dims

  // Does not copy: the bytes of the constant are read in place.
  static Tensor of(ir::Constant constant);
  static Tensor of_doubles(ir::DataType type, std::vector<std::int64_t> dims, std::vector<double> values);
  static Tensor of_integers(ir::DataType type, std::vector<std::int64_t> dims, std::vector<std::int64_t> values);
  static Tensor of_strings(std::vector<std::int64_t> dims, std::vector<std::string> values);
  static Tensor of_rationals(ir::DataType type, std::vector<std::int64_t> dims, std::span<const ir::Rational> values);
};

// "float32[2,3]"
std::string type_text(const Tensor& tensor);

// All elements as doubles (rationals are rounded to nearest, undefined becomes NaN), or as integers (of
// integer and boolean tensors, and the bits of floating types of at most 8 bits). Error::unsupported for
// strings, residues, and types without arithmetic.
Result<std::vector<double>> doubles(const Tensor& tensor);
Result<std::vector<std::int64_t>> integers(const Tensor& tensor);

// The elements of a constant of a narrow type (src/ir/narrow.h).
Result<std::vector<std::int64_t>> narrow_elements(const ir::Constant& constant);

// The tensor in its own data type, with each element rounded once to nearest. Errors as `doubles`;
// unsupported for strings.
Result<ir::Constant> to_constant(const Tensor& tensor);
// The values rounded to the data type and widened again: the result of a runtime that computes in the
// reference's precision.
Result<Tensor> rounded(const Tensor& tensor);

// Exact comparison: same data type, dims and values. NaN equals NaN and 0.0 equals -0.0. An undefined
// element differs from every element.
bool equal(const Tensor& a, const Tensor& b);

// One element as text: "0.5", "-7/3", "true", "inf", "undefined".
std::string element_text(const Tensor& tensor, std::uint64_t element);

// The residues of a tensor of rationals, doubles or integers modulo a prime below 2^31: a/b is a times the
// inverse of b.
Result<Tensor> to_residues(const Tensor& tensor, std::uint32_t prime);

}  // namespace xflow::eval
