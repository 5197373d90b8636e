"""Tests `runner exec -- CMD…`: the program's output, status and signals, and the summary after it."""
import json
import os
import pathlib
import pty
import select
import shlex
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time

import pytest

CUDA = "import torch\nprint(torch.zeros(2, device='cuda').device)\n"


def script(folder, text, name="program.py", mode=0o644):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(textwrap.dedent(text))
    path.chmod(mode)
    return path


def clean_environment(**more):
    names = ("COMPAT_", "ACTIVATE_", "TORCHDEVICE_", "VIRTUAL_ENV", "PYTHONPATH")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(names) or k == "COMPAT_CACHE"}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="module")
def built(program):
    """Builds the shim for this torch beforehand, so that no test prints the build's messages."""
    subprocess.run([program, "exec", "-q", "--", sys.executable, "-c", ""], env=clean_environment(), check=True, timeout=900)


@pytest.fixture
def execute(program, tmp_path, built):
    """execute(*words, stdin=b"", NAME=value…): the finished process, with output as bytes."""

    def call(*words, stdin=b"", cwd=tmp_path, **env):
        return subprocess.run([program, "exec", *words], input=stdin, cwd=cwd, env=clean_environment(**env), capture_output=True,
                              timeout=900)

    return call


@pytest.fixture
def linked_venv(tmp_path):
    """linked_venv(name, with_torch): a virtual environment with or without these tests' torch."""
    import torch

    def make(name, with_torch=True):
        folder = tmp_path / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        if with_torch:
            (packages,) = folder.glob("lib/python*/site-packages")
            (packages / "linked.pth").write_text(f"{pathlib.Path(torch.__file__).parents[1]}\n")
        return folder

    return make


def events(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


@pytest.mark.parametrize("words, code, says", [
    ([], 2, "no command: name a program, for example: runner exec -- python train.py"),
    (["--"], 2, "no command: name a program"),
    (["no-such-program", "-q"], 2, "no program no-such-program on the PATH"),
    (["--no-such", "--", "true"], 2, "unknown option --no-such"),
    (["--no-such", "true"], 2, "unknown option --no-such"),
    (["--policy", "some", "--", "true"], 2, "use one of missing|full"),
    (["--macos", "14", "--", "true"], 2, "only a simulated Mac has this setting: add --simulate mps"),
    (["--env", "A", "--", "true"], 2, "--env A is not NAME=VALUE"),
    (["--python", "/nowhere/python", "--", "true"], 2, "/nowhere/python: no Python at this path"),
    (["--", "no-such-program"], 2, "no program no-such-program on the PATH"),
    (["--", "here.py"], 2, "write ./here.py for the file in this folder"),
    (["--", "./nowhere.py"], 2, "./nowhere.py: no such program"),
    (["--", "/"], 2, "/: not a program but a folder"),
    (["--", "./orphan"], 2, "its first line names /nowhere/python3"),
    (["--shim", "off", "--", "./here.py"], 4, "cannot start ./here.py: Permission denied"),
    (["--shim", "off", "--", "./no_format"], 4, "cannot start ./no_format: Exec format error"),
    (["--shim", "off", "--record", "/nowhere/r", "--", "true"], 4, "/nowhere/r: cannot write the record"),
])
def test_a_program_that_cannot_start_is_reported_in_one_line(execute, tmp_path, words, code, says):
    script(tmp_path, "print(1)\n", "here.py")
    script(tmp_path, "#!/nowhere/python3\n", "orphan", 0o755)
    script(tmp_path, "print(1)\n", "no_format", 0o755)
    ended = execute(*words)
    assert ended.returncode == code and says in ended.stderr.decode(), ended.stderr
    assert ended.stdout == b"" and b"Traceback" not in ended.stderr


@pytest.mark.parametrize("dashes", [["--"], []])
def test_the_command_starts_at_the_first_word_or_after_two_dashes(execute, tmp_path, dashes):
    program = script(tmp_path, "#!/bin/sh\necho \"$@\"\n", "say.sh", 0o755)
    ended = execute("-q", "--shim", "off", *dashes, str(program), "-q", "--help", "--", "--shim")
    assert ended.returncode == 0 and ended.stdout == b"-q --help -- --shim\n", ended.stderr


def test_output_and_arguments_pass_through_unchanged(execute, tmp_path):
    data = bytes(range(256)) * 1000
    program = script(tmp_path / "a b", """
        import json, os, sys, torch
        torch.ones(1).cuda()
        sys.stdout.buffer.write(sys.stdin.buffer.read())
        sys.stderr.buffer.write(b"\\xff\\n")
        print(json.dumps([sys.argv[1:], os.getcwd()]), file=sys.stderr)
        sys.exit(37)
        """)
    words = ["", "--", "-q", "--help", "a b", "*", "$HOME", "'", "\n", "ü"]
    ended = execute("--", sys.executable, "a b/program.py", *words, stdin=data)
    assert ended.returncode == 37 and ended.stdout == data
    first, second, rest = ended.stderr.split(b"\n", 2)
    assert first == b"\xff" and json.loads(second) == [words, str(tmp_path)]
    lines = rest.decode().splitlines()
    assert lines[0].startswith("runner: ") and "exit code 37" in lines[0]
    assert "shim redirects missing devices, host cpu, torch 2." in lines[1] and "1 process recorded, 1 with torch" in lines[1]
    assert lines[2] == "runner: 1 request redirected at 1 place"
    assert lines[3].split() == ["1", "redirect", "aten::to.dtype_layout", "cuda", "->", "cpu", "a", "b/program.py:3"]
    assert lines[4] == "runner: 1 place in 1 file names CUDA: 1 replace with care; 1 ran, 0 did not, 0 unknown"
    record = pathlib.Path(lines[5].removeprefix("runner: record: "))
    assert [line["event"] for line in events(record)] == ["watch", "session", "device"]
    record.unlink()


def test_output_is_not_buffered(program, tmp_path):
    child = script(tmp_path, "import sys\nprint('ready', flush=True)\nsys.stdin.read()\n")
    process = subprocess.Popen([program, "exec", "--shim", "off", "--", sys.executable, child], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == b"ready\n", "while the program still runs"
    assert process.poll() is None
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_the_record_quiet_and_settings_options(execute, tmp_path):
    child = script(tmp_path, CUDA + "import os; print(os.environ['TORCHDEVICE_MODE'], os.environ['A'], "
                             "os.environ['PYTORCH_ENABLE_MPS_FALLBACK'], 'OMP_NUM_THREADS' in os.environ)\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/r.jsonl").write_text('{"event": "watch", "format": 1, "pid": 1}\n')
    ended = execute("-q", "--record", "sub/r.jsonl", "--policy", "full", "--fallback", "off", "--env", "A=b", "--", sys.executable, child)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"cpu\nfull b 0 True\n", b"")
    lines = events(tmp_path / "sub/r.jsonl")
    assert lines[1]["mode"] == "full" and lines[2]["op"] == "aten::zeros"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ended = execute("-q", "--", sys.executable, "-c", CUDA, TMPDIR=str(scratch))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"cpu\n", b"")
    assert list(scratch.iterdir()) == [], "nobody was told of a file, so there is none"


def test_without_the_shim_the_program_runs_unchanged(execute):
    ended = execute("--shim", "off", "--", sys.executable, "-c", CUDA)
    assert ended.returncode == 1 and b"not compiled with CUDA" in ended.stderr
    assert b"runner: nothing was redirected: the shim was off\n" in ended.stderr


def test_requests_of_workers_and_subprocesses_are_counted(execute, tmp_path):
    child = script(tmp_path, """
        import subprocess, sys
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Numbers(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, i):
                return torch.full((1,), float(i), device="cuda")

        if __name__ == "__main__":
            total = sum(batch.sum().item() for batch in DataLoader(Numbers(), batch_size=2, num_workers=2))
            subprocess.run([sys.executable, "-c", "import torch; torch.ones(1, device='mps')"], check=True)
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            print(total)
        """)
    ended = execute("--record", "r", "--", sys.executable, child)
    text = ended.stderr.decode()
    assert (ended.returncode, ended.stdout) == (0, b"28.0\n"), text
    # The program, its two workers and two subprocesses, one of which never imports torch.
    assert "5 processes recorded, 4 with torch" in text
    assert "runner: 9 requests redirected at 2 places" in text
    rows = [line.split() for line in text.splitlines() if line.startswith(" ")]
    assert rows == [["8", "redirect", "aten::full", "cuda", "->", "cpu", "program.py:11"],
                    ["1", "redirect", "aten::ones", "mps", "->", "cpu", "<string>:1"]]


def test_refusals_are_listed_by_symbol_and_line(execute, tmp_path):
    child = script(tmp_path, "import torch\ntorch.cuda.CUDAGraph()\n")
    ended = execute("--", sys.executable, child)
    text = ended.stderr.decode()
    assert ended.returncode == 1 and "NotImplementedError" in text
    (row,) = [line for line in text.splitlines() if line.endswith("program.py:2")]
    assert row.split()[0] == "1" and "CUDAGraph" in row
    assert "runner: 1 call refused at 1 place" in text


@pytest.mark.parametrize("how", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_death_by_a_signal_exits_with_128_plus_its_number(execute, how):
    ended = execute("--", sys.executable, "-c", CUDA + f"import os, sys; sys.stdout.flush(); os.kill(os.getpid(), {int(how)})")
    assert ended.returncode == 128 + how and ended.stdout == b"cpu\n"
    text = ended.stderr.decode()
    assert f": {how.name} (" in text and "1 with torch" in text
    assert "a process killed by a signal loses the events that it had not written yet" in text


def test_a_truncated_record_is_still_reported(execute, tmp_path):
    """The program truncates its record within a line, as a full disk would."""
    child = script(tmp_path, CUDA + """
import os, compat_shim
compat_shim.flush()
with open(os.environ["TORCHDEVICE_RECORD"], "a") as record:
    record.write('{"event": "device", "kind": "redi')
os.kill(os.getpid(), 9)
""")
    ended = execute("--record", "r", "--", sys.executable, child)
    text = ended.stderr.decode()
    assert ended.returncode == 128 + 9
    assert "runner: 1 request redirected at 1 place" in text and "program.py:2" in text
    assert "runner: record, byte " in text


def wait_for(path):
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.05)


WAITS = """
    import pathlib, signal, sys, time
    {before}
    pathlib.Path("ready").touch()
    try:
        time.sleep(100)
    except KeyboardInterrupt:
        pathlib.Path("ready").unlink()
        {on_interrupt}
"""


def start_in_terminal(folder, *words):
    """Starts a program as leader of a new session: (process id, the terminal's other end)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(words[0], words, clean_environment())
    wait_for(folder / "ready")
    return pid, terminal


def read_all(terminal):
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 4096) if select.select([terminal], [], [], 60)[0] else b""
        except OSError:
            piece = b""
        if not piece:
            return seen
        seen += piece


UNDER = {"a terminal": [], "a shell": ["bash", "-c", '"$@"; exit $?', "bash"]}


@pytest.mark.parametrize("on_interrupt, code", [("print('mine'); sys.exit(5)", 5), ("raise", 130)])
@pytest.mark.parametrize("under", UNDER)
def test_ctrl_c_goes_to_the_program(program, tmp_path, on_interrupt, code, under):
    child = script(tmp_path, WAITS.format(before="", on_interrupt=on_interrupt))
    pid, terminal = start_in_terminal(tmp_path, *UNDER[under], program, "exec", "--shim", "off", "--", sys.executable, child)
    os.write(terminal, b"\x03")
    seen = read_all(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code, seen
    assert not (tmp_path / "ready").exists(), "the program's own handler ran"
    assert (b"mine" in seen) == (code == 5)
    assert (b"exit code 5" if code == 5 else b"SIGINT") in seen and b"the shim was off" in seen


def test_ctrl_c_reaches_a_program_in_its_own_process_group(program, tmp_path):
    """timeout(1) starts its own process group, which the terminal's keys do not reach."""
    child = script(tmp_path, WAITS.format(before="", on_interrupt="raise"))
    pid, terminal = start_in_terminal(tmp_path, program, "exec", "--shim", "off", "--", "timeout", "90", sys.executable, child)
    os.write(terminal, b"\x03")
    seen = read_all(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130, seen
    assert not (tmp_path / "ready").exists(), "the program's own handler ran"


def test_a_closed_terminal_hangs_up_the_program(program, tmp_path):
    """The kernel signals only the session's leader, which is the runner."""
    child = script(tmp_path, WAITS.format(before=f"signal.signal({int(signal.SIGHUP)}, lambda *_: sys.exit(9))", on_interrupt="pass"))
    pid, terminal = start_in_terminal(tmp_path, program, "exec", "-q", "--shim", "off", "--", sys.executable, child)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize("sender", ["of another group", "to our group", "of our group"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_other_signals_reach_the_program(program, tmp_path, how, sender):
    child = script(tmp_path, WAITS.format(
        before=f"signal.signal({int(how)}, lambda *_: os._exit(9)); import os", on_interrupt="pass"))
    process = subprocess.Popen([program, "exec", "-q", "--shim", "off", "--", sys.executable, child], cwd=tmp_path,
                               start_new_session=sender != "of our group")
    wait_for(tmp_path / "ready")
    os.killpg(process.pid, how) if sender == "to our group" else process.send_signal(how)
    assert process.wait(timeout=60) == 9


@pytest.mark.parametrize("options", [["--foreground"], []], ids=["our group", "a group of its own"])
def test_timeout_1_ends_the_program(program, tmp_path, options):
    child = script(tmp_path, WAITS.format(before="", on_interrupt="pass"))
    ended = subprocess.run(["timeout", *options, "--preserve-status", "3", program, "exec", "-q", "--shim", "off", "--", sys.executable, child],
                           cwd=tmp_path, timeout=60)
    # timeout(1) ends as its program did; on some systems it ends itself by the same signal.
    assert ended.returncode in (128 + signal.SIGTERM, -signal.SIGTERM)


@pytest.mark.parametrize("sends", ["os.killpg(0, signal.SIGUSR1)", "subprocess.run(['bash', '-c', 'trap \"\" USR1; kill -USR1 0; sleep 1'])"],
                         ids=["the program", "a child of it"])
def test_a_signal_that_the_program_sends_to_its_group_arrives_once(program, tmp_path, sends):
    child = script(tmp_path, f"""
        import os, signal, subprocess, sys, time
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        {sends}
        time.sleep(1)
        sys.exit(len(seen))
        """)
    ended = subprocess.run([program, "exec", "-q", "--shim", "off", "--", sys.executable, child], start_new_session=True, timeout=60)
    assert ended.returncode == 1


def test_a_killed_runner_leaves_no_program_behind(program, tmp_path):
    child = script(tmp_path, WAITS.format(before="print(__import__('os').getpid(), flush=True)", on_interrupt="pass"))
    process = subprocess.Popen([program, "exec", "-q", "--shim", "off", "--", sys.executable, child], cwd=tmp_path, stdout=subprocess.PIPE)
    pid = int(process.stdout.readline())
    wait_for(tmp_path / "ready")
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while pathlib.Path(f"/proc/{pid}").exists() and "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


FORMS = {
    "an interpreter": lambda venv: [venv / "bin/python", "program.py"],
    "a script by its first line": lambda venv: ["./direct.py"],
    "a script of a path that no first line can hold": lambda venv: ["./two lines.py"],
    "a program that env looks up": lambda venv: ["./env.py"],
    "a shell script of the active environment": lambda venv: ["./shell.sh"],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_shim_is_built_for_the_programs_python(execute, tmp_path, linked_venv, form):
    """Only the program's environment has torch, not the shell's."""
    shell, other = linked_venv("of shell", with_torch=False), linked_venv("other one")
    body = "import sys\nimport torch\nprint(sys.prefix, torch.zeros(1, device='cuda').device)\n"
    script(tmp_path, body)
    script(tmp_path, f"#!{other.with_name('link')}/bin/python\n" + body, "direct.py", 0o755)
    other.with_name("link").symlink_to(other)
    script(tmp_path, f"#!/bin/sh\n'''exec' \"{other}/bin/python\" \"$0\" \"$@\"\n' '''\n" + body, "two lines.py", 0o755)
    script(tmp_path, "#!/usr/bin/env python\n" + body, "env.py", 0o755)
    script(tmp_path, "#!/bin/sh\npython program.py\n", "shell.sh", 0o755)
    named = form.startswith(("an int", "a script"))
    active = shell if named else other
    ended = execute("--", *FORMS[form](other), VIRTUAL_ENV=str(active), PATH=f"{active}/bin:{os.environ['PATH']}")
    assert ended.returncode == 0, ended.stderr
    prefix, _, device = ended.stdout.decode().strip().rpartition(" ")
    assert pathlib.Path(prefix).resolve() == other and device == "cpu"
    assert b"runner: 1 request redirected at 1 place" in ended.stderr


def test_the_python_option_names_the_programs_python(execute, tmp_path, linked_venv):
    named = linked_venv("named")
    for given in (named, named / "bin/python"):
        ended = execute("--python", given, "--", "python", "-c", "import sys; print(sys.prefix)\n" + CUDA)
        assert (ended.returncode, ended.stdout.decode()) == (0, f"{named}\ncpu\n"), ended.stderr


def test_a_python_without_torch_runs_with_a_note(execute, linked_venv):
    bare = linked_venv("bare", with_torch=False)
    ended = execute("--", bare / "bin/python", "-c", "import os; print(os.environ.get('ACTIVATE_TORCH_DEVICE'))")
    assert (ended.returncode, ended.stdout) == (0, b"None\n")
    assert "has no torch; name another with --python" in ended.stderr.decode()


@pytest.mark.parametrize("where", ["inherited PYTHONPATH", "--env PYTHONPATH", "the user's own packages"])
def test_a_torch_outside_the_environment_is_found(execute, tmp_path, linked_venv, where):
    import torch

    packages, words, env = pathlib.Path(torch.__file__).parents[1], [], {}
    python = linked_venv("bare", with_torch=False) / "bin/python"
    if where.startswith("inh"):
        env = {"PYTHONPATH": str(packages)}
    elif where.startswith("--env"):
        words = ["--env", f"PYTHONPATH={packages}"]
    else:  # which a virtual environment has not
        python = pathlib.Path(sys.executable).resolve()
        user = pathlib.Path(sysconfig.get_path("purelib", "posix_user", {"userbase": str(tmp_path / "user")}))
        user.mkdir(parents=True)
        (user / "linked.pth").write_text(f"{packages}\n")
        env = {"PYTHONUSERBASE": str(tmp_path / "user")}
    program = script(tmp_path, CUDA)
    for more in ([], ["--python", python]):
        ended = execute(*words, *more, "--", python, program, **env)
        assert (ended.returncode, ended.stdout) == (0, b"cpu\n"), ended.stderr
        assert b"runner: 1 request redirected at 1 place" in ended.stderr


@pytest.mark.parametrize("given", [False, True])
def test_the_shim_is_built_for_the_torch_that_the_program_imports(execute, tmp_path, given):
    """PYTHONPATH hides the environment's torch, here by one that no shim can be built for."""
    script(tmp_path / "more/torch", "", "__init__.py")
    script(tmp_path / "more/torch", "__version__ = '9.9.9+none'\ngit_version = 'f00'\n", "version.py")
    words, env = (["--env", f"PYTHONPATH={tmp_path}/more"], {}) if given else ([], {"PYTHONPATH": f"{tmp_path}/more"})
    ended = execute(*words, "--", sys.executable, "-c", "pass", COMPAT_CACHE=str(tmp_path / "cache"), **env)
    text = ended.stderr.decode()
    assert ended.returncode == 2 and "building the shim for torch 9.9.9+none" in text
    (log,) = (tmp_path / "cache/shims").glob("*.log")
    assert f"-isystem {tmp_path}/more/torch/include" in log.read_text()


def test_the_program_is_inspected_with_the_shim_off(execute, tmp_path):
    """Code that runs at the start of every Python finds the shim off, and may print."""
    script(tmp_path / "more", f"""
        import os
        print("here I am")
        with open({str(tmp_path / "seen")!r}, "a") as file:
            print(os.environ.get("ACTIVATE_TORCH_DEVICE"), file=file)
        """, "sitecustomize.py")
    ended = execute("--env", "ACTIVATE_TORCH_DEVICE=1", "--", sys.executable, "-c", CUDA, PYTHONPATH=str(tmp_path / "more"),
                    ACTIVATE_TORCH_DEVICE="1")
    assert (ended.returncode, ended.stdout) == (0, b"here I am\ncpu\n"), ended.stderr
    assert (tmp_path / "seen").read_text().split() == ["None", "1"]


def test_a_program_that_is_not_python_runs(execute, tmp_path):
    ended = execute("--", sys.executable, "-c", "pass")
    assert b"nothing was redirected: torch was not imported (1 process)" in ended.stderr
    ended = execute("--python", sys.executable, "--", "/bin/echo", "a", TMPDIR=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (0, b"a\n")
    assert b"nothing was redirected: no Python process loaded the shim" in ended.stderr
    assert b"record:" not in ended.stderr and list(tmp_path.glob("runner-exec-*")) == []


def test_python_m_pytest_and_a_quoted_command_run(execute, tmp_path):
    script(tmp_path, "import torch\n\n\ndef test_cuda():\n    assert torch.ones(2, device='cuda').sum() == 2\n", "test_it.py")
    ended = execute("--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert ended.returncode == 0 and b"1 passed" in ended.stdout, ended.stdout
    assert b"test_it.py:5\n" in ended.stderr
    shown = ended.stderr.decode().splitlines()[0]
    assert shlex.split(shown.removeprefix("runner: ").partition(": exit code")[0])[0] == sys.executable


def test_a_file_that_is_not_a_record_is_not_overwritten(program, tmp_path):
    kept = tmp_path / "train.py"
    kept.write_text("precious = 1\n")
    command = [program, "exec", "-q", "--shim", "off", "--record", kept, "--", "true"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2 and "is not a device record" in ran.stderr and "--record" in ran.stderr
    assert kept.read_text() == "precious = 1\n"
    kept.write_text('{"event": "watch", "format": 1, "pid": 1}\n')
    assert subprocess.run(command).returncode == 0
    assert kept.read_text() == ""


def test_a_warning_precedes_a_program_that_cannot_be_redirected(program, tmp_path, linked_venv):
    python = linked_venv("without", with_torch=False) / "bin" / "python"
    ran = subprocess.run([program, "exec", "--", python, "-c", "print('begun', file=__import__('sys').stderr)"],
                         capture_output=True, text=True, cwd=tmp_path)
    said, begun = ran.stderr.index("nothing will be redirected"), ran.stderr.index("begun")
    assert ran.returncode == 0 and said < begun
