"""Reads the JUnit file of ctest and lists skipped tests with their reasons and failed ones with what they said.

The last line has the counts.

Exits with 1 if a test failed, if none passed, or if there is no file.
"""

import re
import sys
import xml.etree.ElementTree

MOST_LINES = 6
MOST_COLUMNS = 300


def skip_reason(output):
    """What a skipped test said: GoogleTest prints it after the line `FILE:LINE: Skipped`, our scripts after `skipped: `."""
    found = re.search(r": Skipped\n(.*?)(?:\n\s*\n|\n\[|\Z)", output, re.DOTALL) or re.search(r"^skipped: (.*)$", output, re.MULTILINE)
    return " ".join(found.group(1).split()) if found else "no reason given"


def why_it_failed(output):
    """The lines of a failed test that say most: those with an error or a failure, or else its last ones."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\berrors?:|\bFAILED\b|Failure$|Error:|^ERROR: |SUMMARY: ", line)]
    return [line[:MOST_COLUMNS] for line in (telling[:MOST_LINES] or lines[-MOST_LINES:])]


def summarize(document):
    """The lines to print and the exit status, for the root element of a JUnit file."""
    passed, failed, skipped = [], {}, {}
    for case in document.iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        if case.find("failure") is not None or case.get("status") == "fail":
            failed[name] = output
        elif case.find("skipped") is not None:
            # A program that could not be started is no reason to skip its tests.
            if case.find("skipped").get("message", "").startswith("SKIP_"):
                skipped.setdefault(skip_reason(output), []).append(name)
            else:
                failed[name] = output
        elif case.get("status") == "run":
            passed.append(name)
        else:
            failed[name] = output
    lines = []
    for reason, names in sorted(skipped.items()):
        lines.append(f"skipped, {reason}:")
        lines += [f"  {name}" for name in names]
    for name, output in failed.items():
        lines.append(f"failed: {name}")
        lines += [f"  {line}" for line in why_it_failed(output)]
    count = sum(map(len, skipped.values()))
    lines.append(f"{len(passed)} passed, {len(failed)} failed, {count} skipped")
    return lines, 0 if passed and not failed else 1


def main(path):
    try:
        document = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"cannot read the results of the tests: {error}", file=sys.stderr)
        print("0 passed, 0 failed, 0 skipped")
        return 1
    lines, status = summarize(document)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
