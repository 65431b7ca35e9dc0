"""`xflow report` and `--report`: the schema of the JSON, and the page, also as a browser shows it."""

import base64
import hashlib
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import unittest

import program
from json_schema import faults
from onnx import helper
from program import ROOFLINE, ProgramTest, float_info, model_of, transposes

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs" / "optimize-report.schema.json").read_text())
VOID = {"meta"}
# A page in a frame of a width, and what is wider there than the frame shows. The tables of a page scroll by themselves.
FRAME = """<!DOCTYPE html><html><body><iframe width="{width}" height="800" style="border:0" {sandbox} srcdoc="{page}"></iframe><p id="said"></p>
<script>addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument;
  const root = page.documentElement;
  const scheme = page.defaultView.getComputedStyle(page.body).backgroundColor;
  const rows = [...page.querySelectorAll("table")].find(table => table.tHead.textContent.startsWith("operator"));
  const names = () => [...rows.tBodies[0].rows].map(row => row.cells[0].textContent).join();
  const orders = [names()];
  for (const column of [1, 1, 0]) {{
    rows.tHead.rows[0].cells[column].click();
    orders.push(names());
  }}
  const button = page.querySelector("button");
  const folds = [...page.querySelectorAll("details")];
  const closed = () => folds.filter(fold => !fold.open).length;
  const counts = [closed()];
  for (let k = 0; k < 2; ++k) {{
    if (button) button.click();
    counts.push(closed());
  }}
  document.getElementById("said").textContent =
    [root.clientWidth, root.scrollWidth, page.querySelectorAll("tr").length, folds.length, counts, orders.join("/"), scheme].join(" ");
}});</script></body></html>
"""


class Elements(html.parser.HTMLParser):
    """The elements of a page, which must be closed in their order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []
        self.text = []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text.append(data.strip())


def elements_of(page):
    elements = Elements()
    elements.feed(page)
    elements.close()
    assert not elements.open, elements.open
    return elements


def scaled_convolution():
    """A product that becomes part of the weights of a convolution."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["p"], name="product"), helper.make_node("Conv", ["p", "k"], ["y"], name="conv")]
    weights = [helper.make_tensor("w", 1, [3, 1, 1], [1, 2, 3]), helper.make_tensor("k", 1, [4, 3, 1, 1], range(12))]
    return model_of(nodes, [float_info("x", [1, 3, 8, 8])], [float_info("y", [1, 4, 8, 8])], weights)


class ReportTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("npu.xprof", ROOFLINE)

    def run_program(self, *arguments, **variables):
        """Without Graphviz, unless a test puts a program dot into the folder bin."""
        return super().run_program(*arguments, **{"PATH": str(self.folder / "bin"), **variables})

    def optimized(self, model, report):
        self.write("in.onnx", model)
        text = self.optimize("in.onnx", "--device", "profile:npu.xprof", "--report", report)
        return text, (self.folder / report).read_text()

    def both(self, model):
        """The report of one run as JSON, its text, and its page."""
        text, written = self.optimized(model, "r.json")
        report = json.loads(written)
        self.assertEqual([], faults(report, SCHEMA))
        for when in ("before", "after"):  # a price has a small part for each operator, so that fewer of them are better
            times = [kernel["predicted_nanoseconds"][when] for kernel in report["kernel_changes"]]
            self.assertAlmostEqual(report["predicted_nanoseconds"][when], sum(times), delta=0.1 * report["nodes"][when])
        self.assertEqual(text, self.succeed("report", "r.json", "--html", "r.html"))
        self.assertEqual(text, self.succeed("report", "r.json"))
        return report, text, (self.folder / "r.html").read_text()

    def test_a_report_is_printed_again_and_becomes_a_page(self):
        report, text, page = self.both(transposes())
        self.assertIn("result      a cheaper model\n", text)
        self.assertEqual([{"op": "Relu", "before": 1, "after": 1}, {"op": "Transpose", "before": 2, "after": 0}], report["operators"])
        kernels = [(kernel["kernel"].split("(")[0], kernel["before"], kernel["after"]) for kernel in report["kernel_changes"]]
        self.assertEqual([("copy:transpose", 1, 0), ("copy:transpose", 1, 0), ("pointwise/relu", 1, 1)], sorted(kernels))
        elements = elements_of(page)
        self.assertIn("Kernels, predicted", elements.text)
        equations = [rule["equation"] for rule in report["rules"] if rule["applied"]]
        self.assertTrue(equations and all(equations))
        self.assertTrue(set(equations) <= set(elements.text), equations)
        self.assertIn("Operators of the main graph", elements.text)
        at = elements.text.index("Transpose")
        self.assertEqual(["Transpose", "2", "0", "-2"], [word for word in elements.text[at:] if word][:4])

    def test_parts_are_what_was_replaced_and_what_is_in_its_place(self):
        nodes = [
            helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0], name="first"),
            helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0], name="second"),
            helper.make_node("Relu", ["b"], ["c"], name="kept"),
            helper.make_node("Neg", ["c"], ["d"]),
            helper.make_node("Neg", ["d"], ["e"]),
            helper.make_node("Sigmoid", ["e"], ["y"]),
        ]
        report, _, page = self.both(model_of(nodes, [float_info("x", [64, 32])], [float_info("y", [64, 32])]))
        first, second = report["parts"]
        self.assertEqual([["first", "Transpose", ["x"], ["a"]], ["second", "Transpose", ["a"], ["b"]]], [list(node.values()) for node in first["before"]])
        self.assertEqual(["Neg", "Neg"], [node["op"] for node in second["before"]])
        self.assertEqual([[], []], [first["after"], second["after"]])
        steps = [step for part in report["parts"] for step in part["steps"]]
        self.assertEqual(sorted(set(steps)), sorted(steps))
        self.assertTrue(first["steps"])
        places = {report["steps"][k]["where"] for k in first["steps"]}
        self.assertTrue(places <= {"node 'first' (Transpose)", "node 'second' (Transpose)"}, places)
        text = elements_of(page).text
        self.assertIn("2 nodes → 0 nodes, at first (Transpose)", text)
        self.assertIn("Transpose 'first': x -> a\nTranspose 'second': a -> b", text)
        self.assertIn("nothing", text)

    def test_parts_that_become_other_nodes_are_one_part(self):
        report, _, _ = self.both(scaled_convolution())
        (part,) = report["parts"]
        self.assertEqual(["Mul", "Conv"], [node["op"] for node in part["before"]])
        self.assertEqual(["Conv"], [node["op"] for node in part["after"]])
        self.assertEqual(["y"], part["after"][0]["outputs"])
        self.assertEqual({"before": 15, "after": 12}, report["parameters"])
        size = lambda name: (self.folder / name).stat().st_size
        self.assertEqual({"before": size("in.onnx"), "after": size("out.onnx")}, report["file_bytes"])

    def test_best_graphs_begin_with_the_original_and_end_with_the_result(self):
        report, _, page = self.both(transposes())
        best = report["search"]["best"]
        times = [one["predicted_nanoseconds"] for one in best]
        self.assertEqual(sorted(times, reverse=True), times)
        self.assertAlmostEqual(report["predicted_nanoseconds"]["before"], times[0], delta=1)
        self.assertAlmostEqual(report["predicted_nanoseconds"]["after"], times[-1], delta=1)
        self.assertEqual((0, 0), (best[0]["seconds"], best[0]["states"]))
        self.assertEqual(1, page.count('<div class="curve">'))

    def test_graphviz_draws_parts_where_it_is(self):
        self.both(scaled_convolution())
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        dot = bin_folder / "dot"
        self.write("bin/dot", "#!/bin/sh\n"
                   'test "$1" = -Tsvg || exit 1\n'
                   f"/bin/cp \"$2\" {self.folder}/graphs\n"
                   "/bin/sed -n 's|^digraph {.*|<?xml version=\"1.0\"?><svg><text>drawn</text></svg>|p' \"$2\"\n")
        dot.chmod(0o755)
        self.succeed("report", "r.json", "--html", "drawn.html")
        elements = elements_of((self.folder / "drawn.html").read_text())
        self.assertEqual(2, elements.text.count("drawn"))  # before and after
        self.assertNotIn("<?xml", (self.folder / "drawn.html").read_text())
        graph = (self.folder / "graphs").read_text()
        self.assertIn('n0 [label="Mul\\nproduct"];\n', graph)
        self.assertIn("n0 -> n1;\n", graph)
        self.write("bin/dot", "#!/bin/sh\nexit 3\n")
        self.succeed("report", "r.json", "--html", "text.html")
        self.assertEqual((self.folder / "r.html").read_text(), (self.folder / "text.html").read_text())

    def test_optimize_writes_the_page_itself(self):
        _, page = self.optimized(transposes(), "page.html")
        self.assertTrue(page.startswith("<!DOCTYPE html>\n"))
        self.assertTrue(page.endswith("</html>\n"))
        elements_of(page)
        self.both(transposes())
        self.succeed("replay", "r.json", "in.onnx", "again.onnx", "--report", "replayed.html")
        self.assertIn("The model of the trace", elements_of((self.folder / "replayed.html").read_text()).text)

    def test_seeds_of_the_fuzzer_are_reports(self):
        seeds = sorted((pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "seeds" / "report").glob("*.json"))
        self.assertTrue(seeds)
        for seed in seeds:
            self.succeed("report", str(seed))

    def test_operators_of_other_domains_have_their_domain(self):
        nodes = [helper.make_node("Foo", ["x"], ["a"], domain="com.example"), helper.make_node("Relu", ["a"], ["y"])]
        model = model_of(nodes, [float_info("x", [4])], [float_info("y", [4])])
        model.opset_import.append(helper.make_opsetid("com.example", 1))
        report, _, page = self.both(model)
        self.assertEqual(["Relu", "com.example.Foo"], [one["op"] for one in report["operators"]])
        self.assertIn("com.example.Foo", elements_of(page).text)

    def test_page_loads_nothing_and_escapes_names(self):
        model = transposes()
        for number, one in enumerate(model.graph.node):
            one.name = f'<script src="evil.js">&{number}'
        _, _, page = self.both(model)
        self.assertIn("node '&lt;script src=&quot;evil.js&quot;&gt;&amp;", page)
        elements = elements_of(page)
        self.assertEqual(set(), {tag for tag, _ in elements.seen} - {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "span",
                                                                     "b", "i", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "dl", "dt", "dd", "details",
                                                                     "summary", "pre", "svg", "path", "script"})
        # One script, which is the one that the policy allows.
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
        self.assertEqual(1, page.count("<script"))
        allowed = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        self.assertIn(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'", page)
        self.assertEqual(set(), {name for _, attributes in elements.seen for name in attributes} -
                         {"lang", "charset", "http-equiv", "content", "name", "class", "style", "open", "viewbox", "preserveaspectratio", "role", "d"})
        self.assertNotIn("url(", page)
        self.assertNotIn("@import", page)

    def test_a_browser_shows_it_without_scrolling_sideways(self):
        browser = shutil.which("chromium")
        self.assertIsNotNone(browser, "chromium was not found; scripts/deps tests installs it")
        name = "very/long/" + "module." * 30 + "relu"
        nodes = [helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0], name=name), helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
                 helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Neg", ["c"], ["d"]), helper.make_node("Neg", ["d"], ["e"]),
                 helper.make_node("Sigmoid", ["e"], ["y"])]
        report, _, page = self.both(model_of(nodes, [float_info("x", [64, 32])], [float_info("y", [64, 32])]))
        self.assertTrue(report["improved"])
        colours = set()
        written = "Neg,Relu,Sigmoid,Transpose"
        orders = [written, "Relu,Sigmoid,Neg,Transpose", "Neg,Transpose,Relu,Sigmoid", written]  # by the nodes before, the other way round, by name
        for width in (390, 1440):
            for scheme in (0, 1):
                said, console = self.shown(browser, page, width, scheme)
                self.assertEqual([], console)
                self.assertEqual((width, width), (int(said[1]), int(said[2])))
                self.assertEqual(page.count("<tr>"), int(said[3]))
                folds = int(said[4])
                self.assertGreater(folds, 1)
                closed = page.count("<details>")
                self.assertEqual([closed, folds, 0] if closed < folds else [folds, 0, folds], [int(count) for count in said[5].split(",")])
                self.assertEqual(orders, said[6].split("/"))
                colours.add(said[7])
        self.assertEqual({"rgb(255, 255, 255)", "rgb(15, 20, 26)"}, colours)
        said, _ = self.shown(browser, page, 390, 0, sandbox='sandbox="allow-same-origin"')
        self.assertEqual(("390", "390", str(page.count("<tr>"))), said.groups()[:3], "without its script")
        self.assertEqual({written}, set(said[6].split("/")))

    def shown(self, browser, page, width, scheme, sandbox=""):
        """What the frame says of a page, and the messages of the browser's console."""
        self.write("frame.html", FRAME.format(width=width, page=html.escape(page), sandbox=sandbox))
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
             f"--blink-settings=preferredColorScheme={scheme}", f"--user-data-dir={self.folder / 'browser'}", "--dump-dom",
             (self.folder / "frame.html").as_uri()], capture_output=True, text=True)
        self.assertEqual(0, run.returncode, run.stderr)
        said = re.search(r'<p id="said">(\d+) (\d+) (\d+) (\d+) ([\d,]+) (\S+) ([^<]+)</p>', run.stdout)
        self.assertTrue(said, run.stdout[-500:])
        return said, [line for line in run.stderr.splitlines() if "CONSOLE" in line]

    def test_page_goes_to_standard_output(self):
        _, text, page = self.both(transposes())
        run = self.run_program("report", "r.json", "--html", "-")
        self.assertEqual((0, page, text), (run.returncode, run.stdout, run.stderr))

    def test_schema_refuses_what_it_should(self):
        report, _, _ = self.both(transposes())
        for change in ({"seconds": -1}, {"improved": 1}, {"more": 1}, {"operators": [{"op": "Relu"}]}, {"steps": [{"rule": "a"}]}):
            self.assertNotEqual([], faults({**report, **change}, SCHEMA), change)
        self.assertNotEqual([], faults({}, SCHEMA))

    def test_messages(self):
        self.write("empty.json", "{}")
        self.write("no.json", "no")
        other = "this is no report of an optimisation: "
        self.fail_with(2, f"empty.json: {other}a field is missing, or of another type or version", "report", "empty.json")
        self.fail_with(2, f"no.json: {other}it is no JSON, from byte 2 on", "report", "no.json")
        self.fail_with(2, "none.json: cannot be read: No such file or directory", "report", "none.json")
        self.fail_with(64, "no.json: the page would overwrite the report that is read", "report", "no.json", "--html", "no.json")
        self.fail_with(3, "none/r.html: cannot write: No such file or directory", "report", "no.json", "--html", "none/r.html")


if __name__ == "__main__":
    program.main()
