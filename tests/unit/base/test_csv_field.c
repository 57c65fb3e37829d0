// SPDX-License-Identifier: Apache-2.0
// Names as cells: RFC 4180, and nothing that a terminal obeys or a spreadsheet calculates.
#include "base/csv/csv_field.h"

#include <string.h>

#include "support/tap.h"

static void is_field(const char *text, const char *want)
{
    struct buffer out;
    buffer_init(&out, 1000);
    ok(!csv_field_append(&out, text, strlen(text)));
    ok(!buffer_append(&out, "", 1));
    is_str((const char *)out.bytes, want);
    buffer_finish(&out);
}

TEST("csv field: quoted where a reader would else see two cells or two rows")
{
    is_field("plain", "plain");
    is_field("", "");
    is_field("a,b", "\"a,b\"");
    is_field("a\"b", "\"a\"\"b\"");
    is_field("two\nlines", "\"two\nlines\"");
    is_field("caf\xc3\xa9", "caf\xc3\xa9");
    is_field("\xff", "\xef\xbf\xbd");
}

TEST("csv field: what a spreadsheet would calculate gets an apostrophe, a number none")
{
    is_field("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
    is_field("@SUM(1)", "'@SUM(1)");
    is_field("-2+3+cmd", "'-2+3+cmd");
    is_field("+a,b", "\"'+a,b\"");
    is_field("\tx", "'\tx");
    is_field("-12.5e-3", "-12.5e-3");
    is_field("+7", "+7");
    is_field("a=b", "a=b");
}

TEST("csv field: what moves a cursor or turns the writing is shown")
{
    is_field("\x1b[2J", "\\x1b[2J");
    is_field("a\xe2\x80\xae"
             "b",
             "a\\u{202e}b");
    is_field("\xd8\x9c", "\\u{061c}");
    is_field("\xc2\x85,", "\"\\x85,\"");
    is_field("\x7f", "\\x7f");
    is_field("a\tb", "a\tb");
}
