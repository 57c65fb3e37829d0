// SPDX-License-Identifier: Apache-2.0
#include "base/about/tag_list.h"

#include <stdio.h>

#include "support/tap.h"

TEST("tag list: keys and values, with commas and blanks between")
{
    struct slice list = slice_of("lr=0.1, model=a b=c,x=");
    struct tag tag;
    ok(tag_list_next(&list, &tag) && slice_is(tag.key, "lr") && slice_is(tag.value, "0.1"));
    ok(tag_list_next(&list, &tag) && slice_is(tag.key, "model") && slice_is(tag.value, "a b=c"));
    ok(tag_list_next(&list, &tag) && slice_is(tag.key, "x") && slice_is(tag.value, ""));
    ok(!tag_list_next(&list, &tag));
}

TEST("tag list: what is no tag is refused")
{
    char many[4 * TAG_MOST + 8] = "";
    ok(tag_list_is_legal("a=1") && tag_list_is_legal("a.b-c_d=1,e=2"));
    ok(tag_list_is_legal("a=1, ,,b=2,") && !tag_list_is_legal(",") && !tag_list_is_legal(" "));
    ok(!tag_list_is_legal("") && !tag_list_is_legal("a") && !tag_list_is_legal("=1"));
    ok(!tag_list_is_legal("a=1,b") && !tag_list_is_legal("a b=1") && !tag_list_is_legal("\"=1"));
    ok(!tag_list_is_legal("a=\x1b[31m") && !tag_list_is_legal("a=1,b=\t") &&
       !tag_list_is_legal("a=\x7f") && !tag_list_is_legal("a=\xff") &&
       tag_list_is_legal("a=\xc3\xa9"));
    for (int i = 0; i <= TAG_MOST; i++)
        memcpy(many + 4 * i, "a=1,", 5);
    ok(!tag_list_is_legal(many));
    many[4 * TAG_MOST] = '\0';
    ok(tag_list_is_legal(many));
}

TEST("tag list: a list that ends before its '=' is not read behind")
{
    struct slice list = {(const uint8_t *)"a=1", 1};
    struct tag tag = {.key = {NULL, 7}};
    ok(!tag_list_next(&list, &tag) && list.count == 1 && tag.key.count == 7);
    list.count = 0;
    ok(!tag_list_next(&list, &tag) && !list.count);
}
