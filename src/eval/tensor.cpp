#include "src/eval/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/eval/arithmetic.h"
#include "src/eval/prime_field.h"
#include "src/eval/rational.h"
#include "src/ir/narrow.h"

namespace xflow::eval {

namespace {

Unexpected no_numbers(const Tensor& tensor) {
  return fail(ErrorCode::unsupported, fmt::format("cannot compute with the elements of {}", type_text(tensor)));
}

double widened(std::int64_t value, ir::DataType type) {
  if (ir::is_narrow_floating(type)) return ir::narrow_to_double(type, static_cast<std::uint8_t>(value));
  return type == ir::DataType::uint64 ? static_cast<double>(static_cast<std::uint64_t>(value)) : static_cast<double>(value);
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool equal_numbers(const Tensor& a, const Tensor& b) {
  const auto x = doubles(a);
  const auto y = doubles(b);
  return x && y && std::equal(x->begin(), x->end(), y->begin(), y->end(), same_number);
}

}  // namespace

std::uint64_t Tensor::count() const {
  std::uint64_t result = 1;
  for (const std::int64_t dim : dims) result *= static_cast<std::uint64_t>(dim);
  return result;
}

Tensor Tensor::of(ir::Constant constant) {
  Tensor tensor{constant.data_type, constant.dims, std::vector<double>{}};
  tensor.elements = std::move(constant);
  return tensor;
}

Tensor Tensor::of_doubles(ir::DataType type, std::vector<std::int64_t> dims, std::vector<double> values) {
  return Tensor{type, std::move(dims), std::move(values)};
}

Tensor Tensor::of_integers(ir::DataType type, std::vector<std::int64_t> dims, std::vector<std::int64_t> values) {
  return Tensor{type, std::move(dims), std::move(values)};
}

Tensor Tensor::of_strings(std::vector<std::int64_t> dims, std::vector<std::string> values) {
  return Tensor{ir::DataType::string, std::move(dims), std::move(values)};
}

Tensor Tensor::of_rationals(ir::DataType type, std::vector<std::int64_t> dims, std::span<const ir::Rational> values) {
  auto elements = std::make_shared<RationalElements>();
  for (const ir::Rational& value : values) elements->values.push_back(RationalArithmetic(false).from_rational(value));
  return Tensor{type, std::move(dims), std::shared_ptr<const RationalElements>(std::move(elements))};
}

std::string type_text(const Tensor& tensor) { return fmt::format("{}[{}]", ir::name(tensor.data_type), fmt::join(tensor.dims, ",")); }

Result<std::vector<double>> doubles(const Tensor& tensor) {
  if (const auto* values = std::get_if<std::vector<double>>(&tensor.elements)) return *values;
  if (const auto* values = std::get_if<std::vector<float>>(&tensor.elements)) return std::vector<double>(values->begin(), values->end());
  if (const auto* constant = std::get_if<ir::Constant>(&tensor.elements)) return ir::doubles(*constant);
  std::vector<double> result;
  if (const auto* values = std::get_if<std::vector<std::int64_t>>(&tensor.elements)) {
    for (const std::int64_t value : *values) result.push_back(widened(value, tensor.data_type));
    return result;
  }
  if (const auto* values = std::get_if<std::shared_ptr<const RationalElements>>(&tensor.elements)) {
    for (const Exact& value : (*values)->values) result.push_back(value.to_double());
    return result;
  }
  return no_numbers(tensor);
}

Result<std::vector<std::int64_t>> integers(const Tensor& tensor) {
  if (const auto* values = std::get_if<std::vector<std::int64_t>>(&tensor.elements)) return *values;
  if (const auto* constant = std::get_if<ir::Constant>(&tensor.elements)) {
    return ir::is_narrow(constant->data_type) ? narrow_elements(*constant) : ir::integers(*constant);
  }
  return no_numbers(tensor);
}

Result<std::vector<std::int64_t>> narrow_elements(const ir::Constant& constant) {
  XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
  const std::uint64_t count = constant.elements();
  if (bytes.size() < ir::storage_bytes(constant.data_type, count)) {
    return fail(ErrorCode::unreadable, fmt::format("a constant {} has {} bytes only", type_text(Tensor::of(constant)), bytes.size()));
  }
  std::vector<std::int64_t> result(count);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  for (std::uint64_t k = 0; k < count; ++k) result[k] = ir::narrow_element(constant.data_type, data, k);
  return result;
}

Result<ir::Constant> to_constant(const Tensor& tensor) {
  if (const auto* constant = std::get_if<ir::Constant>(&tensor.elements)) return *constant;
  if (const auto* values = std::get_if<std::vector<std::int64_t>>(&tensor.elements)) {
    return ir::make_integer_constant(tensor.data_type, tensor.dims, *values);
  }
  if (const auto* values = std::get_if<std::vector<double>>(&tensor.elements))
    return ir::make_constant(tensor.data_type, tensor.dims, *values);
  XFLOW_TRY(const std::vector<double> values, doubles(tensor));
  return ir::make_constant(tensor.data_type, tensor.dims, values);
}

Result<Tensor> rounded(const Tensor& tensor) {
  if (!ir::is_floating(tensor.data_type)) return tensor;
  XFLOW_TRY(std::vector<double> values, doubles(tensor));
  for (double& value : values) value = round_to(value, tensor.data_type);
  return Tensor::of_doubles(tensor.data_type, tensor.dims, std::move(values));
}

bool equal(const Tensor& a, const Tensor& b) {
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  if (const auto* x = std::get_if<std::vector<std::string>>(&a.elements)) {
    const auto* y = std::get_if<std::vector<std::string>>(&b.elements);
    return y != nullptr && *x == *y;
  }
  const auto* x = std::get_if<ResidueElements>(&a.elements);
  const auto* y = std::get_if<ResidueElements>(&b.elements);
  if (x != nullptr || y != nullptr) {
    return x != nullptr && y != nullptr && *x == *y &&
           std::find(x->residues.begin(), x->residues.end(), kUndefinedResidue) == x->residues.end();
  }
  const auto* p = std::get_if<std::shared_ptr<const RationalElements>>(&a.elements);
  const auto* q = std::get_if<std::shared_ptr<const RationalElements>>(&b.elements);
  if (p != nullptr && q != nullptr) return (*p)->values == (*q)->values;
  if (ir::is_floating(a.data_type) || ir::is_narrow_floating(a.data_type)) return equal_numbers(a, b);
  const auto m = integers(a);
  const auto n = integers(b);
  return m && n && *m == *n;
}

std::string element_text(const Tensor& tensor, std::uint64_t element) {
  const auto k = static_cast<std::size_t>(element);
  if (const auto* values = std::get_if<std::vector<std::string>>(&tensor.elements)) return (*values)[k];
  if (const auto* values = std::get_if<std::shared_ptr<const RationalElements>>(&tensor.elements)) return (*values)->values[k].to_string();
  if (const auto* values = std::get_if<ResidueElements>(&tensor.elements)) {
    return values->residues[k] == kUndefinedResidue ? "undefined" : fmt::format("{}", values->residues[k]);
  }
  const bool is_floating = ir::is_floating(tensor.data_type) || ir::is_narrow_floating(tensor.data_type);
  if (const auto values = integers(tensor); values && !is_floating) {
    if (tensor.data_type == ir::DataType::boolean) return (*values)[k] != 0 ? "true" : "false";
    if (tensor.data_type == ir::DataType::uint64) return fmt::format("{}", static_cast<std::uint64_t>((*values)[k]));
    return fmt::format("{}", (*values)[k]);
  }
  if (const auto values = doubles(tensor)) return std::isnan((*values)[k]) ? "nan" : fmt::format("{}", (*values)[k]);
  return "?";
}

Result<Tensor> to_residues(const Tensor& tensor, std::uint32_t prime) {
  const PrimeField field(prime);
  ResidueElements result;
  result.prime = prime;
  if (const auto* values = std::get_if<std::shared_ptr<const RationalElements>>(&tensor.elements)) {
    const auto modulo = [&](const boost::multiprecision::cpp_int& part) {
      return field.from_integer(static_cast<std::int64_t>(boost::multiprecision::cpp_int(part % prime)));
    };
    for (const Exact& value : (*values)->values) {
      result.residues.push_back(value.is_finite() ? field.divide(modulo(numerator(value.value())), modulo(denominator(value.value())))
                                                  : kUndefinedResidue);
    }
  } else {
    XFLOW_TRY(const std::vector<double> numbers, doubles(tensor));
    for (const double value : numbers) result.residues.push_back(field.from_double(value));
  }
  return Tensor{tensor.data_type, tensor.dims, std::move(result)};
}

}  // namespace xflow::eval
