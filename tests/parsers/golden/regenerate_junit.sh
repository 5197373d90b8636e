#!/usr/bin/env bash
# Makes JUnit XML files by the tools that write them; goldens.py packs those that are kept here.
#   regenerate_junit.sh FOLDER pytest VERSION…     FOLDER/junit-pytest-8.4.2/: each junit_family, and the oracle's model of the same run
#   regenerate_junit.sh FOLDER unittest PYTHON…    junit-unittest-3.13.0/: by unittest-xml-reporting
#   regenerate_junit.sh FOLDER googletest          junit-googletest/: a binary's XML, and its JSON of the same run
#   regenerate_junit.sh FOLDER ctest               junit-ctest/: ctest's XML, and what it prints of the same run
#   regenerate_junit.sh FOLDER surefire REPOSITORY junit-surefire/: Surefire's XML, and what Maven prints of the same run.
#                                                  Offline; REPOSITORY is Maven's, with maven-surefire-plugin and junit 4
# The folder in which the tests ran is written as /suite, Python's as /python, the host as "host".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$here/fixtures
mkdir -p "$1"
made=$(cd "$1" && pwd)
tool=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

# tidy PYTHON FILE…: PYTHON may be empty.
tidy() {
    local edits=(-e "s|$work/suite|/suite|g" -e "s|hostname=\"[^\"]*\"|hostname=\"host\"|g" -e "s|0x[0-9a-f]*|0x0|g")
    if [ -n "$1" ]; then
        edits+=(-e "s|$("$1" -c 'import sys; print(sys.prefix)')|/python|g" -e "s|$("$1" -c 'import sys; print(sys.base_prefix)')|/python|g")
    fi
    shift
    sed -i "${edits[@]}" "$@"
}

begin() {
    out=$made/$1
    rm -rf "$out" "$work/suite"
    mkdir -p "$out"
    cp -r "$fixtures/$2" "$work/suite"
}

case $tool in
    pytest)
        for version in "$@"; do
            begin "junit-pytest-$version" pytest
            python3 -m venv "$work/v-$version"
            python=$work/v-$version/bin/python
            packages=("pytest==$version")
            [ "${version%%.*}" -ge 9 ] || packages+=(pytest-subtests)  # of its own since 9
            "$python" -m pip install --quiet "${packages[@]}"
            rm "$work/suite/test_crash.py"
            for family in xunit1 xunit2 legacy; do
                (cd "$work/suite" && PYTHONPATH=$here ORACLE=$out/model.json "$python" -m pytest -q -p no:cacheprovider \
                    -p oracle_pytest --continue-on-collection-errors -o junit_family=$family --junitxml="$out/$family.xml" \
                    >/dev/null 2>&1) || true
            done
            tidy "$python" "$out"/*
        done
        ;;
    unittest)
        for base in "$@"; do
            version=$("$base" -c 'import platform; print(platform.python_version())')
            begin "junit-unittest-$version" unittest
            "$base" -m venv "$work/v-$version"
            python=$work/v-$version/bin/python
            "$python" -m pip install --quiet unittest-xml-reporting
            for module in test_states test_module_fixture test_module_fixture_skips test_broken_import test_all_skipped; do
                (cd "$work/suite" && "$python" -m xmlrunner --output-file "$out/$module.xml" $module >/dev/null 2>&1) || true
                (cd "$work/suite" && "$python" "$here/oracle_unittest.py" $module >"$out/$module.model.json" 2>/dev/null)
            done
            tidy "$python" "$out"/*
        done
        ;;
    googletest)
        begin junit-googletest googletest
        (cd "$work/suite" && g++ -std=c++17 states.cc -o states -lgtest -lgtest_main -lpthread
            ./states --gtest_output="xml:$out/states.xml" >/dev/null 2>&1 || true
            ./states --gtest_output="json:$out/states.json" >/dev/null 2>&1 || true
            ./states --gtest_also_run_disabled_tests --gtest_filter='States.*' \
                --gtest_output="xml:$out/disabled_too.xml" >/dev/null 2>&1 || true)
        tidy "" "$out"/*
        ;;
    ctest)
        begin junit-ctest ctest
        (cd "$work/suite" && cmake -B build . >/dev/null
            ctest --test-dir build --output-junit "$out/states.xml" >"$out/states.txt" 2>/dev/null || true)
        tidy "" "$out"/*
        ;;
    surefire)
        repository=$1
        begin junit-surefire surefire
        junit=$(find -L "$repository/junit/junit" "$repository/org/hamcrest" -name '*.jar' | tr '\n' ':')
        (cd "$work/suite" && mkdir -p target/test-classes
            javac -cp "$junit" -d target/test-classes src/test/java/com/example/*.java
            version=$(ls "$repository/org/apache/maven/plugins/maven-surefire-plugin" | sort -V | tail -1)
            mvn -o -B -Dmaven.repo.local="$repository" "org.apache.maven.plugins:maven-surefire-plugin:$version:test" \
                >"$work/printed" 2>&1 || true
            # The properties of the machine's Java are no part of the results.
            sed '/<property /d' target/surefire-reports/TEST-*.xml >"$out/states.xml"
            grep -o 'Tests run: [0-9]*, Failures: [0-9]*, Errors: [0-9]*, Skipped: [0-9]*, Flakes: [0-9]*' "$work/printed" \
                | tail -1 >"$out/states.txt")
        tidy "" "$out"/*
        ;;
esac
