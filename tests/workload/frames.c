// SPDX-License-Identifier: BSD-2-Clause
/*
 * frames SECONDS MODE: stacks that a simple walker gets wrong.
 *   vdso       the time asked for in the vDSO
 *   signal     work in a signal handler; altstack: on its own stack; nested: in handlers four deep
 *   vfork      work in a child on its parent's stack
 *   vforks     vfork itself, over and over
 *   alloca     frames of a size known at run time only
 *   restorer   as signal, with an end of handlers of its own, as short as can be, for which there is no CFI
 *   context    work in a context of its own (makecontext)
 */
#include "work.h"

#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
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

/* What the kernel calls struct sigaction. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define KERNEL_SA_RESTORER 0x04000000

/* In front of it, behind padding, a function whose CFI must not be taken for its own. */
void own_restorer(void);
__asm__(".text\n"
	".p2align 4\n"
	".type in_front, @function\n"
	"in_front:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size in_front, . - in_front\n"
	".p2align 4\n"
	".type own_restorer, @function\n"
	"own_restorer:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	".size own_restorer, . - own_restorer\n");

static void use_own_restorer(void)
{
	struct kernel_action action = { on_signal, KERNEL_SA_RESTORER, own_restorer, 0 };

	if (syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof(action.mask)))
		exit(1);
}

static void in_context(void)
{
	handler_work();
	AFTER_CALL();
}

static void work_in_context(void)
{
	static char stack[STACK_SIZE];
	ucontext_t here, there;

	if (getcontext(&there))
		exit(1);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, in_context, 0);
	/* Where it returns to may be a page of code that this process has not touched yet. */
	(void)**(const volatile char *const *)there.uc_mcontext.gregs[REG_RSP];
	if (swapcontext(&here, &there))
		exit(1);
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
	if (strcmp(mode, "restorer") == 0)
		use_own_restorer();
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
		else if (strcmp(mode, "context") == 0)
			work_in_context();
		else
			interrupted();
	}
	return 0;
}
