"""Writes an instance of a placement: a graph of layers with branches and skips, from a seed.

    layered_instance.py NODES OUT.json [--width N] [--accelerators N] [--seed N]

A layer has 1 to --width nodes. A node reads one or two outputs of the layer before, and sometimes one of up to 30 layers before. Times on
an accelerator are exponential with a mean of 1 ms, those on the one CPU ten times as long; an accelerator holds a fifth of all nodes.
"""

import argparse
import json
import random


def instance_of(nodes, width, accelerators, seed):
    numbers = random.Random(seed)
    layers, edges = [], set()
    while not layers or layers[-1][-1] + 1 < nodes:
        begin = layers[-1][-1] + 1 if layers else 0
        layers.append(list(range(begin, min(nodes, begin + numbers.randint(1, width)))))
    times = [numbers.expovariate(1) for _ in range(nodes)]
    costs = [numbers.choice([0.01, 0.02, 0.05, 0.2]) for _ in range(nodes)]
    sizes = [numbers.randint(1, 9) for _ in range(nodes)]
    for k in range(1, len(layers)):
        for node in layers[k]:
            edges.add((numbers.choice(layers[k - 1]), node))
            if numbers.random() < 0.3:
                edges.add((numbers.choice(layers[k - 1]), node))
            if numbers.random() < 0.05:
                edges.add((numbers.choice(layers[max(0, k - numbers.randint(1, 30))]), node))
    return {
        "maxFPGAs": accelerators, "maxCPUs": 1, "maxSizePerFPGA": sum(sizes) / 5,
        "nodes": [{"id": k, "cpuLatency": 10 * times[k], "fpgaLatency": times[k], "size": sizes[k], "supportedOnFpga": True,
                   "isBackwardNode": False} for k in range(nodes)],
        "edges": [{"sourceId": source, "destId": reader, "cost": costs[source]} for source, reader in sorted(edges)],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nodes", type=int)
    parser.add_argument("out")
    parser.add_argument("--width", type=int, default=20)
    parser.add_argument("--accelerators", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(options.out, "w") as file:
        json.dump(instance_of(options.nodes, options.width, options.accelerators, options.seed), file)


if __name__ == "__main__":
    main()
