"""The page on rules is right: docs_test.py PROGRAM PAGE [unittest arguments].

Blocks of the page that begin with '# NAME.rules' are files, blocks that begin with '$ xflow ...' are commands with their output, where
times are written TIME. With XFLOW_RENEW_GOLDENS set in the environment the outputs in the page are written again.
"""

import os
import pathlib
import re
import shlex
import sys

import program
from program import ProgramTest

PAGE = pathlib.Path(sys.argv.pop(2)).resolve()


def blocks(text):
    """Indented blocks as lists of lines; a line that is empty ends a command but not a file."""
    block = []
    for line in [*text.splitlines(), "end"]:
        indented = line.startswith("    ")
        is_file = bool(block) and block[0].endswith(".rules") and block[0].startswith("# ")
        if block and (not indented and not (line == "" and is_file)):
            yield block
            block = []
        if block and indented and line.startswith("    $ "):
            yield block
            block = []
        if indented or block:
            block.append(line[4:])


class Page(ProgramTest):
    def test_shows_what_the_program_says(self):
        page = PAGE.read_text()
        renewed = page
        commands = 0
        for block in blocks(page):
            if block[0].startswith("# ") and block[0].endswith(".rules"):
                self.write(block[0][2:], "\n".join(block).rstrip() + "\n")
            elif block[0].startswith("$ xflow "):
                commands += 1
                run = self.run_program(*shlex.split(block[0])[2:])
                output = re.sub(r" +[0-9]+\.[0-9] ms", "       TIME ms", run.stdout + run.stderr).rstrip()
                output = re.sub(r"(proved|refuted|unknown|timeout|ill-typed) +TIME", lambda m: f"{m[1]:<9}    TIME", output)
                shown = "\n".join(block[1:]).rstrip()
                if "XFLOW_RENEW_GOLDENS" in os.environ:
                    def indent(text):
                        return "\n".join("    " + line if line else "" for line in text.splitlines())

                    command = "    " + block[0] + "\n"
                    renewed = renewed.replace(command + indent(shown), command + indent(output))
                else:
                    self.assertEqual(output, shown, block[0])
        self.assertGreaterEqual(commands, 6)
        if renewed != page:
            PAGE.write_text(renewed)


if __name__ == "__main__":
    program.main()
