"""The progress of a call as a line on a terminal."""

import sys
import types
import typing


class ProgressLine:
    """Shows progress as one line on standard error, if that is a terminal, and removes it at the end of `with`.

        with xflow_onnx.ProgressLine() as line:
            model, report = xflow_onnx.optimize(model, progress=line)

    stream: in place of standard error. The line is one of text: characters that move the cursor are shown as escapes.
    """

    def __init__(self, stream: "typing.TextIO | None" = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream is not None and self._stream.isatty()
        self._shown = False

    def __call__(self, progress: object) -> None:
        """Shows str(progress) in place of the last one."""
        if not self._shows:
            return
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(progress))
        self._stream.write(f"\r\033[K{text}")
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = False

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", traceback: "types.TracebackType | None"
    ) -> None:
        self.close()
