"""The kinds of models that calls take. Neither onnx nor onnx_ir is imported unless a model of it is given."""

import contextlib
import os
import pathlib
import sys
import tempfile
import typing
from collections.abc import Iterator, Mapping, Sequence

if typing.TYPE_CHECKING:
    import onnx
    import onnx_ir

Path = typing.Union[str, "os.PathLike[str]"]
AnyModel = typing.Union[bytes, Path, "onnx.ModelProto", "onnx_ir.Model"]
Shapes = Mapping[str, typing.Union[Sequence[int], Sequence[Sequence[int]]]]
Inputs = typing.Union[Path, Sequence[Path], Mapping[str, typing.Any]]


def path_of(model: object) -> "str | None":
    """The path of a model that is given by its path."""
    return os.fspath(typing.cast(Path, model)) if isinstance(model, (str, os.PathLike)) else None


def path_like(path: str, like: object) -> typing.Any:
    """A path as text if `like` is text."""
    return path if isinstance(like, str) else pathlib.Path(path)


def is_of(model: object, module: str, name: str) -> bool:
    """Whether `model` is a MODULE.NAME. What is not imported has no instances."""
    known = sys.modules.get(module)
    return known is not None and isinstance(model, getattr(known, name))


def to_bytes(model: object) -> bytes:
    """The bytes of a model that is not given by its path."""
    if isinstance(model, bytes):
        return model
    if is_of(model, "onnx", "ModelProto"):
        return bytes(typing.cast("onnx.ModelProto", model).SerializeToString())
    if is_of(model, "onnx_ir", "Model"):
        import onnx_ir

        return bytes(onnx_ir.to_proto(typing.cast("onnx_ir.Model", model)).SerializeToString())
    raise TypeError(f"a model is bytes, a path, an onnx.ModelProto or an onnx_ir.Model, not {type(model).__qualname__}")


def from_bytes(data: bytes, like: object) -> typing.Any:
    """The model of these bytes, of the kind of `like`."""
    if isinstance(like, bytes):
        return data
    import onnx

    model = onnx.ModelProto.FromString(data)
    if not is_of(like, "onnx_ir", "Model"):
        return model
    import onnx_ir

    return onnx_ir.from_proto(model)


def default_output(path: Path) -> pathlib.Path:
    """NAME.optimized.onnx beside NAME.onnx."""
    source = pathlib.Path(path)
    return source.with_name(f"{source.stem}.optimized{source.suffix}")


def shapes_of(shapes: "Shapes | None") -> "list[tuple[str, list[int]]]":
    """A list of (input, dims); an input with several shapes is there several times."""
    result = []
    for name, dims in (shapes or {}).items():
        choices = dims if dims and not isinstance(dims[0], int) else [dims]
        result += [(name, [int(size) for size in typing.cast(Sequence[int], choice)]) for choice in choices]
    return result


@contextlib.contextmanager
def as_file(model: object) -> Iterator[str]:
    """The path of a model; one that is not given by its path is in a file as long as the context lasts."""
    given = path_of(model)
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        path.write_bytes(to_bytes(model))
        yield str(path)


@contextlib.contextmanager
def input_files(inputs: "Inputs | None") -> Iterator["list[str]"]:
    """The files of inputs; arrays are in one as long as the context lasts."""
    if not inputs:
        yield []
    elif isinstance(inputs, Mapping):
        import numpy

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "inputs.npz")
            arrays: "dict[str, typing.Any]" = {f"in__{name}": numpy.asarray(value) for name, value in inputs.items()}
            numpy.savez(path, **arrays)
            yield [str(path)]
    elif isinstance(inputs, (str, os.PathLike)):
        yield [os.fspath(inputs)]
    else:
        yield [os.fspath(path) for path in inputs]
