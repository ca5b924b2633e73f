/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Command lines: tables of commands that are run from arguments, or line by line from standard input. A process has
 * one parser, with one prompt and one top-level table. The parser may be used by one thread at a time.
 *
 * A word of the command line selects the command of that name, or the only one whose name begins with the word; in
 * the second case upper and lower case are the same. A command with sub-commands passes on the words after its name.
 * If there are none, or no sub-command has that name, its own function is called. An entry without
 * sub-commands and function is a heading, which is skipped. The commands help, quit, exit, version and
 * --list-commands are added to tables that lack them.
 *
 * The command version shows the program's version if LUSTRE_VERSION_STRING or PACKAGE_VERSION is a string when the
 * program includes this header, as with the build systems of Lustre and others. */
#ifndef LIBCFS_UTIL_PARSER_H
#define LIBCFS_UTIL_PARSER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A command of a table. A NULL pc_name ends the table. */
struct parser_cmd {
	/** The name of the command. */
	char *pc_name;
	/** The function of the command; NULL if it has sub-commands only. Its result is that of the command. */
	int (*pc_func)(int argc, char **argv);
	/** The table of sub-commands; NULL for none. */
	struct parser_cmd *pc_sub_cmd;
	/** The usage and purpose of the command; NULL for none. */
	char *pc_help;
};
typedef struct parser_cmd command_t;

/** Sets the prompt of the interactive loop, which is copied, and the first table, which is not, and must stay. */
void Parser_init(char *prompt, struct parser_cmd *cmds);

/**
 * Runs the command that argv names, from the table cmds (NULL: the first one). Its function gets the arguments beginning
 * with its own name; an abbreviation in argv is replaced by the name.
 *
 * Returns the result of the function; -1 if there is no such command, with the commands on standard output, or more than
 * one, which are named on standard error.
 */
int Parser_execarg(int argc, char **argv, struct parser_cmd *cmds);

/**
 * Reads lines from standard input and runs the commands of the first table that they name, until the end of the input or
 * Parser_quit. Words are separated by blanks and tabs; empty lines, and lines that begin with #, are skipped. On a
 * terminal there is a prompt. Otherwise the first command that fails ends the loop, unless Parser_ignore_errors is set. A word
 * that is no command, or the beginning of several, is reported on standard error and is no failure.
 *
 * Returns the result of the last command; 0 if there was none.
 */
int Parser_commands(void);

/**
 * Sets whether Parser_commands continues after a command that failed, if standard input is no terminal; 0: it ends, which is
 * the default.
 */
void Parser_ignore_errors(int ignore);

/** A command that ends Parser_commands. Returns 0. */
int Parser_quit(int argc, char **argv);

/** Does the same as Parser_quit. */
void Parser_exit(int argc, char **argv);

/**
 * A command that shows help: alone, the commands of the first table on standard output; with words behind it, the help
 * of the command that they name, on standard error. Returns 0.
 */
int Parser_help(int argc, char **argv);

/** Shows the help of the command cmd of the first table, on standard error: for a command whose arguments are wrong. */
void Parser_printhelp(char *cmd);

/** Shows how the program is called and the commands of the first table, on standard output. */
void Parser_qhelp(int argc, char **argv);

/**
 * A command that shows the name of the program and its version (Parser_set_version); that of this library, in parentheses, if
 * the program has not set one. Returns 0.
 */
int Parser_version(int argc, char **argv);

/**
 * Sets the version of the program for Parser_version: a string, which is copied; NULL if it is not known. Parser_init does this
 * for programs whose version is a macro, see above. Not in other implementations.
 */
void Parser_set_version(const char *version);

/**
 * Shows the names of the commands of a table on standard output, in rows of col_num cells, and the names of sub-commands
 * behind those of their commands. buffer, of size bytes, holds a row, so that a cell is (size - 1) / col_num wide.
 * With a parent, which is written before each name, a row that is not full stays in buffer; at the time of the call it contains
 * col_start cells.
 *
 * Returns the number of cells in buffer: 0 without a parent.
 */
int Parser_list_commands(const struct parser_cmd *cmds, char *buffer, size_t size,
		const char *parent, int col_start, int col_num);

#if defined(LUSTRE_VERSION_STRING)
#define PARSER_PROGRAM_VERSION LUSTRE_VERSION_STRING
#elif defined(PACKAGE_VERSION)
#define PARSER_PROGRAM_VERSION PACKAGE_VERSION
#endif
#ifdef PARSER_PROGRAM_VERSION
#define Parser_init(prompt, cmds) (Parser_set_version("" PARSER_PROGRAM_VERSION), Parser_init((prompt), (cmds)))
#endif

#ifdef __cplusplus
}
#endif

#endif
