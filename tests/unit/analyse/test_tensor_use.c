// SPDX-License-Identifier: Apache-2.0
// Names as traces have them.
#include "analyse/device/tensor_use.h"

#include "support/tap.h"

static const struct {
    const char *kernel;
    enum tensor_use use;
} kernels[] = {
    {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", TENSOR_USED},
    {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", TENSOR_USED},
    {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_32x1_nn_align8>",
     TENSOR_USED},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1_execute",
     TENSOR_USED},
    {"nvjet_tst_128x128_64x4_1x2_h_bz_coopA_NNT", TENSOR_USED},
    {"nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", TENSOR_USED},
    {"cutlass3x_sm100_tensorop_s128x256x32gemm_e4m3_e4m3_f32_bf16_bf16_128x256x128", TENSOR_USED},
    {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 7168u, 2048u, 1u, 128u, 128u>", TENSOR_USED},
    {"void deep_gemm::transpose_fp32<512u, 64u, 28u>", TENSOR_UNKNOWN},
    {"void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8>>", TENSOR_USED},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1", TENSOR_USED},
    {"Cijk_Ailk_Bljk_SB_MT64x64x8_SE_APM1_ABV0", TENSOR_UNKNOWN},
    {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2", TENSOR_USED},
    {"_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47", TENSOR_USED},

    {"ampere_sgemm_128x64_nn", TENSOR_NOT_USED},
    {"cudnn_volta_scudnn_128x64_relu_small_nn_v1", TENSOR_NOT_USED},
    {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_g1_ffma_aligna4",
     TENSOR_NOT_USED},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>", TENSOR_NOT_USED},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
     TENSOR_NOT_USED},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", TENSOR_NOT_USED},
    {"triton_poi_fused_addmm_relu_0", TENSOR_NOT_USED},
    {"triton_red_fused_native_layer_norm_3", TENSOR_NOT_USED},

    {"triton_red_fused_mm_1", TENSOR_UNKNOWN},
    {"triton_tem_fused_addmm_2", TENSOR_UNKNOWN},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", TENSOR_UNKNOWN},
    {"attn_fwd", TENSOR_UNKNOWN},
    {"summary_of_rows", TENSOR_UNKNOWN},
    {"gemm", TENSOR_UNKNOWN},
    {"", TENSOR_UNKNOWN},
};

TEST("tensor use: a kernel's name tells of tensor cores, of none, or nothing")
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        tap_check(tensor_use_of(kernels[i].kernel) == kernels[i].use, TAP_AT("wrong"), ": %s",
                  kernels[i].kernel);
}
