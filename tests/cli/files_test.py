"""Tests of the files that the program reads and writes: files_test.py PROGRAM [unittest arguments]."""

import os

import numpy
import onnx
import program
from onnx import helper, numpy_helper
from program import ProgramTest, float_info, model_of


def weights(seed, *shape):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


def products(first=0):
    """Two products with weights of 64 x 64, which become one."""
    initializers = [numpy_helper.from_array(weights(first + k, 64, 64), f"w{k}") for k in range(2)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["h"]), helper.make_node("MatMul", ["h", "w1"], ["y"])]
    return model_of(nodes, [float_info("x", [256, 64])], [float_info("y", [256, 64])], initializers)


class FilesTest(ProgramTest):
    def save(self, name, model, data="w.bin"):
        """A model with all its weights in another file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path, save_as_external_data=True, location=data, size_threshold=0)
        return name

    def names(self, folder="."):
        return sorted(path.name for path in (self.folder / folder).iterdir() if path.name != "cache")


class ExternalData(FilesTest):
    HINT = "; --allow-external DIR admits what lies below DIR"

    def refused(self, name, message):
        text = f"{name}: an initializer of graph 'g': tensor 'w0' lies in the file {message}"
        self.fail_with(2, text, "optimize", name, "out.onnx")
        self.fail_with(2, text, "show", name)
        self.fail_with(2, text, "check", name, name)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_by_a_link_is_refused(self):
        self.save("m.onnx", products())
        (self.folder / "w.bin").rename(self.folder / "real.bin")
        (self.folder / "w.bin").symlink_to("real.bin")
        self.refused("m.onnx", f"'./w.bin': is a symbolic link, expected a regular file{self.HINT}")

    def test_in_a_fifo_is_refused_at_once(self):
        self.save("m.onnx", products())
        (self.folder / "w.bin").unlink()
        os.mkfifo(self.folder / "w.bin")
        self.refused("m.onnx", "'./w.bin': is a FIFO, expected a regular file")

    def test_in_allowed_folders_is_read(self):
        self.save("blobs/m.onnx", products())
        (self.folder / "blobs" / "w.bin").rename(self.folder / "blobs" / "0123")
        (self.folder / "snapshot").mkdir()
        (self.folder / "snapshot" / "m.onnx").symlink_to("../blobs/m.onnx")
        (self.folder / "snapshot" / "w.bin").symlink_to("../blobs/0123")
        name = "snapshot/m.onnx"
        self.refused(name, f"'snapshot/w.bin': is a symbolic link, expected a regular file{self.HINT}")
        (self.folder / "empty").mkdir()
        text = (
            f"{name}: an initializer of graph 'g': tensor 'w0' lies in the file 'snapshot/w.bin': leads to "
            f"'{self.folder.resolve()}/blobs/0123', which lies in no folder that --allow-external names"
        )
        self.fail_with(2, text, "show", name, "--allow-external", "empty")
        allow = ["--allow-external", "empty", "--allow-external", "blobs"]
        self.assertIn("external   w.bin\n", self.succeed("show", name, *allow))
        self.optimize(name, *allow)
        self.succeed("check", name, "out.onnx", *allow)
        self.succeed("check", "out.onnx", "out.onnx")

    def test_in_no_folder_that_is_missing(self):
        self.save("m.onnx", products())
        self.fail_with(2, "none: cannot admit external data from this folder: No such file or directory", "show", "m.onnx", "--allow-external", "none")


if __name__ == "__main__":
    program.main()
