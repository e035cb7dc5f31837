// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include <stdlib.h>
#include <unistd.h>

#include "profile/profile.h"
#include "render/render.h"

#include "harness.h"
#include "profiles.h"

/* The rules of speedscope's file-format-spec.ts, and what its reader takes for granted beyond them. */
static const char rules[] =
	"import json, sys\n"
	"d = json.load(sys.stdin)\n"
	"assert d['$schema'] == 'https://www.speedscope.app/file-format-schema.json'\n"
	"assert set(d) <= {'$schema', 'shared', 'profiles', 'name', 'activeProfileIndex', 'exporter'}\n"
	"assert isinstance(d['name'], str) and isinstance(d['exporter'], str)\n"
	"frames = d['shared']['frames']\n"
	"assert set(d['shared']) == {'frames'}\n"
	"for f in frames:\n"
	"    assert isinstance(f['name'], str) and f['name']\n"
	"    assert set(f) <= {'name', 'file', 'line', 'col'} and isinstance(f.get('file', ''), str)\n"
	"assert 0 <= d['activeProfileIndex'] < len(d['profiles'])\n"
	"for p in d['profiles']:\n"
	"    assert set(p) == {'type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'}\n"
	"    assert p['type'] == 'sampled' and isinstance(p['name'], str)\n"
	"    assert p['unit'] in ('none', 'nanoseconds', 'microseconds', 'milliseconds', 'seconds', "
	"'bytes')\n"
	"    assert len(p['samples']) == len(p['weights']) > 0\n"
	"    assert all(type(i) is int and 0 <= i < len(frames) for s in p['samples'] for i in s)\n"
	"    assert all(type(w) is int and w > 0 for w in p['weights'])\n"
	"    assert p['endValue'] - p['startValue'] == sum(p['weights'])\n"
	"    for s, w in zip(p['samples'], p['weights']):\n"
	"        print(';'.join(frames[i]['name'] for i in s), frames[s[-1]].get('file', '-'), w)\n"
	"print(d['profiles'][0]['unit'], d['profiles'][0]['name'])\n";

/* What python says of @p's file, to be freed; the test fails if it breaks a rule. */
static char *checked(const struct hl_profile *p)
{
	size_t len = 0, n;
	char *text = profiles_render(p, "speedscope", &len), *said = calloc(1, 1 << 16);
	char file[64], command[512];
	FILE *f;

	profiles_check_clean(text, len);
	(void)snprintf(file, sizeof(file), "/tmp/hl-speedscope-%d", (int)getpid());
	f = fopen(file, "w");
	CHECK(said && f && fwrite(text, 1, len, f) == len && fclose(f) == 0);
	free(text);
	(void)snprintf(command, sizeof(command), "%s.py", file);
	f = fopen(command, "w");
	CHECK(f && fputs(rules, f) >= 0 && fclose(f) == 0);
	(void)snprintf(command, sizeof(command), "python3 %s.py <%s 2>&1; s=$?; rm %s %s.py; exit $s", file,
		       file, file, file);
	f = popen(command, "r");
	CHECK(f);
	n = fread(said, 1, (1 << 16) - 1, f);
	if (pclose(f))
		FAIL("breaks a rule: %.*s", (int)n, said);
	return said;
}

static struct hl_profile *small(const char *unit)
{
	static const struct hl_loss losses[] = { { "full", "", 7, HL_LOSS_LOST },
						 { "deep", "", 3, HL_LOSS_CUT } };
	const struct hl_profile_meta meta = {
		.host = "h\"1", .event = "cpu-clock", .unit = unit, .losses = losses, .n_losses = 2
	};
	struct hl_profile *p = hl_profile_new();
	uint32_t root = profiles_named(p, HL_FRAME_ROOT, "app");
	uint32_t f = profiles_function(p, HL_FRAME_USER, 0x1000, "f\\\"<&\n");
	uint32_t k = profiles_function(p, HL_FRAME_KERNEL, 0xffffffff81000000, "schedule");
	uint32_t i = profiles_insn(p, 0x1010, 0x10, 0, "ret");

	profiles_add(p, (uint32_t[]){ root, f, i }, 3, 5);
	profiles_add(p, (uint32_t[]){ root, f }, 2, 2);
	profiles_add(p, (uint32_t[]){ root, f, k }, 3, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	return p;
}

HL_TEST(stacks_and_weights)
{
	struct hl_profile *p = small("nanoseconds"), *q = small("cycles");
	char *said = checked(p);

	CHECK_STR(said, "app;f\\\"<&\\n /usr/sbin/app 20000000\n"
			"app;f\\\"<&\\n;schedule_[k] vmlinux 10000000\n"
			"app;f\\\"<&\\n;ret [0x1010] /usr/sbin/app 50000000\n"
			"nanoseconds cpu-clock, 8 samples, 7 lost, 3 cut, 0 noted\n");
	free(said);
	said = checked(q);
	CHECK(strstr(said, "ret [0x1010] /usr/sbin/app 5\nnone cpu-clock"));
	free(said);
	hl_profile_free(p);
	hl_profile_free(q);
}

/* That time is missing is said where there is room. */
HL_TEST(missing_time_is_in_the_name)
{
	static const char *const notes[] = { "2 windows, 40 s missing: 12:00:00 to 12:00:40 (disabled)",
					     "other" };
	struct hl_profile *p = small("nanoseconds");
	struct hl_profile_meta meta = *hl_profile_meta(p);
	char *said;

	meta.notes = notes;
	meta.n_notes = 2;
	hl_profile_set_meta(p, &meta);
	said = checked(p);
	CHECK(strstr(said, ", 0 noted, 2 windows, 40 s missing\n"));
	free(said);
	hl_profile_free(p);
}

HL_TEST(hostile_names)
{
	struct hl_profile *p = hl_profile_new();

	for (unsigned int c = 1; c < 256; c++) {
		char name[] = { 'a', (char)c, '"', '\\', (char)c, 0 };

		profiles_add(p, (uint32_t[]){ profiles_named(p, HL_FRAME_ROOT, name) }, 1, 1);
	}
	profiles_add(p, (uint32_t[]){ profiles_named(p, HL_FRAME_ROOT, "") }, 1, 1);
	profiles_add(p, (uint32_t[]){ 0 }, 0, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	free(checked(p));
	hl_profile_free(p);
}

HL_TEST(extension)
{
	CHECK(hl_writer_find("speedscope") == &hl_writer_speedscope);
	CHECK(hl_writer_find_extension("speedscope.json") == &hl_writer_speedscope);
	CHECK(!hl_writer_find_extension("speedscope"));
	CHECK(hl_writer_find_extension("pb.gz") == hl_writer_find("pb.gz"));
}
