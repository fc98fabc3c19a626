/* Protocol versions: which one a session has, and how a person writes one.
 *
 *     HIVE_V1 to HIVE_V10      0 to 9             rows before V6, columns since
 *     SPARK_V1 to SPARK_V9     0xA501 to 0xA509   Databricks'
 *
 * What a version has is asked where it matters, by comparing numbers. */
#ifndef KILN_SERVER_PROTOCOL_H
#define KILN_SERVER_PROTOCOL_H

#include "codec/thrift/tcli.h"

enum { KILN_PROTOCOL_NEWEST = MTR_PROTOCOL_SPARK_V9 };

/* A name as above, also in full (HIVE_CLI_SERVICE_PROTOCOL_V1), or a number, decimal or 0x...; in
 * any case of letters. INVALID says what there is. */
MORTAR_MUST_USE enum mortar_status kiln_protocol_read(const char *text, int32_t *out,
                                                      struct mortar_error *err);

/* The lower one of the client's and our own. A client that names a number of Hive's gets one of
 * those: it does not know the others. */
int32_t kiln_protocol_agree(int32_t own, const struct mtr_TOpenSessionReq *req);

#endif
