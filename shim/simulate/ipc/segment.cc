#include "simulate/ipc/segment.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace compat::shim::simulate {
namespace {

constexpr std::size_t kHead = sizeof(std::uint64_t);  // the number of granules

std::size_t first_granule(std::size_t granules) {
    const std::size_t table = kHead + granules * sizeof(int);
    return (table + Segment::kGranule - 1) / Segment::kGranule * Segment::kGranule;
}

class File {
  public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

  private:
    int descriptor_;
};

std::byte* map(int file, std::size_t bytes) {
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    TORCH_CHECK(base != MAP_FAILED, "cannot map ", bytes,
                " bytes of shared memory: ", std::strerror(errno));
    return static_cast<std::byte*>(base);
}

// Process ids and descriptors are reused; the inode number tells one file from another.
struct Handle {
    std::uint64_t process = 0, descriptor = 0, number = 0;
};

std::string written(const Handle& handle) {
    return std::to_string(handle.process) + ":" + std::to_string(handle.descriptor) + ":" +
           std::to_string(handle.number);
}

std::optional<Handle> read(const std::string& text) {
    Handle handle;
    const char *at = text.data(), *end = at + text.size();
    for (std::uint64_t* part : {&handle.process, &handle.descriptor, &handle.number}) {
        const auto [next, error] = std::from_chars(at, end, *part);
        const bool last = part == &handle.number;
        if (error != std::errc() || (last ? next != end : next == end || *next != ':')) return {};
        at = last ? next : next + 1;
    }
    return handle;
}

}  // namespace

std::shared_ptr<Segment> Segment::create(std::size_t granules) {
    const std::size_t bytes = first_granule(granules) + granules * kGranule;
    File file(::memfd_create("simulated CUDA memory", MFD_CLOEXEC));
    struct stat status;
    TORCH_CHECK(file.get() >= 0 && ::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
                    ::fstat(file.get(), &status) == 0,
                "cannot make ", bytes, " bytes of shared memory: ", std::strerror(errno));
    std::byte* base = map(file.get(), bytes);
    const std::uint64_t count = granules;
    std::memcpy(base, &count, sizeof count);
    std::shared_ptr<Segment> segment(new Segment(base, bytes, granules));
    segment->handle_ =
        written({static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(file.get()),
                 static_cast<std::uint64_t>(status.st_ino)});
    segment->file_ = file.release();
    return segment;
}

std::shared_ptr<Segment> Segment::open(const std::string& handle) {
    const auto parts = read(handle);
    if (!parts) return nullptr;
    const std::string path =
        "/proc/" + std::to_string(parts->process) + "/fd/" + std::to_string(parts->descriptor);
    const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    struct stat status;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_ino) != parts->number)
        return nullptr;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    std::byte* base = map(file.get(), bytes);
    std::uint64_t granules = 0;
    std::memcpy(&granules, base, sizeof granules);
    std::shared_ptr<Segment> segment(new Segment(base, bytes, granules));
    segment->handle_ = handle;
    return segment;
}

Segment::~Segment() {
    ::munmap(base_, bytes_);
    if (file_ >= 0) ::close(file_);
}

std::size_t Segment::offset(std::size_t granule) const {
    return first_granule(granules_) + granule * kGranule;
}

std::atomic_ref<int> Segment::holders(std::size_t granule) const {
    TORCH_CHECK(granule < granules_, "no shared memory begins at ", granule);
    return std::atomic_ref<int>(reinterpret_cast<int*>(base_ + kHead)[granule]);
}

void Segment::clear(std::size_t granule, std::size_t count) const {
    (void)::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(offset(granule)), static_cast<off_t>(count * kGranule));
}

}  // namespace compat::shim::simulate
