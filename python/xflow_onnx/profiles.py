"""Profiles of GPUs from the tables of the package aiconfigurator-core, for `xflow optimize --device profile:FILE`.

    python3 -m xflow_onnx.profiles list [--tables PATH]
    python3 -m xflow_onnx.profiles get NAME [--out FOLDER] [--tables PATH] [--download]

The tables are those of the installed package, or of PATH: its wheel, or a folder with the unpacked wheel. `get h100-bf16` writes
h100-bf16.xprof to FOLDER, this one if it is left out. With --download, pip fetches the wheel to FOLDER; otherwise nothing is fetched. Needs
pyarrow. What the profiles hold is in docs/cost.md of xflow, *Tables of GPUs*.
"""

import argparse
import importlib
import importlib.util
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import zipfile
from typing import Any

PACKAGE = "aiconfigurator-core"
VERSION = "0.12.0"
MODULE = "aiconfigurator_core"
WHEEL = f"aiconfigurator_core-{VERSION}-*.whl"
FRAMEWORK = "vllm"  # which has tables of all GPUs that the package knows
# Multiprocessors and bytes of the L2 cache by the data sheets.
SIZES = {"a100_sxm": (108, 40e6), "h100_sxm": (132, 50e6), "h200_sxm": (132, 50e6), "l40s": (142, 96e6)}
COLUMNS = ("framework", "version", "device", "kernel_source", "gemm_dtype", "m", "n", "k", "latency")
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

    def products(self) -> "dict[str, tuple[str, str]]":
        """The system and the newest table of products by the name of the profile."""
        newest: "dict[str, tuple[list[tuple[int, str]], str]]" = {}
        for name in self.names:
            found = re.fullmatch(rf"{MODULE}/systems/data/(\w+)/gemm/{FRAMEWORK}/([^/]+)/gemm_perf\.parquet", name)
            if found is None:
                continue
            order = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"[.]", found[2])]
            if found[1] not in newest or order > newest[found[1]][0]:
                newest[found[1]] = (order, name)
        return {name_of(system): (system, table) for system, (_, table) in sorted(newest.items())}


def name_of(system: str) -> str:
    return system.removesuffix("_sxm").removesuffix("_server").replace("_", "-") + "-bf16"


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


def rows_of(tables: Tables, name: str) -> "list[dict[str, Any]]":
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise Refused(f"xflow_onnx.profiles needs pyarrow: {sys.executable} -m pip install pyarrow") from error
    try:
        table = parquet.read_table(pyarrow.BufferReader(tables.read(name)))
    except (pyarrow.ArrowException, OSError) as error:
        raise Refused(f"{name}: not a whole table: {str(error).splitlines()[0]}") from error
    missing = [column for column in COLUMNS if column not in table.column_names]
    if missing:
        raise Refused(f"{name}: expected a column '{missing[0]}', found {', '.join(table.column_names)}")
    rows: "list[dict[str, Any]]" = table.select(list(COLUMNS)).to_pylist()
    return rows


def times_of(rows: "list[dict[str, Any]]", name: str) -> "dict[tuple[int, int, int], list[float]]":
    """Nanoseconds of the products in bfloat16 by m, n and k."""
    times: "dict[tuple[int, int, int], list[float]]" = {}
    for number, row in enumerate(rows, 1):
        if row["gemm_dtype"] != "bfloat16":
            continue
        sizes = (row["m"], row["n"], row["k"])
        if not all(isinstance(size, int) and size > 0 for size in sizes):
            raise Refused(f"{name}: row {number}: expected m, n and k of at least 1, found {', '.join(map(str, sizes))}")
        latency = row["latency"]
        if not isinstance(latency, float) or not math.isfinite(latency) or not 0 < latency <= MOST_MILLISECONDS:
            raise Refused(f"{name}: row {number}: expected a latency in milliseconds, more than 0, found {latency}")
        times.setdefault(sizes, []).append(latency * 1e6)
    if not times:
        raise Refused(f"{name}: no row is in bfloat16")
    return times


def roofline_of(tables: Tables, system: str, shortest: float) -> "list[str]":
    text = tables.read(f"{MODULE}/systems/{system}.yaml").decode()
    numbers = {}
    for key in ("mem_bw", "bfloat16_tc_flops"):
        found = re.search(rf"^  {key}: *(\d+)\b", text, re.MULTILINE)
        if found is None:
            raise Refused(f"{MODULE}/systems/{system}.yaml: expected a line '  {key}: NUMBER'")
        numbers[key] = found[1]
    lines = [f"roofline launch {shortest:g}", f"roofline bandwidth {numbers['mem_bw']}", f"roofline peak bfloat16 {numbers['bfloat16_tc_flops']}"]
    if system in SIZES:
        multiprocessors, cache = SIZES[system]
        lines += [f"roofline multiprocessors {multiprocessors}", f"roofline cache {cache:.0f}"]
    return lines


def text_of(tables: Tables, system: str, name: str) -> "tuple[str, int, int]":
    """The profile, the number of its kernels, and how many of them are at the launch floor."""
    rows = rows_of(tables, name)
    times = times_of(rows, name)
    first = next(row for row in rows if row["gemm_dtype"] == "bfloat16")
    shortest = min(min(each) for each in times.values())
    lines = ["xflow profile 1", "device gpu", f"model {first['device']}"]
    lines += [f"library {first['framework']} {first['version']}, {first['kernel_source']}, bfloat16", "threads 1"]
    lines += ["clock latency of aiconfigurator's collector", f"source {PACKAGE} {VERSION}: {name}"]
    lines += ["licence Apache-2.0, Copyright 2025-2026 NVIDIA CORPORATION & AFFILIATES", *roofline_of(tables, system, shortest)]
    at_floor = 0
    kernels = []
    for (m, n, k), each in times.items():
        kind = "kernel"
        if max(each) > AGREEMENT * min(each):
            kind = "contradicted"
        elif min(each) <= FLOOR * shortest:
            kind = "at_floor"
            at_floor += 1
        spread = (max(each) - min(each)) / 2
        kernels.append(
            f"{kind} plain plain plain {statistics.median(each):g} {spread:g} {len(each)} 0 1 "
            f"matmul(bfloat16[{m},{k}], const bfloat16[{k},{n}]) -> bfloat16[{m},{n}]"
        )
    return "\n".join(lines + sorted(kernels)) + "\n", len(kernels), at_floor


def get(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    tables = tables_of(arguments)
    known = tables.products()
    if arguments.name not in known:
        raise Refused(f"no profile '{arguments.name}'; there are: {', '.join(known)}")
    system, table = known[arguments.name]
    text, kernels, at_floor = text_of(tables, system, table)
    path = arguments.out / f"{arguments.name}.xprof"
    whole = path.with_suffix(".xprof.part")
    whole.write_text(text)
    whole.replace(path)
    print(f"{path}: {kernels} products in bfloat16 of {system}, {at_floor} at the launch floor")


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
    got.add_argument("--download", action="store_true", help=f"let pip fetch {PACKAGE} {VERSION} (82 MB) to FOLDER")
    for command in (listed, got):
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
