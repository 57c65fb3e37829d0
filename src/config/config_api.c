// SPDX-License-Identifier: Apache-2.0
// include/gait/internal/configuration.h: the settings as one JSON text, so that a binding needs to
// know none of the structs.
#define _GNU_SOURCE
#include <gait/internal/configuration.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "config/config.h"
#include "config/config_json.h"
#include "config/setting_value.h"

struct gait_config {
    struct config config;
    struct setting_words words;
    size_t *rest;
    size_t rest_count;
    char *json;
};

static int split_arguments(struct gait_config *self, const struct gait_config_request *request)
{
    char *const *arguments = (char *const *)(void *)request->arguments;
    struct setting_line line = {arguments, (int)request->argument_count, 0, request->is_strict};
    self->rest = calloc(request->argument_count + 1, sizeof *self->rest);
    if (!self->rest)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu arguments", request->argument_count);
    while (line.next < line.count) {
        int status = setting_words_take(&self->words, &line);
        if (status < 0)
            return status;
        if (!status && request->is_strict)
            return fail(GAIT_ERR_ARGUMENT, "'%s' is not a setting; write it like profiling.wait=1",
                        setting_value_show(arguments[line.next]));
        if (!status)
            self->rest[self->rest_count++] = (size_t)line.next++;
    }
    return GAIT_OK;
}

static int write_json(struct gait_config *self)
{
    size_t length;
    FILE *out = open_memstream(&self->json, &length);
    if (!out)
        return fail(GAIT_ERR_MEMORY, "no memory for the settings");
    struct json_writer json = {.out = out};
    json_object(&json);
    config_json(&json, &self->config);
    json_key(&json, "rest");
    json_array(&json);
    for (size_t i = 0; i < self->rest_count; i++)
        json_uint(&json, self->rest[i]);
    json_close(&json);
    json_close(&json);
    int failed = ferror(out);
    return fclose(out) || failed || !self->json
               ? fail(GAIT_ERR_MEMORY, "no memory for the settings")
               : GAIT_OK;
}

int gait_config_open(const struct gait_config_request *request, struct gait_config **ret_config)
{
    if (!request || request->size != sizeof *request || request->argument_count > INT32_MAX)
        return fail(GAIT_ERR_ARGUMENT,
                    "request must not be NULL, and request->size must be sizeof *request");
    struct gait_config *self = calloc(1, sizeof *self);
    if (!self)
        return fail(GAIT_ERR_MEMORY, "no memory for the settings");
    config_init(&self->config);
    const struct config_request inner = {.size = sizeof inner,
                                         .file = request->file,
                                         .words = &self->words,
                                         .words_from = request->arguments_from,
                                         .has_no_file = request->has_no_file,
                                         .has_no_variables = request->has_no_variables,
                                         .is_section = request->is_section};
    int status = split_arguments(self, request);
    if (!status)
        status = config_resolve(&self->config, &inner);
    if (!status)
        status = write_json(self);
    if (status) {
        gait_config_close(self);
        return status;
    }
    *ret_config = self;
    return GAIT_OK;
}

const char *gait_config_json(const struct gait_config *config)
{
    return config->json;
}

void gait_config_close(struct gait_config *config)
{
    if (!config)
        return;
    config_finish(&config->config);
    free(config->rest);
    free(config->json);
    free(config);
}
