// Images: the largest pixels of windows, and borders of zeros, for tropical.autograd.
#include "training/pooling.hpp"

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/shapes.hpp"

namespace tropical {
namespace {

using Pair = std::pair<ptrdiff_t, ptrdiff_t>;

// Throws unless x has four axes and contiguous rows.
Images images_of(const py::array& x) {
    if (x.ndim() != 4)
        throw py::value_error("x: expected (channels, n, height, width), got " + shape_text(x));
    if ((x.size() > 0 && x.shape(3) > 1 && x.strides(3) != x.itemsize()) ||
        !(x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_))
        throw py::value_error("x: expected contiguous rows");
    return {.x = bytes_of(x),
            .channels = x.shape(0),
            .n = x.shape(1),
            .height = x.shape(2),
            .width = x.shape(3),
            .channel_stride = x.strides(0),
            .image_stride = x.strides(1),
            .row_stride = x.strides(2)};
}

// One image for each of x.
void check_out(const py::array& out, const char* name, const py::dtype& dtype, ptrdiff_t down,
               ptrdiff_t across, const py::array& x) {
    const std::string prefix = std::string(name) + ": expected ";
    const ptrdiff_t shape[] = {x.shape(0), x.shape(1), down, across};
    if (out.ndim() != 4 || !std::equal(shape, shape + 4, out.shape()))
        throw py::value_error(prefix + "(" + std::to_string(shape[0]) + ", " +
                              std::to_string(shape[1]) + ", " + std::to_string(down) + ", " +
                              std::to_string(across) + "), got " + shape_text(out));
    check_dtype(out, name, dtype);
    if (!is_plain(out)) throw py::value_error(prefix + "an array in C order");
    check_writeable(out, name);
}

// The number of windows along an axis. Throws unless each has a pixel of the image.
ptrdiff_t count_windows(ptrdiff_t length, ptrdiff_t kernel, ptrdiff_t stride, ptrdiff_t padding) {
    const ptrdiff_t most = most_pool_pixels;
    const bool fits = 0 < length && 0 < kernel && kernel <= most && 0 < stride && stride <= most &&
                      0 <= padding && 2 * padding <= kernel && kernel <= length + 2 * padding;
    if (!fits)
        throw py::value_error("kernel, stride, padding: expected windows within " +
                              std::to_string(length) + " pixels, got " + std::to_string(kernel) +
                              ", " + std::to_string(stride) + ", " + std::to_string(padding));
    return (length + 2 * padding - kernel) / stride + 1;
}

void max_pool(const py::array& x, const Pair& kernel, const Pair& stride, const Pair& padding,
              const py::array& value, const py::array& index) {
    Pool p{};
    p.dtype = float_dtype(x, "x");
    p.images = images_of(x);
    const auto [height, width] = std::pair(p.images.height, p.images.width);
    if (height > most_pool_pixels / std::max<ptrdiff_t>(width, 1))
        throw py::value_error("x: expected at most 2^30 pixels in an image, got " + shape_text(x));
    p.windows = {{kernel.first, kernel.second},
                 {stride.first, stride.second},
                 {padding.first, padding.second}};
    p.down = count_windows(height, kernel.first, stride.first, padding.first);
    p.across = count_windows(width, kernel.second, stride.second, padding.second);
    check_out(value, "value", x.dtype(), p.down, p.across, x);
    check_out(index, "index", py::dtype::of<py::ssize_t>(), p.down, p.across, x);
    p.value = bytes_of(value);
    p.index = reinterpret_cast<ptrdiff_t*>(bytes_of(index));
    const Choice choice = choose({}, 0);
    without_gil([&] { find_largest(p, *choice.isa, choice.threads); });
}

void pad_images(const py::array& x, const Pair& border, const py::array& out) {
    if (std::string("biufc").find(x.dtype().kind()) == std::string::npos)
        throw py::type_error("x: expected numbers, got " + std::string(py::str(x.dtype())));
    const Images images = images_of(x);
    const ptrdiff_t most = (most_elements - std::max(images.height, images.width)) / 2;
    if (std::min(border.first, border.second) < 0 || std::max(border.first, border.second) > most)
        throw py::value_error("border: expected 0 to " + std::to_string(most) + ", got " +
                              std::to_string(border.first) + ", " + std::to_string(border.second));
    check_out(out, "out", x.dtype(), images.height + 2 * border.first,
              images.width + 2 * border.second, x);
    const Padding padding{.images = images,
                          .item = x.itemsize(),
                          .border = {border.first, border.second},
                          .out = bytes_of(out)};
    const int threads = choose({}, 0).threads;
    without_gil([&] { pad_images(padding, threads); });
}

}  // namespace

void bind_pooling(py::module_& module) {
    using py::arg;
    module.def("max_pool", max_pool, arg("x").noconvert(), arg("kernel"), arg("stride"),
               arg("padding"), arg("value").noconvert(), arg("index").noconvert(),
               "Write the largest pixel of each window of `x`, (channels, n, height, width) with "
               "contiguous rows, into `value`, (channels, n, down, across), and its place in the "
               "image, row * width + column, into `index`, of intp: of the first NaN if there is "
               "one, else of the first of equal pixels. Windows are given as (down, across), and "
               "the padding is at most half of the kernel. `value` and `index` are in C order, and "
               "no arrays share memory.");
    module.def("pad_images",
               py::overload_cast<const py::array&, const Pair&, const py::array&>(pad_images),
               arg("x").noconvert(), arg("border"), arg("out").noconvert(),
               "Write the images of `x`, (channels, n, height, width) with contiguous rows, with a "
               "border of zeros (down, across) into `out`, of the same dtype and in C order. The "
               "arrays share no memory.");
}

}  // namespace tropical
