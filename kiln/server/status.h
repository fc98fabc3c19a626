/* TStatus structs. */
#ifndef KILN_SERVER_STATUS_H
#define KILN_SERVER_STATUS_H

#include "codec/thrift/tcli.h"
#include "kiln/server/engine.h"

/* statusCode 0. One object for all: replies only read it. */
extern struct mtr_TStatus kiln_status_success;

/* Status 3 with SQLSTATE and the text twice, as Databricks sends it. Borrows the text of err. */
void kiln_status_error(struct mtr_TStatus *out, const struct kiln_error *err);

/* A failure of our own in an engine's clothes: SQLSTATE and text of a mortar_error. */
void kiln_error_from(struct kiln_error *out, const struct mortar_error *err);

#endif
