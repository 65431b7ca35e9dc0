"""What tests of `xflow split` and `xflow run` share: plans by policy, and runs of parts in ONNX Runtime."""

import json
import os
import pathlib

import onnx
import onnxruntime


def cpu_cluster(devices=2, latency=1e-6, bandwidth=1e10):
    return {"name": f"cpu-{devices}", "devices": [{"name": f"cpu{k}", "kind": "core", "memory": 1e10, "cpu": {}} for k in range(devices)],
            "inside": {"latency": latency, "bandwidth": bandwidth}}


def plan_of(count, policy, devices=2):
    """A device for each node by its number: by turns, or consecutive shares."""
    chosen = {"single": lambda k: 0, "round-robin": lambda k: k % devices, "chain": lambda k: k * devices // count}[policy]
    return {"version": 1, "nodes": [{"node": k, "device": f"cpu{chosen(k)}"} for k in range(count)]}


def session(path):
    """Of ONNX Runtime without its rewrites, which know more of a whole model than of its parts."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Parts:
    """The parts in a folder, each checked by onnx and loaded by ONNX Runtime."""

    def __init__(self, folder):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.sessions = []
        for part in self.manifest["parts"]:
            onnx.checker.check_model(str(folder / part["file"]))
            self.sessions.append(session(folder / part["file"]))
            needed = [one["name"] for one in part["inputs"] if not one.get("has_default")]
            assert needed == [value.name for value in self.sessions[-1].get_inputs()], part
            assert part["outputs"] == [value.name for value in self.sessions[-1].get_outputs()], part

    def run(self, inputs):
        results = []

        def value_of(tensor):
            return results[tensor["part"]][tensor["name"]] if "part" in tensor else inputs[tensor["name"]]

        for part, one in zip(self.manifest["parts"], self.sessions):
            given = {tensor["name"]: value_of(tensor) for tensor in part["inputs"]
                     if not tensor.get("has_default") or tensor["name"] in inputs}
            results.append(dict(zip(part["outputs"], one.run(None, given))))
        return {tensor["name"]: value_of(tensor) for tensor in self.manifest["outputs"]}


def over_models(work, faults_of, verdict, names=()):
    """Calls `faults_of` for the path of each model of the folder XFLOW_TEST_MODELS, or of those of these names, with the folder `work` and a
    cluster in it. Prints the faults or the verdict for so many models, and returns the exit code."""
    folder = os.environ.get("XFLOW_TEST_MODELS")
    if not folder:
        print("skipped: XFLOW_TEST_MODELS is not set")
        return 0
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    (work / "cluster.json").write_text(json.dumps(cpu_cluster()))
    paths = [path for path in sorted(pathlib.Path(folder).glob("*.onnx")) if not names or path.stem in names]
    if not paths:
        print("no models found")
        return 1
    found = [f"{path.stem}: {fault}" for path in paths for fault in faults_of(path, work)]
    print("\n".join(found) if found else verdict.format(len(paths)))
    return 1 if found else 0
