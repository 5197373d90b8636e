"""Tests `runner devices` as installed, with the real detection: this host, simulated devices, and stand-ins for
nvidia-smi, TensorFlow and JAX on a TPU. And that a run gets the device that it asks for, or says so."""
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import time

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STANDINS = pathlib.Path(__file__).resolve().parent / "standins"
SCHEMA = json.loads((ROOT / "reports/schemas/devices.schema.json").read_text())


def report_of(result):
    assert result.code == 0, result.out + result.err
    report = json.loads(result.out)
    jsonschema.validate(report, SCHEMA)
    return report


def by_name(report):
    return {device["device"]: device for device in report["devices"]}


@pytest.fixture
def devices(runner, python):
    """devices(*words, **variables): the report of this Python."""
    return lambda *words, **env: report_of(runner("devices", "--python", python, "--json", *words, env=env))


@pytest.fixture(scope="session")
def standins(tmp_path_factory):
    """standins(*names): an environment with torch, and with stand-ins for these packages."""
    def make(*names):
        folder = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        packages = pathlib.Path(subprocess.run(
            [folder / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip())
        # Before the real ones, of which the last line of the path has one.
        (packages / "failing.py").symlink_to(STANDINS / "failing.py")
        for name in names:
            (packages / name).symlink_to(STANDINS / name)
            information = packages / f"{name}-0.99.0.dist-info"
            information.mkdir()
            (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.99.0\n")
        (packages / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
        return folder / "bin/python"
    return make


def on_path(folder):
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_this_host(devices):
    import torch

    report = devices()
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this host has an accelerator")
    (cpu,) = report["devices"]
    assert (report["current"], report["routing"]) == ("cpu", "auto")
    assert (cpu["device"], cpu["kind"], cpu["found_by"], cpu["simulated"]) == ("cpu", "cpu", "PyTorch", False)
    assert abs(cpu["memory_total"] - os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) < 1 << 20
    assert 0 < cpu["memory_free"] < cpu["memory_total"]
    assert {name: dtype["works"] for name, dtype in cpu["dtypes"].items()} == dict.fromkeys(
        ["fp32", "fp16", "bf16", "fp64", "int8"], True)
    assert (cpu["recommended_dtype"], cpu["batch_factor"], cpu["cost_per_hour"]) == ("fp32", 1, 0)
    assert report["frameworks"]["PyTorch"] == torch.__version__


def test_jax_of_this_environment_answers(devices):
    version = pytest.importorskip("jax").__version__
    report = devices()
    assert report["frameworks"]["JAX"] == version == importlib.metadata.version("jax")
    assert [probe["why"] for probe in report["probes"] if probe["name"] == "JAX"] == [None]
    assert [device for device in report["devices"] if device["found_by"] == "JAX"] == []  # it has the CPU alone


def test_two_simulated_gpus(devices):
    report = devices("--simulate", "cuda", COMPAT_DEVICE_MEMORY="4G", COMPAT_COST_GPU="1.25")
    found = by_name(report)
    assert list(found) == ["cpu", "cuda:0", "cuda:1"] and report["current"] == "cuda:0"
    gpu = found["cuda:1"]
    assert (gpu["simulated"], gpu["kind"], gpu["batch_factor"], gpu["cost_per_hour"]) == (True, "gpu", 4, 1.25)
    assert (gpu["memory_total"], gpu["capability"], gpu["recommended_dtype"]) == (4 << 30, "8.0", "bf16")
    assert report["settings"]["cost_gpu"] == {"value": "1.25", "origin": "COMPAT_COST_GPU"}
    assert "cpu" in report["passed_over"] or "cuda:1" in report["passed_over"]


def test_a_simulated_mac(devices):
    report = devices("--simulate", "mps", "--precision", "fp32")
    mac = by_name(report)["mps:0"]
    assert report["current"] == "mps:0" and mac["recommended_dtype"] == "fp32"
    assert not mac["dtypes"]["fp64"]["works"] and "doesn't support float64" in mac["dtypes"]["fp64"]["why"]


def test_gpus_that_only_nvidia_smi_finds(runner, python):
    report = report_of(runner("devices", "--python", python, "--json", env=on_path(STANDINS)))
    found = by_name(report)
    assert found["cuda:0"]["found_by"] == "nvidia-smi" and found["cuda:0"]["name"] == "NVIDIA H100 80GB HBM3"
    assert (found["cuda:0"]["memory_total"], found["cuda:0"]["capability"]) == (81559 << 20, "9.0")
    assert (found["cuda:1"]["memory_free"], found["cuda:1"]["capability"]) == (None, None)
    assert report["current"] == "cpu"  # this torch does not reach them
    assert any("install a build of torch" in line for line in report["recommendations"])


def test_tensorflow_is_asked_before_nvidia_smi(runner, standins):
    report = report_of(runner("devices", "--python", standins("tensorflow"), "--json", env=on_path(STANDINS)))
    gpu = by_name(report)["cuda:0"]
    assert (gpu["found_by"], gpu["name"], gpu["capability"]) == ("TensorFlow", "NVIDIA A100", "8.0")
    assert gpu["dtypes"] == {"fp32": {"works": True, "why": None}, "fp16": {"works": True, "why": None},
                             "bf16": {"works": False, "why": "bfloat16 is not supported"}}
    assert gpu["metadata"] == {"tensorflow": "/physical_device:GPU:0"}
    assert report["frameworks"]["TensorFlow"] == "0.99.0"


@pytest.mark.parametrize("variables, current, factor", [
    ({}, "tpu:0", 128),
    ({"COMPUTE_TPU_BATCH_FACTOR": "100"}, "tpu:0", 128),  # rounded up to a power of two
    ({"COMPUTE_ALLOW_TPU": "false"}, "cpu", 128),
    ({"COMPUTE_PREFER": "cpu"}, "cpu", 128),
])
def test_a_tpu_that_jax_finds(runner, standins, variables, current, factor):
    report = report_of(runner("devices", "--python", standins("jax"), "--json", env=variables))
    tpu = by_name(report)["tpu:1"]
    assert (report["current"], tpu["batch_factor"], tpu["cost_per_hour"]) == (current, factor, 2)
    assert (tpu["name"], tpu["memory_total"], tpu["memory_free"]) == ("TPU v5 lite", 16 << 30, 15 << 30)
    assert all(dtype["works"] for dtype in tpu["dtypes"].values()) and len(tpu["dtypes"]) == 4
    assert any("COMPUTE_ALLOW_TPU=on" in line for line in report["recommendations"]) == ("COMPUTE_ALLOW_TPU" in variables)


def test_a_cloud_tpu_is_known_by_its_variables(devices):
    report = devices(TPU_NAME="node-1", TPU_ZONE="us-central1-a")
    tpu = by_name(report)["tpu:0"]
    assert (tpu["name"], tpu["found_by"], tpu["metadata"]) == ("node-1", "TPU_NAME", {"zone": "us-central1-a"})
    assert report["current"] == "cpu"


def test_probes_that_fail_cost_their_limit_together_and_are_named(runner, standins, running):
    env = {**on_path(STANDINS), "STANDIN_NVIDIA_SMI": "hangs", "STANDIN_TENSORFLOW": "hangs", "STANDIN_JAX": "nonsense"}
    python = standins("tensorflow", "jax")
    begun = time.monotonic()
    out = runner("devices", "--python", python, env=env)
    took = time.monotonic() - begun
    assert out.code == 0 and took < 25, took  # 20 s for the probes
    for words in ("nvidia-smi  failed: no answer in 16 s", "TensorFlow  failed: no answer in 16 s",
                  "JAX         failed: it printed no list of devices", "* cpu"):
        assert words in out.out, out.out
    assert running("sleep 100") == []


@pytest.mark.parametrize("probe, how, why", [
    ("NVIDIA_SMI", "crashes", "nvidia-smi  failed: SIGSEGV"),
    ("NVIDIA_SMI", "nonsense", "failed: it printed no list of devices: All your boards"),
    ("NVIDIA_SMI", "none", "failed: exit code 6: No devices were found"),
    ("TENSORFLOW", "crashes", "TensorFlow  failed: SIGSEGV"),
])
def test_a_probe_that_fails_leaves_the_others(runner, standins, probe, how, why):
    env = {**on_path(STANDINS), "STANDIN_NVIDIA_SMI": "none", f"STANDIN_{probe}": how}
    out = runner("devices", "--python", standins("tensorflow") if probe == "TENSORFLOW" else sys.executable, env=env)
    assert out.code == 0 and why in out.out and "found by    PyTorch" in out.out, out.out


@pytest.mark.parametrize("variable, value, words", [
    ("COMPAT_DEVICE", "gpu", 'COMPAT_DEVICE: "gpu" is not a device: use one of auto|cpu|cuda|mps|'),
    ("COMPAT_DEVICE", "cuda:x", 'COMPAT_DEVICE: "cuda:x" is not a device'),
    ("COMPAT_DEVICE", "cuda:1000", 'COMPAT_DEVICE: "cuda:1000" is not a device'),
    ("COMPAT_PRECISION", "fp8", "use one of auto|fp32|fp16|bf16|int8"),
    ("COMPAT_RECOVERY", "maybe", "use one of on|off|true|false|1|0"),
    ("COMPAT_MEMORY_FRACTION", "1.5", 'COMPAT_MEMORY_FRACTION: "1.5" is not a fraction: use a number above 0, at most 1'),
    ("COMPUTE_PREFER", "npu", "use one of auto|cpu|gpu|tpu"),
    ("COMPUTE_ALLOW_TPU", "2", "use one of on|off|true|false|1|0"),
    ("COMPUTE_TPU_BATCH_FACTOR", "0", "use: a whole number from 1 to 65536"),
    ("COMPAT_COST_GPU", "cheap", "use: a number of dollars"),
])
def test_bad_values_are_named_with_the_allowed_ones(runner, variable, value, words):
    out = runner("devices", env={variable: value})
    assert out.code == 2 and f"{variable}: " in out.err and words in out.err, out.err


def test_doctor_shows_each_setting_with_its_origin(runner, tmp_path):
    (tmp_path / "runner.json").write_text('{"memory_fraction": 0.5, "prefer": "gpu"}')
    out = runner("doctor", env={"COMPAT_PRECISION": "bf16"})
    lines = {line.split()[0]: line for line in out.out.splitlines() if line.startswith("  ")}
    assert lines["precision"].endswith("COMPAT_PRECISION")
    assert "0.5" in out.out and "runner.json:1:21" in out.out and "runner.json:1:36" in out.out


PROJECT = """
import os

def test_settings():
    wanted = {"COMPAT_DEVICE": "cpu", "COMPAT_PRECISION": "fp16", "COMPAT_MEMORY_FRACTION": "0.25",
              "PYTORCH_ENABLE_MPS_FALLBACK": "0"}
    assert {name: os.environ.get(name) for name in wanted} == wanted

def test_the_library_sees_them():
    import compat_devices

    settings = compat_devices.DeviceManager().settings
    assert (settings.device, settings.precision, settings.memory_fraction) == ("cpu", "fp16", 0.25)
"""


def test_what_is_chosen_reaches_the_tests_and_the_fingerprint(runner, python, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/test_settings.py").write_text(PROJECT)
    (tmp_path / "project/suite.json").write_text(json.dumps({
        "format": 1, "name": "chosen", "framework": "pytest", "source": {"path": "."}, "layout": {"tests": "."},
        "device": {"preferred": "cpu", "precision": "fp16", "memory_fraction": 0.25, "fallback_enabled": False}}))
    out = runner("project", "--python", python)
    assert out.code == 0, out.out + out.err
    fingerprint = out.report["run"]["fingerprint"]
    (cpu,) = fingerprint["devices"]
    assert cpu["device"] == "cpu" and "memory_free" not in cpu and cpu["dtypes"]["fp32"]["works"]
    assert fingerprint["volatile"]["memory_free"]["cpu"] > 0 and len(fingerprint["volatile"]["load"]) == 3
    assert fingerprint["settings"]["precision"] == "fp16" and fingerprint["settings"]["device"] == "cpu"


@pytest.mark.parametrize("words, env, says", [
    (("--device", "cuda"), {}, "--device: device cuda: torch finds none here, only cpu: leave the device out, or simulate one: --simulate cuda"),
    (("--device", "tpu"), {}, "a run never uses a TPU"),
    (("--device", "cuda", "--simulate", "mps"), {}, "device cuda: mps is simulated"),
    (("--device", "cuda:9", "--simulate", "cuda"), {}, "device cuda:9: it is not simulated: there are cuda:0 and cuda:1"),
    (("--device", "cpu:3"), {}, "device cpu:3: the CPU has no index"),
    ((), {"COMPAT_DEVICE": "mps:0"}, "COMPAT_DEVICE: device mps:0: torch finds none here"),
])
def test_a_run_on_a_device_that_is_not_here_says_so_before_it_starts(runner, python, tmp_path, words, env, says):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/test_a.py").write_text("def test_a(): pass\n")
    out = runner("project", "--python", python, *words, env=env)
    assert out.code == 2 and says in out.err, out.err
    assert not (tmp_path / "results/latest").exists()


@pytest.mark.parametrize("words, config, name", [
    (("--simulate", "mps", "--device", "mps"), {}, "mps"),
    (("--simulate", "mps"), {"device": "cpu"}, "mps"),  # it is for runs that simulate nothing
    (("--simulate", "cuda", "--device", "cuda:1"), {}, "cuda:1"),
])
def test_a_simulated_device_is_named_to_the_library(runner, python, tmp_path, words, config, name):
    (tmp_path / "project").mkdir()
    (tmp_path / "runner.json").write_text(json.dumps(config))
    (tmp_path / "project/test_a.py").write_text(f"import os\ndef test_a(): assert os.environ['COMPAT_DEVICE'] == {name!r}\n")
    out = runner("project", "--python", python, *words)
    assert out.code == 0, out.out + out.err


@pytest.mark.parametrize("variable, value, says", [
    ("COMPAT_DEVICE", "cpu", "COMPAT_DEVICE: device cpu is for runs that simulate nothing; this one uses cuda"),
    ("COMPUTE_PREFER", "cpu", "COMPUTE_PREFER=cpu: cuda is simulated; the run uses it"),
])
def test_a_simulated_run_says_which_wish_it_cannot_meet(runner, python, tmp_path, variable, value, says):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/test_a.py").write_text("import os\ndef test_a(): assert os.environ['COMPAT_DEVICE'] == 'cuda'\n")
    out = runner("project", "--python", python, "--simulate", "cuda", env={variable: value})
    assert out.code == 0 and says in out.out, out.out + out.err


def test_a_dry_run_simulates_nothing(runner, python, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/test_a.py").write_text("def test_a(): pass\n")
    out = runner("project", "--python", python, "--simulate", "mps", "--dry-run")
    assert out.code == 0 and "test_a.py" in out.out, out.out + out.err


@pytest.fixture
def no_prebuilt_shims(program):
    """An installation that must build the shim."""
    shims = program.parents[1] / "share/runner/shims"
    aside = shims.with_name("aside")
    found = shims.exists()
    if found:
        shims.rename(aside)
    yield
    if found:
        aside.rename(shims)


def test_without_a_compiler_the_other_sources_answer(runner, python, tmp_path, no_prebuilt_shims):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "nvidia-smi").symlink_to(STANDINS / "nvidia-smi")
    out = runner("devices", "--python", python, env={"PATH": str(tools), "COMPAT_CACHE": str(tmp_path / "cache")})
    assert out.code == 0 and "cmake is not installed" in out.out and "found by    nvidia-smi" in out.out, out.out + out.err


def test_a_wish_for_a_gpu_is_no_error(runner, python, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/test_a.py").write_text("import os\ndef test_a(): assert os.environ['COMPAT_DEVICE'] == 'cpu'\n")
    out = runner("project", "--python", python, env={"COMPUTE_PREFER": "gpu"})
    assert out.code == 0 and "COMPUTE_PREFER=gpu: no GPU is here; the run uses the CPU" in out.out, out.out
