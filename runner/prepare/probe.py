"""Prints one JSON object that describes this Python: version, ABI, torch and packages. Imports the standard library only."""
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import sysconfig


# Without -I, Python puts the folder of this file on sys.path.
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != HERE]


def torch():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    scope = {}
    # Importing torch would take seconds.
    with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
        exec(compile(file.read(), "version.py", "exec"), scope)
    return {"version": str(scope["__version__"]), "git": scope.get("git_version") or "",
            "folder": os.path.dirname(os.path.abspath(spec.origin))}


def packages():
    """Versions by name. Python imports the first of several in sys.path."""
    found = {}
    for package in importlib.metadata.distributions():
        if package.metadata["Name"]:
            found.setdefault(package.metadata["Name"], package.version)
    return found


print(json.dumps({
    "executable": sys.executable,
    "version": platform.python_version(),
    "soabi": sysconfig.get_config_var("SOABI") or "",
    "headers": sysconfig.get_path("include") or "",
    "torch": torch(),
    "packages": packages(),
}))
