"""Reads the JUnit file of ctest, lists skipped tests with their reasons and failed ones, and ends with the line of counts.

Exits with 1 if a test failed, if none passed, or if there is no file.
"""

import re
import sys
import xml.etree.ElementTree


def skip_reason(output):
    """What a skipped test said: GoogleTest prints it after the line `FILE:LINE: Skipped`, our scripts after `skipped: `."""
    found = re.search(r": Skipped\n(.*?)(?:\n\s*\n|\n\[|\Z)", output, re.DOTALL) or re.search(r"^skipped: (.*)$", output, re.MULTILINE)
    return " ".join(found.group(1).split()) if found else "no reason given"


def summarize(document):
    """The lines to print and the exit status, for the root element of a JUnit file."""
    passed, failed, skipped = [], [], {}
    for case in document.iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append(name)
        elif case.find("skipped") is not None:
            # A program that could not be started is no reason to skip its tests.
            if case.find("skipped").get("message", "").startswith("SKIP_"):
                skipped.setdefault(skip_reason(output), []).append(name)
            else:
                failed.append(name)
        elif case.get("status") == "run":
            passed.append(name)
        else:
            failed.append(name)
    lines = []
    for reason, names in sorted(skipped.items()):
        lines.append(f"skipped, {reason}:")
        lines += [f"  {name}" for name in names]
    lines += [f"failed: {name}" for name in failed]
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
