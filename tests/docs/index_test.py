"""The documents: README.md is short, docs/README.md lists all pages, and links lead somewhere."""

import pathlib
import re
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
INTERNAL = {"dev/plan.md"}  # of the work that is going on


def pages_and_sources():
    trees = [path for tree in ("docs", "include", "src", "bench", "examples") for path in (REPOSITORY / tree).rglob("*")]
    return [path for path in [*REPOSITORY.glob("*.md"), *trees] if path.is_file() and path.suffix in (".md", ".h", ".cpp", ".def", ".py")]


def sections(page):
    """The headings of a page, and the terms in bold letters with which paragraphs begin."""
    return [match[1].rstrip(".:") for match in re.finditer(r"^(?:#+ |[- ]*\*\*)([^*\n]+)", page, re.MULTILINE)]


class Index(unittest.TestCase):
    def test_lists_every_page(self):
        index = (DOCS / "README.md").read_text()
        listed = set(re.findall(r"\]\(((?!\.\./)[^)]+\.md)\)", index))
        pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"} - INTERNAL
        self.assertEqual(pages, listed)

    def test_links_lead_to_files(self):
        for page in [*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md"), *(REPOSITORY / "src").rglob("README.md")]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.relative_to(REPOSITORY)}: {link}")

    def test_pages_that_are_named_exist(self):
        """"docs/cost.md" in a page or a source."""
        places = [*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), *(REPOSITORY / "include").rglob("*.h"), *(REPOSITORY / "src").rglob("*.*")]
        for place in places:
            if not place.is_file():
                continue
            for page in re.findall(r"\bdocs/[\w/]+\.md\b", place.read_text()):
                self.assertTrue((REPOSITORY / page).exists(), f"{place.relative_to(REPOSITORY)}: {page}")

    def test_sections_that_are_named_exist(self):
        """(docs/cost.md, *The gate*) in a page or a source: the page has such a heading, or such a term in bold letters."""
        count = 0
        for place in pages_and_sources():
            text = re.sub(r"\n *(//|#) ?", "\n", place.read_text())  # Comments go on in the next line.
            for page, section in re.findall(r"([\w./-]+\.md)`?(?:\]\([^)]*\))?,\s+\*([^*]+)\*", text):
                count += 1
                found = [folder / page for folder in (REPOSITORY, place.parent, DOCS) if (folder / page).is_file()]
                self.assertTrue(found, f"{place.relative_to(REPOSITORY)}: {page}")
                section = " ".join(section.split())
                self.assertIn(section, sections(found[0].read_text()), f"{place.relative_to(REPOSITORY)}: {page}, *{section}*")
        self.assertGreater(count, 20)


class RootPages(unittest.TestCase):
    def test_are_linked(self):
        for page in {page.name for page in REPOSITORY.glob("*.md")} - {"README.md", "CHANGELOG.md"}:
            self.assertIn(f"`{page}`", (REPOSITORY / "README.md").read_text())
            self.assertIn(f"(../{page})", (DOCS / "README.md").read_text())

    def test_name_scripts_and_folders_that_exist(self):
        count = 0
        for page in REPOSITORY.glob("*.md"):
            for name in re.findall(r"(?<![\w/.-])((?:scripts|tests|docs|src|include|examples)/[\w./-]+)", page.read_text()):
                count += 1
                self.assertTrue((REPOSITORY / name.rstrip(".")).exists(), f"{page.name}: {name}")
        self.assertGreater(count, 30)


class Readme(unittest.TestCase):
    def test_is_short(self):
        text, table = re.subn(r"(?s)<!-- peers -->.*<!-- /peers -->", "", (REPOSITORY / "README.md").read_text())  # made by a script
        self.assertEqual(1, table)
        self.assertLessEqual(len(text.splitlines()), 90)


if __name__ == "__main__":
    unittest.main()
