"""xflow_onnx.ProgressLine: what a terminal shows, and a stream that is none."""

import io

import xflow_onnx


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_line_which_is_removed():
    stream = Terminal()
    with xflow_onnx.ProgressLine(stream) as line:
        line("searching  10 %")
        line("running")
        assert stream.getvalue() == "\r\x1b[Ksearching  10 %\r\x1b[Krunning"
    assert stream.getvalue() == "\r\x1b[Ksearching  10 %\r\x1b[Krunning\r\x1b[K"


def test_names_cannot_move_the_cursor():
    stream = Terminal()
    xflow_onnx.ProgressLine(stream)("a\nb\x1b[2J\u2192")
    assert stream.getvalue() == "\r\x1b[Ka\\nb\\x1b[2J\u2192"


def test_nothing_is_written_without_progress_or_a_terminal():
    stream = Terminal()
    with xflow_onnx.ProgressLine(stream):
        pass
    assert stream.getvalue() == ""
    file = io.StringIO()
    with xflow_onnx.ProgressLine(file) as line:
        line("searching")
    assert file.getvalue() == ""


def test_the_line_goes_when_the_call_fails():
    stream = Terminal()
    try:
        with xflow_onnx.ProgressLine(stream) as line:
            line("searching")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert stream.getvalue().endswith("\r\x1b[K")
