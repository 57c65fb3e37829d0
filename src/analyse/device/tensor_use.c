// SPDX-License-Identifier: Apache-2.0
// Libraries write the instruction, or the class of units, into the names of their kernels.
#include "analyse/device/tensor_use.h"

#include <stddef.h>
#include <string.h>

// The first line of which both texts are in the name.
static const struct {
    const char *has, *also; // NULL: nothing more
    enum tensor_use use;
} words[] = {
    // cuDNN and cuBLAS have the ordinary units' multiply-add in kernels of each family; CUTLASS
    // calls them SIMT (its profiler's list of kernels).
    {"_ffma", NULL, TENSOR_NOT_USED},
    {"_simt_", NULL, TENSOR_NOT_USED},
    {"OpClassSimt", NULL, TENSOR_NOT_USED},
    // TorchInductor's kernels by elements hold no tl.dot; its reductions may, where their names
    // have a product. Its templates (triton_tem_) and other kernels of Triton do not tell.
    {"triton_poi_", NULL, TENSOR_NOT_USED},
    {"triton_red_", "mm", TENSOR_UNKNOWN},
    {"triton_per_", "mm", TENSOR_UNKNOWN},
    {"triton_red_", NULL, TENSOR_NOT_USED},
    {"triton_per_", NULL, TENSOR_NOT_USED},
    {"triton_", NULL, TENSOR_UNKNOWN},
    // Instructions by their shapes, in cuBLAS, cuDNN and CUTLASS: HMMA of Volta (884), of Turing
    // (1688) and since Ampere (16816), and their integers' and doubles' (PTX ISA, mma).
    {"h884", NULL, TENSOR_USED},
    {"s884", NULL, TENSOR_USED},
    {"d884", NULL, TENSOR_USED},
    {"h1688", NULL, TENSOR_USED},
    {"s1688", NULL, TENSOR_USED},
    {"c1688", NULL, TENSOR_USED},
    {"i8816", NULL, TENSOR_USED},
    {"i16832", NULL, TENSOR_USED},
    {"16816", NULL, TENSOR_USED},
    {"hmma", NULL, TENSOR_USED},
    {"imma_", NULL, TENSOR_USED},
    // cuBLAS and cuDNN: sm80_xmma_gemm_..., sm90_xmma_..._warpgroupsize..., sm100_xmma_...
    {"xmma_", NULL, TENSOR_USED},
    // cuBLAS since Hopper, nvjet_tst_..., nvjet_sm100_qqtst_... (FP8): at 77 % of a GPU's most
    // for FP16, which no other unit reaches.
    {"nvjet_", NULL, TENSOR_USED},
    // CUTLASS: cutlass_80_tensorop_..., cutlass3x_sm100_bstensorop_..., and the types of its
    // instructions: WMMA, GMMA of Hopper, UMMA of Blackwell.
    {"tensorop", NULL, TENSOR_USED},
    {"OpClassTensorOp", NULL, TENSOR_USED},
    {"wmma", NULL, TENSOR_USED},
    {"gmma", NULL, TENSOR_USED},
    {"GMMA", NULL, TENSOR_USED},
    {"SM100_MMA", NULL, TENSOR_USED},
    {"UMMA", NULL, TENSOR_USED},
    {"tcgen05", NULL, TENSOR_USED},
    // DeepGEMM: deep_gemm::sm90_fp8_gemm_1d2d_impl, sm100_bf16_gemm_impl (its README: only WGMMA
    // and tcgen05).
    {"deep_gemm::", "fp8_gemm_", TENSOR_USED},
    {"deep_gemm::", "bf16_gemm_", TENSOR_USED},
    // FlashAttention and FlashMLA, which take only what tensor cores do; not what adds up.
    {"flash_fwd_splitkv_combine", NULL, TENSOR_NOT_USED},
    {"flash_fwd_", NULL, TENSOR_USED},
    {"flash_bwd_dq_dk_dv", NULL, TENSOR_USED},
    {"FlashAttnFwdSm", NULL, TENSOR_USED},
    {"FlashAttnBwdSm", NULL, TENSOR_USED},
    // PyTorch's attention on CUTLASS: since Ampere also of 32-bit numbers.
    {"fmha_cutlass", "_sm80", TENSOR_USED},
    // cuDNN: the rest of the names that NVIDIA's profilers of layers count.
    {"dgrad_1x1_stride_2x2", NULL, TENSOR_USED},
    {"first_layer_wgrad_kernel", NULL, TENSOR_USED},
    {"conv1x1", NULL, TENSOR_USED},
    {"conv2d_c1_k1", NULL, TENSOR_USED},
    {"direct_group", NULL, TENSOR_USED},
    // rocBLAS and hipBLASLt: Tensile's MatrixInstruction, Cijk_..._MI16x16x1_...
    {"Cijk_", "_MI16x16", TENSOR_USED},
    {"Cijk_", "_MI32x32", TENSOR_USED},
    {"Cijk_", "_MI4x4", TENSOR_USED},
    // Composable Kernel calls AMD's units XDL, MIOpen's igemm GTCX.
    {"mfma", NULL, TENSOR_USED},
    {"_xdl", NULL, TENSOR_USED},
    {"igemm_", "_gtcx", TENSOR_USED},
    // Multiplications of 32-bit numbers before TF32: volta_sgemm_..., ampere_sgemm_...,
    // cudnn_volta_scudnn_..., explicit_convolve_sgemm.
    {"_sgemm", NULL, TENSOR_NOT_USED},
    {"_scudnn_", NULL, TENSOR_NOT_USED},
    // No product of matrices.
    {"at::native::", "gemm", TENSOR_UNKNOWN},
    {"at::native::", "attention", TENSOR_UNKNOWN},
    {"at::native::", NULL, TENSOR_NOT_USED},
    {"elementwise", NULL, TENSOR_NOT_USED},
    {"gemv", NULL, TENSOR_NOT_USED},
    {"splitKreduce_kernel", NULL, TENSOR_NOT_USED},
    {"cub::", NULL, TENSOR_NOT_USED},
    {"nccl", NULL, TENSOR_NOT_USED},
    {"cudnn::bn_", NULL, TENSOR_NOT_USED},
    {"BatchNorm", NULL, TENSOR_NOT_USED},
    {"embedding", NULL, TENSOR_NOT_USED},
    {"batched_transpose_", NULL, TENSOR_NOT_USED},
    {"nchwToNhwc", NULL, TENSOR_NOT_USED},
    {"nhwcToNchw", NULL, TENSOR_NOT_USED},
    {"SubTensorOp", NULL, TENSOR_NOT_USED},
    {"winograd_nonfused::", NULL, TENSOR_NOT_USED},
    {"softmax_warp_", NULL, TENSOR_NOT_USED},
    {"fft1d_", NULL, TENSOR_NOT_USED},
    {"fft2d_", NULL, TENSOR_NOT_USED},
};

enum tensor_use tensor_use_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(kernel, words[i].has) && (!words[i].also || strstr(kernel, words[i].also)))
            return words[i].use;
    return TENSOR_UNKNOWN;
}
