// SPDX-License-Identifier: Apache-2.0
// The torch in this process: its libraries and the functions wanted of it, by
// their symbols. No header of torch is used; what the functions take is written
// down here, and torch_layout.h tries out whether it is so.
#ifndef GAIT_COLLECT_TORCH_LIBRARY_H
#define GAIT_COLLECT_TORCH_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define TORCH_SCOPES 10
#define TORCH_SCOPE_USER 7

// at::RecordFunctionCallback. It is passed by value, which C and C++ do alike.
struct torch_callback {
    void *start, *end;
    double probability;
    uint8_t scopes[TORCH_SCOPES];
    uint8_t needs_inputs, needs_outputs, needs_ids;
};

// std::variant of a string view and of something larger than a word; index 0.
struct torch_function_name {
    size_t bytes;
    const char *text;
    uint8_t index;
};

struct torch_device { // c10::Device
    int8_t type, index;
};

// Those that are also looked for in the address tables of torch's libraries.
#define TORCH_MEMORY_NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define TORCH_MEMORY_DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
#define TORCH_MEMORY_REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define TORCH_SET_OWN "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE"

// X(member, type, parameters, symbol). What a feature needs stands together.
#define TORCH_CALLBACK_SYMBOLS(X)                                                                  \
    X(add_callback, uint64_t, (struct torch_callback),                                             \
      "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")                                    \
    X(remove_callback, void, (uint64_t), "_ZN2at14removeCallbackEm")                               \
    X(name_of, const char *, (const void *), "_ZNK2at14RecordFunction4nameEv")
#define TORCH_LAYOUT_SYMBOLS(X)                                                                    \
    X(num_inputs, size_t, (const void *), "_ZNK2at14RecordFunction10num_inputsEv")                 \
    X(is_async, bool, (const void *), "_ZNK2at14RecordFunction7isAsyncEv")                         \
    X(current_thread, uint64_t, (void), "_ZN2at14RecordFunction15currentThreadIdEv")               \
    X(construct, void, (void *, uint8_t), "_ZN2at14RecordFunctionC1ENS_11RecordScopeE")            \
    X(destroy, void, (void *), "_ZN2at14RecordFunctionD1Ev")
#define TORCH_BEFORE_SYMBOLS(X) /* one of them: torch 2.2 to 2.6, and after */                     \
    X(before_text, void, (void *, const char *, int64_t), "_ZN2at14RecordFunction6beforeEPKcl")    \
    X(before, void, (void *, struct torch_function_name, int64_t),                                 \
      "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEE"       \
      "St17reference_wrapperIKN3c1014FunctionSchemaEEEEl")
#define TORCH_TENSOR_SYMBOLS(X)                                                                    \
    X(get_dim, int32_t, (const void *, int64_t *), "aoti_torch_get_dim")                           \
    X(get_sizes, int32_t, (const void *, int64_t **), "aoti_torch_get_sizes")                      \
    X(get_strides, int32_t, (const void *, int64_t **), "aoti_torch_get_strides")                  \
    X(get_dtype, int32_t, (const void *, int32_t *), "aoti_torch_get_dtype")                       \
    X(empty_strided, int32_t,                                                                      \
      (int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, void **),             \
      "aoti_torch_empty_strided")                                                                  \
    X(copy_, int32_t, (void *, void *, int32_t), "aoti_torch_copy_")                               \
    X(delete_tensor, int32_t, (void *), "aoti_torch_delete_tensor_object")                         \
    X(dtype_float32, int32_t, (void), "aoti_torch_dtype_float32")                                  \
    X(undefined_tensor, char, (void), "_ZN3c1019UndefinedTensorImpl10_singletonE")
#define TORCH_MEMORY_SYMBOLS(X)                                                                    \
    X(memory_new, void, (void *, void *, size_t), TORCH_MEMORY_NEW)                                \
    X(memory_delete, void, (void *, void *), TORCH_MEMORY_DELETE)                                  \
    X(memory_report, void, (void *, int64_t, size_t, size_t, struct torch_device),                 \
      TORCH_MEMORY_REPORT)
#define TORCH_OWN_SYMBOLS(X) /* a thread's own callbacks */                                        \
    X(set_own, void, (const void *), TORCH_SET_OWN)                                                \
    X(get_own, const void *, (void), "_ZN2at24get_record_function_tls_Ev")                         \
    X(add_own_callback, uint64_t, (struct torch_callback),                                         \
      "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE")                               \
    X(enable, void, (bool), "_ZN2at20enableRecordFunctionEb")                                      \
    X(is_enabled, bool, (void), "_ZN2at23isRecordFunctionEnabledEv")
#define TORCH_SYMBOLS(X)                                                                           \
    TORCH_CALLBACK_SYMBOLS(X)                                                                      \
    TORCH_LAYOUT_SYMBOLS(X)                                                                        \
    TORCH_BEFORE_SYMBOLS(X)                                                                        \
    TORCH_TENSOR_SYMBOLS(X)                                                                        \
    TORCH_MEMORY_SYMBOLS(X)                                                                        \
    TORCH_OWN_SYMBOLS(X)

// What was found; NULL where there is no such symbol.
struct torch_library {
#define X(member, type, parameters, symbol) type(*member) parameters;
    TORCH_SYMBOLS(X)
#undef X
    char path[4096];
    void *handle;
};
extern struct torch_library torch_library;

// Fills torch_library in. GAIT_ERR_MISSING where torch is not loaded or lacks
// the callback functions.
GAIT_CHECK int torch_library_find(void);

// Whether all functions of a group are there.
bool torch_library_has_layout(void);
bool torch_library_has_tensors(void);
bool torch_library_has_own(void);

// For the table people are shown.
size_t torch_library_symbol_count(void);
const char *torch_library_symbol(size_t index, bool *ret_is_found);

// Another symbol of torch, or NULL.
void *torch_library_lookup(const char *symbol);

#endif
