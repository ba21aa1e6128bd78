/* SPDX-License-Identifier: MIT
 *
 * The command line. Options end at the script, at "-" or at "--"; what follows is the script's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/symmem.h>
#include <unistd.h>

#include "lua/symmrun/symmrun.h"

static const char help[] =
    "Usage: symmrun [options] [SCRIPT [ARGUMENTS]]\n"
    "Runs a Lua script as one rank of a job, or starts a job of its own on this machine.\n"
    "\n"
    "  symmrun SCRIPT            one rank; alone, or in the job of the launcher that started it\n"
    "  symmrun -n 4 SCRIPT       four ranks on this machine\n"
    "  symmrun                   lines from a person (or a script from a pipe)\n"
    "\n"
    "  -n N         start N ranks; their lines are marked, and all end when one fails\n"
    "  -e CODE      run CODE, before the script if there is one; may be repeated\n"
    "  -i           read lines from a person after the script\n"
    "  -            the script is standard input\n"
    "  --           end of options\n"
    "  --info       what this machine offers, and why the rest is not there\n"
    "  --version    the version\n"
    "  --help       this text\n"
    "\n"
    "Exit code: the script's; with -n that of the first rank that failed; 128 + the number of a\n"
    "signal; 2 for a wrong command line.\n";

void symmrun_print_help(void) { fputs(help, stdout); }

static int usage_error(const char *text, const char *what) {
    symmrun_say("%s%s%s%s (symmrun --help lists the options)", text, what ? " '" : "",
                what ? what : "", what ? "'" : "");
    return EXIT_USAGE;
}

static int read_ranks(const char *text, int *ranks_out) {
    char *end = NULL;
    errno = 0;
    long ranks = text ? strtol(text, &end, 10) : 0;
    if (!text) return usage_error("-n needs the number of ranks", NULL);
    if (end == text || *end) return usage_error("-n takes a number of ranks, not", text);
    if (errno || ranks < 1 || ranks > SYMM_MAX_WORLD_SIZE_PER_HOST) {
        symmrun_say("-n takes 1 to %d ranks, not %s", SYMM_MAX_WORLD_SIZE_PER_HOST, text);
        return EXIT_USAGE;
    }
    *ranks_out = (int)ranks;
    return 0;
}

static int read_long_option(const char *text, struct symmrun_options *options) {
    if (strcmp(text, "--info") == 0) {
        options->action = ACTION_INFO;
    } else if (strcmp(text, "--version") == 0) {
        options->action = ACTION_VERSION;
    } else if (strcmp(text, "--help") == 0) {
        options->action = ACTION_HELP;
    } else {
        return usage_error("unknown option", text);
    }
    return 0;
}

/* Reads the option at argv[*at] and moves *at past what it takes. */
static int read_option(struct symmrun_options *options, int *at) {
    char **argv = options->argv;
    const char *text = argv[*at];
    if (text[1] == '-') {
        (*at)++;
        return read_long_option(text, options);
    }
    if (strcmp(text, "-i") == 0 || strcmp(text, "-v") == 0 || strcmp(text, "-h") == 0) {
        (*at)++;
        if (text[1] == 'i') options->interactive = 1;
        if (text[1] == 'v') options->action = ACTION_VERSION;
        if (text[1] == 'h') options->action = ACTION_HELP;
        return 0;
    }
    if (text[1] != 'n' && text[1] != 'e') return usage_error("unknown option", text);
    const char *value = text[2] ? text + 2 : argv[*at + 1]; /* argv ends with NULL */
    *at += text[2] || !value ? 1 : 2;
    if (text[1] == 'n') return read_ranks(value, &options->ranks);
    if (!value) return usage_error("-e needs Lua code", NULL);
    options->code_count++;
    return 0;
}

static int check_combination(const struct symmrun_options *options) {
    int has_work = options->code_count > 0 || options->script < options->argc;
    if (!options->ranks || options->action != ACTION_RUN) return 0;
    if (options->interactive) return usage_error("-i is for one rank, without -n", NULL);
    if (!has_work) return usage_error("-n needs a script or -e CODE", NULL);
    return 0;
}

int symmrun_options_read(int argc, char **argv, struct symmrun_options *out) {
    struct symmrun_options options = {.action = ACTION_RUN, .argc = argc, .argv = argv};
    int at = 1, code = 0;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        code = read_option(&options, &at);
        if (code) return code;
    }
    options.script = at < argc ? at : argc;
    code = check_combination(&options);
    if (code == 0) *out = options;
    return code;
}

const char *symmrun_options_code(const struct symmrun_options *options, int i) {
    char **argv = options->argv;
    for (int at = 1; at < options->script; at++) {
        int is_code = argv[at][0] == '-' && argv[at][1] == 'e';
        int takes_next = argv[at][0] == '-' && (is_code || argv[at][1] == 'n') && !argv[at][2];
        if (is_code && i-- == 0) return takes_next ? argv[at + 1] : argv[at] + 2;
        if (takes_next) at++;
    }
    return NULL;
}
