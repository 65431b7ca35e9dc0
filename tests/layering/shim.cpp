// A C function for tests/layering/coexistence.py, which has no other way into the C++ library.
#include <xflow/all.h>

#include <cstddef>

// 0 if the library reads a model and gives one back.
extern "C" XFLOW_API int shim_optimize(const char* model, std::size_t size) {
  xflow::OptimizeOptions options;
  options.search.max_states = 10;
  const auto result = xflow::optimize(std::string_view(model, size), options);
  return result && !result->model.empty() ? 0 : 1;
}
