"""Tests of scripts/summary.py, which decides what `scripts/test` answers."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import summary

PASSED = '<testcase name="A.Passes" status="run"><system-out>fine</system-out></testcase>'
FAILED = '<testcase name="A.Fails" status="fail"><failure message=""/><system-out>no</system-out></testcase>'
SKIPPED = """<testcase name="A.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
a_test.cpp:3: Skipped
XFLOW_TEST_MODELS is not set

[  SKIPPED ] A.Skips (0 ms)
</system-out></testcase>"""
NOT_BUILT = '<testcase name="A.IsMissing" status="notrun"><skipped message="Unable to find executable"/></testcase>'
DISABLED = '<testcase name="A.IsDisabled" status="disabled"/>'


def summarize(*cases):
    return summary.summarize(xml.etree.ElementTree.fromstring(f"<testsuite>{''.join(cases)}</testsuite>"))


class Summary(unittest.TestCase):
    def test_passes_if_something_passed_and_nothing_failed(self):
        self.assertEqual((["1 passed, 0 failed, 0 skipped"], 0), summarize(PASSED))

    def test_fails_without_tests(self):
        self.assertEqual((["0 passed, 0 failed, 0 skipped"], 1), summarize())

    def test_fails_if_one_failed(self):
        self.assertEqual((["failed: A.Fails", "  no", "1 passed, 1 failed, 0 skipped"], 1), summarize(PASSED, FAILED))

    def test_says_why_a_test_was_skipped(self):
        self.assertEqual(
            (["skipped, XFLOW_TEST_MODELS is not set:", "  A.Skips", "1 passed, 0 failed, 1 skipped"], 0), summarize(PASSED, SKIPPED)
        )

    def test_fails_if_all_were_skipped(self):
        self.assertEqual(1, summarize(SKIPPED)[1])

    def test_counts_a_program_that_was_not_built_as_failed(self):
        self.assertEqual((["failed: A.IsMissing", "0 passed, 1 failed, 0 skipped"], 1), summarize(NOT_BUILT))

    def test_quotes_the_lines_with_errors(self):
        output = "[1/2] Building b.cpp\n[2/2] Building a.cpp\na.cpp:3:5: error: no matching function\n" + "  note\n" * 20
        self.assertEqual(["a.cpp:3:5: error: no matching function"], summary.why_it_failed(output))

    def test_quotes_the_end_if_nothing_says_error(self):
        self.assertEqual(["5", "6", "7", "8", "9", "10"], summary.why_it_failed("\n".join(map(str, range(1, 11)))))

    def test_counts_a_disabled_test_as_failed(self):
        self.assertEqual((["failed: A.IsDisabled", "0 passed, 1 failed, 0 skipped"], 1), summarize(DISABLED))

    def test_reads_the_reason_of_a_script(self):
        self.assertEqual("no GPU", summary.skip_reason("hello\nskipped: no GPU\n"))


if __name__ == "__main__":
    unittest.main()
