// 278 lines, as packing, the loops and the ends of the sums are read as one algorithm.
#include "training/quantized.hpp"

#include <algorithm>
#include <optional>

#include "blocking.hpp"
#include "runtime/tasks.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t quad_bytes = 4, cache_line = 64;
constexpr ptrdiff_t quads_of(ptrdiff_t k) { return ceil_div(k, quad_bytes); }
// In a micro-panel.
ptrdiff_t padded(ptrdiff_t quads, const QuadKernels& kernels) {
    return round_up(quads, kernels.blocks.depth_unit);
}

// Sums wrap: they are computed as numbers without a sign.
constexpr std::int32_t wrapped(std::int64_t x) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x));
}

// Arrays one behind the other, each on a cache line.
class Layout {
  public:
    ptrdiff_t add(ptrdiff_t count, ptrdiff_t size = quad_bytes) {
        const ptrdiff_t place = bytes_;
        bytes_ += round_up(count * size, cache_line);
        return place;
    }
    ptrdiff_t bytes() const { return bytes_; }

  private:
    ptrdiff_t bytes_ = 0;
};

// How a product is cut. A task is a block of rows of A, which a thread packs for itself, and some
// micro-panels of B.
struct Cut {
    const QuadTile* tile;
    int threads;
    ptrdiff_t rows, row_blocks, panels, panel_blocks;
    // Bytes from the start of a thread's memory on; then the bytes of all of it.
    ptrdiff_t packed_a, tile_sums, row_sums, row_zero, row_term, row_scale, bytes;
    // Bytes in the memory of all threads, padded to whole micro-panels.
    ptrdiff_t column_zero, column_scale, bias, shared_bytes;
};

int threads_for(const ByteProduct& p, const QuadTile& tile, int most) {
    const double work = static_cast<double>(p.m) * static_cast<double>(p.packed.n) *
                        static_cast<double>(p.packed.k) / tile.speed;
    const double share = static_cast<double>(setting(Setting::thread_share));
    const int threads = static_cast<int>(std::clamp(work / share, 1.0, double{1} * most));
    const bool wakes = work >= threads * static_cast<double>(setting(Setting::wake_share));
    if (threads == 1 || wakes || workers_at_hand(threads)) return threads;
    note_loop_alone();
    return 1;
}

// Rows of a block of A, of which the packed quads take at most half of L2. With short sums, what
// becomes of the sums takes longest, so that L1 has to hold them.
ptrdiff_t rows_of_block(ptrdiff_t m, ptrdiff_t quads, int mr, ptrdiff_t most_rows) {
    constexpr ptrdiff_t rows_in_l1 = 24;
    const ptrdiff_t most = std::min({caches().l2 / 2 / std::max<ptrdiff_t>(quads * quad_bytes, 1),
                                     most_rows, std::max(2 * quads, rows_in_l1)});
    const ptrdiff_t blocks = ceil_div(m, std::max<ptrdiff_t>(most / mr, 1) * mr);
    return round_up(ceil_div(m, blocks), mr);
}

Cut cut_of(const ByteProduct& p, int most_threads) {
    const QuadKernels& kernels = *p.packed.kernels;
    const ptrdiff_t quads = padded(quads_of(p.packed.k), kernels);
    const ptrdiff_t n = round_up(p.packed.n, kernels.nr);
    Cut cut{};
    cut.tile = std::find_if(kernels.tiles, kernels.tiles + quad_tiles - 1,
                            [&](const QuadTile& tile) { return p.m <= tile.mr; });
    cut.threads = threads_for(p, *cut.tile, most_threads);
    cut.rows = rows_of_block(p.m, quads, cut.tile->mr, kernels.blocks.most_rows);
    cut.row_blocks = ceil_div(p.m, cut.rows);
    const ptrdiff_t panels = n / kernels.nr;
    const ptrdiff_t wanted = cut.row_blocks >= 2 * cut.threads ? 1 : cut.threads;
    cut.panels = ceil_div(panels, std::min(panels, wanted));
    cut.panel_blocks = ceil_div(panels, cut.panels);
    Layout own, shared;
    cut.packed_a = own.add(cut.rows * quads);
    cut.tile_sums = own.add(cut.rows * kernels.nr);
    cut.row_sums = own.add(cut.rows);
    cut.row_zero = own.add(cut.rows);
    cut.row_term = own.add(cut.rows);
    cut.row_scale = own.add(cut.rows);
    cut.bytes = own.bytes();
    cut.column_zero = shared.add(n);
    cut.column_scale = shared.add(n);
    cut.bias = shared.add(n);
    cut.shared_bytes = shared.bytes();
    return cut;
}

struct Run {
    const ByteProduct& p;
    const Cut& cut;
    const std::optional<std::int32_t> common_zero;
    char* shared;

    template <class T>
    T* own(int slot, ptrdiff_t place) const {
        return reinterpret_cast<T*>(shared + cut.shared_bytes + slot * cut.bytes + place);
    }
    template <class T>
    T* column(ptrdiff_t place, ptrdiff_t j) const {
        return reinterpret_cast<T*>(shared + place) + j;
    }
};

// What 128 was added to, or taken from, has another zero point.
int turned_zero(const PackedBytes& b) {
    return b.is_signed == b.kernels->signed_b ? 0 : b.is_signed ? 128 : -128;
}

// The zero point of every column; nothing where they differ.
std::optional<std::int32_t> common_zero(const ByteProduct& p) {
    const std::int32_t* const zeros = p.column_zero.data;
    const ptrdiff_t different = p.column_zero.step == 0 ? 0 : p.packed.n;
    if (std::any_of(zeros, zeros + different, [&](int zero) { return zero != *zeros; })) return {};
    return wrapped(std::int64_t{p.column_zero[0]} + turned_zero(p.packed));
}

void fill_columns(const Run& run) {
    const ByteProduct& p = run.p;
    const ptrdiff_t n = p.packed.n;
    float* const scales = run.column<float>(run.cut.column_scale, 0);
    if (p.column_scale.step == 1)
        std::copy_n(p.column_scale.data, n, scales);
    else
        std::fill_n(scales, n, p.column_scale[0]);
    if (p.bias) std::copy_n(p.bias, n, run.column<float>(run.cut.bias, 0));
    if (run.common_zero) return;
    for (ptrdiff_t j = 0; j < n; ++j)
        *run.column<std::int32_t>(run.cut.column_zero, j) =
            wrapped(std::int64_t{p.column_zero[j]} + turned_zero(p.packed));
}

// A[i:i+m, :], a block of steps after the other.
void pack_rows(const Run& run, ptrdiff_t i, ptrdiff_t m, int slot) {
    const ByteProduct& p = run.p;
    const Cut& cut = run.cut;
    char* const packed = run.own<char>(slot, cut.packed_a);
    std::int32_t* const sums = run.own<std::int32_t>(slot, cut.row_sums);
    const ptrdiff_t most_quads = p.packed.kernels->blocks.most_quads;
    std::fill_n(sums, m, 0);
    for (ptrdiff_t quad = 0; quad < quads_of(p.packed.k); quad += most_quads)
        cut.tile->pack_a(
            {.target = packed + quad * cut.rows * quad_bytes,
             .source = at(p.a, i, quad * quad_bytes).data,
             .length = m,
             .depth = std::min(most_quads * quad_bytes, p.packed.k - quad * quad_bytes),
             .length_stride = p.a.row_stride,
             .depth_stride = p.a.col_stride,
             .turn = !p.a_is_signed,
             .sums = sums});
    for (ptrdiff_t r = 0; r < m; ++r) {
        const std::int64_t zero = std::int64_t{p.row_zero[i + r]} - (p.a_is_signed ? 0 : 128);
        run.own<float>(slot, cut.row_scale)[r] = p.row_scale[i + r];
        run.own<std::int32_t>(slot, cut.row_zero)[r] = wrapped(zero);
        run.own<std::int32_t>(slot, cut.row_term)[r] =
            wrapped((sums[r] - p.packed.k * zero) * run.common_zero.value_or(1));
    }
}

// C[i:i+m, j:j+n] of the micro-panel of B that begins at column j.
void compute_panel(const Run& run, ptrdiff_t i, ptrdiff_t m, ptrdiff_t j, int slot) {
    const ByteProduct& p = run.p;
    const Cut& cut = run.cut;
    const QuadKernels& kernels = *p.packed.kernels;
    const ptrdiff_t quads = quads_of(p.packed.k), most_quads = kernels.blocks.most_quads;
    const ptrdiff_t n = std::min<ptrdiff_t>(kernels.nr, p.packed.n - j);
    std::int32_t* const sums = run.own<std::int32_t>(slot, cut.tile_sums);
    const View tile{reinterpret_cast<char*>(sums), kernels.nr * quad_bytes, quad_bytes};
    if (quads == 0) std::fill_n(sums, m * kernels.nr, 0);
    for (ptrdiff_t quad = 0; quad < quads; quad += most_quads)
        cut.tile->macro({.m = m,
                         .n = kernels.nr,
                         .k = std::min(most_quads, quads - quad),
                         .a = run.own<char>(slot, cut.packed_a) + quad * cut.rows * quad_bytes,
                         .b = p.packed.panel(j / kernels.nr, quad),
                         .c = tile,
                         .accumulate = quad > 0,
                         .first_p = 0,
                         .scratch = nullptr});
    const float* const bias = run.column<float>(cut.bias, j);
    kernels.end(
        {.m = m,
         .n = n,
         .sums = sums,
         .row_zero = run.own<std::int32_t>(slot, cut.row_zero),
         .row_term = run.own<std::int32_t>(slot, cut.row_term),
         .column_sums = p.packed.sums() + j,
         .column_zero = run.common_zero ? nullptr : run.column<std::int32_t>(cut.column_zero, j),
         .row_scale = run.own<float>(slot, cut.row_scale),
         .column_scale = run.column<float>(cut.column_scale, j),
         .bias = p.bias ? bias : nullptr,
         .relu = p.relu,
         .inverse_scale = p.inverse_scale,
         .zero_point = p.zero_point,
         .result = p.result,
         .c = at(p.c, i, j)});
}

void run_task(const Run& run, ptrdiff_t task, int slot, Stop& stop) {
    const Cut& cut = run.cut;
    const ByteProduct& p = run.p;
    const ptrdiff_t nr = p.packed.kernels->nr;
    const ptrdiff_t i = task / cut.panel_blocks * cut.rows, m = std::min(cut.rows, p.m - i);
    const ptrdiff_t first = task % cut.panel_blocks * cut.panels * nr;
    const ptrdiff_t last = std::min(first + cut.panels * nr, p.packed.n);
    pack_rows(run, i, m, slot);
    for (ptrdiff_t j = first; j < last; j += nr) {
        const double steps = static_cast<double>(m * nr) * static_cast<double>(p.packed.k);
        if (slot == 0) stop.ask_after(steps / 64);
        if (stop) return;
        compute_panel(run, i, m, j, slot);
    }
}

}  // namespace

const char* PackedBytes::panel(ptrdiff_t panel, ptrdiff_t quad) const {
    return memory + (panel * padded(quads_of(k), *kernels) + quad) * kernels->nr * quad_bytes;
}

std::int32_t* PackedBytes::sums() const {
    const ptrdiff_t columns = round_up(n, kernels->nr);
    return reinterpret_cast<std::int32_t*>(
        memory + round_up(columns * padded(quads_of(k), *kernels) * quad_bytes, cache_line));
}

ptrdiff_t packed_bytes(const QuadKernels& kernels, ptrdiff_t k, ptrdiff_t n) {
    Layout layout;
    const ptrdiff_t columns = round_up(n, kernels.nr);
    layout.add(columns * padded(quads_of(k), kernels));
    layout.add(columns);
    return layout.bytes();
}

PackedBytes pack(const QuadKernels& kernels, const ByteMatrix& b, char* memory, int threads) {
    constexpr ptrdiff_t bytes_of_task = 1 << 17;
    const PackedBytes packed{&kernels, b.k, b.n, b.is_signed, memory};
    const ptrdiff_t nr = kernels.nr, quads = padded(quads_of(b.k), kernels);
    std::int32_t* const sums = packed.sums();
    std::fill_n(sums, round_up(b.n, nr), 0);
    const ptrdiff_t panels = std::max<ptrdiff_t>(bytes_of_task / (nr * (b.k + 1)), 1);
    if (b.k * b.n < 4 * bytes_of_task) threads = 1;
    parallel_for_blocks(threads, b.n, panels * nr, [&](ptrdiff_t j, ptrdiff_t end) {
        kernels.pack_b({.target = memory + j * quads * quad_bytes,
                        .source = at(b.view, 0, j).data,
                        .length = end - j,
                        .depth = b.k,
                        .length_stride = b.view.col_stride,
                        .depth_stride = b.view.row_stride,
                        .turn = b.is_signed != kernels.signed_b,
                        .sums = sums + j});
    });
    return packed;
}

void multiply(ByteProduct product, int threads, Workspace& workspace,
              StopRequested stop_requested) {
    PackedBytes& b = product.packed;
    if (product.m == 0 || b.n == 0) return;
    const Cut cut = cut_of(product, threads);
    const ptrdiff_t own = cut.shared_bytes + cut.threads * cut.bytes;
    char* const memory = workspace.grow(own + (b.memory ? 0 : packed_bytes(*b.kernels, b.k, b.n)));
    if (!b.memory)
        b = pack(*b.kernels, {b.k, b.n, product.b, b.is_signed}, memory + own, cut.threads);
    const Run run{product, cut, common_zero(product), memory};
    fill_columns(run);
    for_each_task(cut.threads, cut.row_blocks * cut.panel_blocks, stop_requested,
                  [&](ptrdiff_t task, int slot, Stop& stop) { run_task(run, task, slot, stop); });
}

}  // namespace tropical
