// SPDX-License-Identifier: Apache-2.0
// Formulas by numbers worked out by hand or published (a convolution of ResNet's
// first layer, attention of 12 heads); tests/torch compares with torch's own.
#include "analyse/flops/flops.h"

#include "analyse/flops/shape_text.h"
#include "base/buffer.h"
#include "support/tap.h"

static uint64_t work(const char *name, const char *shapes)
{
    return flops_of(name, shapes, FLOPS_WORK);
}

#define RESNET "f32[1,3,224,224] f32[64,3,7,7] -"

TEST("flops: a convolution by its output, kernel, channels and groups")
{
    is_u64(work("aten::convolution", RESNET " S[2,2] S[3,3] S[1,1] s0 S[0,0] s1"), 236027904);
    is_u64(flops_of("aten::conv2d", RESNET " S[2,2] S[3,3] S[1,1] s1", FLOPS_TABLE), 236027904);
    // depthwise: 8 channels of 1 each, 3x3, 4x4 points
    is_u64(
        work("aten::convolution", "f32[1,8,4,4] f32[8,1,3,3] - S[1,1] S[1,1] S[1,1] s0 S[0,0] s8"),
        2 * 8 * 9 * 16);
    // transposed: each of 5 input points meets the whole kernel
    is_u64(work("aten::convolution", "f32[2,4,5] f32[4,6,3] - S[2] S[0] S[1] s1 S[0] s1"),
           2 * 2 * 5 * 4 * 6 * 3);
    // in three dimensions, one stride for all
    is_u64(work("aten::convolution", "f32[1,1,4,4,4] f32[1,1,2,2,2] - S[2] S[0] S[1] s0 S[0] s1"),
           2 * 8 * 8);
}

TEST("flops: a convolution's backward is a convolution for each gradient that is wanted")
{
#define BACK                                                                                       \
    "f32[1,64,112,112] f32[1,3,224,224] f32[64,3,7,7] S[0] S[2,2] S[3,3] S[1,1] s0 S[0,0] s1 "
    is_u64(work("aten::convolution_backward", BACK "S[1,1,0]"), 2 * UINT64_C(236027904));
    is_u64(work("aten::convolution_backward", BACK "S[0,1,0]"), 236027904);
    is_u64(work("aten::convolution_backward", BACK "S[0,0,1]"), 0);
}

TEST("flops: groups divide the gradient of weights in the work, though torch's counter forgets")
{
    const char *shapes = "f32[1,8,4,4] f32[1,8,4,4] f32[8,1,3,3] - S[1,1] S[1,1] S[1,1] s0 S[0,0] "
                         "s8 S[0,1,0]";
    is_u64(work("aten::convolution_backward", shapes), 2 * 8 * 9 * 16);
    is_u64(flops_of("aten::convolution_backward", shapes, FLOPS_COUNTER), 2 * 8 * 9 * 16 * 8);
}

TEST("flops: products of matrices")
{
    is_u64(work("aten::mm", "f32[2,3] f32[3,4]"), 48);
    is_u64(work("aten::addmm", "f32[4] f32[2,3] f32[3,4] s s"), 48);
    is_u64(work("aten::bmm", "f32[5,2,3] f32[5,3,4]"), 240);
    is_u64(work("aten::baddbmm", "f32[1,1,4] f32[5,2,3] f32[5,3,4] s s"), 240);
    is_u64(work("aten::mm", "f32[0,3] f32[3,4]"), 0);
    is_u64(flops_of("aten::mm", "f32[2,0] f32[0,4]", FLOPS_TABLE), 0);
}

TEST("flops: attention forward and backward; of CPUs in the work, and in torch's since 2.15")
{
#define QKV "f32[1,12,64,64] f32[1,12,64,64] f32[1,12,64,64]"
    is_u64(work("aten::_scaled_dot_product_flash_attention", QKV " s s"), 12582912);
    is_u64(work("aten::_scaled_dot_product_flash_attention_for_cpu", QKV), 12582912);
    is_u64(flops_of("aten::_scaled_dot_product_flash_attention_for_cpu", QKV, FLOPS_COUNTER), 0);
    is_u64(flops_of("aten::_scaled_dot_product_flash_attention_for_cpu", QKV, FLOPS_COUNTER_2_15),
           12582912);
    is_u64(
        work("aten::_scaled_dot_product_efficient_attention_backward", "f32[1,12,64,64] " QKV " -"),
        12582912 / 2 * 5);
    // fewer heads of keys, and values of another width
    is_u64(
        work("aten::_scaled_dot_product_cudnn_attention", "f32[2,8,5,4] f32[2,2,7,4] f32[2,2,7,6]"),
        2 * 2 * 8 * 5 * 7 * (4 + 6));
}

TEST("flops: a recurrent layer by its steps, rows and weights")
{
#define LAYER "f32[7,3,8] f32[64,8] f32[64,16] f32[64] f32[64]"
    is_u64(work("aten::mkldnn_rnn_layer", LAYER), 2 * 7 * 3 * 64 * (8 + 16));
    is_u64(work("aten::mkldnn_rnn_layer_backward", LAYER), 4 * 7 * 3 * 64 * (8 + 16));
    is_u64(flops_of("aten::mkldnn_rnn_layer", LAYER, FLOPS_COUNTER), 0);
}

TEST("flops: with_flops counts elements of mul and add, and looks at no other op")
{
    is_u64(flops_of("aten::mul", "f32[2,3] f32[2,3]", FLOPS_TABLE), 6);
    is_u64(flops_of("aten::add", "f32[] f32[] s", FLOPS_TABLE), 1);
    is_u64(flops_of("aten::mul_", "f32[2,3] f32[2,3]", FLOPS_TABLE), 0);
    is_u64(flops_of("aten::convolution", RESNET " S[2,2] S[3,3] S[1,1] s0 S[0,0] s1", FLOPS_TABLE),
           0);
    is_u64(work("aten::mul", "f32[2,3] f32[2,3]"), 0);
    is_u64(work("aten::embedding", "f32[50,8] i64[3]"), 0);
}

TEST("flops: what does not tell makes none")
{
    const char *const hostile[] = {
        "",
        "-",
        "? ?",
        "f32[2,3",
        "f32[2,3] ?",
        "f32[a] f32[b]",
        "f32[2,3]",
        "(f32[1] f32[2]",
        "f32[99999999999999999999,3] f32[3,4]",
        "S[1,2] S[3,4]",
        "[ ]",
        "f32[2,3]f32[3,4]",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        is_u64(work("aten::mm", hostile[i]), 0);
    is_u64(work("aten::convolution", RESNET), 0);
    is_u64(work("aten::convolution", RESNET " S[0,0] S[3,3] S[1,1] s0 S[0,0] s1"), 0);
#define HUGE_NUMBER "9223372036854775807"
    is_u64(work("aten::convolution", "f32[1,1," HUGE_NUMBER "] f32[1,1," HUGE_NUMBER
                                     "] - S[1] S[" HUGE_NUMBER "] S[" HUGE_NUMBER "] s0 S[0] s1"),
           0);
    is_u64(work("aten::convolution", RESNET " S[2,2] S[-3,3] S[1,1] s0 S[0,0] s1"), 0);
    is_u64(work("mm", "f32[2,3] f32[3,4]"), 0);
    ok(flops_has("aten::mm", FLOPS_WORK));
    ok(!flops_has("aten::linear", FLOPS_WORK));
}

TEST("flops: the sizes of arguments as tables show them")
{
    static const struct {
        const char *text, *sizes;
    } cases[] = {
        {"f32[2,3]{1,2} s - S[1,2] i64[]", "[[2, 3], [], [], [], []]"},
        {"(f32[2,3] f32[4]) ? f32[1]", "[[], [], [1]]"},
        {"", "[]"},
        {"(f32[1] ...) f64[0,7]", "[[], [0, 7]]"},
    };
    struct buffer out;
    buffer_init(&out, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ok(shape_text_sizes(cases[i].text, &out) == 0);
        ok(!buffer_printf(&out, "%c", 0));
        is_str((const char *)out.bytes, cases[i].sizes);
    }
    buffer_finish(&out);
}
