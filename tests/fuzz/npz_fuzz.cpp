// Any bytes are an archive of arrays, one array, or a clean error. What is read has as many elements as its shape says, and takes no more
// memory than a deflated archive of that length can hold.
#include "src/eval/compare.h"
#include "src/eval/npz.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;
namespace eval = xflow::eval;

namespace {

void look_at(const eval::Tensor& tensor, std::uint64_t& bytes) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    expect(dim >= 0, "no dimension is negative");
    expect(!__builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count), "the number of elements fits 64 bits");
  }
  bytes += count * static_cast<std::uint64_t>(xflow::ir::bits(tensor.data_type)) / 8;
  const auto values = doubles(tensor);
  if (values) expect(values->size() == count, "an array has as many elements as its shape says");
  if (const auto whole = integers(tensor)) expect(whole->size() == count, "an array has as many elements as its shape says");
  if (values) expect(eval::equal(tensor, tensor), "an array is equal to itself, bit by bit");
}

void expect_clean(const xflow::Error& error) {
  xflow::fuzz::expect_message(error.message);
  xflow::fuzz::expect_printable(error.text());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = xflow::fuzz::text_of(data, size);
  std::uint64_t bytes = 0;
  if (const auto array = eval::parse_npy(text)) {
    look_at(*array, bytes);
    expect(bytes <= size, "an array is no longer than its file");
  } else {
    expect_clean(array.error());
  }
  bytes = 0;
  if (const auto arrays = eval::parse_npz(text)) {
    for (const auto& [name, array] : *arrays) look_at(array, bytes);
    expect(bytes <= 1032 * static_cast<std::uint64_t>(size), "an archive holds no more than deflate can");
  } else {
    expect_clean(arrays.error());
  }
  return 0;
}
