// Rows of X to columns of a result, which leaves the caches where it is large: whole cache lines
// are streamed to memory, a third of the time of stores that first read the lines.
#pragma once

#include "kernels/pack.hpp"
#include "kernels/sweep.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t line_bytes = 64;

// Copies bytes to a place that is aligned as lines are.
[[gnu::always_inline]] inline void stream_line(char* target, const char* source) {
#if defined(__AVX512BW__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), load<__m512i>(source));
#elif defined(__AVX2__)
    for (int b = 0; b < line_bytes; b += 32)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(target + b), load<__m256i>(source + b));
#elif defined(__x86_64__)
    for (int b = 0; b < line_bytes; b += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(target + b), load<__m128i>(source + b));
#else
    __builtin_memcpy(target, source, line_bytes);
#endif
}

// Streamed lines are not ordered with the stores that tell other threads of them.
inline void finish_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

// The bytes by which an address lies behind the begin of its line.
inline ptrdiff_t behind_line(const char* address) {
    return static_cast<ptrdiff_t>(reinterpret_cast<std::uintptr_t>(address) % line_bytes);
}

// Copies `bytes` bytes; lines of the target that are whole are streamed.
inline void copy_bytes(char* target, const char* source, ptrdiff_t bytes, bool streams) {
    ptrdiff_t b = 0;
    const auto copy_until = [&](ptrdiff_t end) {
        for (; b + 16 <= end; b += 16) store(target + b, load<Register<char, 16>>(source + b));
        for (; b < end; ++b) target[b] = source[b];
    };
    if (streams) {
        const ptrdiff_t first = (line_bytes - behind_line(target)) % line_bytes;
        copy_until(first < bytes ? first : bytes);
        for (; b + line_bytes <= bytes; b += line_bytes) stream_line(target + b, source + b);
    }
    copy_until(bytes);
}

// One representation of each result; see kernels/codec.hpp.
template <class R>
constexpr auto choose_result_codec() {
    using T = typename R::T;
    if constexpr (is_float<T>)
        return PositiveZero<T>{};
    else if constexpr (same_type<typename R::S::Add, Or>)
        return AnyTruth<T>{};
    else
        return AsIs<T>{};
}

// Some columns of a result, for the sources from which on `x` holds elements.
struct StageArgs {
    const std::int32_t* rows;  // of X, of the columns
    ptrdiff_t columns, sources;
    const char* x;
    ptrdiff_t row_bytes;
};

// stage[s, j] = X[rows[j], s], in rows of stage_bytes. Writes whole registers: up to L - 1 columns
// and sources more. Rows of X that follow lie anywhere, so they are asked for ahead.
template <class Codec, class V>
[[gnu::noinline]] void fill_stage(const StageArgs& g, char* stage, ptrdiff_t stage_bytes,
                                  ptrdiff_t part_bytes) {
    using T = typename Codec::T;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>;
    for (ptrdiff_t j = 0; j < g.columns; j += L) {
        const char* row[L];
        for (ptrdiff_t c = 0; c < L; ++c)
            row[c] = g.x + g.rows[j + c < g.columns ? j + c : g.columns - 1] * g.row_bytes;
        for (ptrdiff_t c = L; c < 2 * L && j + c < g.columns; ++c)
            for (ptrdiff_t b = 0; b < part_bytes; b += line_bytes)
                prefetch<Nearest::l1>(g.x, g.rows[j + c] * g.row_bytes + b);
        for (ptrdiff_t s = 0; s < g.sources; s += L) {
            V square[L];
            TROPICAL_UNROLL for (int c = 0; c < L; ++c)
                square[c] = Codec::canonical(load<V>(row[c] + s * size));
            transpose(square);
            TROPICAL_UNROLL for (int c = 0; c < L; ++c)
                store(stage + (s + c) * stage_bytes + j * size, square[c]);
        }
    }
}

// Group `group` of the columns of target[s, j] = X[rows[j], s]. Each row gets the group's lines:
// from the last begin of a line before the group on, up to that before the next group.
template <class R>
void copy_group(const CopyArgs& g, ptrdiff_t group) {
    using T = typename R::T;
    using V = Register<T, square_bytes<T, sizeof(typename R::V), group_columns>()>;
    using Codec = decltype(choose_result_codec<R>());
    // As many sources at a time as let the stage stay in L1.
    constexpr ptrdiff_t size = sizeof(T), step = sizeof(typename R::V),
                        part_bytes = narrow_row * step, part = part_bytes / size,
                        before = line_bytes / size, stage_bytes = (before + group_columns) * size;
    alignas(line_bytes) char stage[part * stage_bytes];
    const ptrdiff_t first = group * group_columns,
                    end = g.columns - first < group_columns ? g.columns : first + group_columns,
                    begin = group ? first - before : 0;
    for (ptrdiff_t s0 = 0; s0 < g.sources; s0 += part) {
        const ptrdiff_t sources = g.sources - s0 < part ? g.sources - s0 : part;
        fill_stage<Codec, V>({.rows = g.rows + begin,
                              .columns = end - begin,
                              .sources = sources,
                              .x = g.x + s0 * size,
                              .row_bytes = g.registers * step},
                             stage, stage_bytes, part_bytes);
        for (ptrdiff_t s = 0; s < sources; ++s) {
            char* const row = g.target + (s0 + s) * g.target_stride;
            const auto line_before = [&](ptrdiff_t j) {
                return j - behind_line(row + j * size) / size;
            };
            const ptrdiff_t from = group ? line_before(first) : 0,
                            to = end == g.columns ? end : line_before(end);
            copy_bytes(row + from * size, stage + s * stage_bytes + (from - begin) * size,
                       (to - from) * size, g.streams);
        }
    }
}

template <class R>
void copy_columns(const CopyArgs& g) {
    for (ptrdiff_t i = 0; i < g.group_count; ++i) copy_group<R>(g, g.groups[i]);
    if (g.streams) finish_streams();
}

}  // namespace
}  // namespace tropical
