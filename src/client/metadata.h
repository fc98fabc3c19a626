/* What a metadata call asks for, kept by the statement that makes it. */
#ifndef MTR_CLIENT_METADATA_H
#define MTR_CLIENT_METADATA_H

#include "base/arena.h"
#include "base/buf.h"

/* Checks that each filter is one of its kind and copies them all into arena. */
MORTAR_MUST_USE enum mortar_status mtr_metadata_copy(const struct mortar_metadata *from,
                                                     struct mtr_arena *arena,
                                                     struct mortar_metadata *out,
                                                     struct mortar_error *err);

/* Appends it for people: "tables catalog=main table=t%". */
MORTAR_MUST_USE enum mortar_status mtr_metadata_show(const struct mortar_metadata *metadata,
                                                     struct mtr_buf *out, struct mortar_error *err);

#endif
