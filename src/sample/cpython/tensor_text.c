// SPDX-License-Identifier: Apache-2.0
// The sizes are followed by the strides, the offset in the storage, the number of
// elements, the dtype and the device; how far into the object that begins differs by
// torch (2.13: after 56 bytes). The number of elements is the product of the sizes,
// which hardly any other eight words are.
#include "sample/cpython/tensor_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INLINE_SIZES = 5, SIZES_MOST = 25, SIZES_SHOWN = 8 };
enum { FIRST_PLACE = 4, LAST_PLACE = 12, WORDS = LAST_PLACE + 14 };
enum { OFFSET_BEHIND = 11, ELEMENTS_BEHIND = 12, TYPE_BEHIND = 13 }; // the number of sizes
enum { HANDLE_AT = 16, OLD_HANDLE_AT = 24 };                         // of a Python object
#define LARGEST (UINT64_C(1) << 48)

static const char *const dtypes[] = {
    "uint8",           "int8",
    "int16",           "int32",
    "int64",           "float16",
    "float32",         "float64",
    "complex32",       "complex64",
    "complex128",      "bool",
    "qint8",           "quint8",
    "qint32",          "bfloat16",
    "quint4x2",        "quint2x4",
    "bits1x8",         "bits2x4",
    "bits4x2",         "bits8",
    "bits16",          "float8_e5m2",
    "float8_e4m3fn",   "float8_e5m2fnuz",
    "float8_e4m3fnuz", "uint16",
    "uint32",          "uint64",
};
static const char *const devices[] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
};

struct tensor {
    uint64_t sizes[SIZES_MOST];
    uint64_t count;
    const char *dtype, *device;
    int8_t index;
};

static bool read_sizes(struct object_reader *reader, const uint64_t *words, struct tensor *tensor)
{
    tensor->count = words[0];
    if (tensor->count > SIZES_MOST)
        return false;
    if (tensor->count > INLINE_SIZES)
        return object_get(reader, words[1], tensor->sizes, tensor->count * sizeof words[0]);
    memcpy(tensor->sizes, words + 1, INLINE_SIZES * sizeof words[0]);
    return true;
}

static bool has_elements(const struct tensor *tensor, uint64_t elements)
{
    uint64_t product = 1;
    for (uint64_t i = 0; i < tensor->count; i++) {
        if (tensor->sizes[i] >= LARGEST || product >= LARGEST)
            return false;
        product = tensor->sizes[i] && product > LARGEST / tensor->sizes[i]
                      ? LARGEST
                      : product * tensor->sizes[i];
    }
    return product == elements;
}

// Do the words from a number of sizes on hold together?
static bool read_fields(struct object_reader *reader, const uint64_t *words, struct tensor *tensor)
{
    uint8_t fields[8];
    memcpy(fields, words + TYPE_BEHIND, sizeof fields);
    const unsigned dtype = fields[0] | (unsigned)fields[1] << 8, device = fields[2];
    tensor->index = (int8_t)fields[3];
    const bool has_device = fields[4] == 1 && tensor->index >= -1;
    if (dtype >= sizeof dtypes / sizeof dtypes[0] || !has_device ||
        device >= sizeof devices / sizeof devices[0] || words[OFFSET_BEHIND] >= LARGEST)
        return false;
    tensor->dtype = dtypes[dtype];
    tensor->device = devices[device];
    return read_sizes(reader, words, tensor) && has_elements(tensor, words[ELEMENTS_BEHIND]);
}

static bool find(struct object_reader *reader, uint64_t address, struct tensor *tensor)
{
    uint64_t words[WORDS];
    struct tensor tried;
    unsigned found = 0;
    if (!object_get(reader, address, words, sizeof words))
        return false;
    for (unsigned place = FIRST_PLACE; place <= LAST_PLACE; place++)
        if (read_fields(reader, words + place, &tried)) {
            *tensor = tried;
            found++;
        }
    return found == 1;
}

static bool is_tensor(const char *type)
{
    static const char *const names[] = {"Tensor", "Parameter", "Buffer"};
    const char *name = strrchr(type, '.');
    for (size_t i = 0; name && !strncmp(type, "torch.", 6) && i < 3; i++)
        if (!strcmp(name + 1, names[i]))
            return true;
    return false;
}

static void write_tensor(const struct tensor *tensor, char *out, size_t room)
{
    int used = snprintf(out, room, "%s[", tensor->dtype);
    for (uint64_t i = 0; i < tensor->count && i < SIZES_SHOWN; i++)
        used += snprintf(out + used, room - (size_t)used, "%s%" PRIu64, i ? ", " : "",
                         tensor->sizes[i]);
    if (tensor->count > SIZES_SHOWN)
        used += snprintf(out + used, room - (size_t)used, ", ...");
    used += snprintf(out + used, room - (size_t)used, "] %s", tensor->device);
    if (tensor->index >= 0)
        snprintf(out + used, room - (size_t)used, ":%d", tensor->index);
}

bool tensor_text(struct object_reader *reader, const struct object *object, char *out)
{
    struct tensor tensor;
    uint64_t handle = 0;
    // in older ones a flag stands before it: is it borrowed?
    const bool is_read = is_tensor(object->type->name) &&
                         object_get(reader, object->address + HANDLE_AT, &handle, sizeof handle) &&
                         (handle > UINT8_MAX || object_get(reader, object->address + OLD_HANDLE_AT,
                                                           &handle, sizeof handle));
    if (!is_read || !find(reader, handle, &tensor))
        return false;
    write_tensor(&tensor, out, TENSOR_TEXT_ROOM);
    return true;
}
