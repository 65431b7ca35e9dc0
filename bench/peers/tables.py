"""Stores the figures of a comparison with peers, and writes the tables and the pictures of the documentation.

    tables.py [FOLDER] [--root CHECKOUT] [--note TEXT]

FOLDER is the --work of compare.py; its figures become bench/results/peers.json. Without it the stored ones are used. README.md gets ten rows,
the first by name, and the mean of all; docs/benchmarks.md has all figures. Both have the lines `<!-- peers -->` and `<!-- /peers -->`, and what is
between them is replaced.
"""

import argparse
import html
import json
import math
import pathlib
import textwrap

TOOLS = ["onnxsim", "OnnxSlim", "onnxoptimizer", "ORT basic", "xflow simplify", "xflow"]
ROWS = 10
BEGIN, END = "<!-- peers -->\n", "<!-- /peers -->\n"


def ratio_of(found, threads):
    """[median, low, high]; nothing where a tool wrote no model. An original that was kept counts as 1."""
    if found.get("kept"):
        return [1.0, 1.0, 1.0]
    return found.get("ratio", {}).get(threads)


def mean_of(models, tool, threads):
    ratios = [ratio_of(model["tools"][tool], threads) for model in models]
    logs = [math.log(ratio[0]) for ratio in ratios if ratio]
    return f"{math.exp(sum(logs) / len(logs)):.3f}" if logs else ""


def short(found, threads):
    ratio = ratio_of(found, threads)
    if ratio is None:
        return "fails"
    return ("kept" if found["kept"] else f"{ratio[0]:.3f}") + ("" if found["equal"] is not False else " **differs**")


def readme_table(models, threads):
    lines = [f"| model | original, ms | {' | '.join(TOOLS)} |", f"|---|---:|{'---:|' * len(TOOLS)}"]
    for model in models[:ROWS]:
        cells = [short(model["tools"][tool], threads) for tool in TOOLS]
        lines.append(f"| {model['model']} | {model['milliseconds'][threads]:.2f} | {' | '.join(cells)} |")
    lines.append(f"| geometric mean of {len(models)} models | | {' | '.join(mean_of(models, tool, threads) for tool in TOOLS)} |")
    return "\n".join(lines) + "\n"


def times_table(models, threads):
    lines = [f"| model | original, ms | the original again | {' | '.join(TOOLS)} |", f"|---|---:|---:|{'---:|' * len(TOOLS)}"]
    for model in models:
        cells = []
        for tool in TOOLS:
            ratio = ratio_of(model["tools"][tool], threads)
            cells.append("fails" if ratio is None else "kept" if model["tools"][tool]["kept"] else "{:.3f} [{:.3f}, {:.3f}]".format(*ratio))
        same = "{:.3f} [{:.3f}, {:.3f}]".format(*model["same"][threads])
        lines.append(f"| {model['model']} | {model['milliseconds'][threads]:.2f} | {same} | {' | '.join(cells)} |")
    lines.append(f"| geometric mean | | | {' | '.join(mean_of(models, tool, threads) for tool in TOOLS)} |")
    return "\n".join(lines) + "\n"


def results_table(models):
    lines = ["| model | tool | nodes | bytes | seconds | memory, MB | `xflow check` | `xflow verify` |", "|---|---|---:|---:|---:|---:|---|---|"]
    for model in models:
        lines.append(f"| {model['model']} | original | {model['nodes']} | {model['bytes']} | | | | |")
        for tool in TOOLS:
            found = model["tools"][tool]
            if "error" in found:
                lines.append(f"| | {tool} | fails | | | | | |")
                continue
            checked = {True: "equal", False: "differs", None: "not run"}[found["equal"]]
            verdict = "proved" if found["proved"] else found["verdict"].split(",")[0].split(":")[0]
            lines.append(f"| | {tool} | {found['nodes']} | {found['bytes']} | {found['seconds']:.1f} | {found['peak'] / 1e6:.0f} | {checked} | {verdict} |")
    return "\n".join(lines) + "\n"


def verdicts(models):
    lines = ["| tool | models written | equal by `xflow check` | differ | proved by `xflow verify` | seconds, median |", "|---|---:|---:|---:|---:|---:|"]
    for tool in TOOLS:
        found = [model["tools"][tool] for model in models if "error" not in model["tools"][tool]]
        seconds = sorted(one["seconds"] for one in found)
        counts = [len(found), sum(one["equal"] is True for one in found), sum(one["equal"] is False for one in found), sum(one["proved"] for one in found)]
        lines.append(f"| {tool} | {' | '.join(map(str, counts))} | {seconds[len(seconds) // 2] if seconds else 0:.1f} |")
    return "\n".join(lines) + "\n"


def picture_of(models, threads):
    """A row for each model, and a mark with its interval for each tool. Left of the middle line is faster than the original."""
    left, width, row, top = 230, 560, 22, 60
    low, high = 0.4, 1.3
    colours = dict(zip(TOOLS, ["#8c6d31", "#7b4173", "#637939", "#7f7f7f", "#74a9cf", "#0b5fa5"]))

    def x(ratio):
        return left + width * (min(max(ratio, low), high) - low) / (high - low)

    height = top + row * len(models) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif" font-size="12">',
           "<style>text{fill:#1b1f24}.back{fill:#fff}line{stroke:#d0d7de}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}"
           "line{stroke:#30363d}}</style>", f'<rect class="back" width="{left + width + 30}" height="{height}"/>']
    for k, tool in enumerate(TOOLS):
        at = 12 + k * 130
        out.append(f'<circle cx="{at}" cy="18" r="4" fill="{colours[tool]}"/><text x="{at + 8}" y="22">{html.escape(tool)}</text>')
    for tick in (0.4, 0.6, 0.8, 1.0, 1.2):
        stroke = 2 if tick == 1 else 1
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 14}" y2="{height - 26}" stroke-width="{stroke}"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{height - 10}" text-anchor="middle">{tick:.1f}</text>')
    for number, model in enumerate(models):
        y = top + row * number
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{html.escape(model["model"])}</text>')
        for tool in TOOLS:
            ratio = ratio_of(model["tools"][tool], threads)
            if ratio is None:
                continue
            median, lowest, highest = ratio
            title = f"<title>{html.escape(tool)}: {median:.3f} [{lowest:.3f}, {highest:.3f}]</title>"
            out.append(f'<path d="M{x(lowest):.1f} {y}H{x(highest):.1f}" stroke="{colours[tool]}" stroke-width="2"/>')
            out.append(f'<circle cx="{x(median):.1f}" cy="{y}" r="4" fill="{colours[tool]}">{title}</circle>')
    return "\n".join([*out, "</svg>"]) + "\n"


def replace(path, text):
    whole = path.read_text()
    begin, end = whole.index(BEGIN) + len(BEGIN), whole.index(END)
    path.write_text(whole[:begin] + text + whole[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="work folder of compare.py, whose figures are stored first")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2], help="the checkout that is written to")
    parser.add_argument("--note", default="", help="about the machine and the run, stored with the figures")
    options = parser.parse_args()
    figures = options.root / "bench/results/peers.json"
    if options.folder:
        models = [json.loads(path.read_text()) for path in sorted(options.folder.glob("*/figures.json"))]
        figures.write_text(json.dumps({"note": options.note, "models": models}, indent=1) + "\n")
    stored = json.loads(figures.read_text())
    models, note = stored["models"], textwrap.fill(stored["note"], 105, break_long_words=False, break_on_hyphens=False) + "\n\n"
    threads = sorted(models[0]["milliseconds"])
    replace(options.root / "README.md", readme_table(models, threads[0]))
    parts = [note + "### Results\n", verdicts(models)]
    for number in threads:
        parts += [f"### Processor time of a run, {number} thread{'s' if number != '1' else ''}\n", times_table(models, number)]
        name = f"peers-{number}.svg"
        (options.root / "docs/images" / name).write_text(picture_of(models, number))
        parts.append(f"![Processor time of a run as a part of the original's, threads: {number}](images/{name})\n")
    parts += ["### Each model\n", results_table(models)]
    replace(options.root / "docs/benchmarks.md", "\n".join(parts))


if __name__ == "__main__":
    main()
