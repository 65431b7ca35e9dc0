"""Fails on any #include that the map of modules does not allow, and on a source of none.

Modules are the folders of src/, listed from the lowest to the highest; a file may include its own module and lower ones. Third-party headers
belong to the modules named here; a header of neither the standard library, POSIX nor this table is refused, so that a new dependency is a
decision.
"""

import pathlib
import re
import sys

MODULES = ["support", "ir", "ops", "eval", "codegen", "rules", "egraph", "onnx", "verifier", "kernels", "cost", "runtime", "devices", "search",
           "generator", "partition", "parallel", "validation", "execution", "report", "optimizer", "equivalence", "policy", "api", "capi", "cli"]
# None knows another.
DEVICES = sorted(f"devices/{path.parent.name}" for path in (pathlib.Path(__file__).parents[2] / "src/devices").glob("*/README.md"))
KNOWN = {"devices/cuda": "devices/gpu"}  # but CUDA implements what all GPUs are to xflow

# On top of the public headers, and of nothing else.
PUBLIC_ALONE = {"capi": "the C interface", "cli": "the command line"}

# The first part of a header's path -> the folders of src/ that may include it; ANY for all.
ANY = ["*"]
THIRD_PARTY = {
    "fmt": ANY,
    "xxhash.h": ["onnx"],
    "nlohmann": ["devices/runner", "generator", "parallel", "report", "cli"],
    "boost/multiprecision": ANY,
    "boost/container_hash": ANY,
    "boost/graph": ["parallel"],
    "zlib.h": ["eval"],
    "onnx": ["onnx"],
    "google/protobuf": ["onnx"],
    "z3++.h": ["verifier"],
    "z3.h": ["verifier"],
    "z3_version.h": ["verifier"],
    "sqlite3.h": ["cost"],
    "oneapi": ["devices/cpu"],
    "dnnl.hpp": ["devices/cpu"],
    "omp.h": ["devices/cpu"],
    "cuda": ["devices/cuda"],
    "cuda_runtime.h": ["devices/cuda"],
    "cublasLt.h": ["devices/cuda"],
    "cuda.h": ["devices/cuda"],
    "nvrtc.h": ["devices/cuda"],
    "cudnn.h": ["devices/cuda"],
    "cudnn_frontend.h": ["devices/cuda"],
    "CLI": ["cli"],
    "mpi.h": ["cli"],
    "coin": ["parallel"],
    "scotch": ["bench/placements"],
}
TESTING = {"gtest", "gmock", "benchmark"}
POSIX = {"dlfcn.h", "execinfo.h", "fcntl.h", "malloc.h", "pthread.h", "sched.h", "signal.h", "spawn.h", "time.h", "unistd.h", "poll.h", "pwd.h"}
POSIX_FOLDERS = {"sys"}
# By cmake/Rules.cmake and cmake/Devices.cmake, for one module each.
GENERATED = {"shipped_rule_texts.inc": "optimizer", "shipped_rule_records.inc": "optimizer", "shipped_rule_proofs.inc": "optimizer",
             "device_kinds.inc": "devices", "shipped_policies.inc": "policy"}
INTRINSICS = {"immintrin.h"}
C_STANDARD = {"stdbool.h", "stddef.h", "stdint.h"}  # of the C interface

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def place_of(path):
    """(tree, module, device) of a path in the repository: ("src", "devices", "devices/cpu"), ("include", None, None)..."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "include":
        return "include", None, None
    module = parts[1] if len(parts) > 2 else None
    device = "/".join(parts[1:3])
    return parts[0], module, device if device in DEVICES and len(parts) > 3 else None


def is_standard(header):
    return "/" not in header and "." not in header


def third_party_owner(header):
    """The folders that may include a third-party header, or None if nobody may."""
    for prefix, owners in THIRD_PARTY.items():
        if header == prefix or header.startswith(prefix + "/"):
            return owners
    return None


def fault(path, quote, header, exists=lambda header: True):
    """What is wrong with `#include` of `header` in the file `path`, or None."""
    tree, module, device = place_of(path)
    if header in GENERATED:
        return None if module == GENERATED[header] else f"only in {GENERATED[header]}"
    if quote == '"' and not header.startswith("xflow/"):
        if not header.startswith(("src/", "tests/", "bench/")):
            return "a quoted include starts with src/ or tests/"
        if not exists(header):
            return "no such file"
        target_tree, target_module, target_device = place_of(header)
        if tree == "include":
            return "a public header includes public headers alone"
        if target_tree in ("tests", "bench"):
            # A benchmark may measure what a test checks, and a test may check what a benchmark builds.
            return None if tree in ("tests", "bench") else f"{tree} does not include {target_tree}"
        if target_module not in MODULES:
            return f"src/{target_module} is not a module"
        if tree == "src":
            if module not in MODULES:
                return f"src/{module} is not a module"
            if MODULES.index(target_module) > MODULES.index(module):
                return f"{module} is below {target_module}"
            if module in PUBLIC_ALONE and target_module != module:
                return f"{PUBLIC_ALONE[module]} includes public headers alone"
            if device and target_device and target_device not in (device, KNOWN.get(device)):
                return f"{device} does not know {target_device}"
        return None
    if header.startswith("xflow/"):
        return None if exists("include/" + header) else "no such file"
    if header in C_STANDARD:
        return None if path == "include/xflow/xflow.h" else "only in include/xflow/xflow.h"
    if is_standard(header) or header in POSIX | INTRINSICS or header.split("/")[0] in POSIX_FOLDERS:
        return "a public header includes the standard library alone" if tree == "include" and not is_standard(header) else None
    if header.split("/")[0] in TESTING:
        return None if tree in ("tests", "bench") else "only tests include this"
    owners = third_party_owner(header)
    if owners is None:
        return "not in the table of tests/layering/includes.py"
    if tree == "include":
        return "a public header includes the standard library alone"
    if tree == "src" and owners is not ANY and module not in owners and device not in owners:
        return f"only in {', '.join(owners)}"
    if tree == "tests" and owners is not ANY and module in MODULES and module not in [owner.split("/")[0] for owner in owners]:
        return f"only in tests of {', '.join(owners)}"
    return None


def faults_of_tree(root):
    found, files = [], 0
    for tree in ("include", "src", "tests", "bench"):
        for path in sorted((root / tree).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix not in (".h", ".cpp", ".def", ".inc", ".cu") or relative.startswith("tests/consumer/"):
                continue
            files += 1
            text = path.read_text()
            for match in INCLUDE.finditer(text):
                why = fault(relative, match[1], match[2], lambda header: (root / header).is_file())
                if why:
                    line = text.count("\n", 0, match.start(2)) + 1
                    found.append(f"{relative}:{line}: {match[2]}: {why}")
    return found, files


def faults_of_readmes(root):
    """Every folder of src/ says what belongs there, in a few lines, and names files that exist."""
    most_lines = 12
    found = []
    for folder in sorted(path for path in (root / "src").rglob("*") if path.is_dir()):
        readme = folder / "README.md"
        name = readme.relative_to(root).as_posix()
        if not readme.is_file():
            found.append(f"{name}: missing")
            continue
        text = readme.read_text()
        if text.count("\n") > most_lines:
            found.append(f"{name}: more than {most_lines} lines")
        for file in re.findall(r"`([\w./]+\.(?:h|cpp|def))`", text):
            if not (folder / file).exists():
                found.append(f"{name}: there is no {file}")
    modules = re.findall(r"\[(\w+)\]\(\1/README\.md\)", (root / "src/README.md").read_text())
    if modules != MODULES:
        found.append(f"src/README.md: lists {modules}, not {MODULES}")
    return found


def self_test():
    """The rules above, by example: the test must be able to fail."""
    allowed = [
        ("src/ops/matmul.h", '"', "src/ir/type.h"),
        ("src/verifier/z3/queries.cpp", "<", "z3++.h"),
        ("src/devices/cpu/device.cpp", "<", "oneapi/dnnl/dnnl.hpp"),
        ("src/devices/cpu/device.cpp", '"', "src/kernels/device.h"),
        ("src/devices/cuda/cuda_gpu.h", '"', "src/devices/gpu/gpu.h"),
        ("src/ir/poly.cpp", "<", "vector"),
        ("tests/ops/matmul_test.cpp", "<", "gtest/gtest.h"),
        ("tests/onnx/document_test.cpp", '"', "tests/onnx/helper.h"),
        ("tests/models/models_test.cpp", '"', "bench/models/families.h"),
        ("include/xflow/all.h", "<", "xflow/error.h"),
        ("include/xflow/xflow.h", "<", "stdint.h"),
        ("src/capi/optimize.cpp", '"', "src/capi/handles.h"),
    ]
    refused = [
        ("src/ir/graph.cpp", '"', "src/ops/operator.h"),
        ("src/ops/matmul.h", '"', "type.h"),
        ("src/search/search.cpp", '"', "shipped_rule_texts.inc"),
        ("src/search/search.cpp", "<", "z3++.h"),
        ("src/cost/database.cpp", "<", "oneapi/dnnl/dnnl.hpp"),
        ("src/devices/cuda/device.cpp", '"', "src/devices/cpu/device.h"),
        ("src/cost/cost_model.cpp", '"', "src/devices/cpu/device.h"),
        ("src/cost/cost_model.cpp", '"', "src/devices/gpu/gpu.h"),
        ("src/devices/gpu/gpu_device.cpp", '"', "src/devices/cuda/device.h"),
        ("src/rules/parse.cpp", "<", "gtest/gtest.h"),
        ("src/ir/graph.cpp", '"', "tests/ir/helper.h"),
        ("src/ir/graph.cpp", '"', "bench/models/model.h"),
        ("src/ir/graph.cpp", "<", "absl/strings/str_cat.h"),
        ("tests/ops/matmul_test.cpp", "<", "onnx/onnx_pb.h"),
        ("include/xflow/all.h", '"', "src/ir/graph.h"),
        ("include/xflow/all.h", "<", "fmt/format.h"),
        ("include/xflow/error.h", "<", "stdint.h"),
        ("src/capi/optimize.cpp", '"', "src/support/exceptions.h"),
    ]
    wrong = [f"refuses {case}" for case in allowed if fault(*case)] + [f"allows {case}" for case in refused if not fault(*case)]
    if fault("src/ops/matmul.h", '"', "src/ir/type.h", lambda header: False) is None:
        wrong.append("allows a missing file")
    return wrong


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found, files = faults_of_tree(root)
    found += faults_of_readmes(root)
    found += [f"this test {wrong}" for wrong in self_test()]
    if not files:
        found.append("no files found")
    print("\n".join(found) if found else f"{files} files follow the map of modules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
