"""Errors of the library."""

import enum


class ErrorCode(str, enum.Enum):
    """The kinds of errors. Functions say which of them they raise."""

    unreadable = "unreadable"  # invalid input: truncated, not a protobuf, a missing file
    invalid_argument = "invalid_argument"  # a meaningless request
    ill_typed = "ill_typed"  # operands or attributes do not fit the operator
    syntax = "syntax"  # a rule text does not parse; `where` is file:line:column
    unsupported = "unsupported"  # a valid request that this build or this device cannot execute
    io = "io"  # the operating system refused an access
    limit = "limit"  # a documented limit was reached, or the call was cancelled
    not_proved = "not_proved"  # a rule has no proof and therefore may not be applied
    internal = "internal"  # a bug in xflow; please report it


class Error(Exception):
    """An expected failure: its `code`, one line as `message`, and `where` it is (may be empty)."""

    def __init__(self, message: str, code: "ErrorCode | str" = ErrorCode.internal, where: str = "") -> None:
        super().__init__(message, code, where)
        self.message = message
        self.code = ErrorCode(code)
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message
