// Addresses of the hub's API: what a request asks for. Pure. Not for the answer (answers.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/http/http_server.h"
#include "runner/hub/store/model.h"

namespace compat::hub {

inline constexpr std::string_view kHubUrl = "https://huggingface.co";

enum class Route {
    info,        // of a repository
    tree,        // files of a folder in it
    paths,       // information about named paths
    refs,        // branches and tags
    file,        // content, as `resolve` gives it
    raw,         // content as git has it: the pointer of a file in LFS
    address,     // anything else that can be read
    whoami,      // nobody is logged in
    telemetry,   // goes nowhere
    read_only,   // a request that would change something
    unreadable,  // no valid address
};

struct Asked {
    Route route = Route::unreadable;
    Kind kind = Kind::model;
    std::string name{};
    std::string revision = "main";
    std::string path{};                // tree: a folder; file, raw: the file
    bool recursive = false;            // tree
    bool expand = false;               // tree, paths: with the last commit
    bool blobs = false;                // info: with sizes
    std::vector<std::string> paths{};  // paths
    std::string url{};                 // address: its key
    std::string full_url{};            // as it was asked for; may hold secrets
};

[[nodiscard]] Asked route_of(const http::Request& request);

// The path of a file of a repository, as `resolve` has it: "/datasets/a/b/resolve/main/x%20y".
[[nodiscard]] std::string resolve_path(const Repository& repository, std::string_view revision,
                                       std::string_view path);

}  // namespace compat::hub
