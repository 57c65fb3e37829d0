// SPDX-License-Identifier: Apache-2.0
// From str to the bytes of a C string, whatever the str holds.
#include "core/py_text.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" // U+FFFD

// A str that is no valid Unicode: bytes that os.fsdecode() could not decode
// come back as they were, other lone surrogates as their three bytes.
static PyObject *encode_surrogates(PyObject *string)
{
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-8", "surrogateescape");
    if (bytes)
        return bytes;
    PyErr_Clear();
    return PyUnicode_AsEncodedString(string, "utf-8", "surrogatepass");
}

static PyObject *replace_nuls(const char *chars, Py_ssize_t size)
{
    Py_ssize_t nuls = 0;
    for (Py_ssize_t i = 0; i < size; i++)
        nuls += !chars[i];
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size + 2 * nuls);
    if (!bytes)
        return NULL;
    char *out = PyBytes_AS_STRING(bytes);
    for (Py_ssize_t i = 0; i < size; i++) {
        if (chars[i]) {
            *out++ = chars[i];
        } else {
            memcpy(out, REPLACEMENT, 3);
            out += 3;
        }
    }
    return bytes;
}

int py_text_init(struct py_text *text, PyObject *string)
{
    Py_ssize_t size;
    text->owner = NULL;
    text->chars = PyUnicode_AsUTF8AndSize(string, &size);
    if (!text->chars) {
        text->owner = encode_surrogates(string);
        if (!text->owner)
            return -1;
        text->chars = PyBytes_AS_STRING(text->owner);
        size = PyBytes_GET_SIZE(text->owner);
    }
    if (memchr(text->chars, 0, (size_t)size)) {
        PyObject *clean = replace_nuls(text->chars, size);
        py_text_finish(text);
        if (!clean)
            return -1;
        text->owner = clean;
        text->chars = PyBytes_AS_STRING(clean);
    }
    return 0;
}

void py_text_finish(struct py_text *text)
{
    Py_CLEAR(text->owner);
    text->chars = "";
}
