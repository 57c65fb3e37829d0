// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "support/tap.h"

TEST("units: times have three digits and carry into the next unit")
{
    is_str(units_ns(0).text, "0 ns");
    is_str(units_ns(999).text, "999 ns");
    is_str(units_ns(1000).text, "1.00 us");
    is_str(units_ns(1005).text, "1.01 us");
    is_str(units_ns(9994).text, "9.99 us");
    is_str(units_ns(9995).text, "10.0 us");
    is_str(units_ns(99949).text, "99.9 us");
    is_str(units_ns(99950).text, "100 us");
    is_str(units_ns(999499).text, "999 us");
    is_str(units_ns(999500).text, "1.00 ms");
    is_str(units_ns(12345678).text, "12.3 ms");
    is_str(units_ns(999999999).text, "1.00 s");
    is_str(units_ns(-1500).text, "-1.50 us");
}

TEST("units: long times are told in minutes, hours and days")
{
    is_str(units_ns(599400000000).text, "599 s");
    is_str(units_ns(599999999999).text, "600 s");
    is_str(units_ns(600000000000).text, "10 min 00 s");
    is_str(units_ns(3599499999999).text, "59 min 59 s");
    is_str(units_ns(3599500000000).text, "1 h 00 min");
    is_str(units_ns(7384000000000).text, "2 h 03 min");
    is_str(units_ns(INT64_C(100) * 3600 * 1000000000).text, "4 d 4 h");
    is_str(units_ns(INT64_MAX).text, "106752 d 0 h");
    is_str(units_ns(INT64_MIN).text, "-106752 d 0 h");
}

TEST("units: a short count is told in millions where it outgrows a column")
{
    is_str(units_count_short(999999999).text, "999,999,999");
    is_str(units_count_short(1000000000).text, "1,000 M");
    is_str(units_count_short(38412500000).text, "38,413 M");
    is_str(units_count_short(UINT64_MAX).text, "18,446,744,073,710 M");
}

TEST("units: bytes are decimal, counts have commas")
{
    is_str(units_bytes(0).text, "0 B");
    is_str(units_bytes(999).text, "999 B");
    is_str(units_bytes(999499).text, "999 kB");
    is_str(units_bytes(999500).text, "1.00 MB");
    is_str(units_bytes(UINT64_MAX).text, "18447 PB");
    is_str(units_count(0).text, "0");
    is_str(units_count(999).text, "999");
    is_str(units_count(1000).text, "1,000");
    is_str(units_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

TEST("units: a share never says nothing of something, nor all of less")
{
    is_str(units_share(0, 1000).text, "0.0 %");
    is_str(units_share(1, 100000).text, "<0.1 %");
    is_str(units_share(482, 1000).text, "48.2 %");
    is_str(units_share(99999, 100000).text, ">99.9 %");
    is_str(units_share(9999, 1000).text, "999.9 %");
    is_str(units_share(10000, 1000).text, ">999 %");
    is_str(units_share(UINT64_MAX, 1).text, ">999 %");
    is_str(units_share(5, 5).text, "100.0 %");
    is_str(units_share(3, 2).text, "150.0 %");
    is_str(units_share(1, 0).text, "-");
    is_str(units_share(UINT64_MAX / 2, UINT64_MAX).text, "50.0 %");
}
