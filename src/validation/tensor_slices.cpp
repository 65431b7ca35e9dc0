#include "src/validation/tensor_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace xflow::api {
namespace {

std::size_t product(const std::vector<std::int64_t>& dims, std::size_t first, std::size_t end) {
  std::size_t result = 1;
  for (std::size_t k = first; k < end; ++k) result *= static_cast<std::size_t>(dims[k]);
  return result;
}

// Elements that are numbers or strings, one behind the other.
template <typename Elements>
constexpr bool kIsVector = std::is_same_v<Elements, std::vector<double>> || std::is_same_v<Elements, std::vector<float>> ||
                           std::is_same_v<Elements, std::vector<std::int64_t>> || std::is_same_v<Elements, std::vector<std::string>>;

}  // namespace

Result<eval::Tensor> with_elements(const eval::Tensor& tensor) {
  if (!std::holds_alternative<ir::Constant>(tensor.elements)) return tensor;
  if (ir::is_floating(tensor.data_type)) {
    XFLOW_TRY(std::vector<double> elements, eval::doubles(tensor));
    return eval::Tensor::of_doubles(tensor.data_type, tensor.dims, std::move(elements));
  }
  XFLOW_TRY(std::vector<std::int64_t> elements, eval::integers(tensor));
  return eval::Tensor::of_integers(tensor.data_type, tensor.dims, std::move(elements));
}

eval::Tensor slice_at(const eval::Tensor& tensor, std::size_t axis, std::int64_t index) {
  const std::size_t outer = product(tensor.dims, 0, axis);
  const std::size_t inner = product(tensor.dims, axis + 1, tensor.dims.size());
  const auto length = static_cast<std::size_t>(tensor.dims[axis]);
  eval::Tensor result{tensor.data_type, tensor.dims, {}};
  result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  std::visit(
      [&](const auto& elements) {
        using Elements = std::decay_t<decltype(elements)>;
        if constexpr (kIsVector<Elements>) {
          Elements taken;
          taken.reserve(outer * inner);
          for (std::size_t k = 0; k < outer; ++k) {
            const auto from = elements.begin() + static_cast<std::ptrdiff_t>((k * length + static_cast<std::size_t>(index)) * inner);
            taken.insert(taken.end(), from, from + static_cast<std::ptrdiff_t>(inner));
          }
          result.elements = std::move(taken);
        }
      },
      tensor.elements);
  return result;
}

Result<eval::Tensor> stacked(const std::vector<eval::Tensor>& tensors, std::size_t axis) {
  if (tensors.empty()) return fail(ErrorCode::unsupported, "no iteration has a result to stack");
  std::vector<eval::Tensor> all;
  all.reserve(tensors.size());
  for (const eval::Tensor& tensor : tensors) {
    if (tensor.data_type != tensors[0].data_type || tensor.dims != tensors[0].dims)
      return fail(ErrorCode::unsupported, fmt::format("results of iterations are {} and {}", type_text(tensors[0]), type_text(tensor)));
    XFLOW_TRY(eval::Tensor widened, with_elements(tensor));
    all.push_back(std::move(widened));
  }
  const auto is_like_first = [&](const eval::Tensor& tensor) { return tensor.elements.index() == all[0].elements.index(); };
  // In float, the elements of constants are doubles.
  if (!std::ranges::all_of(all, is_like_first)) {
    for (eval::Tensor& tensor : all) {
      XFLOW_TRY(std::vector<double> elements, eval::doubles(tensor));
      tensor.elements = std::move(elements);
    }
  }
  const std::size_t outer = product(all[0].dims, 0, axis);
  const std::size_t inner = product(all[0].dims, axis, all[0].dims.size());
  eval::Tensor result{all[0].data_type, all[0].dims, {}};
  result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(all.size()));
  std::visit(
      [&](const auto& first) {
        using Elements = std::decay_t<decltype(first)>;
        if constexpr (kIsVector<Elements>) {
          Elements joined;
          joined.reserve(outer * inner * all.size());
          for (std::size_t k = 0; k < outer; ++k) {
            for (const eval::Tensor& tensor : all) {
              const auto from = std::get<Elements>(tensor.elements).begin() + static_cast<std::ptrdiff_t>(k * inner);
              joined.insert(joined.end(), from, from + static_cast<std::ptrdiff_t>(inner));
            }
          }
          result.elements = std::move(joined);
        }
      },
      all[0].elements);
  return result;
}

}  // namespace xflow::api
