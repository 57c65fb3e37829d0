// SPDX-License-Identifier: Apache-2.0
#include "sample/cpython/line_table.h"

#include "support/tap.h"

enum { ROOM = 64 };

TEST("line_table: of two lines at one address of co_lnotab the later holds")
{
    static const uint8_t table[] = {0, 1, 6, 2, 0, 3, 4, 0xff};
    struct line_entry rows[ROOM];
    is_int(line_table_decode(&(struct line_table){8, 10, table, sizeof table}, rows, ROOM), 3);
    is_int(line_table_find(rows, 3, 0)->line, 11);
    is_int(line_table_find(rows, 3, 5)->line, 11);
    is_int(line_table_find(rows, 3, 6)->line, 16);
    is_int(line_table_find(rows, 3, 9)->line, 16);
    is_int(line_table_find(rows, 3, 10)->line, 15);
}

TEST("line_table: an entry of 3.10 ends before its end, and -128 moves no line")
{
    static const uint8_t table[] = {4, 1, 2, 0x80, 0, 5, 6, 1};
    struct line_entry rows[ROOM];
    is_int(line_table_decode(&(struct line_table){10, 1, table, sizeof table}, rows, ROOM), 3);
    is_int(line_table_find(rows, 3, 3)->line, 2);
    is_int(line_table_find(rows, 3, 4)->line, -1);
    is_int(line_table_find(rows, 3, 6)->line, 8);
    ok(!line_table_find(rows, 3, 12));
}

TEST("line_table: locations of 3.11 in their four shapes")
{
    // short (line 5, columns 3 to 7), one line on, none, long (two lines on, to the next)
    static const uint8_t table[] = {
        0x80 | 0 << 3 | 1, 0x34, 0x80 | 11 << 3, 1, 9, 0x80 | 15 << 3, 0x80 | 14 << 3, 4, 1, 2, 3};
    struct line_entry rows[ROOM];
    is_int(line_table_decode(&(struct line_table){11, 5, table, sizeof table}, rows, ROOM), 4);
    is_int(rows[0].end, 4);
    is_int(rows[0].line, 5);
    is_int(rows[0].column, 3);
    is_int(rows[0].end_column, 7);
    is_int(rows[1].line, 6);
    is_int(rows[1].end_column, 9);
    is_int(rows[2].line, -1);
    is_int(rows[3].line, 8);
    is_int(rows[3].end_line, 9);
    is_int(rows[3].column, 1);
    is_int(rows[3].end_column, 2);
}

TEST("line_table: what is cut short, endless or too long for its room is refused")
{
    static const uint8_t cut[] = {0x80 | 14 << 3, 0x40},
                         endless[] = {0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t no_head[] = {0x10}, many[] = {0xf8, 0xf8, 0xf8};
    struct line_entry rows[ROOM];
    is_int(line_table_decode(&(struct line_table){11, 1, cut, sizeof cut}, rows, ROOM), -1);
    is_int(line_table_decode(&(struct line_table){12, 1, endless, sizeof endless}, rows, ROOM), -1);
    is_int(line_table_decode(&(struct line_table){13, 1, no_head, sizeof no_head}, rows, ROOM), -1);
    is_int(line_table_decode(&(struct line_table){13, 1, many, sizeof many}, rows, 2), -1);
    is_int(line_table_decode(&(struct line_table){13, 1, many, sizeof many}, rows, 3), 3);
    is_int(line_table_decode(&(struct line_table){8, 0x7fffffff, many, sizeof many}, rows, 3), -1);
}

TEST("line_table: no table at all has no rows but those of the first line")
{
    struct line_entry rows[ROOM];
    is_int(line_table_decode(&(struct line_table){9, 7, NULL, 0}, rows, ROOM), 1);
    is_int(line_table_find(rows, 1, 100)->line, 7);
    is_int(line_table_decode(&(struct line_table){10, 7, NULL, 0}, rows, ROOM), 0);
    is_int(line_table_decode(&(struct line_table){13, 7, NULL, 0}, rows, ROOM), 0);
    ok(!line_table_find(rows, 0, 0));
}
