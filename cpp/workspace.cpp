#include "workspace.hpp"

#include <new>

namespace tropical {
namespace {

constexpr std::align_val_t page{4096};

}  // namespace

char* Workspace::grow(ptrdiff_t bytes) {
    if (bytes > bytes_) {
        char* const larger =
            static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), page));
        clear();
        data_ = larger;
        bytes_ = bytes;
    }
    return data_;
}

void Workspace::clear() {
    ::operator delete(data_, page);
    data_ = nullptr;
    bytes_ = 0;
}

Workspace& thread_workspace() {
    static thread_local Workspace workspace;
    return workspace;
}

}  // namespace tropical
