// SPDX-License-Identifier: Apache-2.0
// `gait sql RUN 'SELECT …'`: questions to the events of a run, which DuckDB answers.
#include <gait/trace.h>

#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "cli/sql/sql_table.h"
#include "cli/trace/trace_door.h"

static int ask(struct gait_trace *trace, const struct operands *operands)
{
    struct sql_table table;
    struct sheet *sheet = NULL;
    int status = sheet_new(&sheet);
    if (status)
        return command_refuse(&cmd_sql);
    sheet_title(sheet, operands->texts[0], NULL);
    status = sql_table_open(&table, trace, operands->texts[0]);
    if (!status)
        status = sql_table_ask(&table, operands->texts[1], sheet);
    const int code = sheet_answer(&cmd_sql, &operands->wish, sheet, status);
    sql_table_close(&table);
    return code;
}

static int run(const void *values, const struct operands *operands)
{
    struct gait_trace *trace;
    (void)values;
    if (sheet_wish_check(&operands->wish, operands->texts[0]))
        return command_refuse(&cmd_sql);
    if (trace_door_open(operands->texts[0], operands->is_uncached, &trace))
        return command_refuse_trace(&cmd_sql);
    const int code = ask(trace, operands);
    gait_trace_close(trace);
    return code;
}

const struct command cmd_sql = {
    .purpose = "ask the events of a run in SQL, with DuckDB's library",
    .summary = "Asks the events of a run or a trace in SQL, which DuckDB's library answers.",
    .about = {"The table events has a row for each event, with the columns of gait export --format "
              "parquet: kind, category, name, pid, tid, start_ns, duration_ns, id, value, row_id, "
              "parent_id, op_id, launch_id, step, device, stream, bytes, dtype, shapes, "
              "process_group, sequence, args, run, rank. parent_id is the span around a span; "
              "op_id and launch_id are of work on a device: the op and the call that launched it. "
              "args is JSON: args->>'$.\"External id\"' reads from it. The table is in memory. "
              "docs/howto/sql.md has ten questions.",
              "DuckDB's library is no part of gait. It is loaded from the path in GAIT_DUCKDB, "
              "else where the loader finds libduckdb.so, else from the package that pip install "
              "duckdb brings to the Python in PATH, in a virtual environment its own."},
    .examples = {{"gait sql run1 'SELECT kind, count(*) FROM events GROUP BY 1'",
                  "How many events of a kind."},
                 {"gait sql --json run1 'SELECT count(*) AS n FROM events'", "For a script."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "sql",
             .min_operands = 2,
             .max_operands = 2,
             .operands = "RUN STATEMENT",
             .has_sheet = true,
             .has_trace = true},
    .is_rare = true,
    .run = run,
};
