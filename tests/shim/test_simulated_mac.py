"""Tests what a simulated Mac answers beside torch: how processes start, what is left of MPS in a forked
process, and with --mac-like which system this is."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

MAC = {"TORCHDEVICE_SIMULATE": "mps", "TORCHDEVICE_MODE": "none"}
LIKE = {**MAC, "TORCHDEVICE_MAC_LIKE": "on"}


# ---- how processes start

METHODS = """
import json, multiprocessing, sys
def where(): return [multiprocessing.parent_process() is not None, "begun" in globals()]
if __name__ == "__main__":
    begun = True  # what a forked process has as well
    import concurrent.futures, torch, torch.multiprocessing
    from torch.utils.data import DataLoader
    def of_pool(pool):
        with pool: return pool.apply(where)
    def of_executor(executor):
        with executor: return executor.submit(where).result()
    def of_process(context):
        results = context.SimpleQueue()
        process = context.Process(target=put, args=(results,))
        process.start(); found = results.get(); process.join()
        return found
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 1
        def __getitem__(self, index): return index
    def refused(**more):
        try:
            for batch in DataLoader(Data(), num_workers=1, collate_fn=lambda batch: batch, **more): return batch
        except Exception as error: return type(error).__name__
"""
ASKED = METHODS.replace("if __name__", "def put(queue): queue.put(where())\nif __name__", 1) + """
    print(json.dumps([
        multiprocessing.get_start_method(), multiprocessing.get_all_start_methods()[0],
        of_pool(multiprocessing.Pool(1)), of_pool(torch.multiprocessing.Pool(1)),
        of_executor(concurrent.futures.ProcessPoolExecutor(1)),
        of_process(multiprocessing), of_process(torch.multiprocessing),
        of_process(multiprocessing.get_context("fork")),
        of_pool(multiprocessing.get_context("fork").Pool(1)),
        refused() in ("AttributeError", "PicklingError"), refused(multiprocessing_context="fork")]))
"""
SPAWNED, FORKED = [True, False], [True, True]


def test_processes_are_spawned(warm_child):
    ran = warm_child(ASKED, env=MAC)
    assert ran.answer == ["spawn", "spawn", *5 * [SPAWNED], *2 * [FORKED], True, [0]]


def test_fork_is_the_default_where_it_is_asked_for(child):
    ran = child(ASKED, env={**MAC, "TORCHDEVICE_START_METHOD": "fork"})
    assert ran.answer == ["fork", "fork", *7 * [FORKED], False, [0]]


def test_a_choice_of_the_program_comes_first(starting_child):
    script = """
import json, multiprocessing
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    import torch
    print(json.dumps(multiprocessing.get_start_method()))
"""
    assert starting_child(script, env=MAC).answer == "fork"


def test_programs_that_never_import_torch_spawn_as_well(child):
    script = """
import json, multiprocessing, sys
print(json.dumps([multiprocessing.get_start_method(), "torch" in sys.modules]))
"""
    assert child(script, env=MAC).answer == ["spawn", False]


@pytest.mark.parametrize("env", [{}, {"TORCHDEVICE_SIMULATE": "cuda"}], ids=["redirected", "cuda"])
def test_other_devices_leave_pythons_start_method_alone(child, warm_child, env):
    script = "import json, multiprocessing; print(json.dumps(multiprocessing.get_start_method()))"
    plain = child(script, active=False).answer
    assert warm_child("import torch\n" + script, env=env).answer == plain


def test_copies_of_multiprocessing_spawn_too(child, tmp_path):
    """The package multiprocess, here made of Python's own."""
    import multiprocessing

    shutil.copytree(pathlib.Path(multiprocessing.__file__).parent, tmp_path / "multiprocess")
    script = "import json, multiprocess; print(json.dumps(multiprocess.get_start_method()))"
    assert child(script, env=MAC).answer == "spawn"


@pytest.mark.parametrize(
    "name, value",
    [("TORCHDEVICE_START_METHOD", "forkserver"), ("TORCHDEVICE_MAC_LIKE", "yes"), ("TORCHDEVICE_MACOS", "13"), ("TORCHDEVICE_MACOS", "28")],
)
def test_settings_without_a_meaning_are_refused_with_torch(child, name, value):
    ran = child("print('began'); import torch", env={**MAC, name: value})
    assert ran.returncode != 0 and ran.stdout == "began\n"
    assert f"{name}={value}: must be one of" in ran.stderr
    assert name != "TORCHDEVICE_MACOS" or "26, 27," in ran.stderr


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_tensors_are_shared_by_files_with_names(warm_child, method):
    """The one way of a Mac's torch. A descriptor cannot be given twice to a process that is spawned."""
    ran = warm_child(
        """
import json, torch
import torch.multiprocessing as multiprocessing
def add(tensors, results):
    for tensor in tensors: tensor += 1
    results.put(1)
if __name__ == "__main__":
    def refused(call, *args):
        try: call(*args)
        except Exception as error: return str(error)
    whole = torch.zeros(4).share_memory_()
    tensors = [whole[:2], whole[2:]]
    results = multiprocessing.SimpleQueue()
    process = multiprocessing.Process(target=add, args=(tensors, results))
    process.start(); results.get(); process.join()
    print(json.dumps([
        multiprocessing.get_sharing_strategy(), sorted(multiprocessing.get_all_sharing_strategies()), whole.tolist(),
        refused(multiprocessing.set_sharing_strategy, "file_descriptor") is not None,
        refused(multiprocessing.SimpleQueue().put, torch.ones(1, device="mps"))]))
""",
        env={**MAC, "TORCHDEVICE_START_METHOD": method},
    )
    *found, sent = ran.answer
    assert found == ["file_system", ["file_system"], [1.0] * 4, True]
    assert sent == "_share_filename_: only available on CPU"


# ---- a fork after the first use

AFTER_FORK = """
import json, os, sys, torch
{before}
def tell(call):
    try: call(); return "ok"
    except RuntimeError as error: return str(error).splitlines()[0]
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    answers = [tell(lambda: eval(text)) for text in {calls!r}]
    os.write(writer, json.dumps([*answers, torch.mps._is_in_bad_fork()]).encode())
    sys.exit(0)
os.close(writer)
answers = json.loads(os.fdopen(reader).read())
assert os.waitpid(child, 0)[1] == 0
print(json.dumps([answers, x.sum().item() if "x" in globals() else None]))
"""
USES = [
    "torch.ones(1, device='mps')", "x + 1", "x.add_(1)", "x.cpu()", "x.item()", "torch.ones(1).to('mps')",
    "print(x)", "torch.mps.synchronize()", "torch.mps.Event().record()", "x[0]", "torch.histc(x)",
    "torch.nn.functional.scaled_dot_product_attention(*3 * [x.view(1, 1, 1, 1)])",
]  # fmt: skip
NO_USES = ["x.device", "torch.backends.mps.is_available()", "torch.ones(1)", "x.view(1, 1)", "torch.manual_seed(0)"]


def test_mps_is_lost_in_a_process_forked_after_its_first_use(warm_child):
    ran = warm_child(
        AFTER_FORK.format(before="x = torch.ones(1, device='mps')", calls=USES + NO_USES),
        env={**MAC, "PYTORCH_ENABLE_MPS_FALLBACK": "1"},
    )
    answers, total = ran.answer
    text = "MPS was used before this process was forked. On a Mac this process hangs or ends here."
    uses = dict(zip(USES, answers))
    assert uses.pop("x[0]") == "ok"  # a view
    assert all(answer.startswith(text) for answer in uses.values()), uses
    assert answers[len(USES) :] == [*["ok"] * len(NO_USES), True]
    assert total == 1 and "Traceback" not in ran.stderr


def test_a_fork_before_the_first_use_has_mps(warm_child):
    ran = warm_child(
        AFTER_FORK.format(before="torch.backends.mps.is_available()", calls=["torch.ones(1, device='mps') + 1"]),
        env=MAC,
    )
    assert ran.answer == [["ok", False], None] and "Traceback" not in ran.stderr


def test_cuda_tensors_are_lost_in_a_process_forked_after_their_first_use(warm_child):
    ran = warm_child(
        AFTER_FORK.format(before="x = torch.ones(1, device='cuda')", calls=["x + 1", "x.cpu()", "x.view(1, 1)"]),
        env={"TORCHDEVICE_SIMULATE": "cuda"},
    )
    assert ran.answer == [["CUDA error: initialization error"] * 2 + ["ok", False], 1]


# ---- which system this is

QUESTIONS = """
import json, os, platform, subprocess, sys
def of_shell(*words):
    try: return subprocess.run(words, capture_output=True, text=True).stdout
    except FileNotFoundError: return None
asked = {
    "platform.system": platform.system(), "platform.machine": platform.machine(),
    "platform.processor": platform.processor(), "platform.release": platform.release(),
    "platform.version": platform.version(), "platform.mac_ver": platform.mac_ver(),
    "platform.uname": [*platform.uname()], "platform.platform": [platform.platform(), platform.platform(terse=True)],
    "platform.libc_ver": platform.libc_ver(), "os.uname": [*os.uname()],
}
more = [sys.platform, platform.uname().processor, of_shell("sw_vers"), of_shell("sw_vers", "-productVersion"),
        platform.node() == os.uname().nodename, platform.python_version()]
"""
TELL = "print(json.dumps([asked, more]))\n"
ASKING = QUESTIONS + "import torch\n" + TELL


@pytest.mark.parametrize(
    "word, macos, darwin",
    [("27", "27.0", "26.0.0"), ("26", "26.4", "25.4.0"), ("15", "15.7", "24.6.0"), ("14.0", "14.0", "23.0.0")],
)
def test_a_mac_like_python_answers_as_a_macs(child, word, macos, darwin):
    asked, more = child(QUESTIONS + TELL, env={**LIKE, "TORCHDEVICE_MACOS": word}).answer
    node = os.uname().nodename
    version = f"Darwin Kernel Version {darwin}: simulated; root:xnu/RELEASE_ARM64"
    linkage = "-Mach-O" if sys.version_info >= (3, 13) else ""
    assert asked == {
        "platform.system": "Darwin", "platform.machine": "arm64", "platform.processor": "arm",
        "platform.release": darwin, "platform.version": version,
        "platform.mac_ver": [macos, ["", "", ""], "arm64"],
        "platform.uname": ["Darwin", node, darwin, version, "arm64", "arm"],
        "platform.platform": [f"macOS-{macos}-arm64-arm-64bit{linkage}", f"macOS-{macos}"],
        "platform.libc_ver": ["", ""], "os.uname": ["Darwin", node, darwin, version, "arm64"],
    }  # fmt: skip
    own, processor, all_versions, version, same_node, python = more
    assert (own, processor, same_node) == (sys.platform, "arm", True)
    assert version == f"{macos}\n" and "ProductName:\t\tmacOS\n" in all_versions
    assert python == ".".join(map(str, sys.version_info[:3]))


def test_without_the_option_the_host_answers(child, starting_child):
    asked, more = starting_child(ASKING, env=MAC).answer
    plain, plain_more = child(QUESTIONS + TELL, active=False).answer
    assert (asked, more) == (plain, plain_more)
    assert asked["platform.system"] != "Darwin"


@pytest.mark.parametrize("env", [MAC, LIKE], ids=["plain", "mac-like"])
def test_questions_are_written_down(starting_child, env):
    ran = starting_child(ASKING, env=env)
    found = {event["op"]: (event["count"], event["test"], event["from"]) for event in ran.devices(kind="platform")}
    once = [name for name in ran.answer[0] if name not in ("platform.platform", "platform.uname", "os.uname")]
    assert {name: found[name][0] for name in once} == dict.fromkeys(once, 1)
    assert set(found) == set(ran.answer[0])
    assert {file for file in (event["file"] for event in ran.devices(kind="platform"))} == {ran.script}
    assert all(row[1:] == (None, None) for row in found.values())


def test_questions_belong_to_the_test_that_asks(starting_child):
    ran = starting_child(
        """
import json, platform, compat_shim
compat_shim.begin_test("t::early")
platform.machine(); platform.machine()
import torch
compat_shim.end_test()
compat_shim.begin_test("t::late")
platform.system()
found = [(site["op"], site["count"]) for site in compat_shim.sites()]
compat_shim.end_test()
print(json.dumps(found))
""",
        env=MAC,
    )
    assert ran.answer == [["platform.system", 1]]
    asked = {(event["test"], event["op"]): event["count"] for event in ran.devices(kind="platform")}
    assert asked == {("t::early", "platform.machine"): 2, ("t::late", "platform.system"): 1}


@pytest.mark.parametrize("device", ["", "cuda"])
def test_nobody_listens_on_other_devices(starting_child, device):
    ran = starting_child(ASKING, env={"TORCHDEVICE_SIMULATE": device or None, "TORCHDEVICE_MAC_LIKE": "on"})
    assert ran.answer[0]["platform.system"] != "Darwin" and ran.devices(kind="platform") == []


def test_a_mac_like_process_compiles_and_installs_for_the_host(child, inductor_cache):
    """Packages that make or load binaries get the host's answers: torch, packaging, Python itself."""
    ran = child(
        """
import ctypes.util, json, platform, sysconfig, torch
from packaging import tags, markers
from torch._inductor import cpp_builder, cpu_vec_isa
compiled = torch.compile(lambda x: (x * 2 + 1).sin())(torch.zeros(64))
print(json.dumps([
    bool(torch.allclose(compiled, torch.ones(64).sin())), next(iter(tags.sys_tags())).platform,
    markers.default_environment()["sys_platform"], markers.default_environment()["platform_machine"],
    sysconfig.get_platform(), ctypes.util.find_library("c"), platform.machine(),
    torch.backends.mps.is_available(), [str(isa) for isa in cpu_vec_isa.valid_vec_isa_list()]]))
""",
        env={**LIKE, **inductor_cache},
    )
    import sysconfig

    compiled, tag, system, machine, own, library, asked, mps, isa = ran.answer
    assert compiled and mps and asked == "arm64"
    assert (system, machine, own) == (sys.platform, os.uname().machine, sysconfig.get_platform())
    assert tag.endswith(f"linux_{machine}") or re.search(f"linux.*_{machine}$", tag)
    assert library and library.startswith("libc.so")
    assert "neon" not in " ".join(isa).lower() or machine == "aarch64"


def test_a_tool_that_is_run_as_a_program_is_told_the_truth(child, tmp_path):
    """`python -m`, whose module is called __main__."""
    for name in ("auditwheel", "of_the_program"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__main__.py").write_text("import platform; print(platform.machine())")
    ran = child(
        "import json, subprocess, sys\n"
        "print(json.dumps([subprocess.check_output([sys.executable, '-m', name], text=True) for name in ('auditwheel', 'of_the_program')]))",
        env=LIKE,
    )
    assert ran.answer == [f"{os.uname().machine}\n", "arm64\n"]


def test_lightning_finds_mps_by_the_processor(starting_child):
    """The question of its accelerator, from a package as Lightning is one."""
    ran = starting_child(
        """
import json, platform, torch
print(json.dumps(torch.backends.mps.is_available() and platform.processor() in ("arm", "arm64")))
""",
        env=LIKE,
    )
    assert ran.answer is True


def test_started_processes_are_mac_like_too(starting_child):
    ran = starting_child(
        "import json, subprocess, sys, torch\n"
        "print(json.dumps(subprocess.check_output([sys.executable, '-c', 'import platform; print(platform.machine())'], text=True)))",
        env=LIKE,
    )
    assert ran.answer == "arm64\n"
