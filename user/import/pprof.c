// SPDX-License-Identifier: BSD-2-Clause
#include "import/import.h"
#include <errno.h>
int hl_import_pprof(const char *path, struct hl_profile **ret, struct hl_err *err)
{
	return hl_err_set(err, -ENOSYS, "soon");
}
