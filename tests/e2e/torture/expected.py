"""The expected result of every test of the two suites beside this file: its one right state, the
right reason, and the number of attempts.

A row is (state, why) or (state, why, marks): `why` is a pattern that the whole reason or the failure's key line matches.
"""

# Texts for the end of a process.
SEGFAULT = ("crashed", "SIGSEGV")
PASSED = ("passed", "")
RESTARTED = r"the module crashed in .*; the module was started again %d times \(limits.restarts\)"
IN_FIXTURE = r"the process ended with exit code 3 in .*::<%s> before it ran; its fixture ended the process twice"
OF_TEST = r"test timed out after 3.0s \(limits.test_timeout\)"
OF_MODULE = r"timed out after 8.0s"
KILLED = r"killed by SIGKILL, not sent by the runner"
GREW = r"grew to \d+ MiB, past its limit of 400 MiB \(limits.memory\)"


def failed(message):
    return ("failed", "AssertionError: " + message)


def dies(why):
    return ("crashed", why)


UNITTEST = {
    "test_at_exit": ("crashed", {
        "AtExit::test_x": PASSED,
        "<module>": dies("exit code 9 after its tests, which alone would give 0"),
    }),
    "test_class_fixtures": ("crashed", {
        "ADiesBefore::test_1": ("not_run", IN_FIXTURE % "setUpClass"),
        "ADiesBefore::test_2": ("not_run", IN_FIXTURE % "setUpClass"),
        "ADiesBefore::<setUpClass>": dies("exit code 3 in .*::ADiesBefore::<setUpClass>"),
        "BBetween::test_1": PASSED,
        "CDiesAfter::test_1": PASSED,
        "CDiesAfter::test_2": failed("as always"),
        "CDiesAfter::<tearDownClass>": dies("exit code 4 in .*::CDiesAfter::<tearDownClass>"),
        "DRaises::test_1": ("errored", "OSError: no device"),
        "ERaisesAfter::test_1": PASSED,
        "ERaisesAfter::<tearDownClass>": ("errored", "OSError: still open"),
        "FSkips::test_1": ("skipped", "not here"),
        "GLast::test_1": PASSED,
    }),
    "test_closed": ("completed", {
        "Closed::test_1_closes": PASSED,
        "Closed::test_2_takes": PASSED,
        "Closed::test_3_fails": failed("seen all the same"),
        "Closed::test_4_passes": PASSED,
    }),
    "test_death": ("crashed", {
        "Death::test_01_segfault": dies("SIGSEGV"),
        "Death::test_02_passes": PASSED,
        "Death::test_03_exit_with_3": dies("exit code 3"),
        "Death::test_04_exit_with_0": dies("exit code 0"),
        "Death::test_05_passes": PASSED,
        "Death::test_06_abort": dies("SIGABRT"),
        "Death::test_07_sigkill": dies(KILLED),
        "Death::test_08_sigterm": dies("SIGTERM"),
        "Death::test_09_fatal_error": dies("SIGABRT"),
        "Death::test_10_overflow": dies("SIGSEGV"),
        "Death::test_11_passes": PASSED,
        "Death::test_12_closed_stdout_then_dies": dies("exit code 9"),
        "Death::test_13_dies_in_a_sub_test": dies("exit code 5"),
        "Death::test_14_group": dies(KILLED),
        "Death::test_15_last": dies("exit code 0"),
    }),
    "test_empty": ("no_tests", {}),
    "test_eraser": ("completed", {
        "Eraser::test_1_before": PASSED,
        "Eraser::test_2_deletes": PASSED,
        "Eraser::test_3_empties": PASSED,
        "Eraser::test_4_replaces": PASSED,
        "Eraser::test_5_fails": failed("not erased"),
    }),
    "test_exits": ("completed", {
        "Exits::test_1_sys_exit": ("errored", "SystemExit: 4"),
        "Exits::test_2_sys_exit_with_0": ("errored", "SystemExit: 0"),
        "Exits::test_3_interrupt": ("errored", "KeyboardInterrupt: from a test"),
        "Exits::test_4_own": ("errored", "tests.test_exits.Own: no Exception"),
        "Exits::test_5_generator_exit": ("errored", "GeneratorExit"),
        "Exits::test_6_passes": PASSED,
        "InSetUp::test_1": ("errored", "KeyboardInterrupt: from setUp"),
        "InSetUp::test_2": ("errored", "SystemExit: no set-up"),
        "InSetUp::test_3": PASSED,
        "InTearDown::test_1": ("errored", "KeyboardInterrupt: from tearDown"),
        "InTearDown::test_2": PASSED,
    }),
    "test_flaky": ("completed", {
        "Flaky::test_1_dies_once": ("passed", "", ["flaky"]),
        "Flaky::test_2_hangs_once": ("passed", "", ["flaky"]),
        "Flaky::test_3_passes": PASSED,
    }),
    "test_flood": ("completed", {
        "Flood::test_1_floods": PASSED,
        "Flood::test_2_fails": failed("the last words"),
    }),
    "test_forks": ("crashed", {
        "Forks::test_1_returns_twice": PASSED,
        "Forks::test_2_many": PASSED,
        "Forks::test_3_child_fails": PASSED,
        "Forks::test_4_parent_leaves": dies("exit code 8"),
        "Forks::test_5_after": PASSED,
        "InSetUp::test_1": PASSED,
        "InSetUp::test_2": failed("once"),
    }),
    "test_hang": ("timed_out", {
        "Hang::test_1_before": PASSED,
        "Hang::test_2_sleeps": ("timed_out", OF_TEST),
        "Hang::test_3_between": PASSED,
        "Hang::test_4_deaf": ("timed_out", OF_TEST),
        "Hang::test_5_in_c": ("timed_out", OF_TEST),
        "Hang::test_6_after": PASSED,
    }),
    "test_hang_exit": ("timed_out", {
        "Exit::test_x": PASSED,
        "<module>": ("timed_out", OF_MODULE + " at exit, after its tests"),
    }),
    "test_hang_import": ("timed_out", {
        "<module>": ("timed_out", OF_MODULE + " while the module was loaded"),
    }),
    "test_import_crash": ("crashed", {"<module>": dies("SIGSEGV while the module was loaded")}),
    "test_import_error": ("load_error", {
        "<module>": ("errored", "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"),
    }),
    "test_import_exits": ("crashed", {"<module>": dies("exit code 5 while the module was loaded")}),
    "test_import_skips": ("completed", {"<module>": ("skipped", "not on this host")}),
    "test_import_sys_exit": ("load_error", {"<module>": ("errored", "SystemExit: 0")}),
    "test_kinds": ("completed", {
        "Async::test_fail": failed("1 != 2"),
        "Async::test_pass": PASSED,
        "Kinds::test_error": ("errored", "ValueError: of the test"),
        "Kinds::test_expected": ("xfailed", "AssertionError: known"),
        "Kinds::test_fail": failed("1 != 2"),
        "Kinds::test_pass": PASSED,
        "Kinds::test_skip": ("skipped", "for a reason"),
        "Kinds::test_skip_inside": ("skipped", "found out late"),
        "Kinds::test_sub_tests": ("failed", ""),
        "Kinds::test_tear_down_too": failed("itself"),
        "Kinds::test_unexpected": ("xpassed", ""),
        "Skipped::test_x": ("skipped", "the whole class"),
    }),
    "test_leak": ("completed", {
        "Leak::test_1_child": PASSED,
        "Leak::test_2_daemon_without_an_environment": PASSED,
        "Leak::test_3_deaf": PASSED,
        "Leak::test_4_stopped": PASSED,
    }),
    "test_leak_death": ("crashed", {
        "Leak::test_1_leaves_and_dies": dies("exit code 6"),
        "Leak::test_2_after": PASSED,
    }),
    "test_liar": ("completed", {
        "Liar::test_1_prints_results": PASSED,
        "Liar::test_2_fails": failed("true"),
        "Liar::test_3_forges_its_end": failed("true as well"),
        "Liar::test_4_forges_the_end_of_all": PASSED,
        "Liar::test_5_claims_a_verdict_for_later": PASSED,
        "Liar::test_6_fails": failed("true to the end"),
    }),
    "test_load_tests": ("completed", {
        "Loaded::test_x": PASSED,
        "Loaded::test_x#2": PASSED,
        "check": PASSED,
    }),
    "test_memory": ("crashed", {
        "Memory::test_1_before": PASSED,
        "Memory::test_2_grows": dies(GREW),
        "Memory::test_3_child_grows": dies(GREW),
        "Memory::test_4_memory_error": ("errored", "MemoryError"),
        "Memory::test_5_after": PASSED,
    }),
    "test_module_set_up_dies": ("crashed", {
        "<setUpModule>": dies("exit code 3 in .*::<setUpModule>"),
        "A::test_1": ("not_run", IN_FIXTURE % "setUpModule"),
        "B::test_2": ("not_run", IN_FIXTURE % "setUpModule"),
    }),
    "test_module_set_up_raises": ("completed", {"A::test_1": ("errored", "OSError: no module")}),
    "test_module_tear_down_dies": ("crashed", {
        "A::test_1": PASSED,
        "A::test_2": failed("before it"),
        "<tearDownModule>": dies("SIGABRT in .*::<tearDownModule>"),
    }),
    "test_names": ("completed", {
        "Names::test_'\"<&>|`*": PASSED,
        r"Names::test_a\nb": PASSED,
        "Names::test_" + "long" * 2500: failed("by any name"),
        r"Names::test_nul\x00": failed("by any name"),
        "Names::test_plain": PASSED,
        "Names::test_\ufffd": PASSED,
    }),
    "test_slow": ("completed", {
        **{"Slow::test_%d" % i: PASSED for i in range(4)},
        "Slow::test_4": ("passed", "", ["flaky"]),  # 8 s, and 2 s to say where it is, are over in it
    }),
    "test_stopped": ("timed_out", {
        "Stopped::test_1_before": PASSED,
        "Stopped::test_2_stops": ("timed_out", OF_TEST),
        "Stopped::test_3_after": PASSED,
    }),
    "test_threads": ("completed", {
        "Threads::test_1_raises_beside": PASSED,
        "Threads::test_2_goes_on": PASSED,
        "Threads::test_3_at_exit": PASSED,
        "Threads::test_4_fails": failed("beside eight threads"),
    }),
    "test_vandal": ("crashed", {
        "Vandal::test_01_folder_gone": PASSED,
        "Vandal::test_02_environment": PASSED,
        "Vandal::test_03_clock": PASSED,
        "Vandal::test_04_streams": PASSED,
        "Vandal::test_05_signals": PASSED,
        "Vandal::test_06_limits": PASSED,
        "Vandal::test_07_tracing": PASSED,
        "Vandal::test_08_functions": PASSED,
        "Vandal::test_09_builtins": PASSED,
        "Vandal::test_10_modules": PASSED,
        "Vandal::test_11_still_fails": failed("after all that"),
        # unittest itself could not format that failure.
        "<module>": dies("exit code 1 outside any test, after .*::Vandal::test_11_still_fails"),
        "Vandal::test_12_still_passes": PASSED,
    }),
}

CLOSED = "ValueError: I/O operation on closed file.*"

PYTEST = {
    "test_at_exit": ("crashed", {
        "test_x": PASSED,
        "test_fails": failed("assert False"),
        "<module>": dies("SIGABRT at exit, after its tests"),
    }),
    "test_closed": ("crashed", {
        "test_1_streams": ("failed", CLOSED),
        "test_2_descriptors": ("errored", CLOSED),
        "test_3_after": ("errored", CLOSED),
        "<session>": ("errored", CLOSED),
    }),
    "test_death": ("crashed", {
        "test_before": PASSED,
        "test_segfault": dies("SIGSEGV"),
        "test_fixture_dies": dies("exit code 3"),
        "test_fixture_dies_after": dies("exit code 0"),
        "test_after": PASSED,
    }),
    "test_empty": ("no_tests", {}),
    "test_exits": ("completed", {
        "test_sys_exit": ("failed", "SystemExit: 0"),
        "test_pytest_exit": ("errored", "Exit: enough"),
        "test_between": PASSED,
        "test_interrupt": ("errored", "KeyboardInterrupt: from a test"),
        "test_own": ("failed", "test_exits.Own: no Exception"),
        "test_last": PASSED,
    }),
    "test_flaky": ("completed", {
        "test_dies_once": ("passed", "", ["flaky"]),
        "test_passes": PASSED,
    }),
    "test_forks": ("completed", {
        "test_1_returns_twice": PASSED,
        "test_2_fixture": PASSED,
        "test_3_fails_once": failed("assert False"),
    }),
    "test_hang": ("timed_out", {
        "test_before": PASSED,
        "test_in_a_fixture": ("timed_out", OF_TEST),
        "test_deaf": ("timed_out", OF_TEST),
        "test_after": PASSED,
    }),
    "test_import_error": ("load_error", {
        "<module>": ("errored", "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"),
    }),
    "test_import_exits": ("crashed", {"<module>": dies("exit code 0 while the module was loaded")}),
    "test_import_pytest_exit": ("load_error", {"<module>": ("errored", "Exit: not this module")}),
    "test_import_skips": ("completed", {"<module>": ("skipped", "not on this host")}),
    "test_keeps_dying": ("crashed", {
        **{"test_dies[%d]" % i: dies("exit code %d" % (i + 10)) for i in range(5)},
        **{"test_dies[%d]" % i: ("not_run", RESTARTED % 4) for i in range(5, 8)},
        "test_last": ("not_run", RESTARTED % 4),
    }),
    "test_kinds": ("completed", {
        "test_pass": PASSED,
        "test_fail": failed("assert 1 == 2"),
        "test_set_up": ("errored", "ValueError: no fixture"),
        "test_tear_down": ("errored", "ValueError: no tear-down"),
        "test_skip": ("skipped", "for a reason"),
        "test_xfail": ("xfailed", "AssertionError: assert False"),
        "test_strict": ("failed", r"Failed: \[XPASS\(strict\)\] thought so"),
        **{"test_names[%s]" % id: PASSED for id in (
            r"a\nb", r"\x00", r"\ud800", "x" * 5000, "::", "[", "a/b", "", " ")},
        "TestClass::test_one": ("errored", "OSError: no class"),
        "TestClass::test_two": ("errored", "OSError: no class"),
        "test_async": ("failed", "Failed: async def functions are not natively supported.*"),
    }),
    "test_leak": ("completed", {
        "test_child": PASSED,
        "test_pool_left_open": PASSED,
        "test_worker_killed": PASSED,
    }),
    "test_liar": ("completed", {
        "test_1_passes": PASSED,
        "test_2_fails": failed("assert False"),
    }),
    "test_many": ("crashed", {
        **{"test_many[%d]" % i: PASSED for i in range(2000)},
        "test_many[1234]": dies("exit code 3"),
        "test_many[1500]": failed("assert 1500 != 1500"),
    }),
    "test_session_fixture": ("crashed", {
        "test_1": PASSED,
        "test_2": dies("exit code 7"),
    }),
    "test_syntax": ("load_error", {
        "<module>": ("errored", r"SyntaxError: invalid syntax \(test_syntax.py, line 1\)"),
    }),
    "test_vandal": ("completed", {
        "test_1_folder": PASSED,
        "test_2_environment": PASSED,
        "test_3_clock": PASSED,
        "test_4_signals": PASSED,
        "test_5_builtins": PASSED,
        "test_6_still_fails": failed("assert not 'after all that'"),
        "test_7_still_passes": PASSED,
    }),
}

# By the numbers in their command lines: the module that left it.
LEFT = {
    "time.sleep(601)": "test_leak",
    "time.sleep(602)": "test_leak",
    "time.sleep(603)": "test_leak",
    "604": "test_leak",
    "time.sleep(605)": "test_leak_death",
    "time.sleep(611)": "test_leak",
}

# With modules forked: what only a fork met is a mark of its own, and a module that ran again is judged by its tests alone.
WARM = {
    "unittest": {
        "test_flaky": (None, {"Flaky::test_1_dies_once": ("passed", "", ["fork_sensitive"])}),
        "test_slow": (None, {"Slow::test_4": ("passed", "", ["fork_sensitive"])}),
    },
    "pytest": {
        "test_closed": ("completed", {}),
        "test_flaky": (None, {"test_dies_once": ("passed", "", ["fork_sensitive"])}),
    },
}
