"""Which products of a Llama-3-8B block and of a BERT-large layer are quicker as one, by a profile: a table in Markdown, and a figure.

    merge_figure.py PROGRAM PROFILE OUT.svg

PROGRAM is xflow, and PROFILE one of products in bfloat16 as `python3 -m xflow_onnx.profiles get` writes it. For 1, 128 and 4,096 tokens a
row has the time of the products that read one tensor, one after the other, and that of the one product with all their columns, in
microseconds. `modelled` are those of the times that the profile does not contain. The interval of 90 % of the ratio takes the errors of the
prices as independent. Parts of a result are views, as frameworks make them: no time is added for a split.
"""

import argparse
import html
import json
import math
import pathlib
import subprocess

TOKENS = (1, 128, 4096)
# Products of one operand: their name, its columns, and those of each product.
SITES = {
    "Llama-3-8B": [("query, key, value", 4096, (4096, 1024, 1024)), ("key, value", 4096, (1024, 1024)), ("gate, up", 4096, (14336, 14336))],
    "BERT-large": [("query, key, value", 1024, (1024, 1024, 1024)), ("key, value", 1024, (1024, 1024))],
}
NINE_TENTHS = 1.6449
LOW, HIGH = 0.4, 1.4


def kernel(tokens, inner, columns):
    return f"matmul(bfloat16[{tokens},{inner}], const bfloat16[{inner},{columns}]) -> bfloat16[{tokens},{columns}]"


def rows_of(program, profile):
    """A dict for each model, site and number of tokens."""
    asked = [(model, name, tokens, inner, columns) for model, sites in SITES.items() for name, inner, columns in sites for tokens in TOKENS]
    kernels = [kernel(tokens, inner, n) for _, _, tokens, inner, columns in asked for n in (*columns, sum(columns))]
    command = [program, "profile", "price", profile, *dict.fromkeys(kernels), "--json"]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    prices = {price["kernel"]: price for price in result["kernels"]}
    rows = []
    for model, name, tokens, inner, columns in asked:
        parts = [prices[kernel(tokens, inner, n)] for n in columns]
        one = prices[kernel(tokens, inner, sum(columns))]
        apart = sum(part["nanoseconds"] for part in parts)
        variance = sum(((price["interval"][1] - price["interval"][0]) / 2 / NINE_TENTHS) ** 2 for price in (*parts, one))
        ratio, half = one["nanoseconds"] / apart, NINE_TENTHS * math.sqrt(variance) / apart
        rows.append({"model": model, "name": name, "tokens": tokens, "apart": apart / 1e3, "one": one["nanoseconds"] / 1e3, "ratio": ratio,
                     "interval": (ratio - half, ratio + half), "modelled": sum(price["modelled"] for price in (*parts, one)), "prices": len(parts) + 1})
    return result["profile"], rows


def table_of(rows):
    lines = ["| model | products | tokens | apart, us | as one, us | ratio | 90 % | modelled |", "|---|---|---:|---:|---:|---:|---|---:|"]
    for row in rows:
        low, high = row["interval"]
        lines.append(f"| {row['model']} | {row['name']} | {row['tokens']:,} | {row['apart']:.1f} | {row['one']:.1f} | {row['ratio']:.2f} | "
                     f"{low:.2f} to {high:.2f} | {row['modelled']} of {row['prices']} |")
    return "\n".join(lines)


def figure_of(device, rows):
    """A row for each merge, with a mark and its interval. Left of the middle line one product is quicker."""
    left, width, height, top = 270, 480, 24, 70
    colours = dict(zip(TOKENS, ["#0b5fa5", "#8c6d31", "#7b4173"]))

    def x(ratio):
        return left + width * (min(max(ratio, LOW), HIGH) - LOW) / (HIGH - LOW)

    sites = list(dict.fromkeys((row["model"], row["name"]) for row in rows))
    bottom = top + 3 * height * len(sites)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {bottom + 20}" font-family="sans-serif" font-size="12">',
           "<style>text{fill:#1b1f24}.back{fill:#fff}line{stroke:#d0d7de}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}"
           "line{stroke:#30363d}}</style>", f'<rect class="back" width="{left + width + 30}" height="{bottom + 20}"/>',
           f'<text x="12" y="20">Time of one product / of several, {html.escape(device)}, bfloat16</text>']
    for k, tokens in enumerate(TOKENS):
        at = 16 + 120 * k
        out.append(f'<circle cx="{at}" cy="40" r="4" fill="{colours[tokens]}"/><text x="{at + 9}" y="44">{tokens:,} token{"s" * (tokens > 1)}</text>')
    for tick in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 14}" y2="{bottom - 4}" stroke-width="{2 if tick == 1 else 1}"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 12}" text-anchor="middle">{tick:.1f}</text>')
    for number, row in enumerate(rows):
        y = top + height * number
        if number % 3 == 1:
            out.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{html.escape(row["model"])}: {html.escape(row["name"])}</text>')
        low, high = row["interval"]
        colour = colours[row["tokens"]]
        title = f"<title>{row['apart']:.1f} us apart, {row['one']:.1f} us as one: {row['ratio']:.2f} [{low:.2f}, {high:.2f}]</title>"
        out.append(f'<path d="M{x(low):.1f} {y}H{x(high):.1f}" stroke="{colour}" stroke-width="2"/>')
        fill = colour if row["modelled"] == 0 else "none"
        out.append(f'<circle cx="{x(row["ratio"]):.1f}" cy="{y}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2">{title}</circle>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("profile", type=pathlib.Path)
    parser.add_argument("figure", type=pathlib.Path)
    options = parser.parse_args()
    device, rows = rows_of(options.program, options.profile)
    print(table_of(rows))
    options.figure.write_text(figure_of(device, rows))


if __name__ == "__main__":
    main()
