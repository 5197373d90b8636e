// Where content comes from that the store lacks: a hub elsewhere (fetcher.h) or a generator
// (generator.h). Not for the answer to a client (hub.cc).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runner/hub/store/model.h"

namespace compat::hub {

struct Need {
    enum class What { repository, file, address };
    What what = What::repository;
    Kind kind = Kind::model;
    std::string name{}, revision{};
    std::string path{};           // file; repository: the file that was asked for, or empty
    std::string commit{};         // file: of its repository
    File file{};                  // file: as the repository lists it
    std::string url{};            // address: its key
    std::string asked_url{};      // address: as it was asked for, with what signs it
    std::string authorization{};  // the client's; a secret

    // Equal for needs that one answer serves.
    [[nodiscard]] std::string key() const;
};

struct Got {
    // 200: it is in `repository`, `file` or `address`. Else why not, as the client is answered.
    unsigned status = 200;
    std::string code{};  // the hub's word for the error
    std::string why{};
    bool is_lasting = false;  // the source says that there is none: to be remembered
    std::optional<Repository> repository{};
    std::optional<File> file{};
    std::optional<Address> address{};
    std::uint64_t bytes_fetched = 0;
};

class Source {
  public:
    using Done = std::function<void(Got)>;
    virtual ~Source() = default;
    // Calls `done` once, from any thread, at once or later.
    virtual void get(const Need& need, Done done) = 0;
    // Ends its program; what is due fails.
    virtual void stop() = 0;
};

}  // namespace compat::hub
