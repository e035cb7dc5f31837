// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile import render tests/fuzzing */
/* Somebody's pprof file: what is read from it can be written in every format. */
#include <string.h>
#include <unistd.h>

#include "fuzzing.h"
#include "import/import.h"
#include "profile/profile.h"
#include "render/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct hl_render_options options = { .instruction_lines = size & 1 };
	struct hl_profile *profile;
	int fd = fuzz_file(data, size);
	FILE *out;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (hl_import_pprof(path, &profile, NULL) == 0) {
		out = fopen("/dev/null", "w");
		MUST(out);
		for (const struct hl_writer *const *w = hl_writers; *w; w++)
			MUST((*w)->write(profile, &options, out, NULL) == 0);
		(void)fclose(out);
		hl_profile_free(profile);
	}
	(void)close(fd);
	return 0;
}
