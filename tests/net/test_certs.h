/* Certificates for the TLS tests, made by the openssl program in a temporary folder. */
#ifndef MTR_TESTS_TEST_CERTS_H
#define MTR_TESTS_TEST_CERTS_H

struct test_certs {
  char dir[64];
  char ca[96];                   /* signs the two others */
  char cert[96], key[96];        /* for localhost and 127.0.0.1 */
  char other[96], other_key[96]; /* for another.test */
  char locked_key[96];           /* the key of cert, its password is "open sesame" */
};

void test_certs_make(struct test_certs *certs);
void test_certs_remove(const struct test_certs *certs);

/* One set for all tests of a program: set-up and tear-down of the group. */
extern struct test_certs group_certs;
int group_certs_make(void **state);
int group_certs_remove(void **state);

#endif
