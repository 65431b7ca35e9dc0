#include "tests/places.h"

namespace xflow::places {

std::string repository() { return XFLOW_REPOSITORY; }

std::string testenv_python() { return XFLOW_TESTENV "/bin/python"; }

std::string backend_data() { return XFLOW_TESTENV "/backend-data"; }

std::string test_runner() { return XFLOW_BUILT_TESTS "/test_runner"; }

std::string bench_models() { return XFLOW_BUILT "/bench/xflow-bench-models"; }

std::string cuda_folder() { return XFLOW_BUILT; }

std::string other_plugin_folder() { return XFLOW_BUILT_TESTS; }

}  // namespace xflow::places
