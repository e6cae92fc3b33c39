// C = (C (+)) A (x) B on a GPU, by a block of 256 threads for each tile of C.
//
// Two tiles, of A and of B, pass through shared memory, a few steps of k at a time. Every thread
// adds its part of C up in registers. While the threads compute with one pair of tiles, the
// elements of the next are on their way. V. Volkov and J. W. Demmel, "Benchmarking GPUs to tune
// dense linear algebra", SC 2008, section 5.
#pragma once

#include "elements.cuh"

namespace tropical {
namespace {

constexpr int threads = 256, side = 16;

// The part of a thread: so many rows of C and registers of columns; and the steps of k in a tile.
template <int rows_, int columns_, int depth_>
struct Shape {
    static constexpr int rows = rows_, columns = columns_, depth = depth_;
};

// One product, or a batch of two axes. Addresses of elements, and strides in elements.
struct Product {
    Size a, b, c, index;  // index: unless 0
    Size m, n, k;
    Size a_row, a_column, b_row, b_column, c_row, c_column, index_row, index_column;
    Size inner, a_outer, a_inner, b_outer, b_inner, c_outer, c_inner, index_outer, index_inner;
    Size accumulate;
    Size skip_row, skip_column;  // of tiles of C, which stay as they are; or -1
    Size before, before_row;     // of int, (k, n), a row without gaps: see write_paths
};

template <class T>
T* at(Size address, Size offset = 0) {
    return static_cast<T*>(__cvta_global_to_generic(static_cast<unsigned long long>(address))) +
           offset;
}

// Of a thread's rows (or registers of columns) so many lie side by side, to be read at once.
template <int count>
constexpr int run = count < 4 ? count : 4;
// The row (or the register of columns) number u of a thread at `place` of 16.
template <int count>
int line(int place, int u) {
    return u / run<count> * (side * run<count>)+place * run<count> + u % run<count>;
}

// Reads `count` registers of a thread from a row of a tile.
template <class Register, int count>
void read_lines(const void* row, int place, Register (&to)[count]) {
    using Run = Pack<Register, run<count>>;
#pragma unroll
    for (int u = 0; u < count; u += run<count>) {
        const Run part = *reinterpret_cast<const Run*>(static_cast<const Register*>(row) +
                                                       line<count>(place, u));
#pragma unroll
        for (int v = 0; v < run<count>; ++v) to[u + v] = part.x[v];
    }
}

// How threads read an operand: an element at a time, or 16 bytes that lie side by side, along k
// (steps) or across it (lines).
enum class Reads { elements, steps, lines };

// What one thread brings to a tile: elements (l, p) of a matrix, l < lines, p < depth, in groups.
template <class Memory, Reads reads, int lines, int pitch, int depth>
struct Source {
    static constexpr int count = lines * depth / threads;
    using Stored = typename Memory::Stored;
    static constexpr int most = reads == Reads::elements ? 1 : 16 / sizeof(Stored);
    static constexpr int group = most < count ? most : count;
    static constexpr int groups = count / group;
    static constexpr int beside = reads == Reads::steps ? pitch : 1;  // places in the tile
    const char* from[groups];
    Size bytes;         // from one step to the next
    int place[groups];  // in the tile
    Words<Stored, group> x[groups];

    // Neighbors in memory go to neighboring threads: some along k, then the next line, so that few
    // of 32 threads store to the same bank.
    Source(Size data, Size first, Size end, Size line_stride, Size step_stride)
        : bytes(step_stride * static_cast<Size>(sizeof(Stored))) {
        constexpr int some = group == 1 ? 8 : 2, steps = depth / group;
        constexpr int near = some < steps ? some : steps, wide = lines / group;
        const bool along = reads == Reads::steps ||
                           (reads == Reads::elements &&
                            (step_stride == 1 || (line_stride != 1 && step_stride < line_stride)));
        const Size last = end - first - (reads == Reads::lines ? group : 1);
#pragma unroll
        for (int g = 0; g < groups; ++g) {
            const int t = static_cast<int>(threadIdx.x) + threads * g;
            const int line = along ? t / near % lines : t % wide * group;
            const int step = along ? (t % near + t / (near * lines) * near) * group : t / wide;
            place[g] = step * pitch + line;
            // A line behind the end repeats the last one: its sums are thrown away.
            const Size inside = line < last ? line : last;
            from[g] = reinterpret_cast<const char*>(
                at<Stored>(data, (first + inside) * line_stride + step * step_stride));
        }
    }
    void fetch() {
#pragma unroll
        for (int g = 0; g < groups; ++g) {
            read(g);
            from[g] += depth * bytes;
        }
    }
    void fetch(unsigned steps) {  // the first ones
#pragma unroll
        for (int g = 0; g < groups; ++g) {
#pragma unroll
            for (auto& word : x[g].x) word = 0;
            if (place[g] < static_cast<int>(steps) * pitch) read(g);
            from[g] += static_cast<Size>(steps) * bytes;
        }
    }

  private:
    void read(int g) {
        const auto some = *reinterpret_cast<const Words<Stored, group>*>(from[g]);
#pragma unroll
        for (int w = 0; w < some.count; ++w) x[g].x[w] = some.x[w];
    }
};

// What a product tells of the best term of each sum: nothing, its number, or a vertex, as
// `write_paths` does.
enum class Winner { none, index, predecessor };

// One tile of C in the registers of a block: `lines` rows and registers a thread.
template <class Lane, class Memory, Winner winner, class Shape, Reads reads_a = Reads::elements,
          Reads reads_b = Reads::elements>
struct Tile {
    static constexpr int rows = Shape::rows, columns = Shape::columns, depth = Shape::depth;
    static constexpr bool argmax = winner != Winner::none;
    static constexpr int height = side * rows, width = side * columns * Lane::lanes;
    using Left = typename Lane::Left;
    using Right = typename Lane::Right;
    using Register = typename Lane::Register;
    using Number = typename Memory::Number;
    // Rows are so long that steps which neighboring threads bring lie in different banks.
    static constexpr int pitch_a = height + 16 / sizeof(Left), pitch_b = width + 16 / sizeof(Right);
    struct Panels {
        alignas(16) Left a[depth * pitch_a];
        alignas(16) Right b[depth * pitch_b];
    };
    using SourceA = Source<Memory, reads_a, height, pitch_a, depth>;
    using SourceB = Source<Memory, reads_b, width, pitch_b, depth>;

    typename Lane::Sum sum[rows][columns];
    int index[argmax ? rows : 1][argmax ? columns : 1];
    typename Lane::Watch watch;

    void store(Panels& to, const SourceA& a, const SourceB& b) {
        put(to.a, a, [](Number x) { return Lane::left(x); });
        put(to.b, b, [](Number x) { return Lane::right(x); });
    }

    // sum (+)= column (x) row, for step p of k.
    void multiply(const Panels& from, unsigned step, unsigned p) {
        Left a[rows];
        Register b[columns];
        read_lines(from.a + step * pitch_a, threadIdx.x / side, a);
        read_lines(from.b + step * pitch_b, threadIdx.x % side, b);
#pragma unroll
        for (int u = 0; u < rows; ++u)
#pragma unroll
            for (int v = 0; v < columns; ++v)
                if constexpr (argmax) {
                    typename Lane::Sum term;
                    if (Lane::better(sum[u][v], a[u], b[v], term)) {
                        sum[u][v] = term;
                        index[u][v] = static_cast<int>(p + step);
                    }
                } else {
                    sum[u][v] = Lane::step(sum[u][v], a[u], b[v]);
                }
    }

    // The sums of the tile at (i, j). The first panels may be thin, so that no other one is.
    void compute(const Product& g, Size i, Size j, Panels (&panels)[2]) {
#pragma unroll
        for (int u = 0; u < rows; ++u)
#pragma unroll
            for (int v = 0; v < columns; ++v) {
                sum[u][v] = Lane::start();
                if constexpr (argmax) index[u][v] = 0;
            }
        SourceA a(g.a, i, g.m, g.a_row, g.a_column);
        SourceB b(g.b, j, g.n, g.b_column, g.b_row);
        const unsigned k = static_cast<unsigned>(g.k);  // less than 2^31
        const unsigned thin = k ? (k - 1) % depth + 1 : 0;
        a.fetch(thin);
        b.fetch(thin);
        store(panels[0], a, b);
        __syncthreads();
        if (thin < k) {
            a.fetch();
            b.fetch();
        }
#pragma unroll 1
        for (unsigned step = 0; step < thin; ++step) multiply(panels[0], step, 0);
#pragma unroll 1
        for (unsigned p = thin; p < k;) {
#pragma unroll
            for (int now = 1; now >= 0; --now) {
                if (p >= k) break;
                store(panels[now], a, b);
                __syncthreads();
                if (p + depth < k) {
                    a.fetch();
                    b.fetch();
                }
#pragma unroll Lane::unroll ? depth : 1
                for (unsigned step = 0; step < depth; ++step) multiply(panels[now], step, p);
                p += depth;
            }
        }
    }

    // Whether the sums are those of the definition.
    bool holds() const {
        bool good = watch.covered();
        if constexpr (argmax) {
#pragma unroll
            for (int u = 0; u < rows; ++u)
#pragma unroll
                for (int v = 0; v < columns; ++v) good = good && !Lane::is_tie(sum[u][v]);
        }
        return !__syncthreads_or(!good);
    }

    template <class S>
    void write(const Product& g, Size i, Size j) const {
        if constexpr (winner == Winner::predecessor) return write_paths<S>(g, i, j);
        using Stored = typename Memory::Stored;
        constexpr Number zero = S::template zero<Number>;
#pragma unroll
        for (int u = 0; u < rows; ++u)
#pragma unroll
            for (int v = 0; v < columns; ++v)
#pragma unroll
                for (int l = 0; l < Lane::lanes; ++l) {
                    const Size row = i + line<rows>(threadIdx.x / side, u);
                    const Size column = j + line<columns>(threadIdx.x % side, v) * Lane::lanes + l;
                    if (row >= g.m || column >= g.n) continue;
                    Number x = Lane::value(sum[u][v], l);
                    Stored* const to = at<Stored>(g.c, row * g.c_row + column * g.c_column);
                    if (g.accumulate) x = joined<S>(Memory::read(*to), x);
                    *to = is_own<S> ? Memory::write(x) : rounded<S, Memory>(as_on_cpu<S>(x));
                    if constexpr (argmax)
                        *at<Size>(g.index, row * g.index_row + column * g.index_column) =
                            g.k == 0    ? -1
                            : x == zero ? 0
                                        : index[u][v];
                }
    }

  private:
    // C where paths over p are better, and in `index`, of int, the vertex before their end: that of
    // the path from p.
    template <class S>
    void write_paths(const Product& g, Size i, Size j) const {
        using Stored = typename Memory::Stored;
#pragma unroll
        for (int u = 0; u < rows; ++u)
#pragma unroll
            for (int v = 0; v < columns; ++v) {
                const Size row = i + line<rows>(threadIdx.x / side, u);
                const Size column = j + line<columns>(threadIdx.x % side, v);
                if (row >= g.m || column >= g.n) continue;
                const Stored x = rounded<S, Memory>(Lane::value(sum[u][v], 0));
                Stored* const to = at<Stored>(g.c, row * g.c_row + column * g.c_column);
                if (!improves<S>(Memory::read(x), Memory::read(*to))) continue;
                *to = x;
                *at<int>(g.index, row * g.index_row + column * g.index_column) =
                    *at<int>(g.before, index[u][v] * g.before_row + column);
            }
    }

    template <class From, class Element, class Encode>
    void put(Element* to, const From& from, Encode encode) {
        using Group = Pack<Element, From::group>;
#pragma unroll
        for (int g = 0; g < from.groups; ++g) {
            const auto stored =
                __builtin_bit_cast(Pack<typename Memory::Stored, From::group>, from.x[g]);
            Pack<Number, From::group> x;
#pragma unroll
            for (int e = 0; e < from.group; ++e) x.x[e] = Memory::read(stored.x[e]);
            Lane::look(watch, x);
            Group some;
#pragma unroll
            for (int e = 0; e < from.group; ++e) some.x[e] = encode(x.x[e]);
            if constexpr (From::beside == 1) {
                using InWords = Words<Element, From::group>;
                *reinterpret_cast<InWords*>(to + from.place[g]) = __builtin_bit_cast(InWords, some);
            } else {
#pragma unroll
                for (int e = 0; e < from.group; ++e)
                    to[from.place[g] + e * from.beside] = some.x[e];
            }
        }
    }
    template <class S>
    static Number joined(Number c, Number x) {
        if constexpr (is_own<S>) {
            return S::Add::apply(x, c);
        } else {
            if constexpr (!same_type<typename S::Add, Plus>)
                c = add<S>(c, S::template zero<Number>);
            return add<S>(c, x);
        }
    }
};

// The item of a batch, and the first row and column of the block's tile of C. Neighboring blocks
// compute 8 rows of tiles, so that they find what they read in the L2 cache.
struct Place {
    Size item, row, column;
};
template <int height, int width>
Place place_of(const Product& g, Size block) {
    constexpr Size group = 8;
    const Size down = (g.m + height - 1) / height, across = (g.n + width - 1) / width;
    const Size tile = block % (down * across), first = tile / (group * across) * group;
    const Size high = down - first < group ? down - first : group;
    const Size within = tile % (group * across);
    return {block / (down * across), first + within % high, within / high};
}

Product item_of(Product g, Size item, Size size) {
    const Size outer = item / g.inner, inner = item % g.inner;
    g.a += (outer * g.a_outer + inner * g.a_inner) * size;
    g.b += (outer * g.b_outer + inner * g.b_inner) * size;
    g.c += (outer * g.c_outer + inner * g.c_inner) * size;
    g.index += (outer * g.index_outer + inner * g.index_inner) * static_cast<Size>(sizeof(Size));
    return g;
}

// A tile of C by definition, in smaller tiles: a step takes many instructions.
template <class S, class Tile>
void multiply_by_definition(const Product& g, Size i, Size j, int height, int width, char* memory) {
#pragma unroll 1
    for (Size r = i; r < i + height && r < g.m; r += Tile::height)
#pragma unroll 1
        for (Size c = j; c < j + width && c < g.n; c += Tile::width) {
            Tile tile;
            tile.compute(g, r, c, *reinterpret_cast<typename Tile::Panels(*)[2]>(memory));
            __syncthreads();
            tile.template write<S>(g, r, c);
        }
}

// The product of one block: fast where its operands allow it, else by definition.
template <class S, class Row, Winner winner, int lanes, class Shape, Reads reads_a, Reads reads_b>
void multiply(const Product& whole) {
    using Memory = tropical::Memory<Row>;
    using Fast = Tile<Lane<S, Row, lanes>, Memory, winner, Shape, reads_a, reads_b>;
    // As wide as the fast tile where C may lie over A: each row of A is read before it is written.
    constexpr int columns = winner == Winner::predecessor ? Shape::columns : 2;
    using Careful = Tile<CarefulLane<S, Row>, Memory, winner, tropical::Shape<2, columns, 8>>;
    constexpr Size room = sizeof(typename Fast::Panels) > sizeof(typename Careful::Panels)
                              ? 2 * sizeof(typename Fast::Panels)
                              : 2 * sizeof(typename Careful::Panels);
    alignas(16) __shared__ char memory[room];
    const Place place = place_of<Fast::height, Fast::width>(whole, blockIdx.x);
    if (place.row == whole.skip_row || place.column == whole.skip_column) return;
    const Product g = item_of(whole, place.item, sizeof(typename Memory::Stored));
    const Size i = place.row * Fast::height, j = place.column * Fast::width;
    {
        Fast tile;
        tile.compute(g, i, j, *reinterpret_cast<typename Fast::Panels(*)[2]>(memory));
        if (tile.holds()) return tile.template write<S>(g, i, j);
    }
    if constexpr (!is_own<S>)
        multiply_by_definition<S, Careful>(g, i, j, Fast::height, Fast::width, memory);
}

}  // namespace
}  // namespace tropical
