"""Shapes alone: a domain in which every element is False. Types a rule at given sizes without computing anything."""

import numpy


def merged(*arrays):
    return numpy.zeros(numpy.broadcast_shapes(*(numpy.shape(a) for a in arrays)), dtype=bool)


class Shapes:
    dtype = bool

    def __getattr__(self, name):
        return merged

    def number(self, value, data_type):
        return False

    def dtype_of(self, data_type):
        return bool

    def cast(self, values, of, to):
        return values

    def padded(self, result):
        pass

    def clip(self, x, low, high, data_type):
        return x

    def sum(self, values, axis):
        return values.any(axis=axis)

    largest = sum

    def softmax(self, x, axis):
        return x

    log_softmax = softmax

    def known(self, values, places):
        return values

    inside = known

    def whole(self, values):
        return values.astype(numpy.int64), numpy.ones(values.shape, dtype=bool)
