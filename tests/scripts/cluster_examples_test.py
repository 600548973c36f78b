"""examples/cluster, as far as a machine without a cluster can tell: the script's syntax, its options of Slurm, the
manifest's fields by the CRD of MPIJob v2beta1, and the words of gibbsite in both by its own --help.

cluster_examples_test.py GIBBSITE; 77 where PyYAML is not there: nothing was looked at then."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "cluster"
PROGRAM = ""

# sbatch(1) of Slurm 23.11, those that a job of ours may want, and what their values look like.
SLURM = {"job-name": r"\S+", "nodes": r"\d+(-\d+)?", "ntasks-per-node": r"\d+", "ntasks": r"\d+", "cpus-per-task": r"\d+",
         "hint": r"nomultithread|multithread|compute_bound|memory_bound", "mem": r"\d+[KMGT]?", "mem-per-cpu": r"\d+[KMGT]?",
         "exclusive": None, "time": r"(\d+-)?\d+(:\d\d){0,2}", "signal": r"([RB]{1,2}:)?(TERM|INT|USR1|\d+)(@\d+)?",
         "output": r"\S+", "partition": r"\S+", "account": r"\S+", "constraint": r"\S+"}


def wrong_options(script):
    """Lines of #SBATCH that sbatch would not take, or would not see."""
    out, begun = [], False
    for line in script.splitlines():
        begun = begun or (line.strip() != "" and not line.startswith("#"))
        if not line.startswith("#SBATCH"):
            continue
        said = re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(\S+))?", line)
        pattern = SLURM.get(said[1], "") if said else ""
        fits = said and (said[2] is None if pattern is None else pattern and re.fullmatch(pattern, said[2] or ""))
        if begun or not fits:  # behind the first command sbatch reads no more
            out.append(line)
    return out


def faults(schema, value, at=""):
    """Where a value is not what the schema allows: unknown fields too, which the API server drops."""
    if schema.get("x-kubernetes-int-or-string"):
        ok = isinstance(value, (int, str)) and not isinstance(value, bool)
        ok = ok and ("pattern" not in schema or re.search(schema["pattern"], str(value)) is not None)
        return [] if ok else [f"{at}: {value!r} is no amount"]
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    kind = kinds.get(schema.get("type"))
    if kind and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        return [f"{at}: {value!r} is no {schema['type']}"]
    out = []
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{at}: {value!r} is none of {schema['enum']}")
    if isinstance(value, dict):
        out += [f"{at}.{name}: is missing" for name in schema.get("required", []) if name not in value]
        for name, inner in value.items():
            known = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if known is not None:
                out += faults(known, inner, f"{at}.{name}")
            elif "properties" in schema:
                out.append(f"{at}.{name}: is not known")
    elif isinstance(value, list) and "items" in schema:
        for k, inner in enumerate(value):
            out += faults(schema["items"], inner, f"{at}[{k}]")
    return out


def options_of(words):
    return [word.split("=")[0] for word in words if word.startswith("--")]


class ClusterExamples(unittest.TestCase):
    def setUp(self):
        self.script = (EXAMPLES / "gibbsite.sbatch").read_text()
        self.manifest = yaml.safe_load((EXAMPLES / "gibbsite-mpijob.yaml").read_text())
        self.schema = json.loads((HERE / "mpijob_v2beta1.json").read_text())

    def require_options(self, words):
        self.assertEqual(words[:2], ["gibbsite", "fit"])
        told = subprocess.run([PROGRAM, "fit", "--help"], capture_output=True, text=True, check=True).stdout
        known = set(re.findall(r"--[a-z-]+", told))
        asked = options_of(words)
        self.assertGreater(len(asked), 4)
        self.assertEqual([o for o in asked if o not in known], [])

    def test_slurm(self):
        subprocess.run(["bash", "-n", EXAMPLES / "gibbsite.sbatch"], check=True)
        self.assertEqual(wrong_options(self.script), [])
        self.assertGreater(self.script.count("#SBATCH"), 5)
        srun = self.script[self.script.index("\nsrun "):].replace("\\\n", " ")
        words = shlex.split(srun)
        self.assertIn("--mpi=pmix", words[:words.index("gibbsite")])
        self.require_options(words[words.index("gibbsite"):])

    def test_slurm_without_its_words_ends(self):
        run = subprocess.run(["bash", EXAMPLES / "gibbsite.sbatch"], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1))

    def test_what_is_wrong_is_found(self):
        for line in ("#SBATCH --nodes=four", "#SBATCH --node=4", "#SBATCH --exclusive=yes", "#SBATCH -N 4"):
            self.assertEqual(wrong_options(f"#!/bin/bash\n{line}\n"), [line])
        self.assertEqual(wrong_options("true\n#SBATCH --nodes=4\n"), ["#SBATCH --nodes=4"])

    def test_manifest(self):
        self.assertEqual((self.manifest["apiVersion"], self.manifest["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        self.assertEqual(faults(self.schema, self.manifest), [])
        replicas = self.manifest["spec"]["mpiReplicaSpecs"]
        self.assertEqual(set(replicas), {"Launcher", "Worker"})
        pods = {name: one["template"]["spec"] for name, one in replicas.items()}
        for pod in pods.values():
            volumes = {v["name"] for v in pod.get("volumes", [])}
            for container in pod["containers"]:
                self.assertLessEqual({m["name"] for m in container.get("volumeMounts", [])}, volumes)
        launcher = pods["Launcher"]["containers"][0]
        words = launcher["args"]
        slots = self.manifest["spec"]["slotsPerWorker"] * replicas["Worker"]["replicas"]
        self.assertEqual(words[words.index("-n") + 1], str(slots))
        self.require_options(words[words.index("gibbsite"):])
        # The program is where the image has it, and files where the workers mount them.
        self.assertEqual(len({pod["containers"][0]["image"] for pod in pods.values()}), 1)
        mounts = [m["mountPath"] for m in pods["Worker"]["containers"][0]["volumeMounts"]]
        files = [w for w in words if w.startswith("/")]
        self.assertTrue(files and all(any(f.startswith(m + "/") for m in mounts) for f in files))

    def test_a_wrong_manifest_is_found(self):
        spec = self.manifest["spec"]
        for change in (lambda: spec.update(slotsPerWorker="1"), lambda: spec.update(workers=4),
                       lambda: spec.update(mpiImplementation="OpenMP"), lambda: spec.pop("mpiReplicaSpecs"),
                       lambda: spec["mpiReplicaSpecs"]["Worker"].update(replica=4),
                       lambda: spec["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].pop("name"),
                       lambda: spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0].update(arg=[])):
            self.setUp()
            spec = self.manifest["spec"]
            change()
            self.assertEqual(len(faults(self.schema, self.manifest)), 1)

    def test_image(self):
        text = (EXAMPLES / "Dockerfile").read_text().replace("\\\n", " ")
        known = {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER"}
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        self.assertEqual([line for line in lines if line.split()[0] not in known], [])
        stages = re.findall(r"^FROM \S+ AS (\S+)", text, re.M)
        self.assertEqual(re.findall(r"--from=(\S+)", text), stages)
        # What the manifest runs and where its keys lie.
        self.assertIn("--uid 1000 mpiuser", text)
        spec = self.manifest["spec"]
        self.assertEqual(spec["sshAuthMountPath"], "/home/mpiuser/.ssh")
        self.assertIn("/home/mpiuser/.sshd_config", text)
        for command in re.findall(r"RUN (.*)", text):
            subprocess.run(["sh", "-n", "-c", command], check=True)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
