// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "view/http_request.h"

#include <string.h>
#include <strings.h>

size_t http_request_length(const char *bytes, size_t count)
{
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    return end ? (size_t)(end - bytes) + 4 : 0;
}

// Ends the text before `mark` and returns what stands behind; NULL: there is no mark.
static char *cut_at(char *text, const char *mark)
{
    char *found = strstr(text, mark);
    if (!found)
        return NULL;
    *found = 0;
    return found + strlen(mark);
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static int read_first_line(char *line, struct http_request *request)
{
    char *target = cut_at(line, " ");
    char *version = target ? cut_at(target, " ") : NULL;
    if (!version)
        return 400;
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return 505;
    if (*target != '/' || !is_printable(target))
        return 400;
    request->is_head = !strcmp(line, "HEAD");
    request->is_readable = request->is_head || !strcmp(line, "GET");
    char *query = cut_at(target, "?");
    request->path = target;
    request->query = query ? query : "";
    return 0;
}

// What a page never sends with GET: a body. One that is sent twice is an attempt to be
// read in two ways.
static int read_field(char *line, struct http_request *request)
{
    char *value = cut_at(line, ":");
    if (!value || !*line || !is_printable(line))
        return 400;
    value += strspn(value, " \t");
    for (size_t bytes = strlen(value); bytes && strchr(" \t", value[bytes - 1]); bytes--)
        value[bytes - 1] = 0;
    const struct {
        const char *name;
        const char **place;
    } fields[] = {{"Host", &request->host}, {"Origin", &request->origin}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcasecmp(line, fields[i].name) != 0)
            continue;
        if (*fields[i].place)
            return 400;
        *fields[i].place = value;
    }
    const bool has_body = !strcasecmp(line, "Transfer-Encoding") ||
                          (!strcasecmp(line, "Content-Length") && strcmp(value, "0") != 0);
    return has_body && request->is_readable ? 400 : 0;
}

int http_request_read(char *bytes, size_t length, struct http_request *ret_request)
{
    *ret_request = (struct http_request){.path = NULL};
    if (length < 4 || memchr(bytes, 0, length))
        return 400;
    bytes[length - 2] = 0; // of the empty line, so that each line ends with \r\n
    char *line = bytes;
    char *next = cut_at(line, "\r\n");
    int status = next ? read_first_line(line, ret_request) : 400;
    while (!status && next && *next) {
        line = next;
        next = cut_at(line, "\r\n");
        status = next ? read_field(line, ret_request) : 400;
    }
    return status;
}

static int hex_digit(char letter)
{
    const char *digits = "0123456789abcdef";
    const char *found =
        letter ? strchr(digits, letter >= 'A' && letter <= 'F' ? letter + 32 : letter) : NULL;
    return found ? (int)(found - digits) : -1;
}

bool http_text_decode(char *text, bool is_query)
{
    char *out = text;
    for (const char *at = text; *at; at++) {
        if (*at == '%') {
            const int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0 || (!high && !low))
                return false;
            *out++ = (char)(high * 16 + low);
            at += 2;
        } else
            *out++ = is_query && *at == '+' ? ' ' : *at;
    }
    *out = 0;
    return true;
}
