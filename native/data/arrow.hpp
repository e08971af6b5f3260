// How columns are handed over in memory without a copy: the structures of Arrow's C data interface and C stream
// interface. Their layout is fixed by Arrow's specification; what is not used here is there for its place alone.
#pragma once

#include <cstdint>

namespace omtree {

struct ArrowSchema {
    const char *format; ///< the type of the column
    const char *name;
    const char *metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema **children;
    ArrowSchema *dictionary;
    void (*release)(ArrowSchema *);
    void *owner;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count; ///< -1 where nobody has counted
    std::int64_t offset;     ///< cells of the buffers that come before the first one
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void **buffers;
    ArrowArray **children;
    ArrowArray *dictionary;
    void (*release)(ArrowArray *); ///< null once released, and behind the end of a stream
    void *owner;
};

struct ArrowStream {
    int (*get_schema)(ArrowStream *, ArrowSchema *);
    int (*get_next)(ArrowStream *, ArrowArray *);
    const char *(*get_last_error)(ArrowStream *);
    void (*release)(ArrowStream *);
    void *owner;
};

} // namespace omtree
