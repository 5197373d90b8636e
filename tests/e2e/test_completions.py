"""Tests `runner completions` in a real bash, and its candidates. tests/shells has zsh and fish."""
import os
import pty
import re
import select
import subprocess
import time

import pytest


def candidates(runner, *words):
    """{word: help} for the end of this command line, and the paths that the shell adds."""
    answer = runner("completions", "bash", "--candidates", "--", *words)
    assert answer.code == 0 and not answer.err
    lines = answer.out.splitlines()
    return dict(line.split("\t") for line in lines if not line.startswith(":")), [line for line in lines if line.startswith(":")]


def complete_in_bash(program, folder, *words):
    """COMPREPLY of the installed function, as readline calls it."""
    script = 'source <("$1" completions bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _runner runner; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", program, program, *words], cwd=folder, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_every_command_and_option_of_the_help_is_a_candidate(runner):
    """The help and the candidates come from one description."""
    help_of = lambda *words: runner(*words, "--help").out
    commands = re.findall(r"^  ([a-z]+) ", help_of().split("Commands:")[1].split("\n\n")[0], re.M)
    assert len(commands) > 15 and list(candidates(runner, "")[0])[: len(commands)] == commands
    for command in commands:
        options = set(re.findall(r"^  (?:-\w, ?)?(--[a-z-]+)", help_of(command).split("Options:")[1], re.M))
        assert options <= set(candidates(runner, command, "--")[0]), command


def test_values_are_candidates(runner, states_copy):
    run = states_copy.name
    assert list(candidates(runner, "show", "")[0]) == ["latest", run]
    assert list(candidates(runner, "report", run[:10])[0]) == [run]
    assert list(candidates(runner, "--simulate", "")[0]) == ["off", "mps", "cuda"]
    assert list(candidates(runner, "report", "--format", "")[0]) == ["md", "json", "html", "junit", "ctrf", "github"]
    assert list(candidates(runner, "gaps", "s")[0]) == ["scan", "show", "set"]
    suites, paths = candidates(runner, "run", "e")
    assert "einops" in suites and paths == [":folders"]
    assert candidates(runner, "run", "einops", "") == ({}, [":files"])
    assert candidates(runner, "exec", "--", "pyth") == ({}, [":files"])
    assert candidates(runner, "run", "--jobs", "") == ({}, [])


def test_without_results_there_are_no_runs_and_no_error(runner):
    assert candidates(runner, "show", "") == ({}, [])


@pytest.mark.parametrize("words, expected", [
    (["pru"], ["prune"]),
    (["prune", "--dr"], ["--dry-run"]),
    (["run", "x", "--shim", "="], ["on", "off"]),  # bash takes --shim= apart
    (["run", "x", "--shim", "=", "o"], ["on", "off"]),
    (["run", "sub"], ["sub dir"]),
    (["run", "x", "fi"], ["file.py"]),
])
def test_bash_completes(program, tmp_path, words, expected):
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "file.py").write_text("")
    assert complete_in_bash(program, tmp_path, *words) == expected


def test_bash_completes_at_the_tab_key(program, tmp_path):
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "> ", "HOME": str(tmp_path)}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    seen = ""

    def read_until(words):
        nonlocal seen
        end = time.monotonic() + 30
        while words not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace")
        assert words in seen, seen

    try:
        read_until("> ")
        os.write(terminal, b"source <(runner completions bash); echo re''ady\n")
        read_until("ready")
        os.write(terminal, b"runner complet\t")
        read_until("runner completions ")
        os.write(terminal, b"fi\t\n")
        read_until("# Completion of runner for fish")
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(child, 0)


def test_a_shell_that_is_not_known_is_refused(runner):
    refused = runner("completions", "tcsh")
    assert refused.code == 2 and 'no completion for "tcsh": name bash, zsh or fish' in refused.err
