// Runs a list of cases through @databricks/sql and prints their outcomes.
//
//     node client.js < job > outcomes
//
// The job is {uri, schema, cases}, an outcome what tests/python/foreign_clients.py tells. Refuses
// nothing: what goes wrong in a case is its outcome. The package is looked for in NODE_PATH.
'use strict';

const { readFileSync } = require('node:fs');
const { DBSQLClient, DBSQLLogger, DBSQLParameter } = require('@databricks/sql');
const { TOperationState, TTypeId } = require('@databricks/sql/thrift/TCLIService_types');

function nameOf(names, number) {
  return Object.keys(names).find((name) => names[name] === number);
}

// ---- Values ----------------------------------------------------------------------------------

// Dates are moments of midnight here; which of both a column has is told by its type.
function fromDate(date, type) {
  const [day, time] = date.toISOString().replace('Z', '').split('T');
  return type === 'DATE' ? day : `${day} ${time}`;
}

function plain(value, type) {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (value instanceof Date) return fromDate(value, type);
  return value === undefined ? null : value;
}

function bound([type, value]) {
  return new DBSQLParameter({ type: type === 'INT' ? 'INTEGER' : type, value });
}

// ---- Outcomes --------------------------------------------------------------------------------

async function result(operation) {
  const rows = await operation.fetchAll();
  const schema = await operation.getSchema();
  const columns = (schema && schema.columns) || [];
  const names = columns.map((column) => column.columnName);
  const types = columns.map((column) =>
    nameOf(TTypeId, column.typeDesc.types[0].primitiveEntry.type).replace('_TYPE', ''));
  const status = await operation.status();
  const outcome = {
    columns: names,
    types,
    rows: rows.map((row) => names.map((name, i) => plain(row[name], types[i]))),
  };
  if (status.numModifiedRows !== null) outcome.affected = Number(status.numModifiedRows);
  return outcome;
}

function told(error) {
  const response = error.response || {};
  return { message: error.message, sqlstate: response.sqlState || undefined };
}

const asked = {
  catalogs: (session) => session.getCatalogs(),
  schemas: (session, names) => session.getSchemas(names),
  tables: (session, names) => session.getTables(names),
  columns: (session, names) => session.getColumns(names),
  functions: (session, names) => session.getFunctions(names),
  'table types': (session) => session.getTableTypes(),
  'type info': (session) => session.getTypeInfo(),
  'primary keys': (session, names) => session.getPrimaryKeys(names),
  'cross reference': (session, names) => session.getCrossReference({
    parentCatalogName: names.catalogName,
    parentSchemaName: names.schemaName,
    parentTableName: names.tableName,
    foreignCatalogName: names.catalogName,
    foreignSchemaName: names.schemaName,
    foreignTableName: names.childName,
  }),
};

function ask(session, { call, type, ...filters }) {
  const names = type ? { tableTypes: [type] } : {};
  for (const [name, value] of Object.entries(filters)) names[`${name}Name`] = value;
  return asked[call](session, names);
}

function statement(session, { sql, parameters, session: own }) {
  if (own && own.folder) {
    return session.executeStatement(sql, { stagingAllowedLocalPath: own.folder });
  }
  if (!parameters) return session.executeStatement(sql);
  if (Array.isArray(parameters)) {
    return session.executeStatement(sql, { ordinalParameters: parameters.map(bound) });
  }
  const named = {};
  for (const [name, value] of Object.entries(parameters)) named[name] = bound(value);
  return session.executeStatement(sql, { namedParameters: named });
}

// ---- Statements that run on ------------------------------------------------------------------

async function seen(operation, states) {
  const { operationState } = await operation.status();
  const state = nameOf(TOperationState, operationState).replace('_STATE', '');
  const known = state === 'PENDING' || state === 'INITIALIZED' ? 'RUNNING' : state;
  if (!states.includes(known)) states.push(known);
  return known;
}

async function ended(operation, states) {
  while (await seen(operation, states) === 'RUNNING');
}

const modes = {
  asynchronous: async (session, sql) => {
    const operation = await session.executeStatement(sql, { runAsync: true });
    const states = [];
    await ended(operation, states);
    return { ...await result(operation), states };
  },
  'asynchronous cancel': async (session, sql) => {
    const operation = await session.executeStatement(sql, { runAsync: true });
    const states = [];
    await seen(operation, states);
    await operation.cancel();
    // A look at what this client has canceled is an error.
    await ended(operation, states).catch((error) => states.push(error.errorCode));
    return { states };
  },
  cancel: async (session, sql) => {
    const operation = await session.executeStatement(sql);
    const rows = result(operation);
    await Promise.all([rows, operation.cancel()]);
    return rows;
  },
  timeout: async (session, sql) => result(await session.executeStatement(sql, { queryTimeout: 1 })),
};

// ---- Cases -----------------------------------------------------------------------------------

async function outcome(session, entry) {
  for (const sql of entry.before || []) await (await session.executeStatement(sql)).close();
  if (entry.mode) return modes[entry.mode](session, entry.sql);
  const operation = await (entry.ask ? ask(session, entry.ask) : statement(session, entry));
  try {
    return await result(operation);
  } finally {
    await operation.close();
  }
}

function open(client, { catalog, schema, configuration }) {
  return client.openSession({ initialCatalog: catalog, initialSchema: schema, configuration });
}

async function run(client, shared, entry) {
  if (entry.batch) return { lacks: true };
  let session = shared;
  try {
    if (entry.session) session = await open(client, entry.session);
    return await outcome(session, entry);
  } catch (error) {
    return { error: told(error) };
  } finally {
    if (session !== shared) await session.close();
  }
}

async function main() {
  const { uri, schema, cases } = JSON.parse(readFileSync(0, 'utf8'));
  const place = new URL(uri);
  const client = new DBSQLClient({ logger: new DBSQLLogger({ level: 'error' }) });
  await client.connect({
    host: place.hostname,
    port: Number(place.port),
    path: place.pathname,
    token: 'any',
    checkServerCertificate: false,
    telemetryEnabled: false,
  });
  const session = await open(client, { schema });
  const outcomes = {};
  for (const entry of cases) outcomes[entry.name] = await run(client, session, entry);
  await session.close();
  await client.close();
  process.stdout.write(JSON.stringify(outcomes));
}

main();
