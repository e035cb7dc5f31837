// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include "capture/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static struct hl_event_choice choice;
static struct hl_err err;

static const char *refusal(const char *name)
{
	struct hl_event_choice before = choice;
	int r = hl_event_parse(name, &choice, &err);

	if (r != -EINVAL)
		FAIL("event \"%s\" gives %d", name, r);
	CHECK(before.type == choice.type && before.config == choice.config);
	CHECK_STR(choice.name, before.name);
	return err.text;
}

HL_TEST(names_are_perfs)
{
	CHECK_INT(hl_event_parse("cpu-cycles:pp", &choice, &err), 0);
	CHECK_INT(choice.type, PERF_TYPE_HARDWARE);
	CHECK_INT(choice.config, PERF_COUNT_HW_CPU_CYCLES);
	CHECK_INT(choice.precise, 2);
	CHECK_STR(choice.name, "cycles:pp");
	CHECK_STR(choice.unit, "cycles");
	CHECK(!choice.software_clock && !choice.any_precise);

	CHECK_INT(hl_event_parse("task-clock", &choice, &err), 0);
	CHECK_INT(choice.type, PERF_TYPE_SOFTWARE);
	CHECK_INT(choice.config, PERF_COUNT_SW_TASK_CLOCK);
	CHECK_STR(choice.unit, "nanoseconds");
	CHECK(choice.software_clock && choice.precise == 0);

	CHECK_INT(hl_event_parse("branch-misses:P", &choice, &err), 0);
	CHECK_INT(choice.config, PERF_COUNT_HW_BRANCH_MISSES);
	CHECK(choice.any_precise);
}

HL_TEST(raw_codes_are_hexadecimal)
{
	CHECK_INT(hl_event_parse("r01C2:p", &choice, &err), 0);
	CHECK_INT(choice.type, PERF_TYPE_RAW);
	CHECK_INT(choice.config, 0x1c2);
	CHECK_STR(choice.name, "r01C2:p");
	CHECK_STR(choice.unit, "events");
	CHECK_INT(hl_event_parse("rffffffffffffffff:ppp", &choice, &err), 0);
	CHECK(choice.config == UINT64_MAX);
	CHECK_STR(choice.name, "rffffffffffffffff:ppp");
	(void)refusal("r");
	(void)refusal("r00000000000000001");
	(void)refusal("r1g");
}

HL_TEST(mistakes_are_named)
{
	CHECK_STR(refusal("cycle"), "unknown event \"cycle\"; there are: cycles, instructions, cache-misses, "
				    "branch-misses, cpu-clock, task-clock, rHEX");
	CHECK_STR(refusal("cycles:pppp"),
		  "unknown modifier \":pppp\" of event \"cycles\"; there are :p, :pp, :ppp and :P");
	CHECK_STR(refusal("cycles:u"),
		  "unknown modifier \":u\" of event \"cycles\"; there are :p, :pp, :ppp and :P");
	CHECK_STR(refusal("cycles:"),
		  "unknown modifier \":\" of event \"cycles\"; there are :p, :pp, :ppp and :P");
	CHECK_STR(refusal("cpu-clock:p"),
		  "event \"cpu-clock\" is a timer and cannot be precise; leave \":p\" out");
	(void)refusal("");
}

static void need_perf(void)
{
	if (hl_event_choose("cpu-clock", 99, &choice, &err) < 0)
		SKIP("%s", err.text);
}

HL_TEST(the_best_event_opens_and_counts)
{
	struct hl_event_count count = { 0 };
	struct timespec nap = { 0, 20000000 };
	int fd;

	need_perf();
	CHECK_INT(hl_event_choose(NULL, 99, &choice, &err), 0);
	NOTE("chosen: %s", choice.name);
	CHECK(!choice.any_precise);
	CHECK(choice.software_clock == (strcmp(choice.name, "cpu-clock") == 0));
	fd = hl_event_open(&choice, 99, 0, &err);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
	CHECK_INT(count.value, 0); /* it is opened disabled */
	CHECK_INT(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	(void)nanosleep(&nap, NULL);
	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
	CHECK(count.enabled_ns >= 20000000);
	if (choice.software_clock)
		CHECK(count.value >= 20000000);
	close(fd);
}

HL_TEST(an_absent_cpu_is_no_device)
{
	need_perf();
	CHECK_INT(hl_event_open(&choice, 99, 4095, &err), -ENODEV);
	CHECK_STR(err.text, "event \"cpu-clock\" cannot be opened on CPU 4095, which is not online");
}

HL_TEST(too_high_a_frequency_is_explained)
{
	need_perf();
	CHECK_INT(hl_event_open(&choice, 2000000000, 0, &err), -EINVAL);
	CHECK(strstr(err.text,
		     "frequency 2000000000 Hz is above kernel.perf_event_max_sample_rate, which is "));
}

HL_TEST(running_out_of_descriptors_is_explained)
{
	struct rlimit limit, none;

	need_perf();
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_INT(hl_event_open(&choice, 99, 0, &err), -EMFILE);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_STR(err.text, "no file descriptor is left for event \"cpu-clock\" on CPU 0; raise ulimit -n");
}

HL_TEST(lacking_privileges_are_explained)
{
	int r;

	need_perf();
	if (geteuid() != 0)
		SKIP("only root can give its privileges up");
	CHECK_INT(setegid(65534), 0);
	CHECK_INT(seteuid(65534), 0);
	r = hl_event_open(&choice, 99, 0, &err);
	CHECK_INT(seteuid(0), 0);
	if (r >= 0)
		SKIP("kernel.perf_event_paranoid lets everybody profile the host here");
	CHECK_INT(r, -EACCES);
	CHECK(strstr(err.text, "event \"cpu-clock\" ") && strstr(err.text, "CAP_PERFMON"));
}
