"""Decides two rules, one of them wrong, for all shapes."""

import xflow_onnx

RULES = """
# relu(x) + relu(x) = 2 * relu(x)
rule twice-a-relu
  source
    y = relu(x) + relu(x)
  target
    y = 2 * relu(x)

# relu(x) + relu(z) is not relu(x + z).
rule relu-of-a-sum
  source
    y = relu(x) + relu(z)
  target
    y = relu(x + z)
"""


def main() -> None:
    for decision in xflow_onnx.verify(RULES):
        print(decision.rule, decision.verdict, decision.counterexample or "")


if __name__ == "__main__":
    main()
