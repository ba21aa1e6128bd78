/* SPDX-License-Identifier: MIT
 *
 * The host program. main.c chooses what to do; options.c reads the command line; run.c runs a
 * script on one rank, repl.c reads it from a person; launch*.c start many ranks; info.c and
 * summary.c tell.
 */
#ifndef SYMM_SYMMRUN_H
#define SYMM_SYMMRUN_H

#include <lua.h>
#include <symm/runtime.h>

/* Exit codes of its own; everything else is a script's, or 128 + a signal. */
#define EXIT_FAILED 1 /* a script raised an error, or ranks could not be started */
#define EXIT_USAGE 2  /* the command line is wrong, or this machine cannot do it */

/* ---- options.c ---- */

enum symmrun_action { ACTION_RUN, ACTION_INFO, ACTION_VERSION, ACTION_HELP };

struct symmrun_options {
    enum symmrun_action action;
    int argc;
    char **argv;
    int ranks;       /* -n; 0: not given */
    int interactive; /* -i */
    int code_count;  /* how many -e there are */
    int script;      /* index of the script in argv; argc: there is none */
};

/* 0, or EXIT_USAGE after an error on stderr. */
int symmrun_options_read(int argc, char **argv, struct symmrun_options *out);
/* The text of the i-th -e. */
const char *symmrun_options_code(const struct symmrun_options *options, int i);
void symmrun_print_help(void);

/* ---- run.c ---- */

/* A line "symmrun: ..." on stderr; every line of text that this program says by itself. */
void symmrun_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes what is left of standard output; gives `code`, or EXIT_FAILED for a success whose output
 * was lost. */
int symmrun_flush(int code);
/* Runs what the options say on this one rank; gives the exit code. */
int symmrun_run(const struct symmrun_options *options);
/* A signal that asks the running script to end has come: its number, 0 if none has. */
int symmrun_signal(void);
void symmrun_forget_signal(void);

/* ---- repl.c ---- */

/* Reads and runs lines until the end of input; gives the exit code. */
int symmrun_repl(symm_runtime *runtime, lua_State *L);

/* ---- launch.c ---- */

/* Starts options->ranks ranks and gives the job's exit code. */
int symmrun_launch(const struct symmrun_options *options);
/* The other end: what a rank does first when a launcher of ours started it. */
void symmrun_join_launcher(void);

/* ---- info.c ---- */

int symmrun_info(void);

#endif
