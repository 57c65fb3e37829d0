// SPDX-License-Identifier: Apache-2.0
// A table of formulas. Products wrap as torch's do; sizes that are negative or do
// not fit together make no FLOPs.
#include "analyse/flops/flops.h"

#include <string.h>

#include "analyse/flops/shape_text.h"

enum { ARGS_MAX = 12 };

struct call {
    struct shape_arg args[ARGS_MAX];
    uint32_t count;
    enum flops_way way;
};

static void read_call(struct call *call, const char *shapes, enum flops_way way)
{
    call->count = 0;
    call->way = way;
    while (call->count < ARGS_MAX && shape_text_next(&shapes, &call->args[call->count]))
        call->count++;
}

// An argument of that kind with its numbers, or NULL.
static const struct shape_arg *arg_of(const struct call *call, uint32_t index, enum shape_kind kind)
{
    if (index >= call->count || call->args[index].kind != kind || !call->args[index].is_told)
        return NULL;
    return &call->args[index];
}

static const struct shape_arg *tensor_of(const struct call *call, uint32_t index, uint32_t dims)
{
    const struct shape_arg *tensor = arg_of(call, index, SHAPE_TENSOR);
    return tensor && (!dims || tensor->count == dims) ? tensor : NULL;
}

static uint64_t product(const int64_t *numbers, uint32_t count)
{
    uint64_t result = 1;
    for (uint32_t i = 0; i < count; i++)
        result *= (uint64_t)numbers[i];
    return result;
}

static uint64_t size_of(const struct shape_arg *tensor)
{
    return product(tensor->numbers, tensor->count);
}

// --- as with_flops counts -------------------------------------------------------------

static uint64_t table_elements(const struct call *call)
{
    const struct shape_arg *tensor = tensor_of(call, 0, 0);
    return tensor ? size_of(tensor) : 0;
}

// All but the dimension in common, and the batch where there is one, count once.
static uint64_t table_product(const struct call *call, uint32_t first, bool is_batch)
{
    const struct shape_arg *left = tensor_of(call, first, 0);
    const struct shape_arg *right = tensor_of(call, first + 1, 0);
    if (!left || !right || !left->count)
        return 0;
    const uint64_t common = (uint64_t)left->numbers[left->count - 1];
    const uint64_t batch = is_batch ? (uint64_t)left->numbers[0] : 1;
    if (!common || !batch)
        return 0;
    return size_of(left) / common / batch * size_of(right) * 2;
}

static uint64_t table_mm(const struct call *call)
{
    return table_product(call, 0, false);
}

static uint64_t table_addmm(const struct call *call)
{
    return table_product(call, 1, false);
}

static uint64_t table_bmm(const struct call *call)
{
    return table_product(call, 0, true);
}

static uint64_t table_baddbmm(const struct call *call)
{
    return table_product(call, 1, true);
}

static bool is_sane(int64_t number)
{
    return number >= 0 && number <= INT32_MAX;
}

// Points of a convolution's output along one axis; one number may stand for all
// axes.
static uint64_t points_along(const struct call *call, const struct shape_arg *in,
                             const struct shape_arg *weight, uint32_t axis)
{
    enum { STRIDE = 3, COUNT = 3 }; // then padding and dilation
    int64_t told[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct shape_arg *list = arg_of(call, STRIDE + i, SHAPE_NUMBERS);
        if (!list || !list->count)
            return 0;
        told[i] = list->numbers[list->count > axis ? axis : 0];
        if (!is_sane(told[i]))
            return 0;
    }
    if (!is_sane(in->numbers[axis + 2]) || !is_sane(weight->numbers[axis + 2]))
        return 0;
    const int64_t reach = told[2] * (weight->numbers[axis + 2] - 1) + 1;
    const int64_t length = in->numbers[axis + 2] + 2 * told[1] - reach;
    return length < 0 || told[0] <= 0 ? 0 : (uint64_t)(length / told[0] + 1);
}

static uint64_t table_conv2d(const struct call *call)
{
    const struct shape_arg *in = tensor_of(call, 0, 4), *weight = tensor_of(call, 1, 4);
    const struct shape_arg *groups = arg_of(call, 6, SHAPE_NUMBER);
    if (!in || !weight || !groups || groups->numbers[0] <= 0)
        return 0;
    const uint64_t points = points_along(call, in, weight, 0) * points_along(call, in, weight, 1);
    const uint64_t channels = (uint64_t)in->numbers[1] * (uint64_t)weight->numbers[0];
    return 2 * (uint64_t)in->numbers[0] * points * product(weight->numbers + 2, 2) * channels /
           (uint64_t)groups->numbers[0];
}

// --- products of matrices ---------------------------------------------------------------

static uint64_t matrices(const struct call *call, uint32_t first)
{
    const struct shape_arg *left = tensor_of(call, first, 2),
                           *right = tensor_of(call, first + 1, 2);
    return left && right ? 2 * size_of(left) * (uint64_t)right->numbers[1] : 0;
}

static uint64_t batched_matrices(const struct call *call, uint32_t first)
{
    const struct shape_arg *left = tensor_of(call, first, 3),
                           *right = tensor_of(call, first + 1, 3);
    return left && right ? 2 * size_of(left) * (uint64_t)right->numbers[2] : 0;
}

static uint64_t mm(const struct call *call)
{
    return matrices(call, 0);
}

static uint64_t addmm(const struct call *call)
{
    return matrices(call, 1);
}

static uint64_t bmm(const struct call *call)
{
    return batched_matrices(call, 0);
}

static uint64_t baddbmm(const struct call *call)
{
    return batched_matrices(call, 1);
}

// --- convolutions -----------------------------------------------------------------------

static bool are_convolved(const struct shape_arg *in, const struct shape_arg *weight)
{
    return in && weight && in->count == weight->count && in->count >= 2;
}

// The weights have the channels of one group on one side, so groups are counted.
static uint64_t convolution(const struct call *call)
{
    const struct shape_arg *in = tensor_of(call, 0, 0), *weight = tensor_of(call, 1, 0);
    const struct shape_arg *transposed = arg_of(call, 6, SHAPE_NUMBER);
    if (!are_convolved(in, weight) || !transposed)
        return 0;
    uint64_t points = (uint64_t)in->numbers[0] * 2 * size_of(weight);
    for (uint32_t axis = 0; axis + 2 < in->count; axis++)
        points *= transposed->numbers[0] ? (uint64_t)in->numbers[axis + 2]
                                         : points_along(call, in, weight, axis);
    return points;
}

// Of input and weights, as far as each is asked for: one more convolution each.
static uint64_t convolution_backward(const struct call *call)
{
    const struct shape_arg *out = tensor_of(call, 0, 0), *in = tensor_of(call, 1, 0);
    const struct shape_arg *weight = tensor_of(call, 2, 0);
    const struct shape_arg *transposed = arg_of(call, 7, SHAPE_NUMBER);
    const struct shape_arg *groups = arg_of(call, 9, SHAPE_NUMBER);
    const struct shape_arg *mask = arg_of(call, 10, SHAPE_NUMBERS);
    if (!are_convolved(in, weight) || !out || out->count != in->count || !transposed || !groups ||
        !mask || mask->count < 2 || groups->numbers[0] <= 0)
        return 0;
    // the kernel moves over the output, or over the input of a transposed one
    const struct shape_arg *grid = transposed->numbers[0] ? in : out;
    const uint32_t axes = in->count - 2;
    const uint64_t points = product(grid->numbers + 2, axes) * (uint64_t)out->numbers[0] * 2;
    const uint64_t kernel = product(weight->numbers + 2, axes);
    const uint64_t channels = (uint64_t)in->numbers[1] * (uint64_t)out->numbers[1];
    const uint64_t groups_told = call->way == FLOPS_WORK ? (uint64_t)groups->numbers[0] : 1;
    uint64_t flops = 0;
    if (mask->numbers[0])
        flops += points * size_of(weight);
    if (mask->numbers[1])
        flops += points * kernel * channels / groups_told;
    return flops;
}

// --- attention --------------------------------------------------------------------------

// Query, key and value from `first` on: batch, heads, length, width each.
static uint64_t attend(const struct call *call, uint32_t first, uint64_t by_query,
                       uint64_t by_value)
{
    const struct shape_arg *query = tensor_of(call, first, 4);
    const struct shape_arg *key = tensor_of(call, first + 1, 4);
    const struct shape_arg *value = tensor_of(call, first + 2, 4);
    if (!query || !key || !value)
        return 0;
    const uint64_t pairs = product(query->numbers, 3) * (uint64_t)key->numbers[2];
    return 2 * pairs *
           (by_query * (uint64_t)query->numbers[3] + by_value * (uint64_t)value->numbers[3]);
}

static uint64_t attention(const struct call *call)
{
    return attend(call, 0, 1, 1);
}

// The scores once more, then the gradients of scores, values, queries and keys.
static uint64_t attention_backward(const struct call *call)
{
    return attend(call, 1, 3, 2);
}

// --- recurrent layers -------------------------------------------------------------------

// One direction of one layer: each step of each row meets both matrices of weights.
static uint64_t recurrent(const struct call *call)
{
    const struct shape_arg *in = tensor_of(call, 0, 3);
    const struct shape_arg *by_input = tensor_of(call, 1, 2), *by_state = tensor_of(call, 2, 2);
    if (!in || !by_input || !by_state)
        return 0;
    return 2 * product(in->numbers, 2) * (size_of(by_input) + size_of(by_state));
}

// Gradients of what comes in and of the weights.
static uint64_t recurrent_backward(const struct call *call)
{
    return 2 * recurrent(call);
}

// --- the table ----------------------------------------------------------------------------

enum { AS_TABLE = 1 << FLOPS_TABLE, AS_WORK = 1 << FLOPS_WORK };
enum { AS_NEWER = AS_WORK | 1 << FLOPS_COUNTER_2_15, AS_BOTH = AS_NEWER | 1 << FLOPS_COUNTER };

static const struct formula {
    const char *name;
    uint64_t (*count)(const struct call *call);
    int ways;
} formulas[] = {
    {"aten::conv2d", table_conv2d, AS_TABLE},
    {"aten::mm", table_mm, AS_TABLE},
    {"aten::addmm", table_addmm, AS_TABLE},
    {"aten::bmm", table_bmm, AS_TABLE},
    {"aten::baddbmm", table_baddbmm, AS_TABLE},
    {"aten::mul", table_elements, AS_TABLE},
    {"aten::add", table_elements, AS_TABLE},
    {"aten::mm", mm, AS_BOTH},
    {"aten::addmm", addmm, AS_BOTH},
    {"aten::bmm", bmm, AS_BOTH},
    {"aten::baddbmm", baddbmm, AS_BOTH},
    {"aten::_scaled_mm", mm, AS_BOTH},
    {"aten::convolution", convolution, AS_BOTH},
    {"aten::_convolution", convolution, AS_BOTH},
    {"aten::convolution_overrideable", convolution, AS_BOTH},
    {"aten::convolution_backward", convolution_backward, AS_BOTH},
    {"aten::_scaled_dot_product_flash_attention", attention, AS_BOTH},
    {"aten::_scaled_dot_product_efficient_attention", attention, AS_BOTH},
    {"aten::_scaled_dot_product_cudnn_attention", attention, AS_BOTH},
    {"aten::_flash_attention_forward", attention, AS_BOTH},
    {"aten::_efficient_attention_forward", attention, AS_BOTH},
    {"aten::_scaled_dot_product_flash_attention_backward", attention_backward, AS_BOTH},
    {"aten::_scaled_dot_product_efficient_attention_backward", attention_backward, AS_BOTH},
    {"aten::_scaled_dot_product_cudnn_attention_backward", attention_backward, AS_BOTH},
    {"aten::_flash_attention_backward", attention_backward, AS_BOTH},
    {"aten::_efficient_attention_backward", attention_backward, AS_BOTH},
    {"aten::mkldnn_rnn_layer", recurrent, AS_WORK},
    {"aten::mkldnn_rnn_layer_backward", recurrent_backward, AS_WORK},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", attention, AS_NEWER},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward, AS_NEWER},
};

static const struct formula *formula_of(const char *name, enum flops_way way)
{
    if (strncmp(name, "aten::", 6) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
        if (formulas[i].ways & 1 << way && strcmp(formulas[i].name, name) == 0)
            return &formulas[i];
    }
    return NULL;
}

uint64_t flops_of(const char *name, const char *shapes, enum flops_way way)
{
    const struct formula *formula = formula_of(name, way);
    struct call call;
    if (!formula || !shapes)
        return 0;
    read_call(&call, shapes, way);
    return formula->count(&call);
}

bool flops_has(const char *name, enum flops_way way)
{
    return formula_of(name, way) != NULL;
}
