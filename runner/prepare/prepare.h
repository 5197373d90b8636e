// From a suite to something that can run: its source tree, a Python environment, and the shim built
// for that environment's torch. Everything it makes lies in the cache; a Python environment or
// checkout that it did not make is never changed. Not here: which modules run (runner/plan).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/prepare/cache.h"
#include "suites/suite.h"

namespace compat::prepare {

// A Python that can run a suite, as probe.py describes it.
struct Environment {
    std::filesystem::path
        python;                 // absolute; not resolved, so that a virtual environment stays one
    std::string version;        // "3.11.7"
    std::string soabi;          // "cpython-311-x86_64-linux-gnu"
    std::string torch_version;  // "2.13.0+cpu"; empty: no torch in it
    std::string torch_git;
    std::filesystem::path torch_folder;           // the package's
    std::map<std::string, std::string> packages;  // name -> version
};

struct Source {
    std::filesystem::path root;  // absolute
    std::string commit;          // of a git checkout, or the release's version; may be empty
    bool dirty = false;
    std::string remote;  // of a git checkout: its origin; may be empty
    std::string hash;    // sha256 of the archive it came from; may be empty
};

// What pip is given for torch where nobody says otherwise: the line of torch.txt.
extern const std::string_view kTorchRequirement;

struct Options {
    std::filesystem::path root;    // --root: a checkout to use instead of the suite's source
    std::filesystem::path python;  // --python: an environment to use instead of making one
    bool shim = true;
    // The source alone: no shim, and an environment only where the source cannot be had without
    // one.
    bool source_only = false;
    std::string torch_requirement = std::string(kTorchRequirement);  // COMPAT_TORCH_REQUIREMENT
    std::string base_python = "python3";  // COMPAT_BASE_PYTHON: makes the environments
};

// What the runner brings along (share/runner of an installed tree).
struct Share {
    std::filesystem::path harness;
    std::filesystem::path shim;     // shim's sources and its Python
    std::filesystem::path suites;   // shipped suites
    std::filesystem::path prepare;  // probe.py, unpack.py
    std::filesystem::path shims;    // libraries that were built with this runner; may be missing
};

struct Prepared {
    Environment environment;
    Source source;
    std::filesystem::path shim_library;  // empty: shim off
    std::string accelerator;             // what torch finds on this host: cuda, mps, cpu
};

using Say = std::function<void(std::string_view)>;

// The environment of this interpreter, or of the one in this environment's folder, by itself: what
// PYTHONPATH and the user's own site-packages add is not in it.
[[nodiscard]] Expected<Environment> probe(const std::filesystem::path& given, const Share& share);
// As a program finds it that is started with these variables, with what they add. The shim is not
// active in it, whatever they say.
[[nodiscard]] Expected<Environment> probe(
    const std::filesystem::path& given, const Share& share,
    const std::vector<std::pair<std::string, std::string>>& variables);
[[nodiscard]] Expected<Environment> make_environment(const suites::Suite& suite,
                                                     const Options& options, const Share& share,
                                                     const Cache& cache, const Say& say);
// The environment that make_environment would make, where it has been made or is given; nothing is
// made. An error: it is given and is none.
[[nodiscard]] Expected<std::optional<Environment>> find_environment(const suites::Suite& suite,
                                                                    const Options& options,
                                                                    const Share& share,
                                                                    const Cache& cache);
[[nodiscard]] Expected<Source> get_source(const suites::Suite& suite, const Options& options,
                                          const Environment& environment, const Share& share,
                                          const Cache& cache, const Say& say);
// Absolute path of the library for this environment's torch: prebuilt, cached, or built now.
[[nodiscard]] Expected<std::filesystem::path> get_shim(const Environment& environment,
                                                       const Share& share, const Cache& cache,
                                                       const Say& say);

// The library that get_shim would return, where it has been built; empty: it has not.
[[nodiscard]] Expected<std::filesystem::path> find_shim(const Environment& environment,
                                                        const Share& share, const Cache& cache);

// The devices that this environment's torch finds on this host, as the device-probe beside the
// shim's library prints them (docs/reference/file-formats.md). Takes 20 s at most.
[[nodiscard]] Expected<std::string> probe_devices(const Environment& environment,
                                                  const std::filesystem::path& shim_library);

// "cuda", "mps" or "cpu": the accelerator that this environment's torch finds on this host.
[[nodiscard]] Expected<std::string> accelerator_of(const Environment& environment);

// The four above in their order; what is not asked for stays empty.
[[nodiscard]] Expected<Prepared> prepare(const suites::Suite& suite, const Options& options,
                                         const Share& share, const Cache& cache, const Say& say);

// Of `packages`, those that dpkg does not know as installed; empty where there is no dpkg.
[[nodiscard]] std::vector<std::string> missing_system_packages(
    const std::vector<std::string>& packages);

}  // namespace compat::prepare
