// Where the files and programs are that tests read and run. Their paths are compiled into places.cpp alone: all other objects are the same
// in every clone, and the compiler's cache has them.
#pragma once

#include <string>

namespace xflow::places {

// The folder of the repository.
std::string repository();

// Of the environment of the tests: its interpreter of Python, and the folder of ONNX's backend cases.
std::string testenv_python();
std::string backend_data();

// The runner that runs nothing (tests/devices/runner/test_runner.cpp), and the program xflow-bench-models.
std::string test_runner();
std::string bench_models();

// The folders of libxflow_cuda.so, and of a device of another build. The first is there where XFLOW_TEST_CUDA is defined.
std::string cuda_folder();
std::string other_plugin_folder();

}  // namespace xflow::places
