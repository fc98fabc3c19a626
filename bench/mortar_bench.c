/* The C core under load, by the public API only: what a program linked with libmortar pays. Either
 * it runs a statement again and again, or it opens many sessions. It prints one JSON object and
 * judges nothing; bench/run.py compares. */
#include "bench/mortar_bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONNECTS_MAX = 100000 /* there are no more ports */ };

bool bench_fail(const char *what, const struct mortar_error *err)
{
  fprintf(stderr, "mortar_bench: %s: %s [%s]\n", what, err->message,
          mortar_status_name(err->status));
  return false;
}

struct mortar_config *bench_config(const struct bench_arguments *args)
{
  struct mortar_config *config = NULL;
  struct mortar_error err = {0};
  enum mortar_status st = mortar_config_new(NULL, &config, &err);

  if (st == MORTAR_OK) st = mortar_config_set_uri(config, args->uri, &err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "access_token", "bench-token", &err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "tls_ca_file", args->ca_file, &err);
  if (st == MORTAR_OK) return config;
  (void)bench_fail("config", &err);
  mortar_config_free(config);
  return NULL;
}

static int usage(FILE *to)
{
  fprintf(to,
          "usage: mortar_bench [OPTION...] URI\n\n"
          "Runs a statement again and again on the warehouse at URI and reads all its rows.\n"
          "  --sql TEXT       the statement (SELECT 1)\n"
          "  --shared         one session for all threads; else one each\n"
          "  --tls-ca FILE    certificates to trust instead of the system's\n" LOAD_USAGE
          "or opens sessions and keeps them open:\n"
          "  --connect N      one for the first cost, then N\n"
          "Prints one JSON object. Exit status: 0 done, 1 it failed, 2 wrong usage.\n");
  return to == stdout ? 0 : 2;
}

static bool take_option(struct bench_arguments *args, int letter, const char *value)
{
  switch (letter) {
    case 'q':
      args->sql = value;
      return true;
    case 'S':
      args->shared = true;
      return true;
    case 'a':
      args->ca_file = value;
      return true;
    case 'c':
      return load_number(value, 1, CONNECTS_MAX, &args->connects);
    default:
      return load_option(&args->plan, letter, value);
  }
}

int main(int argc, char **argv)
{
  static const struct option options[] = {{"threads", 1, 0, 't'}, {"statements", 1, 0, 'n'},
                                          {"seconds", 1, 0, 's'}, {"warm-up", 1, 0, 'w'},
                                          {"sql", 1, 0, 'q'},     {"shared", 0, 0, 'S'},
                                          {"tls-ca", 1, 0, 'a'},  {"connect", 1, 0, 'c'},
                                          {"help", 0, 0, 'h'},    {0, 0, 0, 0}};
  struct bench_arguments args = {NULL, "SELECT 1", NULL, false, 0, load_plan_default()};
  int letter;
  bool ok;

  while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (letter == 'h') return usage(stdout);
    if (!take_option(&args, letter, optarg)) return usage(stderr);
  }
  if (optind + 1 != argc) return usage(stderr);
  args.uri = argv[optind];
  ok = args.connects ? bench_connects(&args) : bench_statements(&args);
  return ok ? 0 : 1;
}
