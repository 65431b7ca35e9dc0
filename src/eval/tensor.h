// Tensors with values: what evaluation reads and makes.
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

// Elements that are exact rationals, or infinite, or undefined (a result without an exact value, such as 1/0). The library of numbers
// stays inside src/eval/rational.h.
class RationalElements;

// Elements of a prime field: residues in [0, prime), or kUndefinedResidue where there is no value (1/0).
struct ResidueElements {
  std::uint32_t prime = 0;
  std::vector<std::uint32_t> residues;
  friend bool operator==(const ResidueElements&, const ResidueElements&) = default;
};
inline constexpr std::uint32_t kUndefinedResidue = 0xFFFFFFFF;

// A dense tensor, row-major. `data_type` is its type in the graph; `elements` is how the numbers are kept:
// double or float for floating types (narrower types widened, so that a reference keeps more digits than the type has), int64 for integers
// and booleans (uint64 as its 64 bits) and for the bits of floating types of 8 bits and fewer, rationals or residues for floating types in
// exact evaluation, strings, or a constant as it lies in its file.
struct Tensor {
  using Elements = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int64_t>, std::shared_ptr<const RationalElements>,
                                ResidueElements, std::vector<std::string>, ir::Constant>;

  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  Elements elements;

  std::uint64_t count() const;  // product of dims

  // No copy: the bytes of the constant are read where they lie.
  static Tensor of(ir::Constant constant);
  static Tensor of_doubles(ir::DataType type, std::vector<std::int64_t> dims, std::vector<double> values);
  static Tensor of_integers(ir::DataType type, std::vector<std::int64_t> dims, std::vector<std::int64_t> values);
  static Tensor of_strings(std::vector<std::int64_t> dims, std::vector<std::string> values);
  static Tensor of_rationals(ir::DataType type, std::vector<std::int64_t> dims, std::span<const ir::Rational> values);
};

// "float32[2,3]"
std::string type_text(const Tensor& tensor);

// All elements as doubles (rationals: the nearest ones; undefined: NaN) or as integers (of integer and boolean tensors, and the bits of
// floating types of 8 bits and fewer).
// Error::unsupported for strings, residues, and types without arithmetic.
Result<std::vector<double>> doubles(const Tensor& tensor);
Result<std::vector<std::int64_t>> integers(const Tensor& tensor);

// Those of a constant of a narrow type (src/ir/narrow.h).
Result<std::vector<std::int64_t>> narrow_elements(const ir::Constant& constant);

// The tensor in its own data type, each element rounded once to the nearest value. Errors as `doubles`; unsupported for strings.
Result<ir::Constant> to_constant(const Tensor& tensor);
// The same values rounded to the data type and held widened again: what a runtime that computes in the reference's precision would return.
Result<Tensor> rounded(const Tensor& tensor);

// Exact comparison: same data type, dims and values. NaN equals NaN, 0.0 equals -0.0; an undefined element equals nothing.
bool equal(const Tensor& a, const Tensor& b);

// One element as text: "0.5", "-7/3", "true", "inf", "undefined".
std::string element_text(const Tensor& tensor, std::uint64_t element);

// The residues of a tensor of rationals, doubles or integers modulo a prime below 2^31: a/b is a times the inverse of b.
Result<Tensor> to_residues(const Tensor& tensor, std::uint32_t prime);

}  // namespace xflow::eval
