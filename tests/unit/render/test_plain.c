// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "render/plain.h"
#include "support/tap.h"

typedef void putter(FILE *out, const char *text, unsigned columns, enum plain_side side);

static char *put(putter *by, const char *text, unsigned columns, enum plain_side side)
{
    char *out = NULL;
    size_t bytes;
    FILE *file = open_memstream(&out, &bytes);
    by(file, text, columns, side);
    fclose(file);
    return out;
}

static void is_put(const char *text, unsigned columns, enum plain_side side, const char *want)
{
    char *got = put(plain_put, text, columns, side);
    is_str(got, want);
    free(got);
}

static void is_put_middle(const char *text, unsigned columns, enum plain_side side,
                          const char *want)
{
    char *got = put(plain_put_middle, text, columns, side);
    is_str(got, want);
    free(got);
}

TEST("plain: a text is padded on its side and cut where it is too long")
{
    is_put("abc", 5, PLAIN_LEFT, "abc  ");
    is_put("abc", 5, PLAIN_RIGHT, "  abc");
    is_put("abcde", 5, PLAIN_LEFT, "abcde");
    is_put("abcdef", 5, PLAIN_LEFT, "ab...");
    is_put("abcdef", 5, PLAIN_RIGHT, "ab...");
    is_put("", 2, PLAIN_LEFT, "  ");
    is_put("abc", 2, PLAIN_LEFT, "..");
    is_put("abc", 0, PLAIN_LEFT, "");
}

TEST("plain: a bare text is cut and never padded")
{
    is_put("abc", 5, PLAIN_BARE, "abc");
    is_put("abcdef", 5, PLAIN_BARE, "ab...");
    is_put("\xe4\xb8\xad\xe6\x96\x87" // wide ones: one column stays free
           "a",
           4, PLAIN_BARE, "...");
    is_put_middle("/home/me/train.py", 40, PLAIN_BARE, "/home/me/train.py");
    is_put_middle("/home/me/train.py", 40, PLAIN_LEFT, "/home/me/train.py                       ");
    is_put_middle("/home/me/train.py", 13, PLAIN_BARE, "/hom...ain.py");
    is_put_middle("/home/me/\xe4\xb8\xad.py", 9, PLAIN_BARE, "/h....py");
    is_put_middle("/home/me/\xe4\xb8\xad.py", 9, PLAIN_LEFT, "/h....py ");
}

TEST("plain: what would move the cursor is shown, not done")
{
    is_put("\x1b[2J", 8, PLAIN_LEFT, "\\x1b[2J ");
    is_put("a\nb", 6, PLAIN_LEFT, "a\\x0ab");
    is_put("\xe2\x80\xae"
           "x",
           9, PLAIN_LEFT, "\\u{202e}x");
    is_put("\x7f", 4, PLAIN_LEFT, "\\x7f");
    is_put("\xc2\x85", 4, PLAIN_LEFT, "\\x85"); // next line, a C1 control
}

TEST("plain: columns are counted in characters, wide ones twice")
{
    is_put("caf\xc3\xa9", 5, PLAIN_LEFT, "caf\xc3\xa9 ");
    is_put("e\xcc\x81", 3, PLAIN_LEFT, "e\xcc\x81  ");
    is_put("\xe4\xb8\xad\xe6\x96\x87", 5, PLAIN_LEFT, "\xe4\xb8\xad\xe6\x96\x87 ");
    is_put("\xe4\xb8\xad\xe6\x96\x87"
           "ab",
           5, PLAIN_LEFT, "\xe4\xb8\xad...");
    is_put("\xff\xfe", 3, PLAIN_LEFT, "\xef\xbf\xbd\xef\xbf\xbd ");
}

TEST("plain: words are wrapped at 78 columns, and the later lines indented")
{
    char text[200] = "", *out = NULL;
    size_t bytes;
    for (int i = 0; i < 20; i++)
        memcpy(text + 8 * i, "seven77 ", 9);
    FILE *file = open_memstream(&out, &bytes);
    plain_wrap(file, text, 4, 10);
    fclose(file);
    size_t lines = 0;
    for (char *line = out, *end; (end = strchr(line, '\n')); line = end + 1) {
        ok(end - line + (lines ? 0 : 10) <= 78);
        ok(!lines || strncmp(line, "    seven77", 11) == 0);
        lines++;
    }
    is_u64(lines, 3);
    ok(strncmp(out, "seven77 ", 8) == 0);
    free(out);
}

TEST("plain: a number and its unit stay on one line")
{
    char *out = NULL;
    size_t bytes;
    FILE *file = open_memstream(&out, &bytes);
    plain_wrap(file, "it takes (42 %); of all", 2, 67);
    plain_wrap(file, "it takes 4.2 ms, step 42 here", 2, 65);
    fclose(file);
    is_str(out, "it takes\n  (42 %); of all\nit takes\n  4.2 ms, step 42 here\n");
    free(out);
}
