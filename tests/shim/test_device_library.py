"""Tests the device library from Python: the cases that test_device_choice.cc runs in C++
(device_cases.json), tensors and settings on the real CPU, a TPU through a stand-in for JAX, and the
two examples of docs/examples, of which one is a C++ program that is built against the CMake package.
test_device_safe.py has recovery."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

from conftest import ROOT

CASES = json.loads((ROOT / "tests/shim/device_cases.json").read_text())


@pytest.fixture
def manager(package):
    return package.DeviceManager(device="cpu")


def device_of(package, name):
    fields = CASES["devices"][name]
    dtypes = [package.DtypeSupport(dtype, True) for dtype in fields["works"]]
    dtypes += [package.DtypeSupport(dtype, False, why) for dtype, why in fields.get("fails", {}).items()]
    known = {key: fields[key] for key in ("memory_total", "memory_free", "capability") if key in fields}
    return package.DeviceCapabilities(fields["device"], dtypes, **known)


def settings_of(package, case):
    return package.resolve_settings(case.get("arguments"), case.get("file", {}), case.get("environment", {}))


def settings(package, case):
    found = settings_of(package, case)
    answer = {name: getattr(found, name) for name in case["answer"]}
    assert all(found.origin[name] == origin for name, origin in case.get("origin", {}).items())
    return answer, None


def chain(package, case):
    return package.native.library.chain([device_of(package, name) for name in case["devices"]], settings_of(package, case)), None


def best(package, case):
    devices = [device_of(package, name) for name in case["devices"]]
    choice = package.native.library.best(devices, settings_of(package, case), case.get("prefer", ""))
    passed_over = dict(choice.passed_over)
    assert len(passed_over) == len(devices) - 1
    assert all(words in passed_over[name] for name, words in case.get("passed_over", {}).items())
    return choice.device.device, choice.why


def recommended_dtype(package, case):
    choice = package.native.library.recommended_dtype(device_of(package, case["device"]), settings_of(package, case))
    return choice.dtype, choice.why


def batch(package, case):
    found = package.native.library.batch(
        case["base"], device_of(package, case["device"]), settings_of(package, case), case.get("sample_bytes", 0))
    return {"size": found.size, "factor": found.factor, "maximum": found.maximum}, found.why


def validate(package, case):
    asked = package.Requirements(**case.get("requirements", {}))
    fit = package.native.library.validate(asked, device_of(package, case["device"]), settings_of(package, case))
    assert fit.fits == (not fit.reasons)
    words = case.get("answer", [])
    assert len(words) == len(fit.reasons) and all(map(str.__contains__, fit.reasons, words)), fit.reasons
    return words, None


def classify(package, case):
    found = package.classify(case["type"], case["message"])
    return found and found.error_class, None


def recovery(package, case):
    plan = package.native.RecoveryPlan(case.get("tries", package.native.library.DEFAULT_TRIES), case["chain"])
    facts = package.native.CallFacts()
    for name, value in case["facts"].items():
        setattr(facts, name, value)
    steps = [plan.next(name, facts) for name in case["errors"]]
    assert plan.taken == [step.what for step in steps if step]
    return [step and step.what for step in steps], None


KINDS = [settings, chain, best, recommended_dtype, batch, validate, classify, recovery]


def test_every_kind_of_case_is_run():
    assert {kind.__name__ for kind in KINDS} == set(CASES) - {"devices"}


@pytest.mark.parametrize(
    "kind, case", [(kind, case) for kind in KINDS for case in CASES[kind.__name__]],
    ids=lambda value: value.__name__ if callable(value) else value.get("about", value.get("type", ""))[:40].replace(" ", "-"))
def test_a_case(package, kind, case):
    if "error" in case:
        with pytest.raises((ValueError, RuntimeError)) as raised:
            kind(package, case)
        assert all(words in str(raised.value) for words in case["error"]), raised.value
        return
    answer, why = kind(package, case)
    assert answer == case["answer"]
    if why is not None:
        assert why and case.get("why", "") in why


def test_every_name_of_the_package_exists(package):
    assert all(hasattr(package, name) for name in package.__all__)


def test_the_cpu_is_found_with_what_it_can_do(package):
    manager = package.DeviceManager()
    cpu = manager.capabilities("cpu")
    assert cpu.device == cpu.type == "cpu" and cpu.name
    assert [dtype.name for dtype in cpu.dtypes if dtype.works] == ["fp32", "fp16", "bf16", "fp64", "int8"]
    assert cpu.memory_total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert manager.failed() == [] and manager.chain()[-1] == "cpu"
    with pytest.raises(ValueError, match='there is no device "cuda:7"; there are: cpu'):
        manager.capabilities("cuda:7")


def test_one_manager_serves_the_process(package):
    assert package.DeviceManager.instance() is package.DeviceManager.instance()


def test_a_manager_takes_settings_from_a_file(package, tmp_path, monkeypatch):
    import torch

    path = tmp_path / "device.json"
    path.write_text('{"preferred": "cpu", "precision": "bf16", "fallback_enabled": false, "memory_fraction": 0.5}')
    manager = package.DeviceManager(settings_file=path)
    assert (manager.settings.precision, manager.settings.recovery, manager.settings.memory_fraction) == ("bf16", False, 0.5)
    assert manager.recommended_dtype().torch_dtype == torch.bfloat16
    suite = tmp_path / "suite.json"
    suite.write_text('{"name": "x", "device": {"env": {"DEVICE": "{device}"}, "fallback_enabled": false}}')
    assert not package.DeviceManager(settings_file=suite).settings.recovery
    monkeypatch.setenv("COMPAT_PRECISION", "fp16")
    assert package.DeviceManager(settings_file=path).settings.precision == "fp16"
    assert package.DeviceManager(settings_file=path, precision="fp32").settings.precision == "fp32"


@pytest.mark.parametrize("text, words", [
    ("{", "is not JSON"), ("[]", "must be a JSON object"), ('{"preferred": null}', "key preferred"),
    ('{"precision": "8bit"}', "auto, fp32, fp16, bf16, int8"), ('{"prefer": "cpu"}', 'no setting "prefer"'),
    ('{"device": {"env": {}, "preferred": []}}', "key preferred"),
])
def test_a_bad_settings_file_is_refused(package, tmp_path, text, words):
    path = tmp_path / "device.json"
    path.write_text(text)
    with pytest.raises(package.SettingError, match=words):
        package.DeviceManager(settings_file=path)
    with pytest.raises(package.SettingError, match="cannot be read"):
        package.DeviceManager(settings_file=tmp_path / "none.json")


def test_tensors_and_arrays_get_a_device_and_a_dtype(manager):
    import torch

    array = numpy.arange(4, dtype=numpy.float64)
    array.flags.writeable = False
    halves = torch.ones(2, dtype=torch.float64, requires_grad=True)
    given = {"array": array, "pair": (halves, "text"), "whole": torch.arange(3)}
    placed = manager.ensure_dtype(manager.ensure_device(given))
    assert placed["array"].dtype == placed["pair"][0].dtype == torch.float32
    assert placed["whole"] is given["whole"] and placed["pair"][1] == "text"
    assert halves.dtype == torch.float64 and array.dtype == numpy.float64
    placed["pair"][0].sum().backward()
    assert halves.grad.tolist() == [1, 1]
    out = manager.to_numpy({"b": torch.ones(2, dtype=torch.bfloat16, requires_grad=True), "n": 1})
    assert out["b"].dtype == numpy.float32 and out["b"].tolist() == [1, 1] and out["n"] == 1
    assert manager.ensure_dtype(torch.ones(1), torch.float16).dtype == torch.float16
    assert manager.ensure_device(torch.ones(1), torch.device("meta")).device.type == "meta"
    with pytest.raises(ValueError, match="use fp32, fp16, bf16 or fp64"):
        manager.ensure_dtype(torch.ones(1), torch.complex64)
    with pytest.raises(TypeError, match=r"to\(device\)"):
        manager.ensure_device([torch.nn.Linear(1, 1)])


def test_int8_leaves_tensors_in_fp32(package):
    import torch

    manager = package.DeviceManager(device="cpu", precision="int8")
    assert manager.recommended_dtype().dtype == "int8"
    assert manager.ensure_dtype(torch.ones(1, dtype=torch.float64)).dtype == torch.float32


@pytest.mark.unsanitized(reason="AddressSanitizer keeps freed memory")
def test_memory_of_the_process_is_counted_and_released(manager):
    import torch

    before = manager.memory("cpu").allocated
    tensor = torch.ones(64 << 20, dtype=torch.uint8)
    grown = manager.memory("cpu")
    assert grown.allocated - before > 32 << 20
    assert 0 < grown.free < grown.total and grown.reserved is None
    del tensor
    assert manager.free_memory("cpu") >= 0
    assert manager.memory("cpu").allocated - before < 32 << 20


def test_requirements_are_checked_on_the_best_device(manager):
    assert manager.validate(dtypes=["fp32"], memory=1 << 20).fits
    assert "bytes" in manager.validate(memory=1 << 60).reasons[0]


def test_the_log_has_moves_choices_and_an_export(package, manager, tmp_path):
    import torch

    log = package.DeviceLog.instance()
    log.clear()
    assert manager.log is log and not log.enabled
    manager.ensure_dtype(torch.ones(4), "fp16")
    assert log.events() == []
    log.enable(capacity=10)
    try:
        manager.best()
        manager.ensure_dtype(torch.ones(4), "fp16")
        log.export(tmp_path / "log.jsonl")
    finally:
        log.disable()
    header, choice, move = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert header["format"] == 1 and header["move"] == 1 and header["bytes_moved"] == 8
    assert (choice["kind"], choice["device"]) == ("choice", "cpu") and choice["why"]
    assert (move["kind"], move["from"], move["device"], move["why"], move["bytes"]) == ("move", "cpu", "cpu", "Float to Half", 8)
    assert move["number"] == choice["number"] + 1 and move["seconds"] >= 0 and move["time"] >= choice["time"]
    assert log.counters()["move"] == 1


JAX = """
import numpy as numpy_
class Device:
    device_kind, id = "TPU v4", 0
    def memory_stats(self): return {"bytes_limit": 1000, "bytes_in_use": 400}
class numpy:
    @staticmethod
    def ones(shape, dtype):
        if dtype == "bfloat16": dtype = "float32"
        if dtype == "int8": raise ValueError("no int8 here")
        return numpy_.ones(shape, dtype=dtype)
def devices(kind): return [Device()]
def device_put(array, device): return array
"""


def test_arrays_of_float64_fit_on_a_device_without_it(warm_child):
    ran = warm_child(
        "import json, numpy, torch, compat_devices\n"
        "manager = compat_devices.DeviceManager()\n"
        "there = manager.ensure_device({'x': numpy.ones(2), 'n': numpy.ones(2, dtype=numpy.float32)})\n"
        "try: manager.ensure_device(torch.ones(2, dtype=torch.float64))\n"
        "except (TypeError, RuntimeError) as error: refused = 'float64' in str(error)\n"
        "print(json.dumps([str(there['x'].dtype), there['x'].device.type, str(there['n'].dtype), refused]))\n",
        env={"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"},
    )
    assert ran.answer == ["torch.float32", "mps", "torch.float32", True]


def test_a_tpu_is_reported_through_jax_where_it_is_allowed(package, tmp_path, monkeypatch):
    import torch

    (tmp_path / "jax.py").write_text(JAX)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TPU_NAME", "local")
    manager = package.DeviceManager()
    tpu = manager.capabilities("tpu")
    assert (tpu.device, tpu.name, tpu.memory_total, tpu.memory_free) == ("tpu:0", "TPU v4", 1000, 600)
    assert tpu.supports("bf16") and not tpu.supports("int8")
    assert manager.best().device.device == "tpu:0" and manager.batch(1).size == 128
    assert manager.chain()[0] == "tpu:0"
    # Torch has no TPU: its tensors stay on what it has.
    assert manager.ensure_device(torch.ones(1)).device.type != "tpu"
    assert manager.memory("tpu").free == 600 and manager.free_memory("tpu") == 0
    assert all(d.type != "tpu" for d in package.DeviceManager(allow_tpu=False).devices())
    sys.modules.pop("jax", None)


def test_a_library_for_another_torch_is_refused(library, tmp_path):
    torch = pytest.importorskip("torch")
    source = next(pathlib.Path(library).parent.glob("_compat_devices.*"))
    version = torch.__version__.encode()
    content = source.read_bytes()
    assert version in content
    (tmp_path / source.name).write_bytes(content.replace(version, b"9" * len(version)))
    (tmp_path / "compat_devices").symlink_to(source.parent / "compat_devices")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COMPAT_", "ACTIVATE_"))}

    def error_of(**more):
        done = subprocess.run([sys.executable, "-c", "import compat_devices"], capture_output=True, text=True,
                              env={**environment, **more})
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    shim = str(tmp_path / "_compat_shim.so")
    assert "was built for torch 9" in error_of(PYTHONPATH=str(source.parent), COMPAT_SHIM_LIBRARY=shim)
    only = tmp_path / "only"
    only.mkdir()
    (only / "compat_devices").mkdir()
    for file in (source.parent / "compat_devices").glob("*.py"):
        (only / "compat_devices" / file.name).write_text(file.read_text())
    assert "COMPAT_SHIM_LIBRARY" in error_of(PYTHONPATH=str(only))


@pytest.mark.parametrize("simulated, device", [(None, "cpu"), ("mps", "mps:0"), ("cuda", "cuda:0")])
def test_the_example_in_python_runs(library, warm_child, simulated, device):
    script = (ROOT / "docs/examples/devices.py").read_text()
    if not simulated:  # as its first lines say
        script = f"import sys; sys.path.insert(0, {str(pathlib.Path(library).parent)!r})\n" + script
    ran = warm_child(script, active=bool(simulated), env={"TORCHDEVICE_SIMULATE": simulated})
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == f"device: {device} (first usable device in the order TPU, MPS, CUDA, CPU)"
    assert "recovered: ['convert_dtype to fp32']" in lines
    assert "gradient: [[2.0, 2.0], [2.0, 2.0]] weight still torch.float16" in lines
    assert "passed through: ValueError: an error of the program's own" in lines


@pytest.mark.unsanitized(reason="the example is linked without sanitizers")
def test_the_example_in_cpp_is_built_with_the_cmake_package(library, tmp_path):
    torch = pytest.importorskip("torch")
    prefix = pathlib.Path(library).parent
    configure = ["cmake", "-S", str(ROOT / "docs/examples/devices_cpp"), "-B", str(tmp_path / "build"), "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={prefix}"]
    refused = subprocess.run([*configure, f"-DCOMPAT_TORCH_FOLDER={tmp_path}"], capture_output=True, text=True)
    assert refused.returncode == 1 and f"compat was built for torch {torch.__version__}" in refused.stderr.replace("\n  ", " ")
    folder = pathlib.Path(torch.__file__).parent
    for command in ([*configure, f"-DCOMPAT_TORCH_FOLDER={folder}"], ["cmake", "--build", str(tmp_path / "build")]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    log = tmp_path / "log.jsonl"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COMPAT_", "COMPUTE_"))}
    done = subprocess.run([tmp_path / "build/devices", str(log)], capture_output=True, text=True,
                          env={**environment, "COMPAT_DEVICE": "cpu"})
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "device: cpu (COMPAT_DEVICE=cpu)"
    assert "recovered: convert_dtype to fp32; gradient 2, input still Double" in lines
    assert "recovered: clear_caches, halve_batch to 2; batches of 2" in lines
    assert "recovered: load_on_cpu, call_again; 3 calls" in lines
    assert "passed through: an error of the program's own" in lines
    assert lines[-1].startswith("gave up: ") and "device_safe tried: " in lines[-1]
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [e["error_class"] for e in events[1:] if e["kind"] == "error"][:2] == ["dtype_mismatch", "out_of_memory"]
    # A bad value ends the program before anything runs.
    bad = subprocess.run([tmp_path / "build/devices", str(log)], capture_output=True, text=True,
                         env={**environment, "COMPAT_PRECISION": "half"})
    assert bad.returncode == 2 and "COMPAT_PRECISION" in bad.stderr and "auto, fp32, fp16, bf16, int8" in bad.stderr


def test_a_program_with_torchs_own_package_keeps_it(library, tmp_path):
    torch = pytest.importorskip("torch")
    if torch.version.cuda:
        pytest.skip("torch's package asks for CUDA's tool chain")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(program LANGUAGES CXX)\n"
        "find_package(Torch REQUIRED)\nfind_package(compat REQUIRED)\n"
        "get_target_property(libraries compat::devices INTERFACE_LINK_LIBRARIES)\n"
        'message(STATUS "links ${libraries}")\n')
    prefixes = f"{pathlib.Path(library).parent};{torch.utils.cmake_prefix_path}"
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefixes}"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "-- links torch" in done.stdout
