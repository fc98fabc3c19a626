/* The structs of TCLIService, one table. Everything that knows a field knows it from here: the C
 * structs (tcli.h), the codec's descriptors (tcli.c), the dump and the oracle test.
 *
 *     F(struct, id, REQ or OPT, kind, name, element)
 *
 * kind        in the C struct                 element
 * BOOL I8 I16 I32 I64 DOUBLE   the value      -
 * STRING BINARY  struct mtr_span              -
 * STRUCT      pointer, NULL when absent       the struct
 * LIST_STRUCT {items, count}                  the struct
 * LIST        struct mtr_thrift_values        the wire type of the elements
 * MAP         struct mtr_thrift_values        the wire type of the values; keys are strings
 * MAP_STRUCT  struct mtr_thrift_values        the struct that the values are
 *
 * REQ says what the interface definition calls required: the codec writes such a field when it is
 * set and does not insist on it when reading. Unions are structs of which one field is set.
 *
 * Source of the field tables: the published TCLIService interface, as the generated bindings of
 * databricks-sql-connector 4.9 declare it (the oracle test compares them field by field). Ids from
 * 3329 on are what recorded replies hold beyond it. */
#ifndef MTR_CODEC_THRIFT_TCLI_FIELDS_H
#define MTR_CODEC_THRIFT_TCLI_FIELDS_H

#define TCLI_TStatus(F)                                                                            \
  F(TStatus, 1, REQ, I32, status_code, _)                                                          \
  F(TStatus, 2, OPT, LIST, info_messages, STRING)                                                  \
  F(TStatus, 3, OPT, STRING, sql_state, _)                                                         \
  F(TStatus, 4, OPT, I32, error_code, _)                                                           \
  F(TStatus, 5, OPT, STRING, error_message, _)                                                     \
  F(TStatus, 6, OPT, STRING, display_message, _)                                                   \
  F(TStatus, 1281, OPT, STRING, error_details_json, _)

#define TCLI_THandleIdentifier(F)                                                                  \
  F(THandleIdentifier, 1, REQ, BINARY, guid, _)                                                    \
  F(THandleIdentifier, 2, REQ, BINARY, secret, _)                                                  \
  F(THandleIdentifier, 3329, OPT, I16, execution_version, _)

#define TCLI_TSessionHandle(F)                                                                     \
  F(TSessionHandle, 1, REQ, STRUCT, session_id, THandleIdentifier)                                 \
  F(TSessionHandle, 3329, OPT, I32, server_protocol_version, _)

#define TCLI_TOperationHandle(F)                                                                   \
  F(TOperationHandle, 1, REQ, STRUCT, operation_id, THandleIdentifier)                             \
  F(TOperationHandle, 2, REQ, I32, operation_type, _)                                              \
  F(TOperationHandle, 3, REQ, BOOL, has_result_set, _)                                             \
  F(TOperationHandle, 4, OPT, DOUBLE, modified_row_count, _)

#define TCLI_TNamespace(F)                                                                         \
  F(TNamespace, 1, OPT, STRING, catalog_name, _)                                                   \
  F(TNamespace, 2, OPT, STRING, schema_name, _)

#define TCLI_TOpenSessionReq(F)                                                                    \
  F(TOpenSessionReq, 1, OPT, I32, client_protocol, _)                                              \
  F(TOpenSessionReq, 2, OPT, STRING, username, _)                                                  \
  F(TOpenSessionReq, 3, OPT, STRING, password, _)                                                  \
  F(TOpenSessionReq, 4, OPT, MAP, configuration, STRING)                                           \
  F(TOpenSessionReq, 1281, OPT, LIST, get_infos, I32)                                              \
  F(TOpenSessionReq, 1282, OPT, I64, client_protocol_i64, _)                                       \
  F(TOpenSessionReq, 1283, OPT, MAP, connection_properties, STRING)                                \
  F(TOpenSessionReq, 1284, OPT, STRUCT, initial_namespace, TNamespace)                             \
  F(TOpenSessionReq, 1285, OPT, BOOL, can_use_multiple_catalogs, _)

#define TCLI_TOpenSessionResp(F)                                                                   \
  F(TOpenSessionResp, 1, REQ, STRUCT, status, TStatus)                                             \
  F(TOpenSessionResp, 2, REQ, I32, server_protocol_version, _)                                     \
  F(TOpenSessionResp, 3, OPT, STRUCT, session_handle, TSessionHandle)                              \
  F(TOpenSessionResp, 4, OPT, MAP, configuration, STRING)                                          \
  F(TOpenSessionResp, 1281, OPT, LIST_STRUCT, get_infos, TGetInfoValue)                            \
  F(TOpenSessionResp, 1284, OPT, STRUCT, initial_namespace, TNamespace)                            \
  F(TOpenSessionResp, 1285, OPT, BOOL, can_use_multiple_catalogs, _)

#define TCLI_TCloseSessionReq(F) F(TCloseSessionReq, 1, REQ, STRUCT, session_handle, TSessionHandle)

#define TCLI_TCloseSessionResp(F) F(TCloseSessionResp, 1, REQ, STRUCT, status, TStatus)

#define TCLI_TCancelOperationResp(F) F(TCancelOperationResp, 1, REQ, STRUCT, status, TStatus)

#define TCLI_TCloseOperationResp(F) F(TCloseOperationResp, 1, REQ, STRUCT, status, TStatus)

#define TCLI_TCancelDelegationTokenResp(F)                                                         \
  F(TCancelDelegationTokenResp, 1, REQ, STRUCT, status, TStatus)

#define TCLI_TRenewDelegationTokenResp(F)                                                          \
  F(TRenewDelegationTokenResp, 1, REQ, STRUCT, status, TStatus)

#define TCLI_TGetInfoReq(F)                                                                        \
  F(TGetInfoReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                                   \
  F(TGetInfoReq, 2, REQ, I32, info_type, _)

#define TCLI_TGetInfoResp(F)                                                                       \
  F(TGetInfoResp, 1, REQ, STRUCT, status, TStatus)                                                 \
  F(TGetInfoResp, 2, REQ, STRUCT, info_value, TGetInfoValue)

#define TCLI_TGetInfoValue(F)                                                                      \
  F(TGetInfoValue, 1, OPT, STRING, string_value, _)                                                \
  F(TGetInfoValue, 2, OPT, I16, small_int_value, _)                                                \
  F(TGetInfoValue, 3, OPT, I32, integer_bitmask, _)                                                \
  F(TGetInfoValue, 4, OPT, I32, integer_flag, _)                                                   \
  F(TGetInfoValue, 5, OPT, I32, binary_value, _)                                                   \
  F(TGetInfoValue, 6, OPT, I64, len_value, _)

#define TCLI_TExecuteStatementReq(F)                                                               \
  F(TExecuteStatementReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                          \
  F(TExecuteStatementReq, 2, REQ, STRING, statement, _)                                            \
  F(TExecuteStatementReq, 3, OPT, MAP, conf_overlay, STRING)                                       \
  F(TExecuteStatementReq, 4, OPT, BOOL, run_async, _)                                              \
  F(TExecuteStatementReq, 5, OPT, I64, query_timeout, _)                                           \
  F(TExecuteStatementReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)           \
  F(TExecuteStatementReq, 1282, OPT, BOOL, can_read_arrow_result, _)                               \
  F(TExecuteStatementReq, 1283, OPT, BOOL, can_download_result, _)                                 \
  F(TExecuteStatementReq, 1284, OPT, BOOL, can_decompress_lz4_result, _)                           \
  F(TExecuteStatementReq, 1285, OPT, I64, max_bytes_per_file, _)                                   \
  F(TExecuteStatementReq, 1286, OPT, STRUCT, use_arrow_native_types, TSparkArrowTypes)             \
  F(TExecuteStatementReq, 1287, OPT, I64, result_row_limit, _)                                     \
  F(TExecuteStatementReq, 1288, OPT, LIST_STRUCT, parameters, TSparkParameter)                     \
  F(TExecuteStatementReq, 1289, OPT, I64, max_bytes_per_batch, _)                                  \
  F(TExecuteStatementReq, 1296, OPT, STRUCT, statement_conf, TStatementConf)                       \
  F(TExecuteStatementReq, 3353, OPT, BOOL, enforce_embedded_schema_correctness, _)

#define TCLI_TSparkGetDirectResults(F)                                                             \
  F(TSparkGetDirectResults, 1, REQ, I64, max_rows, _)                                              \
  F(TSparkGetDirectResults, 2, OPT, I64, max_bytes, _)

#define TCLI_TSparkArrowTypes(F)                                                                   \
  F(TSparkArrowTypes, 1, OPT, BOOL, timestamp_as_arrow, _)                                         \
  F(TSparkArrowTypes, 2, OPT, BOOL, decimal_as_arrow, _)                                           \
  F(TSparkArrowTypes, 3, OPT, BOOL, complex_types_as_arrow, _)                                     \
  F(TSparkArrowTypes, 4, OPT, BOOL, interval_types_as_arrow, _)                                    \
  F(TSparkArrowTypes, 5, OPT, BOOL, null_type_as_arrow, _)

#define TCLI_TSparkParameter(F)                                                                    \
  F(TSparkParameter, 1, OPT, I32, ordinal, _)                                                      \
  F(TSparkParameter, 2, OPT, STRING, name, _)                                                      \
  F(TSparkParameter, 3, OPT, STRING, type, _)                                                      \
  F(TSparkParameter, 4, OPT, STRUCT, value, TSparkParameterValue)                                  \
  F(TSparkParameter, 5, OPT, LIST_STRUCT, arguments, TSparkParameterValueArg)

#define TCLI_TSparkParameterValue(F)                                                               \
  F(TSparkParameterValue, 1, OPT, STRING, string_value, _)                                         \
  F(TSparkParameterValue, 2, OPT, DOUBLE, double_value, _)                                         \
  F(TSparkParameterValue, 3, OPT, BOOL, boolean_value, _)

#define TCLI_TSparkParameterValueArg(F)                                                            \
  F(TSparkParameterValueArg, 1, OPT, STRING, type, _)                                              \
  F(TSparkParameterValueArg, 2, OPT, STRING, value, _)                                             \
  F(TSparkParameterValueArg, 3, OPT, LIST_STRUCT, arguments, TSparkParameterValueArg)

#define TCLI_TStatementConf(F)                                                                     \
  F(TStatementConf, 1, OPT, BOOL, sessionless, _)                                                  \
  F(TStatementConf, 2, OPT, STRUCT, initial_namespace, TNamespace)                                 \
  F(TStatementConf, 3, OPT, I32, client_protocol, _)                                               \
  F(TStatementConf, 4, OPT, I64, client_protocol_i64, _)

#define TCLI_TExecuteStatementResp(F)                                                              \
  F(TExecuteStatementResp, 1, REQ, STRUCT, status, TStatus)                                        \
  F(TExecuteStatementResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                     \
  F(TExecuteStatementResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetTypeInfoResp(F)                                                                   \
  F(TGetTypeInfoResp, 1, REQ, STRUCT, status, TStatus)                                             \
  F(TGetTypeInfoResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                          \
  F(TGetTypeInfoResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetCatalogsResp(F)                                                                   \
  F(TGetCatalogsResp, 1, REQ, STRUCT, status, TStatus)                                             \
  F(TGetCatalogsResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                          \
  F(TGetCatalogsResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetSchemasResp(F)                                                                    \
  F(TGetSchemasResp, 1, REQ, STRUCT, status, TStatus)                                              \
  F(TGetSchemasResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                           \
  F(TGetSchemasResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetTablesResp(F)                                                                     \
  F(TGetTablesResp, 1, REQ, STRUCT, status, TStatus)                                               \
  F(TGetTablesResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                            \
  F(TGetTablesResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetTableTypesResp(F)                                                                 \
  F(TGetTableTypesResp, 1, REQ, STRUCT, status, TStatus)                                           \
  F(TGetTableTypesResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                        \
  F(TGetTableTypesResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetColumnsResp(F)                                                                    \
  F(TGetColumnsResp, 1, REQ, STRUCT, status, TStatus)                                              \
  F(TGetColumnsResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                           \
  F(TGetColumnsResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetFunctionsResp(F)                                                                  \
  F(TGetFunctionsResp, 1, REQ, STRUCT, status, TStatus)                                            \
  F(TGetFunctionsResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                         \
  F(TGetFunctionsResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetPrimaryKeysResp(F)                                                                \
  F(TGetPrimaryKeysResp, 1, REQ, STRUCT, status, TStatus)                                          \
  F(TGetPrimaryKeysResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                       \
  F(TGetPrimaryKeysResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TGetCrossReferenceResp(F)                                                             \
  F(TGetCrossReferenceResp, 1, REQ, STRUCT, status, TStatus)                                       \
  F(TGetCrossReferenceResp, 2, OPT, STRUCT, operation_handle, TOperationHandle)                    \
  F(TGetCrossReferenceResp, 1281, OPT, STRUCT, direct_results, TSparkDirectResults)

#define TCLI_TSparkDirectResults(F)                                                                \
  F(TSparkDirectResults, 1, OPT, STRUCT, operation_status, TGetOperationStatusResp)                \
  F(TSparkDirectResults, 2, OPT, STRUCT, result_set_metadata, TGetResultSetMetadataResp)           \
  F(TSparkDirectResults, 3, OPT, STRUCT, result_set, TFetchResultsResp)                            \
  F(TSparkDirectResults, 4, OPT, STRUCT, close_operation, TCloseOperationResp)

#define TCLI_TGetOperationStatusReq(F)                                                             \
  F(TGetOperationStatusReq, 1, REQ, STRUCT, operation_handle, TOperationHandle)                    \
  F(TGetOperationStatusReq, 2, OPT, BOOL, get_progress_update, _)

#define TCLI_TGetOperationStatusResp(F)                                                            \
  F(TGetOperationStatusResp, 1, REQ, STRUCT, status, TStatus)                                      \
  F(TGetOperationStatusResp, 2, OPT, I32, operation_state, _)                                      \
  F(TGetOperationStatusResp, 3, OPT, STRING, sql_state, _)                                         \
  F(TGetOperationStatusResp, 4, OPT, I32, error_code, _)                                           \
  F(TGetOperationStatusResp, 5, OPT, STRING, error_message, _)                                     \
  F(TGetOperationStatusResp, 6, OPT, STRING, task_status, _)                                       \
  F(TGetOperationStatusResp, 7, OPT, I64, operation_started, _)                                    \
  F(TGetOperationStatusResp, 8, OPT, I64, operation_completed, _)                                  \
  F(TGetOperationStatusResp, 9, OPT, BOOL, has_result_set, _)                                      \
  F(TGetOperationStatusResp, 10, OPT, STRUCT, progress_update_response, TProgressUpdateResp)       \
  F(TGetOperationStatusResp, 11, OPT, I64, num_modified_rows, _)                                   \
  F(TGetOperationStatusResp, 1281, OPT, STRING, display_message, _)                                \
  F(TGetOperationStatusResp, 1282, OPT, STRING, diagnostic_info, _)                                \
  F(TGetOperationStatusResp, 1283, OPT, STRING, error_details_json, _)                             \
  F(TGetOperationStatusResp, 3330, OPT, I32, idempotency_type, _)

#define TCLI_TProgressUpdateResp(F)                                                                \
  F(TProgressUpdateResp, 1, REQ, LIST, header_names, STRING)                                       \
  F(TProgressUpdateResp, 2, REQ, LIST, rows, LIST)                                                 \
  F(TProgressUpdateResp, 3, REQ, DOUBLE, progressed_percentage, _)                                 \
  F(TProgressUpdateResp, 4, REQ, I32, status, _)                                                   \
  F(TProgressUpdateResp, 5, REQ, STRING, footer_summary, _)                                        \
  F(TProgressUpdateResp, 6, REQ, I64, start_time, _)

#define TCLI_TCancelOperationReq(F)                                                                \
  F(TCancelOperationReq, 1, REQ, STRUCT, operation_handle, TOperationHandle)

#define TCLI_TCloseOperationReq(F)                                                                 \
  F(TCloseOperationReq, 1, REQ, STRUCT, operation_handle, TOperationHandle)

#define TCLI_TGetResultSetMetadataReq(F)                                                           \
  F(TGetResultSetMetadataReq, 1, REQ, STRUCT, operation_handle, TOperationHandle)

#define TCLI_TGetResultSetMetadataResp(F)                                                          \
  F(TGetResultSetMetadataResp, 1, REQ, STRUCT, status, TStatus)                                    \
  F(TGetResultSetMetadataResp, 2, OPT, STRUCT, schema, TTableSchema)                               \
  F(TGetResultSetMetadataResp, 1281, OPT, I32, result_format, _)                                   \
  F(TGetResultSetMetadataResp, 1282, OPT, BOOL, lz4_compressed, _)                                 \
  F(TGetResultSetMetadataResp, 1283, OPT, BINARY, arrow_schema, _)                                 \
  F(TGetResultSetMetadataResp, 1284, OPT, I32, cache_lookup_result, _)                             \
  F(TGetResultSetMetadataResp, 1285, OPT, I64, uncompressed_bytes, _)                              \
  F(TGetResultSetMetadataResp, 1286, OPT, I64, compressed_bytes, _)                                \
  F(TGetResultSetMetadataResp, 1287, OPT, BOOL, is_staging_operation, _)                           \
  F(TGetResultSetMetadataResp, 3329, OPT, I32, reason_for_no_cloud_fetch, _)                       \
  F(TGetResultSetMetadataResp, 3333, OPT, I64, cache_lookup_latency, _)                            \
  F(TGetResultSetMetadataResp, 3345, OPT, BOOL, truncated_by_thrift_limit, _)

#define TCLI_TTableSchema(F) F(TTableSchema, 1, REQ, LIST_STRUCT, columns, TColumnDesc)

#define TCLI_TColumnDesc(F)                                                                        \
  F(TColumnDesc, 1, REQ, STRING, column_name, _)                                                   \
  F(TColumnDesc, 2, REQ, STRUCT, type_desc, TTypeDesc)                                             \
  F(TColumnDesc, 3, REQ, I32, position, _)                                                         \
  F(TColumnDesc, 4, OPT, STRING, comment, _)

#define TCLI_TTypeDesc(F) F(TTypeDesc, 1, REQ, LIST_STRUCT, types, TTypeEntry)

#define TCLI_TTypeEntry(F)                                                                         \
  F(TTypeEntry, 1, OPT, STRUCT, primitive_entry, TPrimitiveTypeEntry)                              \
  F(TTypeEntry, 2, OPT, STRUCT, array_entry, TArrayTypeEntry)                                      \
  F(TTypeEntry, 3, OPT, STRUCT, map_entry, TMapTypeEntry)                                          \
  F(TTypeEntry, 4, OPT, STRUCT, struct_entry, TStructTypeEntry)                                    \
  F(TTypeEntry, 5, OPT, STRUCT, union_entry, TUnionTypeEntry)                                      \
  F(TTypeEntry, 6, OPT, STRUCT, user_defined_type_entry, TUserDefinedTypeEntry)

#define TCLI_TPrimitiveTypeEntry(F)                                                                \
  F(TPrimitiveTypeEntry, 1, REQ, I32, type, _)                                                     \
  F(TPrimitiveTypeEntry, 2, OPT, STRUCT, type_qualifiers, TTypeQualifiers)

#define TCLI_TTypeQualifiers(F)                                                                    \
  F(TTypeQualifiers, 1, REQ, MAP_STRUCT, qualifiers, TTypeQualifierValue)

#define TCLI_TTypeQualifierValue(F)                                                                \
  F(TTypeQualifierValue, 1, OPT, I32, i32_value, _)                                                \
  F(TTypeQualifierValue, 2, OPT, STRING, string_value, _)

#define TCLI_TArrayTypeEntry(F) F(TArrayTypeEntry, 1, REQ, I32, object_type_ptr, _)

#define TCLI_TMapTypeEntry(F)                                                                      \
  F(TMapTypeEntry, 1, REQ, I32, key_type_ptr, _)                                                   \
  F(TMapTypeEntry, 2, REQ, I32, value_type_ptr, _)

#define TCLI_TStructTypeEntry(F) F(TStructTypeEntry, 1, REQ, MAP, name_to_type_ptr, I32)

#define TCLI_TUnionTypeEntry(F) F(TUnionTypeEntry, 1, REQ, MAP, name_to_type_ptr, I32)

#define TCLI_TUserDefinedTypeEntry(F) F(TUserDefinedTypeEntry, 1, REQ, STRING, type_class_name, _)

#define TCLI_TFetchResultsReq(F)                                                                   \
  F(TFetchResultsReq, 1, REQ, STRUCT, operation_handle, TOperationHandle)                          \
  F(TFetchResultsReq, 2, REQ, I32, orientation, _)                                                 \
  F(TFetchResultsReq, 3, REQ, I64, max_rows, _)                                                    \
  F(TFetchResultsReq, 4, OPT, I16, fetch_type, _)                                                  \
  F(TFetchResultsReq, 1281, OPT, I64, max_bytes, _)                                                \
  F(TFetchResultsReq, 1282, OPT, I64, start_row_offset, _)                                         \
  F(TFetchResultsReq, 1283, OPT, BOOL, include_result_set_metadata, _)

#define TCLI_TFetchResultsResp(F)                                                                  \
  F(TFetchResultsResp, 1, REQ, STRUCT, status, TStatus)                                            \
  F(TFetchResultsResp, 2, OPT, BOOL, has_more_rows, _)                                             \
  F(TFetchResultsResp, 3, OPT, STRUCT, results, TRowSet)                                           \
  F(TFetchResultsResp, 1281, OPT, STRUCT, result_set_metadata, TGetResultSetMetadataResp)

#define TCLI_TRowSet(F)                                                                            \
  F(TRowSet, 1, REQ, I64, start_row_offset, _)                                                     \
  F(TRowSet, 2, REQ, LIST_STRUCT, rows, TRow)                                                      \
  F(TRowSet, 3, OPT, LIST_STRUCT, columns, TColumn)                                                \
  F(TRowSet, 4, OPT, BINARY, binary_columns, _)                                                    \
  F(TRowSet, 5, OPT, I32, column_count, _)                                                         \
  F(TRowSet, 1281, OPT, LIST_STRUCT, arrow_batches, TSparkArrowBatch)                              \
  F(TRowSet, 1282, OPT, LIST_STRUCT, result_links, TSparkArrowResultLink)

#define TCLI_TSparkArrowBatch(F)                                                                   \
  F(TSparkArrowBatch, 1, REQ, BINARY, batch, _)                                                    \
  F(TSparkArrowBatch, 2, REQ, I64, row_count, _)

#define TCLI_TSparkArrowResultLink(F)                                                              \
  F(TSparkArrowResultLink, 1, REQ, STRING, file_link, _)                                           \
  F(TSparkArrowResultLink, 2, REQ, I64, expiry_time, _)                                            \
  F(TSparkArrowResultLink, 3, REQ, I64, start_row_offset, _)                                       \
  F(TSparkArrowResultLink, 4, REQ, I64, row_count, _)                                              \
  F(TSparkArrowResultLink, 5, REQ, I64, bytes_num, _)                                              \
  F(TSparkArrowResultLink, 6, OPT, MAP, http_headers, STRING)

#define TCLI_TColumn(F)                                                                            \
  F(TColumn, 1, OPT, STRUCT, bool_val, TBoolColumn)                                                \
  F(TColumn, 2, OPT, STRUCT, byte_val, TByteColumn)                                                \
  F(TColumn, 3, OPT, STRUCT, i16_val, TI16Column)                                                  \
  F(TColumn, 4, OPT, STRUCT, i32_val, TI32Column)                                                  \
  F(TColumn, 5, OPT, STRUCT, i64_val, TI64Column)                                                  \
  F(TColumn, 6, OPT, STRUCT, double_val, TDoubleColumn)                                            \
  F(TColumn, 7, OPT, STRUCT, string_val, TStringColumn)                                            \
  F(TColumn, 8, OPT, STRUCT, binary_val, TBinaryColumn)

#define TCLI_TBoolColumn(F)                                                                        \
  F(TBoolColumn, 1, REQ, LIST, values, BOOL)                                                       \
  F(TBoolColumn, 2, REQ, BINARY, nulls, _)

#define TCLI_TByteColumn(F)                                                                        \
  F(TByteColumn, 1, REQ, LIST, values, I8)                                                         \
  F(TByteColumn, 2, REQ, BINARY, nulls, _)

#define TCLI_TI16Column(F)                                                                         \
  F(TI16Column, 1, REQ, LIST, values, I16)                                                         \
  F(TI16Column, 2, REQ, BINARY, nulls, _)

#define TCLI_TI32Column(F)                                                                         \
  F(TI32Column, 1, REQ, LIST, values, I32)                                                         \
  F(TI32Column, 2, REQ, BINARY, nulls, _)

#define TCLI_TI64Column(F)                                                                         \
  F(TI64Column, 1, REQ, LIST, values, I64)                                                         \
  F(TI64Column, 2, REQ, BINARY, nulls, _)

#define TCLI_TDoubleColumn(F)                                                                      \
  F(TDoubleColumn, 1, REQ, LIST, values, DOUBLE)                                                   \
  F(TDoubleColumn, 2, REQ, BINARY, nulls, _)

#define TCLI_TStringColumn(F)                                                                      \
  F(TStringColumn, 1, REQ, LIST, values, STRING)                                                   \
  F(TStringColumn, 2, REQ, BINARY, nulls, _)

#define TCLI_TBinaryColumn(F)                                                                      \
  F(TBinaryColumn, 1, REQ, LIST, values, BINARY)                                                   \
  F(TBinaryColumn, 2, REQ, BINARY, nulls, _)

#define TCLI_TRow(F) F(TRow, 1, REQ, LIST_STRUCT, col_vals, TColumnValue)

#define TCLI_TColumnValue(F)                                                                       \
  F(TColumnValue, 1, OPT, STRUCT, bool_val, TBoolValue)                                            \
  F(TColumnValue, 2, OPT, STRUCT, byte_val, TByteValue)                                            \
  F(TColumnValue, 3, OPT, STRUCT, i16_val, TI16Value)                                              \
  F(TColumnValue, 4, OPT, STRUCT, i32_val, TI32Value)                                              \
  F(TColumnValue, 5, OPT, STRUCT, i64_val, TI64Value)                                              \
  F(TColumnValue, 6, OPT, STRUCT, double_val, TDoubleValue)                                        \
  F(TColumnValue, 7, OPT, STRUCT, string_val, TStringValue)

#define TCLI_TBoolValue(F) F(TBoolValue, 1, OPT, BOOL, value, _)

#define TCLI_TByteValue(F) F(TByteValue, 1, OPT, I8, value, _)

#define TCLI_TI16Value(F) F(TI16Value, 1, OPT, I16, value, _)

#define TCLI_TI32Value(F) F(TI32Value, 1, OPT, I32, value, _)

#define TCLI_TI64Value(F) F(TI64Value, 1, OPT, I64, value, _)

#define TCLI_TDoubleValue(F) F(TDoubleValue, 1, OPT, DOUBLE, value, _)

#define TCLI_TStringValue(F) F(TStringValue, 1, OPT, STRING, value, _)

#define TCLI_TGetCatalogsReq(F)                                                                    \
  F(TGetCatalogsReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                               \
  F(TGetCatalogsReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)                \
  F(TGetCatalogsReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetTableTypesReq(F)                                                                  \
  F(TGetTableTypesReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                             \
  F(TGetTableTypesReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)              \
  F(TGetTableTypesReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetTypeInfoReq(F)                                                                    \
  F(TGetTypeInfoReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                               \
  F(TGetTypeInfoReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)                \
  F(TGetTypeInfoReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetSchemasReq(F)                                                                     \
  F(TGetSchemasReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                                \
  F(TGetSchemasReq, 2, OPT, STRING, catalog_name, _)                                               \
  F(TGetSchemasReq, 3, OPT, STRING, schema_name, _)                                                \
  F(TGetSchemasReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)                 \
  F(TGetSchemasReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetTablesReq(F)                                                                      \
  F(TGetTablesReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                                 \
  F(TGetTablesReq, 2, OPT, STRING, catalog_name, _)                                                \
  F(TGetTablesReq, 3, OPT, STRING, schema_name, _)                                                 \
  F(TGetTablesReq, 4, OPT, STRING, table_name, _)                                                  \
  F(TGetTablesReq, 5, OPT, LIST, table_types, STRING)                                              \
  F(TGetTablesReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)                  \
  F(TGetTablesReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetColumnsReq(F)                                                                     \
  F(TGetColumnsReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                                \
  F(TGetColumnsReq, 2, OPT, STRING, catalog_name, _)                                               \
  F(TGetColumnsReq, 3, OPT, STRING, schema_name, _)                                                \
  F(TGetColumnsReq, 4, OPT, STRING, table_name, _)                                                 \
  F(TGetColumnsReq, 5, OPT, STRING, column_name, _)                                                \
  F(TGetColumnsReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)                 \
  F(TGetColumnsReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetFunctionsReq(F)                                                                   \
  F(TGetFunctionsReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                              \
  F(TGetFunctionsReq, 2, OPT, STRING, catalog_name, _)                                             \
  F(TGetFunctionsReq, 3, OPT, STRING, schema_name, _)                                              \
  F(TGetFunctionsReq, 4, REQ, STRING, function_name, _)                                            \
  F(TGetFunctionsReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)               \
  F(TGetFunctionsReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetPrimaryKeysReq(F)                                                                 \
  F(TGetPrimaryKeysReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                            \
  F(TGetPrimaryKeysReq, 2, OPT, STRING, catalog_name, _)                                           \
  F(TGetPrimaryKeysReq, 3, OPT, STRING, schema_name, _)                                            \
  F(TGetPrimaryKeysReq, 4, OPT, STRING, table_name, _)                                             \
  F(TGetPrimaryKeysReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)             \
  F(TGetPrimaryKeysReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetCrossReferenceReq(F)                                                              \
  F(TGetCrossReferenceReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                         \
  F(TGetCrossReferenceReq, 2, OPT, STRING, parent_catalog_name, _)                                 \
  F(TGetCrossReferenceReq, 3, OPT, STRING, parent_schema_name, _)                                  \
  F(TGetCrossReferenceReq, 4, OPT, STRING, parent_table_name, _)                                   \
  F(TGetCrossReferenceReq, 5, OPT, STRING, foreign_catalog_name, _)                                \
  F(TGetCrossReferenceReq, 6, OPT, STRING, foreign_schema_name, _)                                 \
  F(TGetCrossReferenceReq, 7, OPT, STRING, foreign_table_name, _)                                  \
  F(TGetCrossReferenceReq, 1281, OPT, STRUCT, get_direct_results, TSparkGetDirectResults)          \
  F(TGetCrossReferenceReq, 1282, OPT, BOOL, run_async, _)

#define TCLI_TGetDelegationTokenReq(F)                                                             \
  F(TGetDelegationTokenReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                        \
  F(TGetDelegationTokenReq, 2, REQ, STRING, owner, _)                                              \
  F(TGetDelegationTokenReq, 3, REQ, STRING, renewer, _)

#define TCLI_TGetDelegationTokenResp(F)                                                            \
  F(TGetDelegationTokenResp, 1, REQ, STRUCT, status, TStatus)                                      \
  F(TGetDelegationTokenResp, 2, OPT, STRING, delegation_token, _)

#define TCLI_TCancelDelegationTokenReq(F)                                                          \
  F(TCancelDelegationTokenReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                     \
  F(TCancelDelegationTokenReq, 2, REQ, STRING, delegation_token, _)

#define TCLI_TRenewDelegationTokenReq(F)                                                           \
  F(TRenewDelegationTokenReq, 1, REQ, STRUCT, session_handle, TSessionHandle)                      \
  F(TRenewDelegationTokenReq, 2, REQ, STRING, delegation_token, _)

#define TCLI_TDBSqlResultFormat(F)                                                                 \
  F(TDBSqlResultFormat, 1, OPT, STRUCT, arrow_format, TDBSqlArrowFormat)                           \
  F(TDBSqlResultFormat, 2, OPT, STRUCT, csv_format, TDBSqlCsvFormat)                               \
  F(TDBSqlResultFormat, 3, OPT, STRUCT, json_array_format, TDBSqlJsonArrayFormat)

#define TCLI_TDBSqlArrowFormat(F)                                                                  \
  F(TDBSqlArrowFormat, 1, OPT, I32, arrow_layout, _)                                               \
  F(TDBSqlArrowFormat, 2, OPT, I32, compression_codec, _)

#define TCLI_TDBSqlJsonArrayFormat(F) F(TDBSqlJsonArrayFormat, 1, OPT, I32, compression_codec, _)

#define TCLI_TDBSqlCsvFormat(F) F(TDBSqlCsvFormat, 1, OPT, I32, compression_codec, _)

#define TCLI_STRUCTS(S)                                                                            \
  S(TStatus)                                                                                       \
  S(THandleIdentifier)                                                                             \
  S(TSessionHandle)                                                                                \
  S(TOperationHandle)                                                                              \
  S(TNamespace)                                                                                    \
  S(TOpenSessionReq)                                                                               \
  S(TOpenSessionResp)                                                                              \
  S(TCloseSessionReq)                                                                              \
  S(TCloseSessionResp)                                                                             \
  S(TCancelOperationResp)                                                                          \
  S(TCloseOperationResp)                                                                           \
  S(TCancelDelegationTokenResp)                                                                    \
  S(TRenewDelegationTokenResp)                                                                     \
  S(TGetInfoReq)                                                                                   \
  S(TGetInfoResp)                                                                                  \
  S(TGetInfoValue)                                                                                 \
  S(TExecuteStatementReq)                                                                          \
  S(TSparkGetDirectResults)                                                                        \
  S(TSparkArrowTypes)                                                                              \
  S(TSparkParameter)                                                                               \
  S(TSparkParameterValue)                                                                          \
  S(TSparkParameterValueArg)                                                                       \
  S(TStatementConf)                                                                                \
  S(TExecuteStatementResp)                                                                         \
  S(TGetTypeInfoResp)                                                                              \
  S(TGetCatalogsResp)                                                                              \
  S(TGetSchemasResp)                                                                               \
  S(TGetTablesResp)                                                                                \
  S(TGetTableTypesResp)                                                                            \
  S(TGetColumnsResp)                                                                               \
  S(TGetFunctionsResp)                                                                             \
  S(TGetPrimaryKeysResp)                                                                           \
  S(TGetCrossReferenceResp)                                                                        \
  S(TSparkDirectResults)                                                                           \
  S(TGetOperationStatusReq)                                                                        \
  S(TGetOperationStatusResp)                                                                       \
  S(TProgressUpdateResp)                                                                           \
  S(TCancelOperationReq)                                                                           \
  S(TCloseOperationReq)                                                                            \
  S(TGetResultSetMetadataReq)                                                                      \
  S(TGetResultSetMetadataResp)                                                                     \
  S(TTableSchema)                                                                                  \
  S(TColumnDesc)                                                                                   \
  S(TTypeDesc)                                                                                     \
  S(TTypeEntry)                                                                                    \
  S(TPrimitiveTypeEntry)                                                                           \
  S(TTypeQualifiers)                                                                               \
  S(TTypeQualifierValue)                                                                           \
  S(TArrayTypeEntry)                                                                               \
  S(TMapTypeEntry)                                                                                 \
  S(TStructTypeEntry)                                                                              \
  S(TUnionTypeEntry)                                                                               \
  S(TUserDefinedTypeEntry)                                                                         \
  S(TFetchResultsReq)                                                                              \
  S(TFetchResultsResp)                                                                             \
  S(TRowSet)                                                                                       \
  S(TSparkArrowBatch)                                                                              \
  S(TSparkArrowResultLink)                                                                         \
  S(TColumn)                                                                                       \
  S(TBoolColumn)                                                                                   \
  S(TByteColumn)                                                                                   \
  S(TI16Column)                                                                                    \
  S(TI32Column)                                                                                    \
  S(TI64Column)                                                                                    \
  S(TDoubleColumn)                                                                                 \
  S(TStringColumn)                                                                                 \
  S(TBinaryColumn)                                                                                 \
  S(TRow)                                                                                          \
  S(TColumnValue)                                                                                  \
  S(TBoolValue)                                                                                    \
  S(TByteValue)                                                                                    \
  S(TI16Value)                                                                                     \
  S(TI32Value)                                                                                     \
  S(TI64Value)                                                                                     \
  S(TDoubleValue)                                                                                  \
  S(TStringValue)                                                                                  \
  S(TGetCatalogsReq)                                                                               \
  S(TGetTableTypesReq)                                                                             \
  S(TGetTypeInfoReq)                                                                               \
  S(TGetSchemasReq)                                                                                \
  S(TGetTablesReq)                                                                                 \
  S(TGetColumnsReq)                                                                                \
  S(TGetFunctionsReq)                                                                              \
  S(TGetPrimaryKeysReq)                                                                            \
  S(TGetCrossReferenceReq)                                                                         \
  S(TGetDelegationTokenReq)                                                                        \
  S(TGetDelegationTokenResp)                                                                       \
  S(TCancelDelegationTokenReq)                                                                     \
  S(TRenewDelegationTokenReq)                                                                      \
  S(TDBSqlResultFormat)                                                                            \
  S(TDBSqlArrowFormat)                                                                             \
  S(TDBSqlJsonArrayFormat)                                                                         \
  S(TDBSqlCsvFormat)

#endif
