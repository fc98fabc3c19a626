// Runs a list of cases through JDBC drivers and prints their outcomes.
//
//     java -cp gson.jar Client.java < job > outcomes
//
// The job has {name: {driver, jar, url, schema, cases}} for each driver, an outcome is what
// tests/python/foreign_clients.py tells. Each driver has a class loader of its own, since both
// bring the same libraries. Refuses nothing: what goes wrong in a case is its outcome.

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.Driver;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

public class Client {
  private static final int PAUSE_MS = 10;
  private static final String CANCELED = "HY008";

  /** The driver can't do this. */
  private static class Lacks extends RuntimeException {}

  private final Driver driver;
  private final String url;
  private final boolean hive;

  private Client(JsonObject job) throws Exception {
    URL[] jars = {Path.of(text(job, "jar")).toUri().toURL()};
    driver = (Driver) new URLClassLoader(jars).loadClass(text(job, "driver"))
        .getDeclaredConstructor().newInstance();
    url = text(job, "url");
    hive = url.startsWith("jdbc:hive2:");
  }

  private static String text(JsonObject object, String name) {
    JsonElement element = object.get(name);
    return element == null || element.isJsonNull() ? null : element.getAsString();
  }

  // ---- Sessions ------------------------------------------------------------------------------

  /** Hive's has no catalogs in its URL, and no volumes. */
  private Connection connect(JsonObject session) throws SQLException {
    StringBuilder full = new StringBuilder(url.replace("{schema}", text(session, "schema")));
    String catalog = text(session, "catalog");
    JsonObject configuration = session.getAsJsonObject("configuration");
    String folder = text(session, "folder");
    if (catalog != null) {
      if (hive) throw new Lacks();
      full.append(";ConnCatalog=").append(catalog);
    }
    if (folder != null) {
      if (hive) throw new Lacks();
      full.append(";VolumeOperationAllowedLocalPaths=").append(folder);
    }
    if (configuration != null) {
      for (String name : configuration.keySet()) {
        full.append(hive ? '?' : ';').append(name).append('=').append(text(configuration, name));
      }
    }
    return driver.connect(full.toString(), new Properties());
  }

  // ---- Values --------------------------------------------------------------------------------

  private static Object plain(Object value) {
    if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      return Double.isFinite(number) ? value : String.valueOf(number);
    }
    if (value == null || value instanceof Number && !(value instanceof BigDecimal)
        || value instanceof Boolean) {
      return value;
    }
    if (value instanceof byte[]) return HexFormat.of().formatHex((byte[]) value);
    if (value instanceof BigDecimal) return ((BigDecimal) value).toPlainString();
    return value.toString();
  }

  private static void bind(PreparedStatement statement, int place, String type, JsonElement value)
      throws SQLException {
    if (value.isJsonNull()) {
      statement.setNull(place, Types.VARCHAR);
      return;
    }
    switch (type) {
      case "INT": statement.setInt(place, value.getAsInt()); break;
      case "BIGINT": statement.setLong(place, value.getAsLong()); break;
      case "DOUBLE": statement.setDouble(place, value.getAsDouble()); break;
      case "BOOLEAN": statement.setBoolean(place, value.getAsBoolean()); break;
      case "DECIMAL": statement.setBigDecimal(place, value.getAsBigDecimal()); break;
      case "DATE": statement.setDate(place, Date.valueOf(value.getAsString())); break;
      case "TIMESTAMP": statement.setTimestamp(place, Timestamp.valueOf(value.getAsString())); break;
      default: statement.setString(place, value.getAsString());
    }
  }

  private static void bindAll(PreparedStatement statement, JsonArray parameters)
      throws SQLException {
    for (int i = 0; i < parameters.size(); i++) {
      JsonArray parameter = parameters.get(i).getAsJsonArray();
      bind(statement, i + 1, parameter.get(0).getAsString(), parameter.get(1));
    }
  }

  // ---- Outcomes ------------------------------------------------------------------------------

  private static Map<String, Object> result(ResultSet rows) throws SQLException {
    ResultSetMetaData about = rows.getMetaData();
    List<String> columns = new ArrayList<>();
    List<String> types = new ArrayList<>();
    List<Object> all = new ArrayList<>();
    for (int i = 1; i <= about.getColumnCount(); i++) {
      columns.add(about.getColumnLabel(i));
      types.add(about.getColumnTypeName(i));
    }
    while (rows.next()) {
      List<Object> row = new ArrayList<>();
      for (int i = 1; i <= columns.size(); i++) row.add(plain(rows.getObject(i)));
      all.add(row);
    }
    Map<String, Object> outcome = new LinkedHashMap<>();
    outcome.put("columns", columns);
    outcome.put("types", types);
    outcome.put("rows", all);
    return outcome;
  }

  /** Hive's counts 0 for everything but changes. */
  private static Map<String, Object> result(Statement statement, boolean hasRows)
      throws SQLException {
    int touched = statement.getUpdateCount();
    Map<String, Object> outcome = new LinkedHashMap<>();
    if (hasRows) outcome = result(statement.getResultSet());
    if (touched >= 0) outcome.put("affected", touched);
    return outcome;
  }

  private static Map<String, Object> told(Throwable error) {
    Map<String, Object> about = new LinkedHashMap<>();
    about.put("message", String.valueOf(error.getMessage()));
    if (error instanceof SQLException) about.put("sqlstate", ((SQLException) error).getSQLState());
    else about.put("class", error.getClass().getName());
    return Map.of("error", about);
  }

  private static ResultSet ask(DatabaseMetaData about, JsonObject ask) throws SQLException {
    String catalog = text(ask, "catalog");
    String schema = text(ask, "schema");
    String table = text(ask, "table");
    switch (text(ask, "call")) {
      case "catalogs": return about.getCatalogs();
      case "schemas": return about.getSchemas(catalog, schema);
      case "tables":
        String type = text(ask, "type");
        return about.getTables(catalog, schema, table, type == null ? null : new String[] {type});
      case "columns": return about.getColumns(catalog, schema, table, text(ask, "column"));
      case "functions": return about.getFunctions(catalog, schema, text(ask, "function"));
      case "table types": return about.getTableTypes();
      case "type info": return about.getTypeInfo();
      case "primary keys": return about.getPrimaryKeys(catalog, schema, table);
      default:
        return about.getCrossReference(catalog, schema, table, catalog, schema, text(ask, "child"));
    }
  }

  private Map<String, Object> prepared(Connection connection, JsonObject entry)
      throws SQLException {
    boolean writesText = hive;
    if (!entry.get("parameters").isJsonArray() || writesText && entry.has("native")) {
      throw new Lacks();
    }
    JsonArray parameters = entry.getAsJsonArray("parameters");
    try (PreparedStatement statement = connection.prepareStatement(text(entry, "sql"))) {
      bindAll(statement, parameters);
      return result(statement, statement.execute());
    }
  }

  private Map<String, Object> batch(Connection connection, Statement statement, JsonObject entry)
      throws SQLException {
    if (hive) throw new Lacks();
    try (PreparedStatement prepared = connection.prepareStatement(text(entry, "sql"))) {
      for (JsonElement row : entry.getAsJsonArray("batch")) {
        bindAll(prepared, row.getAsJsonArray());
        prepared.addBatch();
      }
      prepared.executeBatch();
    }
    return result(statement, statement.execute(text(entry, "then")));
  }

  // ---- Statements that run on ----------------------------------------------------------------

  /** What the interfaces of Java do not have. */
  private static Object call(Object object, String method, Object... arguments) throws Exception {
    Class<?>[] types = new Class<?>[arguments.length];
    for (int i = 0; i < types.length; i++) types[i] = arguments[i].getClass();
    try {
      Method found = object.getClass().getMethod(method, types);
      found.setAccessible(true);
      return found.invoke(object, arguments);
    } catch (InvocationTargetException wrapped) {
      throw (Exception) wrapped.getCause();
    }
  }

  /** A look at what runs; its state is added to those that were seen. */
  private static ResultSet look(Statement statement, List<String> states) throws Exception {
    ResultSet look = (ResultSet) call(statement, "getExecutionResult");
    String state = String.valueOf(call(call(look, "getExecutionStatus"), "getExecutionState"));
    state = state.replace("PENDING", "RUNNING").replace("SUCCEEDED", "FINISHED");
    if (!states.contains(state)) states.add(state);
    return look;
  }

  private static boolean runs(List<String> states) {
    return states.get(states.size() - 1).equals("RUNNING");
  }

  /**
   * Hive's tells no state: it waits when the first row is asked for. That of Databricks has no words
   * for a statement that failed.
   */
  private Map<String, Object> asynchronous(Statement statement, String sql) throws Exception {
    List<String> states = new ArrayList<>();
    call(statement, "executeAsync", sql);
    if (hive) return result(statement.getResultSet());
    ResultSet look = look(statement, states);
    while (runs(states)) look = look(statement, states);
    Map<String, Object> outcome = new LinkedHashMap<>();
    if (states.contains("FINISHED")) outcome = result(look);
    outcome.put("states", states);
    return outcome;
  }

  /** A look at what was canceled is an error, here as from a connection's other statements. */
  private Map<String, Object> asynchronousCancel(Statement statement, String sql)
      throws Exception {
    if (hive) throw new Lacks();
    List<String> states = new ArrayList<>();
    call(statement, "executeAsync", sql);
    look(statement, states);
    statement.cancel();
    try {
      while (runs(states)) look(statement, states);
    } catch (SQLException error) {
      if (!CANCELED.equals(error.getSQLState())) throw error;
      states.add("CANCELED");
    }
    return Map.of("states", states);
  }

  /** A cancel that comes before the server has the statement does nothing, so it is repeated. */
  private static Map<String, Object> cancel(Statement statement, String sql) throws Exception {
    CompletableFuture<Map<String, Object>> running = CompletableFuture.supplyAsync(() -> {
      try {
        return result(statement, statement.execute(sql));
      } catch (SQLException error) {
        return told(error);
      }
    });
    while (true) {
      try {
        return running.get(PAUSE_MS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException stillRunning) {
        statement.cancel();
      } catch (ExecutionException error) {
        return told(error.getCause());
      }
    }
  }

  private static Map<String, Object> timeout(Statement statement, String sql) throws SQLException {
    statement.setQueryTimeout(1);
    return result(statement, statement.execute(sql));
  }

  private Map<String, Object> mode(Statement statement, String mode, String sql)
      throws Exception {
    switch (mode) {
      case "asynchronous": return asynchronous(statement, sql);
      case "asynchronous cancel": return asynchronousCancel(statement, sql);
      case "cancel": return cancel(statement, sql);
      default: return timeout(statement, sql);
    }
  }

  // ---- Cases ---------------------------------------------------------------------------------

  private Map<String, Object> outcome(Connection connection, JsonObject entry) throws Exception {
    try (Statement statement = connection.createStatement()) {
      if (entry.has("before")) {
        for (JsonElement sql : entry.getAsJsonArray("before")) statement.execute(sql.getAsString());
      }
      String sql = text(entry, "sql");
      if (entry.has("ask")) {
        return result(ask(connection.getMetaData(), entry.getAsJsonObject("ask")));
      }
      if (entry.has("mode")) return mode(statement, text(entry, "mode"), sql);
      if (entry.has("batch")) return batch(connection, statement, entry);
      if (entry.has("parameters")) return prepared(connection, entry);
      return result(statement, statement.execute(sql));
    }
  }

  private Map<String, Object> run(Connection shared, JsonObject entry) {
    try {
      if (!entry.has("session")) return outcome(shared, entry);
      try (Connection connection = connect(entry.getAsJsonObject("session"))) {
        return outcome(connection, entry);
      }
    } catch (Lacks lacks) {
      return Map.of("lacks", true);
    } catch (Exception | LinkageError error) {
      return told(error);
    }
  }

  private static Map<String, Object> runAll(JsonObject job) throws Exception {
    Client client = new Client(job);
    Map<String, Object> outcomes = new LinkedHashMap<>();
    try (Connection connection = client.connect(job)) {
      for (JsonElement entry : job.getAsJsonArray("cases")) {
        JsonObject object = entry.getAsJsonObject();
        outcomes.put(text(object, "name"), client.run(connection, object));
      }
    }
    return outcomes;
  }

  public static void main(String[] arguments) throws Exception {
    Gson gson = new GsonBuilder().serializeNulls().create();
    Map<String, Object> outcomes = new LinkedHashMap<>();
    JsonObject jobs = gson.fromJson(
        new InputStreamReader(System.in, StandardCharsets.UTF_8), JsonObject.class);
    for (String name : jobs.keySet()) outcomes.put(name, runAll(jobs.getAsJsonObject(name)));
    try (Writer out = new OutputStreamWriter(System.out, StandardCharsets.UTF_8)) {
      gson.toJson(outcomes, out);
    }
    System.exit(0); // drivers leave threads behind
  }
}
