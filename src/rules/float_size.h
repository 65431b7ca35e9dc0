// Bounds of rounding errors, as sets of products.
//
// To first order the error of a result is at most a few units in the last place of a sum of products of
// sizes: |x| |s| + |b| |s| for (x + b) * s. If the products of one side are among those of the other side,
// its error is no larger, up to a factor. For example, variance as mean(x x) - mean(x) mean(x) has the
// product |x| |x|; variance as mean((x - m) (x - m)) has only |x - m| |x|, which can be much smaller.
#pragma once

#include <map>
#include <vector>

#include "src/rules/float_elements.h"

namespace xflow::rules {

// A sorted product of the sizes of elements. Factor -1 - id is the inverse of the size of element id. The
// empty product is 1.
using SizeProduct = std::vector<int>;
// Products, each with the region in which it counts: where maximum(x, z) returns x, its error is that of x.
using SizeProducts = std::map<SizeProduct, PointSet>;

// Computes and compares the error bounds of elements.
class Sizes {
 public:
  explicit Sizes(const Elements& elements) : elements_(elements) {}

  // True if the error bound of `target` is within that of `source`. Both must be equal for real numbers.
  // Also false if there are too many products to decide.
  bool within(ElementId target, ElementId source);

 private:
  struct Size {
    SizeProducts size;      // size of the result; a sum that can cancel is a factor of its own
    SizeProducts expanded;  // the same, with each sum replaced by the sizes of its terms
    SizeProducts error;
  };
  const Size& of(ElementId id);
  Size computed(ElementId id, const Element& e);
  SizeProducts times(const SizeProducts& a, const SizeProducts& b);
  const SizeProducts& inverse(ElementId id);
  SizeProducts joined(const Element& e, SizeProducts Size::*part);
  // As joined, each operand only in the region in which `id` returns it.
  SizeProducts chosen(ElementId id, SizeProducts Size::*part);
  // True if both sides apply one function to operands of which those of the target are within those of
  // the source.
  bool applies_the_same(const Element& target, const Element& source);
  // True if all elements are sums and products of variables and nonnegative numbers.
  bool is_positive_sum(ElementId root) const;
  // True if the result is exactly what it is for real numbers: an element of a variable, 0, 1 or -1, chosen
  // by comparing such elements.
  bool is_unrounded(ElementId root) const;
  // True if some product has two factors that are sums and so can cancel.
  bool multiplies_sums(ElementId root);
  // True if `product`, with factors replaced by their expanded sizes as needed, consists of products
  // that count in `by` wherever it counts.
  bool covered(const SizeProduct& product, PointSet region, const SizeProducts& by, int depth);

  const Elements& elements_;
  std::map<ElementId, Size> sizes_;
  std::map<ElementId, SizeProducts> inverses_;
  int expansions_ = 0;
  bool too_many_ = false;
};

}  // namespace xflow::rules
