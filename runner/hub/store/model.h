// Repositories and addresses as the hub knows them, recorded or generated alike: all answers are
// made from these. Not for where their content lies (blobs.h) nor for how they are stored (lock.h).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace compat::hub {

enum class Kind { model, dataset, space };

[[nodiscard]] std::string_view name_of(Kind kind);    // "model"
[[nodiscard]] std::string_view plural_of(Kind kind);  // "models", as in the hub's addresses
[[nodiscard]] std::optional<Kind> kind_named(std::string_view name);
[[nodiscard]] std::optional<Kind> kind_of_plural(std::string_view plural);

struct File {
    std::string path;
    std::uint64_t size = 0;
    std::string oid;     // git's id of the content; of the pointer where it is LFS
    std::string sha256;  // empty: not known yet
    bool is_lfs = false;
    bool is_kept = false;  // its content is in the store; else it is only listed
};

struct Repository {
    Kind kind = Kind::model;
    std::string name;                  // "org/name" or "name"
    std::vector<std::string> aliases;  // names from which the hub redirects to it
    std::set<std::string> revisions;   // branches and tags that were asked for
    std::string commit;                // 40 hexadecimal digits; empty: absent
    std::string gated;                 // "auto", "manual" or empty
    unsigned status = 200;             // else: absent, and this is answered
    std::string error;                 // absent: "RepoNotFound"
    nlohmann::json info = nlohmann::json::object();
    std::map<std::string, File> files{};
    std::string made_from{}, why{};  // generated: from which class, by which rule
    bool is_generated = false;

    [[nodiscard]] bool is_absent() const { return status != 200; }
};

// Anything else with an address: pages of the hub, media of other hosts.
struct Address {
    std::string url;  // as address_key
    unsigned status = 200;
    std::string type;
    std::uint64_t size = 0;
    std::string sha256;  // empty: no content
    std::string why{};   // generated
    bool is_generated = false;
};

// "model org/name", for people.
[[nodiscard]] std::string title_of(Kind kind, std::string_view name);

// Whether it can be one: nothing that leads out of a folder, no control characters, bounded. A name
// has one or two components.
[[nodiscard]] bool is_repository_name(std::string_view name);
[[nodiscard]] bool is_revision(std::string_view revision);
[[nodiscard]] bool is_path(std::string_view path);

// How an address is stored and found again: without a fragment, user and password, and without the
// parameters of its query that sign it or hold a secret. Values of parameters that are not known to
// be harmless are digests. Empty: it is no http(s) address, or longer
// than 4 KiB.
[[nodiscard]] std::string address_key(std::string_view url);

// Tests name repositories without end: each call takes as long with many as with few.
class Catalog {
  public:
    using Repositories = std::list<Repository>;

    Catalog() = default;
    Catalog(Catalog&&) = default;
    Catalog& operator=(Catalog&&) = default;

    // `revision`: a branch, a tag or a commit. Also by an alias.
    [[nodiscard]] Repository* find(Kind kind, std::string_view name, std::string_view revision);
    // Any that exists, of any revision.
    [[nodiscard]] const Repository* find_any(Kind kind, std::string_view name) const;
    // All of this name or alias, absent ones too.
    [[nodiscard]] std::vector<const Repository*> find_all(Kind kind, std::string_view name) const;
    [[nodiscard]] const Address* find_address(const std::string& key) const;

    // Adds what is new: revisions, aliases, files, content of files. Known content stays.
    Repository& merge(Repository repository);
    void merge(Address address);
    void merge(Catalog other);

    [[nodiscard]] const Repositories& repositories() const { return repositories_; }
    [[nodiscard]] const std::map<std::string, Address>& addresses() const { return addresses_; }

  private:
    using Named = std::vector<Repositories::iterator>;

    [[nodiscard]] const Named& named(Kind kind, std::string_view name) const;
    void index(Repositories::iterator repository);
    void erase(Repositories::iterator repository);

    Repositories repositories_;
    std::unordered_map<std::string, Named> by_name_;  // title_of; of names and aliases
    std::map<std::string, Address> addresses_;
};

}  // namespace compat::hub
