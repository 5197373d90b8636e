// Whose code a frame is: torch's, the shim's, a package's, Python's own or the suite's. Works on
// the path as it stands in a traceback, which may come from another machine. Not for links
// (reports/links.h), which need the file itself.
#pragma once

#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

enum class Owner {
    suite,    // whatever is nobody else's
    torch,    // an installed torch package
    shim,     // a redirection layer: ours, or the TorchDevice package that went before it
    harness,  // what runs inside the child to drive the framework
    package,  // anything else in site-packages
    python    // the standard library, frozen and generated code
};

struct Place {
    Owner owner = Owner::suite;
    // The same on every machine: "autograd/__init__.py" in torch, "huggingface_hub/utils/_http.py"
    // in a package, the last folder and the file of the suite ("tests/test_modeling_common.py").
    std::string_view path;  // a view into the file's name

    // "torch:autograd/__init__.py"
    [[nodiscard]] std::string text() const;
};
[[nodiscard]] Place place_of(std::string_view file);

}  // namespace compat::parsers
