// SPDX-License-Identifier: BSD-2-Clause
/*
 * frames SECONDS MODE: stacks that a simple walker gets wrong.
 *   vdso       the time asked for in the vDSO
 *   signal     work in a signal handler; altstack: on its own stack; nested: in handlers four deep
 *   vfork      work in a child on its parent's stack
 *   vforks     vfork itself, over and over
 *   alloca     frames of a size known at run time only
 */
#include "work.h"

#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 1 << 16, NESTED = 4 };

static double end;
static volatile int level;

/* A signal to this thread without a detour through libc, whose functions keep no frame pointer. */
static inline __attribute__((always_inline)) void raise_here(int signal)
{
	long result, tgid = getpid(), tid = syscall(SYS_gettid);

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"((long)SYS_tgkill), "D"(tgid), "S"(tid), "d"((long)signal)
			 : "rcx", "r11", "memory");
}

OWN_FRAME static void handler_work(void)
{
	double until = now() + 0.01;

	while (now() < until)
		SPIN(20000);
}

static void on_signal(int signal)
{
	handler_work();
	AFTER_CALL();
}

static void on_nested(int signal)
{
	if (++level < NESTED)
		raise_here(signal);
	else
		handler_work();
	level--;
	AFTER_CALL();
}

OWN_FRAME static void interrupted(void)
{
	raise_here(SIGUSR1);
	AFTER_CALL();
}

OWN_FRAME static void ask_time(void)
{
	struct timespec t;

	for (int i = 0; i < 20000; i++)
		(void)clock_gettime(CLOCK_MONOTONIC, &t);
}

OWN_FRAME static void parent_of_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		handler_work();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	AFTER_CALL();
}

OWN_FRAME static void many_vforks(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		(void)waitpid(pid, NULL, 0);
	}
	AFTER_CALL();
}

OWN_FRAME static void variable_frame(long bytes)
{
	volatile char *space = alloca((size_t)bytes);

	space[0] = 1;
	SPIN(200000);
	AFTER_CALL();
}

OWN_FRAME static void variable_frames(void)
{
	for (long bytes = 16; bytes < 60000; bytes *= 3)
		variable_frame(bytes);
	AFTER_CALL();
}

static void prepare(const char *mode)
{
	struct sigaction action = { .sa_handler = on_signal };
	stack_t stack = { .ss_size = STACK_SIZE };

	if (strcmp(mode, "altstack") == 0) {
		stack.ss_sp =
			mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
			exit(1);
		action.sa_flags = SA_ONSTACK;
	}
	if (strcmp(mode, "nested") == 0) {
		action.sa_handler = on_nested;
		action.sa_flags = SA_NODEFER;
	}
	if (sigaction(SIGUSR1, &action, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "signal";

	end = end_of(argc, argv);
	prepare(mode);
	while (now() < end) {
		if (strcmp(mode, "vdso") == 0)
			ask_time();
		else if (strcmp(mode, "vfork") == 0)
			parent_of_vfork();
		else if (strcmp(mode, "vforks") == 0)
			many_vforks();
		else if (strcmp(mode, "alloca") == 0)
			variable_frames();
		else
			interrupted();
	}
	return 0;
}
