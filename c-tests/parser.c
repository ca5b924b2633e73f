/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the command parser with the tables of a small tool. With arguments this program is the tool: it runs them, or
 * the lines of standard input for "-". Without arguments it calls itself and checks the output. Needs no network. */
#define _GNU_SOURCE
#include "check.h"
#include <getopt.h>
#include <libcfs/util/parser.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

static command_t commands[];

static int say(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("%s%s", argv[i], i + 1 < argc ? " " : "\n");
	CHECK(argv[argc] == NULL);
	return 0;
}

static int new_session(int argc, char **argv)
{
	static const struct option options[] = { { "timeout", required_argument, NULL, 't' }, { NULL, 0, NULL, 0 } };
	const char *timeout = "none";
	int option;

	while ((option = getopt_long(argc, argv, "t:", options, NULL)) != -1) {
		if (option != 't') {
			Parser_printhelp(argv[0]);
			return 1;
		}
		timeout = optarg;
	}
	printf("%s: timeout %s, name %s\n", argv[0], timeout, optind < argc ? argv[optind] : "none");
	return 0;
}

static int failing(int argc, char **argv)
{
	(void)argc;
	printf("%s fails\n", argv[0]);
	return 3;
}

static int read_a_line(int argc, char **argv)
{
	char line[64] = "";

	(void)argc;
	(void)argv;
	CHECK(fgets(line, sizeof(line), stdin) != NULL);
	printf("read: %s", line);
	return 0;
}

static int has_both(int argc, char **argv)
{
	printf("itself: ");
	return say(argc, argv);
}

static int group(int argc, char **argv)
{
	static command_t by_itself[] = { { "add", say, NULL, "adds" }, { NULL, NULL, NULL, NULL } };

	return Parser_execarg(argc - 1, argv + 1, by_itself);
}

static command_t batch_commands[] = {
	{ "run", say, NULL, "run a batch" },
	{ "add", say, NULL, "add a batch" },
	{ NULL, NULL, NULL, NULL },
};

static command_t both_commands[] = {
	{ "sub", say, NULL, "a sub-command" },
	{ NULL, NULL, NULL, NULL },
};

static command_t commands[] = {
	{ "=== sessions ===", NULL, NULL, "no command" },
	{ "new_session", new_session, NULL, "usage: new_session [--timeout SECONDS] NAME" },
	{ "end_session", say, NULL, "usage: end_session" },
	{ "show", say, NULL, NULL },
	{ "show_error", say, NULL, "show_error" },
	{ "fails", failing, NULL, "fails" },
	{ "readline", read_a_line, NULL, "reads a line" },
	{ "batch", NULL, batch_commands, "batches" },
	{ "both", has_both, both_commands, "both" },
	{ "group", group, NULL, "groups" },
	{ NULL, NULL, NULL, NULL },
};

static int tool(int argc, char **argv)
{
	char row[41] = "";

	Parser_init((char *)"tool > ", commands);
	if (strcmp(argv[1], "-") == 0)
		return Parser_commands();
	if (strcmp(argv[1], "-version") == 0) {
		Parser_set_version("2.99.1");
		return Parser_version(0, NULL);
	}
	if (strcmp(argv[1], "-ignore") == 0) {
		Parser_ignore_errors(1);
		return Parser_commands();
	}
	if (strcmp(argv[1], "-rows") == 0) {
		printf("%d\n", Parser_list_commands(commands, row, sizeof(row), NULL, 0, 2));
		printf("%d\n", Parser_list_commands(both_commands, row, sizeof(row), "a parent", 0, 2));
		printf("[%s]\n", row);
		printf("%d\n", Parser_list_commands(batch_commands, row, sizeof(row), "b", 1, 2));
		printf("[%s]\n", row);
		printf("%d\n", Parser_list_commands(NULL, row, sizeof(row), NULL, 0, 2));
		printf("%d\n", Parser_list_commands(commands, NULL, 0, NULL, 0, 2));
		return 0;
	}
	if (strcmp(argv[1], "-calls") == 0) {
		Parser_qhelp(argc, argv);
		Parser_exit(argc, argv);
		printf("%d\n", Parser_help(0, NULL) + Parser_quit(0, NULL) + Parser_version(0, NULL));
		printf("%d\n", Parser_execarg(0, argv, commands));
		printf("%d\n", Parser_execarg(1, NULL, commands));
		Parser_init(NULL, NULL);
		printf("%d\n", Parser_execarg(argc, argv, NULL));
		printf("%d\n", Parser_commands());
		Parser_printhelp(NULL);
		return failures;
	}
	return Parser_execarg(argc - 1, argv + 1, commands);
}

static const char *program;

/* Runs the tool with arguments and an input. Returns its output, followed by its exit status. */
static const char *run(const char *arguments, const char *input)
{
	static char said[8192];
	char line[1024];
	size_t count;
	FILE *out;
	int status;

	snprintf(line, sizeof(line), "printf '%s' | '%s' %s 2>&1", input, program, arguments);
	out = popen(line, "r");
	CHECK(out != NULL);
	if (out == NULL)
		return "";
	count = fread(said, 1, sizeof(said) - 8, out);
	status = pclose(out);
	snprintf(said + count, sizeof(said) - count, "= %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return said;
}

static void arguments(void)
{
	CHECK_STR(run("end_session a b", ""), "end_session a b\n= 0");
	CHECK_STR(run("show", ""), "show\n= 0");
	CHECK_STR(run("show_", ""), "show_error\n= 0");
	CHECK_STR(run("NEW --timeo 7 hh", ""), "new_session: timeout 7, name hh\n= 0");
	CHECK_STR(run("new hh -t 8", ""), "new_session: timeout 8, name hh\n= 0");
	CHECK_STR(run("fails", ""), "fails fails\n= 3");
	CHECK_STR(run("batch run 1 2", ""), "run 1 2\n= 0");
	CHECK_STR(run("ba a x", ""), "add x\n= 0");
	CHECK_STR(run("both", ""), "itself: both\n= 0");
	CHECK_STR(run("both other", ""), "itself: both other\n= 0");
	CHECK_STR(run("both s 1", ""), "sub 1\n= 0");
	CHECK_STR(run("group ad 1", ""), "add 1\n= 0");
	CHECK_STR(run("sh", ""), "'sh' is the beginning of several commands: show show_error\n= 255");
	CHECK_STR(run("batch", ""), "a command is missing; use one of:\n\"run\"\n\"add\"\n= 255");
	CHECK_STR(run("batch help", ""), "'help' is no command; use one of:\n\"run\"\n\"add\"\n= 255");
	CHECK_STR(run("group help", ""), "'help' is no command; use one of:\n\"add\"\n= 255");
	CHECK(strstr(run("nothing", ""), "'nothing' is no command; use one of:\n\"new_session\"\n") != NULL);
	CHECK(strstr(run("===", ""), "'===' is no command") != NULL);
#ifdef PACKAGE_VERSION
	CHECK_STR(run("version", ""), "parser " PACKAGE_VERSION "\n= 0");
	CHECK_STR(run("--version", ""), "parser " PACKAGE_VERSION "\n= 0");
#else
	CHECK(strstr(run("version", ""), "parser (liblnet ") != NULL);
#endif
	CHECK_STR(run("-version", ""), "parser 2.99.1\n= 0");
	CHECK(strstr(run("--version", ""), "= 0") != NULL);
}

static void help(void)
{
	CHECK_STR(run("help new", ""), "new_session: usage: new_session [--timeout SECONDS] NAME\n= 0");
	CHECK_STR(run("help show", ""), "show: there is no help\n= 0");
	CHECK_STR(run("help batch", ""), "batch: batches\n  batch run: run a batch\n  batch add: add a batch\n= 0");
	CHECK_STR(run("help batch run", ""), "run: run a batch\n= 0");
	CHECK_STR(run("help bogus", ""), "'bogus' is no command; 'help' shows what is\n= 0");
	CHECK(strstr(run("new --bogus", ""), "new_session: usage: new_session [--timeout SECONDS] NAME\n= 1") != NULL);
	CHECK(strncmp(run("--help", ""), "usage: parser [COMMAND [ARGUMENT]...]\nnew_session         ", 58) == 0);
	CHECK_STR(run("--list-commands", ""),
		  "new_session         end_session         show                show_error          \n"
		  "fails               readline            batch run           batch add           \n"
		  "both                both sub            group               \n= 0");
	CHECK_STR(run("-rows", ""),
		  "new_session         end_session         \n"
		  "show                show_error          \n"
		  "fails               readline            \n"
		  "batch run           batch add           \n"
		  "both                both sub            \n"
		  "group               \n"
		  "0\n1\n[a parent sub        ]\n"
		  "a parent sub        b run               \n"
		  "1\n[b add               ]\n0\n0\n= 0");
	CHECK(strstr(run("-calls", ""), "\n0\na command is missing") != NULL);
}

static void lines(void)
{
	CHECK_STR(run("-", ""), "= 0");
	CHECK_STR(run("-", "show 1\\n\\n # no command\\n\\tsho\\t2\\nsho\\nbogus\\nend \"a b\"\\n"),
		  "show 1\n'sho' is the beginning of several commands: show show_error\n"
		  "'sho' is the beginning of several commands: show show_error\n"
		  "'bogus' is no command; 'help' shows what is\nend_session \"a b\"\n= 0");
	CHECK_STR(run("-", "new -t 1 a\\nnew -t 2 b\\n"),
		  "new_session: timeout 1, name a\nnew_session: timeout 2, name b\n= 0");
	CHECK_STR(run("-", "show 1\\nfails\\nshow 2\\n"), "show 1\nfails fails\n= 3");
	CHECK_STR(run("-ignore", "fails\\nshow 2\\n"), "fails fails\nshow 2\n= 0");
	CHECK_STR(run("-ignore", "show 2\\nfails"), "show 2\nfails fails\n= 3");
	CHECK_STR(run("-", "show 1\\nquit\\nshow 2\\n"), "show 1\n= 0");
	CHECK_STR(run("-", "exit now\\nshow 2\\n"), "= 0");
	CHECK_STR(run("-", "q\\nshow 2\\n"), "= 0");
	/* A line that a command reads is not run as a command, and later lines are not lost. */
	CHECK_STR(run("-", "readline\\nshow 1\\nshow 2\\n"), "read: show 1\nshow 2\n= 0");
}

static void on_a_terminal(void)
{
	static const char typed[] = "fails\nbogus\nquit\n";
	char said[4096];
	size_t count = 0;
	ssize_t got;
	int terminal, status = -1;
	pid_t child = forkpty(&terminal, NULL, NULL, NULL);

	CHECK(child >= 0);
	if (child == 0) {
		execl(program, program, "-", (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(write(terminal, typed, strlen(typed)), strlen(typed));
	while (count < sizeof(said) - 1 && (got = read(terminal, said + count, sizeof(said) - 1 - count)) > 0)
		count += (size_t)got;
	said[count] = '\0';
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(strstr(said, "tool > fails fails\r\n") != NULL || strstr(said, "fails fails\r\ntool > ") != NULL);
	CHECK(strstr(said, "'bogus' is no command; 'help' shows what is\r\ntool > ") != NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return tool(argc, argv);
	program = argv[0];
#ifdef UNDER_VALGRIND
	/*
	 * Each call starts the tool, which is slow under Valgrind, so there are only a few calls, which reach every
	 * part.
	 */
	run("batch run 1 2", "");
	run("-rows", "");
	CHECK_STR(run("-", "new -t 1 a\\nshow x\\nsh\\nhelp new\\nbogus\\nquit\\n"),
		  "new_session: timeout 1, name a\nshow x\n'sh' is the beginning of several commands: show show_error\n"
		  "new_session: usage: new_session [--timeout SECONDS] NAME\n"
		  "'bogus' is no command; 'help' shows what is\n= 0");
	return failures != 0;
#endif
	arguments();
	help();
	lines();
	on_a_terminal();
	return failures != 0;
}
