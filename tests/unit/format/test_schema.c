// SPDX-License-Identifier: Apache-2.0
// The oracle is the table in docs/FORMAT.md itself: what people read is what
// the code says.
#include "format/schema.h"
#include "support/tap.h"

static char document[64 << 10];

static bool read_document(void)
{
    FILE *file = fopen(GAIT_ROOT "/docs/FORMAT.md", "r");

    if (!ok(file))
        return false;
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    return true;
}

// A table's line in section 4, as the code would write it.
static void describe(uint32_t id, char *line, size_t size)
{
    const struct table_schema *table = schema_table(id);
    size_t used = (size_t)snprintf(line, size, "\n| %u | %s | ", id, table->name);

    for (uint32_t i = 0; i < table->column_count && used < size; i++)
        used += (size_t)snprintf(line + used, size - used, "%s%s %s", i ? ", " : "",
                                 table->columns[i].name, schema_type_name(table->columns[i].type));
    if (used < size)
        (void)snprintf(line + used, size - used, " |\n");
}

TEST("schema: every table stands in FORMAT.md as it stands in the code")
{
    char line[400];
    int lines = 0;

    if (!read_document())
        return;
    for (uint32_t id = 0; id < TABLE_COUNT; id++) {
        describe(id, line, sizeof line);
        if (!ok(strstr(document, line)))
            printf("# no such line:%s", line);
    }
    const char *at = strstr(document, "| id | table | columns in order |");
    for (at = at ? strstr(at, "|\n| ") : NULL; at && at[2] == '|'; at = strchr(at + 2, '\n') - 1)
        lines++;
    is_int(lines, TABLE_COUNT);
}

TEST("schema: there is nothing behind the last table")
{
    ok(schema_table(TABLE_COUNT - 1) != NULL);
    ok(schema_table(TABLE_COUNT) == NULL);
    ok(schema_table(UINT32_MAX) == NULL);
}

TEST("schema: types are found by their whole names only")
{
    for (int type = 0; type < COLUMN_TYPE_COUNT; type++) {
        const char *name = schema_type_name((enum column_type)type);
        is_int(schema_type_by_name(name, strlen(name)), type);
        is_int(schema_type_by_name(name, strlen(name) - 1), COLUMN_TYPE_COUNT);
    }
    is_int(schema_type_by_name("uintx", 5), COLUMN_TYPE_COUNT);
    is_int(schema_type_by_name("", 0), COLUMN_TYPE_COUNT);
    is_str(schema_type_name(COLUMN_TYPE_COUNT), "unknown");
}

TEST("schema: rows that come again at each commit are not events")
{
    ok(schema_table(TABLE_SPAN)->is_event && schema_table(TABLE_LOG)->is_event);
    ok(!schema_table(TABLE_OPEN)->is_event && !schema_table(TABLE_DROP)->is_event);
}
