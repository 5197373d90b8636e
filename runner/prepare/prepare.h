// Prepares a suite to run: its source tree, a Python environment, and the shim built for the torch
// of that environment. Writes only to the cache, and never changes an environment or a checkout
// that it did not create. Not here: which modules run (runner/plan).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/prepare/cache.h"
#include "runner/prepare/tool.h"
#include "suites/suite.h"

namespace compat::prepare {

// A Python environment, as probe.py describes it.
struct Environment {
    fs::path python;            // absolute, symbolic links kept: they make it a virtual environment
    std::string version;        // "3.11.7"
    std::string soabi;          // "cpython-311-x86_64-linux-gnu"
    std::string torch_version;  // "2.13.0+cpu"; empty: no torch in it
    std::string torch_git;
    fs::path torch_folder;                        // the package's
    std::map<std::string, std::string> packages;  // name -> version
    fs::path headers;                             // the folder for Python.h
};

struct Source {
    fs::path root;               // absolute
    std::string commit;          // or the version of a release; may be empty
    bool dirty = false;
    std::string remote;  // "origin" of a git checkout; may be empty
    std::string hash;    // sha256 of the archive; may be empty
};

// The default requirement for torch: the line of torch.txt.
extern const std::string_view kTorchRequirement;

struct Options {
    fs::path root;    // --root: a checkout instead of the suite's source
    fs::path python;  // --python: an existing environment
    bool shim = true;
    // Only the source: no shim, and an environment only for sources from PyPI,
    // which need pip.
    bool source_only = false;
    std::string torch_requirement = std::string(kTorchRequirement);  // COMPAT_TORCH_REQUIREMENT
    std::string base_python = "python3";  // COMPAT_BASE_PYTHON: creates environments
};

// The runner's own data files (share/runner of an installation).
struct Share {
    fs::path harness;
    fs::path shim;     // sources of the shim
    fs::path suites;   // shipped suites
    fs::path prepare;  // probe.py, unpack.py
    fs::path shims;    // prebuilt shims; may be missing
    fs::path slurm;    // scripts that Slurm starts
    fs::path hub;      // programs of the hub: upstream.py, child, generate
};

struct Prepared {
    Environment environment;
    Source source;
    fs::path shim_library;               // empty: shim off
    std::string accelerator;             // that torch finds on this host: cuda, mps or cpu
    std::string devices;                 // as probe_devices; empty: the shim is off, or no answer
};

using Say = std::function<void(std::string_view)>;  // by several threads, one call at a time
// Called with a new environment that is not complete yet: when it has Python and pip alone
// (no torch_version), and when it has torch, too.
using OnProgress = std::function<void(const Environment&)>;

// The environment of an interpreter or of an environment's folder, without packages from PYTHONPATH
// and the user's site-packages.
[[nodiscard]] Expected<Environment> probe(const fs::path& given, const Share& share);
// The environment that a program started with these variables sees.
// The shim is inactive in it.
[[nodiscard]] Expected<Environment> probe(
    const fs::path& given, const Share& share,
    const std::vector<std::pair<std::string, std::string>>& variables);
[[nodiscard]] Expected<Environment> make_environment(const suites::Suite& suite,
                                                     const Options& options, const Share& share,
                                                     const Cache& cache, const Say& say,
                                                     const OnProgress& on_progress = {});
// The Python of an environment of the runner's own, made once for these requirements. For tools in
// Python that the standard library does not have.
[[nodiscard]] Expected<fs::path> tool_python(std::string_view name, const fs::path& requirements,
                                             const Options& options, const Cache& cache,
                                             const Say& say);
// The version of torch that pip would install for the base Python, by the user's own indexes,
// mirrors and constraints. Writes pip's answer and its log to `folder`. Errors: environment, if pip
// finds none.
[[nodiscard]] Expected<std::string> newest_torch(const Options& options, const Cache& cache,
                                                 const fs::path& folder);
// The environment that make_environment would return, if it exists; creates nothing. An error:
// --python names no Python.
[[nodiscard]] Expected<std::optional<Environment>> find_environment(const suites::Suite& suite,
                                                                    const Options& options,
                                                                    const Share& share,
                                                                    const Cache& cache);
[[nodiscard]] Expected<Source> get_source(const suites::Suite& suite, const Options& options,
                                          const Environment& environment, const Share& share,
                                          const Cache& cache, const Say& say);
// An error if this Python runs threads without the GIL, which guards what the shim counts.
[[nodiscard]] Expected<void> check_gil(const Environment& environment);
// Absolute path of the library for this environment's torch: prebuilt, cached, or built now.
[[nodiscard]] Expected<fs::path> get_shim(const Environment& environment, const Share& share,
                                          const Cache& cache, const Say& say);

// The library that get_shim would return; empty: not built yet.
[[nodiscard]] Expected<fs::path> find_shim(const Environment& environment, const Share& share,
                                           const Cache& cache);

// The command of the device-probe beside the shim's library.
[[nodiscard]] Tool device_probe(const Environment& environment, const fs::path& shim_library);

// The devices that this torch finds on this host, as printed by the device-probe beside the shim's
// library (docs/reference/file-formats.md). Takes at most 20 s.
[[nodiscard]] Expected<std::string> probe_devices(const Environment& environment,
                                                  const fs::path& shim_library);

// Functions that the shim replaces and this torch lacks, sorted: names, or features that are off.
[[nodiscard]] Expected<std::vector<std::string>> missing_in_torch(const Environment& environment,
                                                                  const Share& share,
                                                                  const fs::path& shim_library);

// "cuda", "mps", "xpu" or "cpu": the accelerator that this torch reaches on this host.
[[nodiscard]] Expected<std::string> accelerator_of(const Environment& environment,
                                                   const Share& share);

// Advice if the base Python or torch is missing.
inline constexpr const char* kPythonAdvice =
    "install python3 and python3-venv, or set COMPAT_BASE_PYTHON or --python";
inline constexpr const char* kTorchAdvice = "install torch in it, or use --shim off";
inline constexpr const char* kGilAdvice =
    "the shim does not work in a free-threaded Python: use a build with the GIL, or --shim off";

// All of the above; parts that `options` exclude stay empty.
[[nodiscard]] Expected<Prepared> prepare(const suites::Suite& suite, const Options& options,
                                         const Share& share, const Cache& cache, const Say& say);

// The `packages` that dpkg does not list as installed; empty without dpkg.
[[nodiscard]] std::vector<std::string> missing_system_packages(
    const std::vector<std::string>& packages);

}  // namespace compat::prepare
