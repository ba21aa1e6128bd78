/* SPDX-License-Identifier: MIT
 *
 * Lines from a person: edited with libedit at a terminal, read as they are from a pipe. A line is
 * an expression, whose values are printed, or a statement; one that is not finished goes on with
 * the next line. Ctrl-C gives up what is being typed or what runs, and asks again; Ctrl-D ends.
 */
#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/version.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/runtime_state.h"
#include "lua/symmrun/symmrun.h"

#define HISTORY_LINES 1000

enum line { LINE_READ, LINE_END, LINE_INTERRUPTED };

struct repl {
    symm_runtime *runtime;
    lua_State *L;
    EditLine *editor; /* NULL: no terminal */
    History *history;
    char *line; /* of getline */
    size_t line_size;
};

/* Prompts are asked for by libedit without context. */
static const char *prompt_now;

static char *prompt(EditLine *editor) {
    (void)editor;
    return (char *)(uintptr_t)prompt_now;
}

static void open_editor(struct repl *repl) {
    HistEvent event;
    if (!isatty(STDIN_FILENO)) return;
    repl->editor = el_init("symmrun", stdin, stdout, stderr);
    repl->history = history_init();
    if (!repl->editor || !repl->history) return;
    history(repl->history, &event, H_SETSIZE, HISTORY_LINES);
    history(repl->history, &event, H_SETUNIQUE, 1);
    el_set(repl->editor, EL_PROMPT, prompt);
    el_set(repl->editor, EL_EDITOR, "emacs");
    el_set(repl->editor, EL_HIST, history, repl->history);
    el_source(repl->editor, NULL); /* the person's own ~/.editrc */
}

static void close_editor(struct repl *repl) {
    if (repl->editor) el_end(repl->editor);
    if (repl->history) history_end(repl->history);
    free(repl->line);
}

/* ---- lines ---- */

/* A signal at the prompt is no interrupt of a script: what it asked of the runtime is taken back.
 */
static enum line interrupted(struct repl *repl) {
    atomic_fetch_and_explicit(&repl->runtime->requests, ~SYMML_INTERRUPT, memory_order_relaxed);
    if (symmrun_signal() == SIGTERM) return LINE_END;
    symmrun_forget_signal();
    clearerr(stdin);
    if (repl->editor) fputc('\n', stdout);
    return LINE_INTERRUPTED;
}

static enum line read_line(struct repl *repl, const char *text, const char **line_out) {
    int count = 0;
    errno = 0;
    fflush(stdout);
    if (repl->editor) {
        prompt_now = text;
        *line_out = el_gets(repl->editor, &count);
        if (*line_out && count > 0 && !symmrun_signal()) return LINE_READ;
    } else {
        ssize_t length = getline(&repl->line, &repl->line_size, stdin);
        *line_out = repl->line;
        if (length > 0) return LINE_READ;
    }
    if (symmrun_signal()) return interrupted(repl);
    return LINE_END;
}

/* ---- chunks ---- */

/* "unexpected symbol near <eof>": the chunk may go on. */
static int is_incomplete(lua_State *L, int status) {
    static const char mark[] = "<eof>";
    size_t length = 0;
    if (status != LUA_ERRSYNTAX) return 0;
    const char *message = lua_tolstring(L, -1, &length);
    size_t mark_length = sizeof mark - 1;
    return length >= mark_length && strcmp(message + length - mark_length, mark) == 0;
}

/* Replaces the text on top by the function that it is; LUA_OK, or leaves text and message. */
static int load_text(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    const char *expression = lua_pushfstring(L, "return %s", *text == '=' ? text + 1 : text);
    int status = luaL_loadbufferx(L, expression, strlen(expression), "=stdin", "t");
    if (status != LUA_OK) {
        lua_pop(L, 2);
        status = luaL_loadbufferx(L, text, strlen(text), "=stdin", "t");
        if (status == LUA_OK) lua_remove(L, -2);
        return status;
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
    return status;
}

/* The chunk on top, without its last line's end. */
static void remember(struct repl *repl) {
    lua_State *L = repl->L;
    HistEvent event;
    size_t length = 0;
    const char *text = lua_tolstring(L, -1, &length);
    if (!repl->history || !text[strspn(text, " \t\n")]) return;
    if (text[length - 1] == '\n') length--;
    history(repl->history, &event, H_ENTER, lua_pushlstring(L, text, length));
    lua_pop(L, 1);
}

/* Pushes the next chunk's function, or the message of its syntax error; *status_out tells. */
static enum line read_chunk(struct repl *repl, int *status_out) {
    lua_State *L = repl->L;
    const char *line = NULL;
    enum line how = read_line(repl, "> ", &line);
    if (how != LINE_READ) return how;
    lua_pushstring(L, line);
    for (;;) {
        lua_pushvalue(L, -1);
        *status_out = load_text(L);
        if (!is_incomplete(L, *status_out)) break;
        lua_pop(L, 2); /* the message, and the text that it is about */
        how = read_line(repl, ">> ", &line);
        if (how == LINE_END) { /* then it is an error after all */
            lua_pushvalue(L, -1);
            *status_out = load_text(L);
            break;
        }
        if (how != LINE_READ) {
            lua_pop(L, 1);
            return how;
        }
        lua_pushstring(L, line);
        lua_concat(L, 2);
    }
    if (*status_out != LUA_OK) lua_remove(L, -2);
    lua_insert(L, -2);
    remember(repl);
    lua_pop(L, 1);
    return LINE_READ;
}

static void print_error(struct repl *repl) {
    fflush(stdout);
    fprintf(stderr, "%s\n", symm_runtime_error_text(repl->runtime));
}

/* What stands above `base` goes to the script's own print, which it may have replaced. */
static void print_results(struct repl *repl, int base) {
    lua_State *L = repl->L;
    int count = lua_gettop(L) - base;
    if (count == 0) return;
    lua_getglobal(L, "print");
    lua_insert(L, base + 1);
    if (symmL_runtime_call_top(repl->runtime, L, count, 0) < 0) print_error(repl);
}

static void run_chunk(struct repl *repl, int status) {
    lua_State *L = repl->L;
    int base = lua_gettop(L) - 1;
    if (status != LUA_OK) {
        symmL_runtime_failed(repl->runtime, L, status);
        print_error(repl);
    } else if (symmL_runtime_call_top(repl->runtime, L, 0, LUA_MULTRET) < 0) {
        print_error(repl);
    } else {
        print_results(repl, base);
    }
    if (symmrun_signal() == SIGINT) symmrun_forget_signal();
    lua_settop(L, base);
}

/* Reading and pushing may run out of memory: all of it is one protected call. */
static int loop(lua_State *L) {
    struct repl *repl = lua_touserdata(L, 1);
    for (;;) {
        int status = LUA_OK;
        enum line how = read_chunk(repl, &status);
        if (how == LINE_END) return 0;
        if (how == LINE_READ) run_chunk(repl, status);
        if (symmrun_signal() == SIGTERM) return 0;
    }
}

/* `symm` is at hand without a word. */
static void require_module(struct repl *repl) {
    static const char code[] = "symm = symm or require 'symm'";
    if (luaL_loadbufferx(repl->L, code, sizeof code - 1, "=symmrun", "t") != LUA_OK ||
        symmL_runtime_call_top(repl->runtime, repl->L, 0, 0) < 0) {
        print_error(repl);
    }
}

int symmrun_repl(symm_runtime *runtime, lua_State *L) {
    struct repl repl = {.runtime = runtime, .L = L};
    open_editor(&repl);
    if (repl.editor) {
        printf("symmrun %s, %s. `symm` is loaded; Ctrl-D ends.\n", symm_version(), LUA_RELEASE);
    }
    require_module(&repl);
    lua_pushcfunction(L, loop);
    lua_pushlightuserdata(L, &repl);
    int status = lua_pcall(L, 1, 0, 0);
    if (status != LUA_OK) {
        symmL_runtime_failed(runtime, L, status);
        print_error(&repl);
    }
    if (repl.editor) fputc('\n', stdout);
    close_editor(&repl);
    return status == LUA_OK ? 0 : EXIT_FAILED;
}
